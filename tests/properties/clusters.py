"""Small clusters drawn at random: two topics on six brokers, some replicas out of sync, some led by another."""

from collections.abc import Mapping

from hypothesis import strategies as st
from tests.builders import state

from replan.model.api import BrokerId, PartitionState, Replicas, TopicId
from replan.simulator.api import RULES

MB = 1_000_000
BROKERS = tuple(BrokerId(b) for b in range(1, 7))
TOPIC_IDS = {
    "clicks": TopicId("Y2xpY2tzLWNsaWNrcy0wMA"),
    "orders": TopicId("b3JkZXJzLW9yZGVycy0wMA"),
}
OFFSETS = "__consumer_offsets"
WITH_OFFSETS = {OFFSETS: TopicId("b2Zmc2V0cy1vZmZzZXRzMA"), "orders": TOPIC_IDS["orders"]}
VERSIONS = tuple(RULES)


def lists(least: int = 1, most: int = 4) -> st.SearchStrategy[Replicas]:
    return st.lists(st.sampled_from(BROKERS), min_size=least, max_size=most, unique=True).map(tuple)


@st.composite
def clusters(
    draw: st.DrawFn,
    *,
    sizes: st.SearchStrategy[int],
    partitions: int,
    longest: int,
    topics: Mapping[str, TopicId] = TOPIC_IDS,
) -> list[PartitionState]:
    """Up to so many partitions of each topic, with lists up to so long; `sizes`: in MB. Most are whole."""
    states = []
    for topic, topic_id in topics.items():
        for number in range(draw(st.integers(1 if topic == "orders" else 0, partitions))):
            listed = draw(lists(1, longest))
            whole = draw(st.integers(0, 5)) > 0 or len(listed) < 3
            isr = listed if whole else draw(st.permutations(listed))[:-1]
            leader = isr[0] if draw(st.integers(0, 3)) else draw(st.sampled_from(isr))
            states.append(
                state(
                    listed,
                    isr,
                    leader=leader,
                    topic=topic,
                    topic_id=topic_id,
                    partition=number,
                    size=draw(sizes) * MB,
                )
            )
    return states
