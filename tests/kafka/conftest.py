"""Every test of this folder is marked `kafka`; and a cluster that several of its modules share."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kafka.clusters import lasting, one_jvm_cluster

from replan.model.api import JOURNAL_TOPIC

if TYPE_CHECKING:
    from tests.kafka.harness.one_jvm import OneJvmCluster
    from tests.kafka.secured import Secured

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Import nothing of it where no such test is wanted."""
    return True if "not kafka" in config.getoption("markexpr") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.kafka)


@pytest.fixture
def without_journal(one_jvm: "OneJvmCluster") -> "Iterator[OneJvmCluster]":
    """The usual brokers, whose journal has what this test writes alone."""
    from tests.kafka.harness.clients import delete_topics

    delete_topics(one_jvm.bootstrap, JOURNAL_TOPIC)
    yield one_jvm
    delete_topics(one_jvm.bootstrap, JOURNAL_TOPIC)


@pytest.fixture
def steady(kafka_version: str, pytestconfig: pytest.Config) -> "Iterator[OneJvmCluster]":
    """Four brokers whose controller moves no leader by itself, with short sessions: take a topic of your own.

    A test that stops brokers starts them again; what it leaves down when it fails is started here.
    """
    from tests.kafka.site import steady_layout

    start = partial(one_jvm_cluster, steady_layout(kafka_version), pytestconfig)
    running = lasting(pytestconfig, start, "steady")
    yield running
    for broker in sorted(running.down):
        running.start(broker)


@pytest.fixture(scope="module")
def secured(
    kafka_version: str, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> "Secured":
    """Brokers that ask who one is, and what one may do: take a topic and a user of your own."""
    from tests.kafka.secured import secured_cluster

    folder = tmp_path_factory.mktemp("tls")
    start = partial(secured_cluster, kafka_version, pytestconfig, folder)
    return lasting(pytestconfig, start, "secured")
