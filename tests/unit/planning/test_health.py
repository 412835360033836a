"""Health in Kafka's own words, as its metrics count them."""

import pyarrow as pa
from msgspec.structs import replace
from tests.builders import snapshot, state

from replan.model.api import ConfigSource, PartitionState
from replan.planning.api import health_of


def word(found: PartitionState) -> str | None:
    unhealthy = health_of(snapshot([found], min_insync_replicas=2)).unhealthy
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


def test_a_topic_whose_min_isr_is_not_known_is_named_where_a_replica_is_out_of_sync() -> None:
    """Kafka's default of 1 stands for it, by which one replica in sync is enough."""
    listed = [state([1, 2, 3], isr=[1]), state([1, 2], topic="whole")]
    seen = snapshot(listed, min_insync_replicas=1)
    unknown = pa.array([int(ConfigSource.UNKNOWN)] * 2, seen.topics["min_insync_source"].type)
    at = seen.topics.schema.get_field_index("min_insync_source")
    unread = replace(seen, topics=seen.topics.set_column(at, seen.topics.schema.field(at), unknown))

    assert health_of(seen).unread == ()
    assert health_of(unread).unread == ("orders",)
