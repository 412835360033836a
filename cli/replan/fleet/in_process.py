"""The work of all clusters on this machine without Spark: in this process, or in one for each core where it is much.

The same functions as inside Spark, so both engines mean the same; a test holds them to it. Memory is that of the
largest cluster for each process, and of the rows that are found.

A worker ends with the process that started it, however that ends: ^C reaches all processes of a terminal, and is for
that one alone, which ends its workers; where it is killed they notice.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from threading import Thread

from replan.fleet.perform import Rows, Stage, perform
from replan.fleet.tasks.work import Task

MUCH = 200_000
"""Beyond so many partitions it pays to start processes (half a second each)."""


def perform_here(tasks: Sequence[Task], stages: Sequence[Stage], partitions: int) -> Iterator[Rows]:
    """The rows of each task; `partitions`: about how many there are in all."""
    workers = min(len(tasks), os.cpu_count() or 1)
    if workers < 2 or partitions < MUCH:
        yield from (perform(task, stages) for task in tasks)
        return
    before = set(active_children())
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        resource_tracker.ensure_running()  # it would lift the mask
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the workers inherit
        try:
            found = pool.map(partial(perform, stages=stages), tasks)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            yield from found
        except BaseException:
            for worker in set(active_children()) - before:
                worker.terminate()
            raise


def _end_with_parent() -> None:
    """In a worker: without its parent it would wait for work for ever, and keep the terminal or pipe open."""

    def wait() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()
