"""Fixtures: real clusters for any test of this repository, and what their nodes said when a test fails.

A pytest plugin, which the top conftest.py loads, so that tests of several folders share a cluster; the harness is
imported by whoever asks for one. `REPLAN_KAFKA_VERSION` chooses the version (4.3.1 if unset). What one folder alone
needs is in its conftest.py.
"""

import os
from collections.abc import Callable, Collection, Generator, Hashable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest
from tests.workers import unit_of

if TYPE_CHECKING:
    from tests.kafka.harness.cluster import Cluster
    from tests.kafka.harness.fake_brokers import FakeBrokers
    from tests.kafka.harness.layout import Layout
    from tests.kafka.harness.one_jvm import OneJvmCluster


class Talkative(Protocol):
    """Anything with logs to show when a test fails."""

    def log_tails(self) -> str: ...


class Controllers(Protocol):
    """Gives the controller of fake brokers of a kind; each is started once for the tests of a unit."""

    def __call__(
        self, version: str, *, eligible_leader_replicas: bool = True, restarts: bool = False
    ) -> "FakeBrokers":
        """With `restarts`, sessions are so short that brokers can come back."""
        ...


T = TypeVar("T")
SHORT_SESSION_MS = 1500
RUNNING = pytest.StashKey[list[Talkative]]()
USUAL = ("the usual five brokers",)
LASTING = pytest.StashKey[dict[Hashable, tuple[object, ExitStack]]]()


def by_night(version: str) -> tuple[pytest.MarkDecorator, ...]:
    """The mark of what runs on the default version by day, and on the others by night alone."""
    from tests.kafka.harness.distribution import DEFAULT_VERSION

    return () if version == DEFAULT_VERSION else (pytest.mark.nightly,)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RUNNING] = []
    config.stash[LASTING] = {}


def lasting(
    config: pytest.Config, start: Callable[[], AbstractContextManager[T]], *name: Hashable
) -> T:
    """What `start` gives, begun once for all tests of a unit (`workers`) and ended after its last one.

    Fixtures of the session would keep each JVM to the end of the run, where idle brokers take the others' time.
    """
    kept = config.stash[LASTING]
    if name not in kept:
        running = ExitStack()
        kept[name] = running.enter_context(start()), running
    return kept[name][0]  # type: ignore[return-value]  # what was started under this name


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End what no later test of this unit can ask for; the usual cluster stays as long as tests of brokers follow."""
    if nextitem is not None and unit_of(item.nodeid) == unit_of(nextitem.nodeid):
        return
    more = nextitem is not None and nextitem.get_closest_marker("kafka") is not None
    kept = item.config.stash[LASTING]
    for name in [name for name in kept if not (more and name == USUAL)]:
        kept.pop(name)[1].close()


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
    return os.environ.get("REPLAN_KAFKA_VERSION", "4.3.1")


@pytest.fixture(scope="session")
def layout(kafka_version: str) -> "Layout":
    """The usual five brokers, of the version under test: `replace(layout, controllers=3)`."""
    from tests.kafka.harness.layout import Layout

    return Layout(version=kafka_version)


@pytest.fixture(scope="module")
def one_jvm(layout: "Layout", pytestconfig: pytest.Config) -> "OneJvmCluster":
    """Five brokers in one JVM, which tests share: take a topic of your own."""
    return lasting(pytestconfig, partial(one_jvm_cluster, layout, pytestconfig), *USUAL)


@contextmanager
def one_jvm_cluster(layout: "Layout", config: pytest.Config) -> "Iterator[OneJvmCluster]":
    """Five brokers in one JVM for whoever cannot share them."""
    from tests.kafka.harness.one_jvm import OneJvmCluster

    with OneJvmCluster(layout) as cluster, heard(config, cluster):
        yield cluster


@pytest.fixture
def kafka_cluster(pytestconfig: pytest.Config) -> "Iterator[Callable[..., Cluster]]":
    """Starts clusters (the arguments are those of `Cluster`), which end with the test."""
    with ExitStack() as running:
        yield partial(start_cluster, running, pytestconfig)


@pytest.fixture(scope="module")
def shared_kafka_cluster(pytestconfig: pytest.Config) -> "Iterator[Callable[..., Cluster]]":
    """Starts clusters, which end with the module."""
    with ExitStack() as running:
        yield partial(start_cluster, running, pytestconfig)


@pytest.fixture(scope="module")
def fake_brokers(pytestconfig: pytest.Config) -> Controllers:
    """Controllers of fake brokers, which tests share: take an `Arena` of your own."""
    from tests.kafka.harness.fake_brokers import ONE_HOUR_MS, FakeBrokers

    @contextmanager
    def started(version: str, elr: bool, session_ms: int) -> Iterator[FakeBrokers]:
        with (
            FakeBrokers(
                version, eligible_leader_replicas=elr, session_timeout_ms=session_ms
            ) as controller,
            heard(pytestconfig, controller),
        ):
            yield controller

    def of(
        version: str, *, eligible_leader_replicas: bool = True, restarts: bool = False
    ) -> FakeBrokers:
        elr = eligible_leader_replicas and not version.startswith("3.")  # 3.9 has none
        like = version, elr, SHORT_SESSION_MS if restarts else ONE_HOUR_MS
        return lasting(pytestconfig, partial(started, *like), "controller", *like)

    return of


def start_cluster(
    running: ExitStack, config: pytest.Config, layout: "Layout", *, in_one_jvm: Collection[int] = ()
) -> "Cluster":
    from tests.kafka.harness.cluster import Cluster

    cluster = running.enter_context(Cluster(layout, in_one_jvm=in_one_jvm))
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
