"""One broker dies or freezes while copies run, and comes back: `apply` goes on with the others and ends as declared.

A producer with acks=all, which retries nothing, runs beside it: what the fault does to its records is one thing, but
nothing that `apply` does may leave too few replicas in sync. Throttled copies run when the fault begins; of them broker
3 is the source, or a kept replica, or it has no part; in the meantime one broker leads all of them, and its rate has to
do for all copies.
"""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kafka.harness.clients import create_topic, fill, until
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.load import ProducerLoad
from tests.kafka.test_adapter_failures import active_controller
from tests.kafka.test_main_job import MEGABYTE, SETTLE, Site

from replan.kafka.api import open_cluster
from replan.model.api import Wanted

THREE = 3
LISTS = [[1, 2, 3], [3, 1, 2], [1, 2, 4]]
TARGET = {0: [4, 2, 3], 1: [3, 1, 5], 2: [1, 2, 5]}
PLACEMENT = f"""\
version: 1
assignments: {{orders: {{partitions: {TARGET}}}}}
throttles: {{moves: {{rate: 400kB/s}}}}
"""
BEGIN_SECONDS = 240.0
"""On a busy machine the journal and its first transaction alone were seen to take two minutes."""
DEAD_SECONDS = 60.0
"""Longer than a session, and than the time after which a silent owner's lock is free."""
FILLED = 15 * MEGABYTE
"""Bytes of each partition: their copies outlast the fault."""
FROZEN_SECONDS, END_SECONDS = 120.0, 240.0
TOO_FEW = {"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
Start = Callable[..., Cluster]

# By day a broker dies, and stays dead, in test_main_job.py.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


@pytest.fixture
def site(kafka_cluster: Start, tmp_path: Path, version: str) -> Site:
    """Broker 3 in a JVM of its own."""
    cluster = kafka_cluster(Layout(version=version), in_one_jvm=(1, 2, 4, 5, 101))
    return planned(cluster, tmp_path)


def planned(cluster: Cluster, tmp_path: Path) -> Site:
    """A topic with some bytes, and a plan that is saved."""
    create_topic(cluster.bootstrap, "orders", LISTS)
    fill(cluster.bootstrap, "orders", FILLED)
    (tmp_path / "placement.yaml").write_text(PLACEMENT)
    found = Site(cluster, tmp_path, "orders")
    (tmp_path / "placement.yaml").write_text(PLACEMENT)
    found.replan("plan", "-o", "plan.json", wanted=2)
    return found


def goes_on(
    site: Site, seconds: float, begin: Callable[[Cluster], None], end: Callable[[Cluster], None]
) -> str:
    """Apply while the fault lasts so long, hold what must be true at the end, and return what was printed."""
    cluster = site.cluster
    assert isinstance(cluster, Cluster)
    load = ProducerLoad(cluster.bootstrap, "orders", records_per_second=30, settings={"retries": 0})
    with load, site.started("apply", "plan.json", *SETTLE) as process:
        try:
            until(
                lambda: process.poll() is not None or bool(running(site)),
                "a running copy",
                limit_seconds=BEGIN_SECONDS,
            )
            begin(cluster)
            over = time.monotonic() + seconds
            until(
                lambda: time.monotonic() > over or process.poll() is not None,
                "the end of the fault",
                limit_seconds=seconds + 30,
            )
            end(cluster)
            shown, errors = process.communicate(timeout=END_SECONDS)
        except (subprocess.TimeoutExpired, TimeoutError) as waited:
            process.kill()
            shown, errors = process.communicate()
            raise AssertionError(f"{waited}: {shown}\n{errors}") from waited
        account = load.close()
    assert process.returncode == 0, f"{shown}\n{errors}"
    assert {error.code for error in account.errors} & TOO_FEW == set()
    assert account.acknowledged > 100
    assert {p: replicas for p, (replicas, _) in site.described().items()} == TARGET
    assert site.leftovers() == []
    return shown + errors


def running(site: Site) -> list[str]:
    """The reassignments that run."""
    with open_cluster(site.cluster.bootstrap, None) as plane:
        return [str(name) for name in plane.look(Wanted()).running]


def kill(cluster: Cluster) -> None:
    cluster.kill(THREE)


def revive(cluster: Cluster) -> None:
    cluster.start(THREE)


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
@pytest.mark.parametrize("_turn", range(10))
def test_a_broker_is_killed_and_comes_back(site: Site, _turn: int) -> None:
    goes_on(site, DEAD_SECONDS, kill, revive)


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_a_broker_is_frozen_for_two_minutes(site: Site) -> None:
    goes_on(
        site,
        FROZEN_SECONDS,
        lambda cluster: cluster.freeze(THREE),
        lambda cluster: cluster.thaw(THREE),
    )


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_the_active_controller_is_frozen_for_two_minutes(
    kafka_cluster: Start, tmp_path: Path, version: str
) -> None:
    """Brokers wait for it for 30 s (controller.socket.timeout.ms) before they look for another."""
    layout = Layout(version=version, controllers=3)
    cluster = kafka_cluster(layout, in_one_jvm=tuple(layout.racks))
    site = planned(cluster, tmp_path)
    active = active_controller(cluster)
    said = goes_on(
        site,
        FROZEN_SECONDS,
        lambda cluster: cluster.freeze(active),
        lambda cluster: cluster.thaw(active),
    )
    assert "the active controller has not answered" in said
