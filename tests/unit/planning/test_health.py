"""Health in Kafka's own words, as its metrics count them."""

from tests.builders import snapshot, state

from replan.model.partition import PartitionState
from replan.planning.findings.health import judge


def word(found: PartitionState) -> str | None:
    unhealthy = judge(snapshot([found], min_insync_replicas=2)).unhealthy
    return unhealthy[0].health if unhealthy else None


def test_adding_replicas_do_not_make_a_partition_under_replicated() -> None:
    copying = state([1, 2, 5, 3], isr=[1, 2, 3], adding=[5], removing=[3])
    assert word(copying) is None
    assert word(state([1, 2, 5, 3], isr=[1, 2], adding=[5], removing=[3])) == "at-min-ISR"


def test_the_worst_word_that_fits_is_reported() -> None:
    assert word(state([1, 2, 3, 4], isr=[1, 2, 3])) == "under-replicated"
    assert word(state([1, 2, 3], isr=[1, 2])) == "at-min-ISR"
    assert word(state([1, 2, 3], isr=[1])) == "under-min-ISR"
    assert word(state([1, 2, 3], isr=[1], leader=None)) == "offline"
