"""Each test of this folder runs on the simulator and, marked `kafka`, on real brokers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.conformance.lab import Lab
from tests.conformance.simulator_lab import SimulatorLab
from tests.kafka.clusters import one_jvm_cluster

if TYPE_CHECKING:
    from tests.kafka.harness.layout import Layout
    from tests.kafka.harness.one_jvm import OneJvmCluster


@pytest.fixture(scope="session")
def real_brokers(layout: "Layout", pytestconfig: pytest.Config) -> "Iterator[OneJvmCluster]":
    """Five brokers in one JVM."""
    # A broker is let in again only when its last session has ended (from 4.0 on).
    with one_jvm_cluster(replace(layout, broker_session_timeout_ms=3000), pytestconfig) as cluster:
        yield cluster


@pytest.fixture(params=["simulator", pytest.param("kafka", marks=pytest.mark.kafka)])
def lab(request: pytest.FixtureRequest, kafka_version: str) -> Iterator[Lab]:
    """A cluster to hold the port against."""
    if request.param == "simulator":
        yield SimulatorLab(kafka_version)
        return
    from tests.conformance.kafka_lab import KafkaLab

    real = KafkaLab(request.getfixturevalue("real_brokers"))
    try:
        yield real
    finally:
        real.close()
