"""Each test of this folder runs on the simulator and, marked `kafka`, on real brokers."""

import os
from collections.abc import Iterator

import pytest
from tests.conformance.lab import Lab
from tests.conformance.simulator_lab import SimulatorLab

VERSION_VARIABLE = "REPLAN_KAFKA_VERSION"


@pytest.fixture(scope="session")
def version() -> str:
    """The Kafka version that both labs are asked for."""
    return os.environ.get(VERSION_VARIABLE, "4.3.1")


@pytest.fixture(scope="session")
def real_brokers(version: str) -> Iterator[object]:
    """Five brokers in one JVM."""
    from tests.kafka.harness.layout import Layout
    from tests.kafka.harness.one_jvm import OneJvmCluster

    # A broker is let in again only when its last session has ended (from 4.0 on).
    with OneJvmCluster(Layout(version=version, broker_session_timeout_ms=3000)) as cluster:
        yield cluster


@pytest.fixture(params=["simulator", pytest.param("kafka", marks=pytest.mark.kafka)])
def lab(request: pytest.FixtureRequest, version: str) -> Iterator[Lab]:
    """A cluster to hold the port against."""
    if request.param == "simulator":
        yield SimulatorLab(version)
        return
    from tests.conformance.kafka_lab import KafkaLab

    real = KafkaLab(request.getfixturevalue("real_brokers"))
    try:
        yield real
    finally:
        real.close()
