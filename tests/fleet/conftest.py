"""One Spark session for all tests of a run, and its event log."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kafka.clusters import lasting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def event_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which Spark notes what it does, as the user's own settings have it."""
    home = tmp_path_factory.mktemp("spark")
    (home / "events").mkdir()
    settings = {"enabled": "true", "compress": "false", "dir": (home / "events").as_uri()}
    lines = [f"spark.eventLog.{name} {value}\n" for name, value in settings.items()]
    (home / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    return home / "events"


@pytest.fixture(scope="module")
def spark(event_log: Path, pytestconfig: pytest.Config) -> "SparkSession":
    """A session that the tests of this folder share."""
    return lasting(pytestconfig, partial(_session, event_log.parent), "spark")


@contextmanager
def _session(settings: Path) -> "Iterator[SparkSession]":
    from replan.fleet.spark.session import Length, spark_session

    before = os.environ.get("SPARK_CONF_DIR")
    os.environ["SPARK_CONF_DIR"] = str(settings)
    try:
        with spark_session("local[2]", Length.SHORT) as session:
            yield session
    finally:
        del os.environ["SPARK_CONF_DIR"]
        if before is not None:
            os.environ["SPARK_CONF_DIR"] = before
