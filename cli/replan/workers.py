"""Processes of this machine that each do one thing after the other, given through a pipe of their own.

What holds, whatever is interrupted when:

* Signals that a terminal sends to all processes of a command concern the one that started them alone: a worker begins,
  and stays, with them blocked; those that arrive meanwhile are delivered here afterwards.
* The workers of a pool end with its `with`. Where nobody is left to end them (SIGKILL, a second ^C), each of them sees
  that its parent is gone, and ends itself.
* A worker that is lost, as one that the kernel kills for want of memory, is said to be by what it was to make.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.resource_tracker import ensure_running
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")
_R = TypeVar("_R")
_TERMINAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NO_LIBRARY_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",  # numpy
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow
    "_RJEM_MALLOC_CONF": "background_thread:false",  # deltalake
}
"""The environment of a process that is forked: none of these starts a thread when it is loaded.

A fork does not have the threads of its parent, but the locks that they held at that moment, as those of the memory.
"""


def cores() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerLost(Exception):
    """A worker ended by itself."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        """Its exit code; less than 0: the signal that ended it."""


class WorkerPool(Generic[_T, _R]):
    """A context: workers that do the same work, of which what is given and made must be picklable."""

    def __init__(self, work: Callable[[_T], _R]) -> None:
        self._work = work
        self._started: list[Worker[_T, _R]] = []

    def __enter__(self) -> "WorkerPool[_T, _R]":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._started:
            worker.kill()
        for worker in self._started:
            worker.end()

    def start(self) -> "Worker[_T, _R]":
        """One more."""
        with _signals_blocked():
            worker = Worker(self._work)
            self._started.append(worker)
        return worker


class Worker(Generic[_T, _R]):
    """One of these processes."""

    def __init__(self, work: Callable[[_T], _R]) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        """Readable once there is something to take."""
        self._process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def give(self, one: _T) -> None:
        """Let it do one thing."""
        with suppress(OSError):  # it is lost already: so says `take`
            self.pipe.send(one)

    def take(self) -> _R:
        """What it has made of that. Raises what the work has raised, and WorkerLost."""
        try:
            answer: tuple[_R, Exception | None] = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise WorkerLost(self._process.exitcode or 0) from None
        made, raised = answer
        if raised is not None:
            raise raised
        return made

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def end(self) -> None:
        """Wait until it has ended, as there is nothing more to do."""
        self.pipe.close()
        self._process.join()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """What is started meanwhile has them blocked for good.

    The tracker of multiprocessing starts before: it unblocks SIGINT and SIGTERM here when it begins.
    """
    ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _TERMINAL)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """What a worker does, until it is ended."""
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # nobody is there any more
        while True:
            one = pipe.recv()
            try:
                pipe.send((work(one), None))
            except Exception as problem:  # noqa: BLE001 - it is raised again where it was given
                pipe.send((None, problem))


def _end_with_parent() -> None:
    """Without its parent it would go on with its work, and keep the terminal or pipe open."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
