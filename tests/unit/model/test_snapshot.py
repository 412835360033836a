"""Looking things up in a snapshot, against looking at every row."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state
from tests.strategies import Fleetlet, fleetlets

from replan.model.api import ConfigSource, TopicPartition, TopicSettings

NAMES = st.sampled_from(["", "clicks", "orders", "orders.", "orders.eu", "zz", "__offsets"])


@given(fleetlets(), NAMES, st.integers(0, 3), st.booleans())
def test_a_partition_is_found_where_it_is_and_nowhere_else(
    fleetlet: Fleetlet, topic: str, number: int, chunked: bool
) -> None:
    seen = fleetlet.snapshot
    if chunked:
        halves = [seen.partitions.slice(0, 1), seen.partitions.slice(1)]
        seen = replace(seen, partitions=pa.concat_tables(halves))
    wanted = TopicPartition(topic, number)
    everything = {s.partition: s for s in seen.states(range(seen.partitions.num_rows))}
    assert seen.partition(wanted) == everything.get(wanted)
    rows = seen.topic_rows(topic)
    assert [s.partition for s in seen.states(rows)] == [p for p in everything if p.topic == topic]
    counts = seen.partition_counts()
    assert counts.get(topic, 0) == len(rows)
    assert sum(counts.values()) == len(everything)


@given(fleetlets(), NAMES)
def test_a_topic_is_found_where_it_is_and_nowhere_else(fleetlet: Fleetlet, topic: str) -> None:
    seen = fleetlet.snapshot
    names = seen.topics.column("name").to_pylist()
    assert seen.topic_row(topic) == (names.index(topic) if topic in names else None)
    assert (seen.topic_id(topic) is None) is (topic not in names)
    assert seen.settings(topic) == seen.all_settings().get(topic)


def test_states_come_in_the_order_asked() -> None:
    seen = snapshot([state([1], partition=p) for p in range(3)])
    assert [s.partition.partition for s in seen.states([2, 0, 2])] == [2, 0, 2]
    assert list(seen.states([])) == []


def test_a_state_is_what_was_put_in() -> None:
    put = state([1, 2, 3], [2, 1], leader=None, adding=[3], partition=4, size=9)
    assert snapshot([put]).partition(put.partition) == put


def test_settings_carry_their_source() -> None:
    seen = snapshot([state([1])], min_insync_replicas=2, unclean=["orders"])
    assert seen.settings("orders") == TopicSettings(2, ConfigSource.TOPIC, unclean_election=True)


def test_brokers_are_registered_whether_live_or_not() -> None:
    seen = snapshot([], registered=brokers(3, fenced=[2]))
    assert seen.broker_ids() == {1, 2, 3}
    assert seen.live_brokers() == {1, 3}
