"""Work that needs no other, in a process for each core.

The results come in the order of what was given, so they are the same for any number of processes. Each process gets the
work once and then one thing after the other, through a pipe of its own. What holds, whatever is interrupted when:

* Signals that a terminal sends to all processes of a command concern this one alone: the others begin, and stay, with
  them blocked; those that arrive meanwhile are delivered here afterwards.
* Whoever closes the iterator (`contextlib.closing`), wherever it is, ends the processes, each by its own id. Where
  nobody is left to do that (SIGKILL, a second ^C), each of them sees that its parent is gone, and ends itself.
"""

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from threading import Thread
from typing import Any, TypeVar

from replan.commands.frame.signals import INTERRUPTED, SIGNALS
from replan.errors import ReplanError

_T = TypeVar("_T")
R = TypeVar("R")


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(
    work: Callable[[_T], R], given: Sequence[_T], processes: int
) -> Generator[R, None, None]:
    """What the work makes of each of these, in so many processes; all of it must be picklable.

    Raises what the work raises, and ReplanError where a process ends by itself.
    """
    processes = min(processes, len(given))
    if processes < 2:
        yield from map(work, given)
        return
    pipes: dict[Connection, BaseProcess] = {}
    results: dict[int, R] = {}
    waiting = iter(enumerate(given))
    try:
        with _signals_blocked():
            for _ in range(processes):
                pipe, process = _started(work)
                pipes[pipe] = process
        for pipe, process in pipes.items():
            _give(pipe, process, next(waiting))
        busy = dict(pipes)
        for number in range(len(given)):
            while number not in results:
                for pipe in (p for p in wait(list(busy)) if isinstance(p, Connection)):
                    at, made = _received(pipe, busy[pipe])
                    results[at] = made
                    following = next(waiting, None)
                    if following is None:
                        del busy[pipe]
                    else:
                        _give(pipe, busy[pipe], following)
            yield results.pop(number)
    finally:
        for process in pipes.values():
            process.kill()
        for process in pipes.values():
            process.join()


def _started(work: Callable[[Any], Any]) -> tuple[Connection, BaseProcess]:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(work, there), daemon=True)
    process.start()
    there.close()
    return here, process


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """What is started meanwhile has them blocked for good.

    The tracker of multiprocessing starts before: it unblocks SIGINT and SIGTERM here when it begins.
    """
    ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _give(pipe: Connection, process: BaseProcess, of: tuple[int, Any]) -> None:
    try:
        pipe.send(of)
    except OSError:
        raise _ended(process) from None


def _received(pipe: Connection, process: BaseProcess) -> tuple[int, Any]:
    try:
        at, made, raised = pipe.recv()
    except (EOFError, OSError):
        raise _ended(process) from None
    if raised is not None:
        raise raised
    return at, made


def _ended(process: BaseProcess) -> ReplanError:
    process.join()
    return ReplanError(
        f"a process that worked for this one ended by itself, with code {process.exitcode}: killed by somebody, or for "
        "lack of memory\nRun it again; on one core (`taskset -c 0 replan …`) it takes least memory."
    )


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """What one of the processes does, until it is ended."""
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # nobody is there any more
        while True:
            at, of = pipe.recv()
            try:
                pipe.send((at, work(of), None))
            except Exception as problem:  # noqa: BLE001 - it is raised again where the work was given
                pipe.send((at, None, problem))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(INTERRUPTED)
