"""Each test of this folder runs on the simulator and, marked `kafka`, on real brokers, of several versions."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tests.conformance.lab import Lab
from tests.conformance.simulator_lab import SimulatorLab
from tests.kafka.clusters import lasting, one_jvm_cluster

if TYPE_CHECKING:
    from tests.kafka.harness.layout import Layout
    from tests.kafka.harness.one_jvm import OneJvmCluster


OTHER_VERSIONS = ("4.1.2", "4.2.1")
"""Between the rules of 3.9 and those of 4.3; on brokers at night."""


@pytest.fixture(scope="module")
def real_brokers(layout: "Layout", pytestconfig: pytest.Config) -> "Callable[[str], OneJvmCluster]":
    """Five brokers of a version in one JVM."""

    def of(version: str) -> "OneJvmCluster":
        # A broker is let in again only when its last session has ended (from 4.0 on).
        like = replace(layout, version=version, broker_session_timeout_ms=3000)
        start = partial(one_jvm_cluster, like, pytestconfig)
        return lasting(pytestconfig, start, "conformance", version)

    return of


@pytest.fixture(
    params=[
        ("simulator", None),
        pytest.param(("kafka", None), marks=pytest.mark.kafka),
        *(("simulator", version) for version in OTHER_VERSIONS),
        *(
            pytest.param(("kafka", version), marks=[pytest.mark.kafka, pytest.mark.nightly])
            for version in OTHER_VERSIONS
        ),
    ],
    ids=lambda chosen: "-".join(filter(None, chosen)),
)
def lab(request: pytest.FixtureRequest, kafka_version: str) -> Iterator[Lab]:
    """A cluster to hold the port against."""
    kind, version = request.param
    if kind == "simulator":
        yield SimulatorLab(version or kafka_version)
        return
    from tests.conformance.kafka_lab import KafkaLab

    real = KafkaLab(request.getfixturevalue("real_brokers")(version or kafka_version))
    try:
        yield real
    finally:
        real.close()
