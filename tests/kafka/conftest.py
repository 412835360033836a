"""Clusters for the tests of this folder, and what their nodes said when a test fails.

Every test here is marked `kafka`. `REPLAN_KAFKA_VERSION` chooses the version of `one_jvm` and
of `kafka_cluster` (4.3.1 if unset).
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.distribution import DEFAULT_VERSION
from tests.kafka.harness.fake_brokers import FakeBrokers
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.one_jvm import OneJvmCluster


class Talkative(Protocol):
    """Anything with logs to show when a test fails."""

    def log_tails(self) -> str: ...


RUNNING = pytest.StashKey[list[Talkative]]()
HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUNNING] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.kafka)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for cluster in item.config.stash[RUNNING]:
            report.sections.append((f"{type(cluster).__name__} logs", cluster.log_tails()))
    return report


@pytest.fixture(scope="session")
def kafka_version() -> str:
    """The Kafka version under test."""
    return os.environ.get("REPLAN_KAFKA_VERSION", DEFAULT_VERSION)


@pytest.fixture(scope="session")
def layout(kafka_version: str) -> Layout:
    """The usual five brokers, of the version under test: `replace(layout, controllers=3)`."""
    return Layout(version=kafka_version)


@pytest.fixture(scope="session")
def one_jvm(layout: Layout, pytestconfig: pytest.Config) -> Iterator[OneJvmCluster]:
    """Five brokers in one JVM, shared by the whole run: take a topic of your own."""
    with OneJvmCluster(layout) as cluster, heard(pytestconfig, cluster):
        yield cluster


@pytest.fixture
def kafka_cluster(pytestconfig: pytest.Config) -> Iterator[Callable[[Layout], Cluster]]:
    """Starts clusters of one JVM per node, which end with the test."""
    with ExitStack() as running:
        yield lambda layout: start_cluster(layout, running, pytestconfig)


@pytest.fixture(scope="module")
def shared_kafka_cluster(pytestconfig: pytest.Config) -> Iterator[Callable[[Layout], Cluster]]:
    """Starts clusters of one JVM per node, which end with the module."""
    with ExitStack() as running:
        yield lambda layout: start_cluster(layout, running, pytestconfig)


@pytest.fixture(scope="session")
def fake_brokers(pytestconfig: pytest.Config) -> Iterator[Callable[..., FakeBrokers]]:
    """A controller of fake brokers for these arguments of `FakeBrokers`, one for the whole run.

    Take an `Arena` of your own on it.
    """
    with ExitStack() as running:

        @cache
        def of(*arguments: str, **settings: bool | int) -> FakeBrokers:
            controller = running.enter_context(FakeBrokers(*arguments, **settings))  # type: ignore[arg-type]
            running.enter_context(heard(pytestconfig, controller))
            return controller

        yield of


def start_cluster(layout: Layout, running: ExitStack, config: pytest.Config) -> Cluster:
    cluster = running.enter_context(Cluster(layout))
    running.enter_context(heard(config, cluster))
    return cluster


@contextmanager
def heard(config: pytest.Config, cluster: Talkative) -> Iterator[None]:
    """While it runs, a failing test's report shows the cluster's logs."""
    config.stash[RUNNING].append(cluster)
    try:
        yield
    finally:
        config.stash[RUNNING].remove(cluster)
