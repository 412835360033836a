"""The controller's periodic rebalance on real controllers: the facts that the simulator's timers rest on.

QuorumController.maybeScheduleNextBalancePartitionLeaders (3.9.2), PeriodicTaskControlManager (4.3.1, 4.4.0).
"""

import time

import pytest
from tests.kafka.clusters import heard
from tests.kafka.harness.arena import Arena
from tests.kafka.harness.clients import until
from tests.kafka.harness.distribution import VERSIONS
from tests.kafka.harness.fake_brokers import FakeBrokers

pytestmark = [pytest.mark.kafka, pytest.mark.nightly]
INTERVAL_SECONDS = 8
MORE_THAN_A_RUN = 2_500
"""A run holds 1,000 elections (ReplicationControlManager.maxElectionsPerImbalance)."""
TOPIC = "orders"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_run_is_followed_at_once_and_up_to_3_9_the_interval_begins_with_the_need(
    version: str, pytestconfig: pytest.Config
) -> None:
    settings = {
        "auto.leader.rebalance.enable": "true",
        "leader.imbalance.check.interval.seconds": str(INTERVAL_SECONDS),
    }
    with (
        FakeBrokers(version, properties=settings) as controller,
        heard(pytestconfig, controller),
        Arena(controller, (1, 2, 3)) as arena,
    ):
        arena.create_topic(TOPIC, [[1, 2, 3]] * MORE_THAN_A_RUN)
        reorder(arena, 2, 1, 3)
        begun = led_by(arena, 2, 1)
        ended = led_by(arena, 2, MORE_THAN_A_RUN)
        assert ended - begun < INTERVAL_SECONDS / 2, "three runs"

        until(lambda: time.monotonic() > ended + 4, "half an interval", limit_seconds=5)
        needed = time.monotonic()
        reorder(arena, 3, 2, 1)
        waited = led_by(arena, 3, 1) - needed
        whole = version.startswith("3.")
        assert (waited > INTERVAL_SECONDS - 2) == whole, f"{waited:.1f} s"


def reorder(arena: Arena, *replicas: int) -> None:
    """Give all partitions this order; who leads goes on."""
    answers = arena.reassign({(TOPIC, n): replicas for n in range(MORE_THAN_A_RUN)})
    assert {answer.code for answer in answers.values()} == {0}


def led_by(arena: Arena, broker: int, count: int) -> float:
    """When a broker leads so many partitions, or more."""

    def leads() -> bool:
        return sum(found.leader == broker for found in arena.states(TOPIC).values()) >= count

    until(leads, f"{broker} to lead {count}", limit_seconds=3 * INTERVAL_SECONDS)
    return time.monotonic()
