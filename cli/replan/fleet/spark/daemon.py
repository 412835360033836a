"""What Spark's Python workers on this machine are forked from: all that a task needs is imported once, and before.

Spark starts it as `python -m replan.fleet.spark.daemon pyspark.worker` (`spark.python.daemon.module`), with its own
zips of PySpark and Py4J before what is installed. Those have no compiled code, and every task would read their lists of
files again. Here SPARK_HOME is the installed PySpark, so the zips are left out, and it is the same.
"""

import os
import sys

from replan.model.pandas_hidden import hide_pandas
from replan.workers import NO_LIBRARY_THREADS

ZIPS = ("/pyspark.zip", "-src.zip")
"""Spark's own; replan itself may run from another."""


def main() -> None:
    """Import all, and fork a worker for each that Spark asks for."""
    prepare_to_fork()

    from pyspark.daemon import manager

    manager()


def prepare_to_fork() -> None:
    """Import all that a task needs, without another thread."""
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(ZIPS)]
    sys.path_importer_cache.clear()

    os.environ.update(NO_LIBRARY_THREADS)
    hide_pandas()

    from replan.fleet.spark.frames import preload

    preload()


if __name__ == "__main__":
    main()
