"""Hypothesis: clusters and placements that fit each other, small enough to shrink and odd enough to hurt."""

from dataclasses import dataclass

from hypothesis import strategies as st
from tests.builders import TOPIC_ID, listed_leader, placement, snapshot, state

from replan.model.api import (
    Broker,
    BrokerId,
    LeaderBlacklist,
    PartitionState,
    Placement,
    RememberedOrder,
    Replicas,
    Snapshot,
    TopicPartition,
)

TOPICS = ("__offsets", "clicks", "orders", "orders.eu")
BROKERS = tuple(BrokerId(b) for b in range(1, 7))


@dataclass(frozen=True)
class Fleetlet:
    """One cluster and what is asked of it."""

    placement: Placement
    snapshot: Snapshot


def replica_lists(
    brokers: tuple[BrokerId, ...] = BROKERS, *, least: int = 1, most: int = 4
) -> st.SearchStrategy[Replicas]:
    """Lists without repetition, of unequal length."""
    return st.lists(st.sampled_from(brokers), min_size=least, max_size=most, unique=True).map(tuple)


@st.composite
def partition_states(
    draw: st.DrawFn, name: TopicPartition, fenced: frozenset[BrokerId] = frozenset()
) -> PartitionState:
    """A partition as a controller could have it: in-sync replicas are live, but for the last one."""
    target = draw(replica_lists())
    adding = draw(st.sets(st.sampled_from(target), max_size=2)) if draw(st.booleans()) else set()
    removing = [b for b in BROKERS if b not in target]
    removing = removing[: draw(st.integers(0, 2))] if draw(st.integers(0, 3)) == 0 else []
    listed = (*target, *removing)
    live = [b for b in listed if b not in fenced]
    isr = [b for b in live if draw(st.integers(0, 3))] or listed[:1]
    leaders = [b for b in isr if b in live]
    running = draw(st.booleans())
    return state(
        listed,
        isr,
        leader=draw(st.sampled_from(leaders)) if leaders else None,
        adding=sorted(adding) if running else (),
        removing=removing if running else (),
        topic=name.topic,
        partition=name.partition,
        size=draw(st.integers(0, 10**9)),
    )


@st.composite
def fleetlets(draw: st.DrawFn) -> Fleetlet:
    """A cluster of a few topics, some partitions declared, leaders preferred or demoted, orders remembered."""
    fenced = frozenset(draw(st.sets(st.sampled_from(BROKERS), max_size=2)))
    gone = draw(st.sampled_from([None, *sorted(fenced)]))
    """Not registered any more, and still in lists; what is declared names none of these."""
    names = [
        TopicPartition(topic, p)
        for topic in draw(st.lists(st.sampled_from(TOPICS), unique=True, max_size=3))
        for p in range(draw(st.integers(1, 2)))
    ]
    states = [draw(partition_states(name, fenced)) for name in names]
    declared: dict[str, dict[int, Replicas]] = {}
    leaders: dict[str, int] = {}
    remembered: dict[TopicPartition, RememberedOrder] = {}
    for seen in states:
        topic, number = seen.partition
        goal = seen.replicas if seen.running is None else seen.running.target
        if draw(st.booleans()):
            goal = draw(st.sampled_from([goal, draw(replica_lists())]))
            goal = tuple(b for b in goal if b != gone) or (BROKERS[0 if gone != BROKERS[0] else 1],)
            declared.setdefault(topic, {})[number] = goal
        if draw(st.integers(0, 3)) == 0 and goal != (gone,):
            leaders[str(seen.partition)] = draw(st.sampled_from([b for b in goal if b != gone]))
        if draw(st.integers(0, 3)) == 0:
            order = tuple(draw(st.permutations(seen.replicas)))
            remembered[seen.partition] = RememberedOrder(
                order, TOPIC_ID, recovered=draw(st.booleans())
            )
    return Fleetlet(
        placement(declared, leaders=leaders, blacklist=draw(blacklists())),
        snapshot(
            states,
            registered=[
                Broker(b, "ab"[b % 2], fenced=b in fenced, cordoned=draw(st.integers(0, 9)) == 0)
                for b in BROKERS
                if b != gone
            ],
            min_insync_replicas=draw(st.integers(1, 3)),
            unclean=draw(st.lists(st.sampled_from(TOPICS), max_size=1)),
            remembered=remembered,
        ),
    )


def blacklists() -> st.SearchStrategy[list[LeaderBlacklist] | None]:
    """Some entries, on all topics or on some, none of them, or not a word."""
    topics = st.sampled_from([None, ("orders",), ("orders*", "clicks"), ("__*",)])
    entry = st.builds(
        listed_leader,
        st.integers(1, 8),
        topics=topics,
        line=st.integers(201, 209),
        later=st.booleans(),
        until_caught_up=st.booleans(),
    )
    return st.none() | st.lists(entry, max_size=3)
