"""The work of all clusters on this machine without Spark: in this process, or in one for each core where it is much.

The same functions as inside Spark, so both engines mean the same; a test holds them to it. Memory is that of the
largest cluster for each process, and of the rows that are found.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

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
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(perform, stages=stages), tasks)
