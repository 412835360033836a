"""Brokers and controllers are killed in each phase of a move and come back: nothing is lost, or there twice.

A producer that repeats what failed (idempotent, acks=all) writes, and a consumer reads beside it. A second producer
repeats nothing: a fault may cost it records, but never because too few replicas are in sync.
"""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.kafka.harness.clients import admin, create_topic, fill, partition_metadata, until
from tests.kafka.harness.cluster import Cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.load import EXACTLY_ONCE, ProducerLoad
from tests.kafka.harness.reading import Reading
from tests.kafka.test_adapter_failures import active_controller
from tests.kafka.test_main_job import MEGABYTE, SETTLE, Site
from tests.kafka.test_one_broker import TOO_FEW

BROKER, CONTROLLER = "broker", "controller"
VICTIM = 3
LISTS = ([1, 2, 3], [1, 2, 4], [3, 1, 2], [3, 2, 5])
TARGET = {0: [1, 2, 4], 1: [1, 2, 3], 2: [3, 1, 5], 3: [4, 2, 5]}
"""Broker 3 is a source of 0, the target of 1, the leader that stays of 2, and the leader that leaves 3."""
DOWN_SECONDS, END_SECONDS = 20.0, 240.0
Start = Callable[..., Cluster]

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster(shared_kafka_cluster: Start, layout: Layout) -> Cluster:
    return shared_kafka_cluster(replace(layout, controllers=3), in_one_jvm=(1, 2, 4, 5))


def moved(
    cluster: Cluster,
    folder: Path,
    lists: Sequence[Sequence[int]],
    target: Mapping[int, object],
    rate: str,
) -> Site:
    """A topic of its own with some bytes, and a plan that is saved."""
    topic = f"orders-{folder.name[-30:].strip('_')}"
    create_topic(cluster.bootstrap, topic, lists)
    fill(cluster.bootstrap, topic, 15 * MEGABYTE)
    site = Site(cluster, folder, topic)
    (folder / "placement.yaml").write_text(
        f"version: 1\nassignments: {{{topic}: {{partitions: {dict(target)}}}}}\n"
        f"throttles: {{moves: {{rate: {rate}}}}}\n"
    )
    site.replan("plan", "-o", "plan.json", wanted=2)
    return site


@contextmanager
def applied(
    site: Site, *, records_per_second: float, record_bytes: int = 100
) -> Iterator[subprocess.Popen[str]]:
    """Apply the plan under both producers and the consumer; at the end it is done, and so is all that they expect."""
    bootstrap, topic = site.cluster.bootstrap, site.topic
    with (
        Reading(bootstrap, topic) as reading,
        ProducerLoad(
            bootstrap,
            topic,
            settings=EXACTLY_ONCE,
            records_per_second=records_per_second,
            record_bytes=record_bytes,
        ) as safe,
        ProducerLoad(
            bootstrap, topic, records_per_second=30, settings={"retries": 0}, key=b"witness"
        ) as witness,
        site.started("apply", "plan.json", *SETTLE) as process,
    ):
        yield process
        shown, errors = process.communicate(timeout=END_SECONDS)
        seen, account = witness.close(), safe.close()
        assert process.returncode == 0, f"{shown}\n{errors}"
        assert {error.code for error in seen.errors} & TOO_FEW == set()
        assert (account.errors, account.unanswered) == ((), 0)
        assert min(account.acknowledged, seen.acknowledged) > 100
        reading.once_each(account)
    assert site.leftovers() == []


def copying(site: Site) -> bool:
    """Some replica is being added."""
    return any(len(each.replicas) > len(each.isrs) for each in partitions(site))


def confirming(site: Site) -> bool:
    """Some replica was added and is in sync, and none is dropped yet."""
    return any(len(each.replicas) == len(each.isrs) == 4 for each in partitions(site))


def assigned(site: Site) -> bool:
    """A list is as it is to be."""
    return any(each.replicas == TARGET[each.id] for each in partitions(site))


def partitions(site: Site) -> list[Any]:
    found = partition_metadata(admin(site.cluster.bootstrap), site.topic)
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("victim", [BROKER, CONTROLLER])
@pytest.mark.parametrize("phase", [copying, confirming, assigned])
def test_what_is_killed_in_a_phase_of_a_move_loses_nothing(
    cluster: Cluster, tmp_path: Path, phase: Callable[[Site], bool], victim: str
) -> None:
    """What a victim led when that move was over is led by another since: Kafka gives it back, here an election does."""
    site = moved(cluster, tmp_path, LISTS, TARGET, "3MB/s")
    with applied(site, records_per_second=60) as process:
        until(lambda: phase(site), phase.__name__, limit_seconds=120)
        killed = VICTIM if victim == BROKER else active_controller(cluster)
        cluster.kill(killed)
        rest(process, DOWN_SECONDS)
        over = [e.id for e in partitions(site) if e.replicas == TARGET[e.id] and e.leader != killed]
        cluster.start(killed)
    assert {p: replicas for p, (replicas, _) in site.described().items()} == TARGET
    for number in (number for number in over if TARGET[number][0] == killed):
        site.replan("elect", "preferred", "--partition", f"{site.topic}-{number}", wanted=0)
    site.replan("plan", wanted=0)


def rest(process: subprocess.Popen[str], seconds: float) -> None:
    """Let the time pass, or the process end."""
    over = time.monotonic() + seconds
    until(
        lambda: time.monotonic() > over or process.poll() is not None,
        "the end",
        limit_seconds=seconds + 30,
    )


def test_a_bystander_that_restarts_is_in_sync_before_the_next_broker_dies_and_the_rate_is_raised(
    kafka_cluster: Start, layout: Layout, tmp_path: Path
) -> None:
    """The bounce: Kafka's own tool lists the bystander, too, and its catching up starves behind the copies."""
    bystander, leaving, lists = 2, 4, [[1, 2, 4]] * 6
    target = {number: [1, 2, 5] for number in range(6)}
    cluster = kafka_cluster(layout, in_one_jvm=(1, 3, 5, 101))
    site = moved(cluster, tmp_path, lists, target, "1MB/s")
    with applied(site, records_per_second=300, record_bytes=10_000) as process:
        until(lambda: copying(site), "a running copy", limit_seconds=60)
        cluster.kill(bystander)
        rest(process, 12)
        cluster.start(bystander)
        rest(process, 40)
        assert process.poll() is None
        cluster.kill(leaving)
        assert "throttle: 40 MB/s" in site.replan("throttle", "40MB/s", wanted=0)
        rest(process, DOWN_SECONDS)
        cluster.start(leaving)
    assert {p: replicas for p, (replicas, _) in site.described().items()} == target
    site.replan("plan", wanted=0)
