"""The work of all clusters on this machine without Spark: in this process, or in one for each core where it is much.

The same functions as inside Spark, so both engines mean the same; a test holds them to it. Memory is that of the
largest cluster for each process: each writes what it finds.

A worker that is lost, as one that the kernel kills for want of memory, costs its cluster a second try in a new worker,
and the second time an error. A worker ends with the process that started it, however that ends: ^C reaches all
processes of a terminal, and is for that one alone, which ends its workers; where it is killed they notice.
"""

import gc
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from threading import Thread

from msgspec.structs import replace

from replan.errors import BadFile
from replan.fleet.do_task import (
    CLUSTER_TRIES,
    COMPARED_AT_ONCE,
    Stage,
    TaskDone,
    do_task,
    not_done,
)
from replan.fleet.lake.delta import Lake, lake_at
from replan.fleet.lake.files import RowFile
from replan.fleet.tasks.work import Task
from replan.model.garbage_collection import GARBAGE_THRESHOLD

MUCH = 200_000
"""Beyond so many partitions it pays to start processes (half a second each)."""
WorkerJob = tuple[Sequence[Stage], str, str]
"""What workers do: the stages, into which lake, in which run."""


class Here:
    """This machine, without Spark."""

    def do_tasks(
        self, tasks: Sequence[Task], stages: Sequence[Stage], lake: Lake, run: str
    ) -> Iterator[TaskDone]:
        """What was done for each task, and for the parts that it comes to, as it comes."""
        workers, many = os.cpu_count() or 1, sum(task.partitions for task in tasks)
        if many < (MUCH if min(len(tasks), workers) > 1 else 2 * COMPARED_AT_ONCE):
            return (do_task(task, stages, lake, run) for task in tasks)
        return _in_workers(tasks, (stages, lake.address, run), workers)

    def histories(
        self, lake: Lake, clusters: Sequence[str], run: str
    ) -> Iterator[tuple[str, list[RowFile]]]:
        """The files of the new history of each cluster whose history has changed; raises BadFile."""
        from replan.fleet.stages.history import kept_history_of, put_history

        for name, history in kept_history_of(lake, clusters):
            changed, file = put_history(name, history, lake, run)
            if changed:
                yield name, [] if file is None else [file]


def _in_workers(tasks: Sequence[Task], job: WorkerJob, most: int) -> Iterator[TaskDone]:
    waiting = deque((task, 1) for task in tasks)
    workers: dict[Connection, _Worker] = {}
    idle: list[_Worker] = []
    try:
        while waiting or workers:
            while waiting and (idle or len(workers) < most):
                free = idle.pop() if idle else _Worker(job)
                workers[free.pipe] = free
                free.give(*waiting.popleft())
            for pipe in wait(list(workers)):
                worker = workers.pop(pipe)  # type: ignore[call-overload]  # they are what was waited for
                done = worker.done()
                if done is None and worker.tries < CLUSTER_TRIES:
                    waiting.appendleft((worker.task, worker.tries + 1))
                else:
                    outcome = not_done(worker.task, job[0], worker.lost()) if done is None else done
                    yield replace(outcome, attempt=worker.tries - 1)
                if done is None:
                    worker.end()
                else:
                    waiting.extend((part, 1) for part in done.parts)
                    idle.append(worker)
    finally:
        for worker in (*workers.values(), *idle):
            worker.process.kill()
            worker.end()


class _Worker:
    """A process, and the task that it has."""

    task: Task
    tries: int

    def __init__(self, job: WorkerJob) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, *job), daemon=True)
        resource_tracker.ensure_running()  # it would lift the mask
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the worker inherits
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        theirs.close()

    def give(self, task: Task, tries: int) -> None:
        """Let it do a task, for the nth time."""
        self.task, self.tries = task, tries
        with suppress(OSError):  # it is lost already: so says `done`
            self.pipe.send(task)

    def done(self) -> TaskDone | None:
        """What it has done; None where it is lost. Raises BadFile where it cannot write."""
        try:
            done: TaskDone | BadFile = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if isinstance(done, BadFile):
            raise done
        return done

    def lost(self) -> str:
        """How it ended, and what may be done."""
        self.process.join()
        code = self.process.exitcode or 0
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return (
            f"the worker process that judged it was ended {how}, {self.tries} times; "
            "the kernel does that where memory is short (its log says so)"
        )

    def end(self) -> None:
        """Let it end: it has nothing more to do."""
        self.pipe.close()
        self.process.join()


def _work(pipe: Connection, stages: Sequence[Stage], address: str, run: str) -> None:
    """In a worker: one task after the other."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task: Task = pipe.recv()
        except (EOFError, OSError):  # its parent is gone
            return
        try:
            pipe.send(do_task(task, stages, lake_at(address), run))
        except BadFile as problem:
            pipe.send(problem)


def _end_with_parent() -> None:
    """Without its parent it would go on with its work, and keep the terminal or pipe open."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
