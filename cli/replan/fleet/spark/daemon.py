"""What Spark's Python workers on this machine are forked from: all that a task needs is imported once, and before.

Spark starts it as `python -m replan.fleet.spark.daemon pyspark.worker` (`spark.python.daemon.module`), with its own
zips of PySpark and Py4J before what is installed. Those have no compiled code, and every task would read their lists of
files again. Here SPARK_HOME is the installed PySpark, so the zips are left out, and it is the same.
"""

import sys

from replan.model.pandas_hidden import hide_pandas

ZIPS = ("/pyspark.zip", "-src.zip")
"""Spark's own; replan itself may run from another."""


def main() -> None:
    """Import all, and fork a worker for each that Spark asks for."""
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(ZIPS)]
    sys.path_importer_cache.clear()

    from pyspark.daemon import manager

    from replan.fleet.spark.frames import preload

    hide_pandas()
    preload()
    manager()


if __name__ == "__main__":
    main()
