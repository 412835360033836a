"""One Spark session for all tests of a run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    from replan.fleet.spark.session import Length, spark_session

    with spark_session("local[2]", Length.SHORT) as session:
        yield session
