"""The laws of planning, over any cluster and placement: one value, it arrives, and nothing beyond what is asked."""

import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import CLUSTER_ID, listed_leader, placement, snapshot, state
from tests.readings import find_drift
from tests.strategies import BROKERS, Fleetlet, fleetlets, replica_lists

from replan.model.api import (
    Broker,
    PartitionState,
    RememberedOrder,
    Replicas,
    Snapshot,
    TopicPartition,
)
from replan.planning.api import (
    DifferenceKind,
    Done,
    Move,
    Request,
    RequestKind,
    Wait,
    dumps,
    make_plan,
    next_request,
)


@given(fleetlets(), st.data())
def test_the_same_input_gives_the_same_bytes_whatever_its_order(
    fleetlet: Fleetlet, data: st.DataObject
) -> None:
    asked, seen = fleetlet.placement, fleetlet.snapshot
    moved = replace(
        seen,
        brokers=tuple(data.draw(st.permutations(seen.brokers))),
        partitions=_in_chunks(seen.partitions, data),
        remembered=dict(data.draw(st.permutations(list(seen.remembered.items())))),
    )
    reordered = replace(
        asked,
        explicit=asked.explicit.take(
            pa.array(data.draw(st.permutations(range(asked.explicit.num_rows))), pa.int64())
        ),
        topics=dict(data.draw(st.permutations(list(asked.topics.items())))),
        preferred_leaders=dict(data.draw(st.permutations(list(asked.preferred_leaders.items())))),
        leader_blacklist=(
            None
            if asked.leader_blacklist is None
            else tuple(data.draw(st.permutations(asked.leader_blacklist)))
        ),
    )
    expected = dumps(make_plan(asked, seen))
    assert dumps(make_plan(reordered, moved)) == expected


def _in_chunks(table: pa.Table, data: st.DataObject) -> pa.Table:
    cut = data.draw(st.integers(0, table.num_rows))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


@given(fleetlets())
def test_the_moment_of_observation_is_not_in_the_plan(fleetlet: Fleetlet) -> None:
    later = replace(fleetlet.snapshot, observed_at="2026-11-21T03:00:01Z")
    assert make_plan(fleetlet.placement, later) == make_plan(fleetlet.placement, fleetlet.snapshot)


@given(fleetlets())
def test_a_plan_arrives_and_planning_again_gives_nothing_for_what_was_done(
    fleetlet: Fleetlet,
) -> None:
    asked, seen = fleetlet.placement, fleetlet.snapshot
    made = make_plan(asked, seen)
    done = {m.partition: arrive(m, _state(seen, m.partition)) for m in made.moves}
    after = _with(seen, done, _remembered(seen, made.moves, made.remember))
    again = make_plan(asked, after)
    assert {m.partition for m in again.moves}.isdisjoint(done)
    assert {r.partition for r in again.refusals} == {r.partition for r in made.refusals}
    assert {d.partition for d in find_drift(asked, after).partitions}.isdisjoint(done)


@given(fleetlets())
def test_a_placement_that_does_not_speak_of_the_leader_blacklist_brings_no_order_back(
    fleetlet: Fleetlet,
) -> None:
    asked, seen = replace(fleetlet.placement, leader_blacklist=None), fleetlet.snapshot
    rows = asked.explicit.select(["topic", "partition"]).to_pylist()
    named = {TopicPartition(r["topic"], r["partition"]) for r in rows} | {*asked.preferred_leaders}
    recovered = {name for name, kept in seen.remembered.items() if kept.recovered}
    assert {m.partition for m in make_plan(asked, seen).moves} <= named | recovered


@given(fleetlets())
def test_off_the_blacklist_every_undeclared_order_is_what_it_was(fleetlet: Fleetlet) -> None:
    seen = replace(fleetlet.snapshot, remembered={})
    blacklisting = replace(fleetlet.placement, preferred_leaders={})
    made = make_plan(blacklisting, seen)
    done = {m.partition: arrive(m, _state(seen, m.partition)) for m in made.moves}
    after = _with(seen, done, _remembered(seen, made.moves, made.remember))
    free = replace(blacklisting, leader_blacklist=())
    back = {m.partition: m.target for m in make_plan(free, after).moves}
    assert made.remember <= set(done)
    assert {p: back.get(p) for p in made.remember} == {
        m.partition: m.original for m in made.moves if m.partition in made.remember
    }


@given(fleetlets())
def test_every_partition_is_moved_or_refused_or_not_mentioned_and_each_once(
    fleetlet: Fleetlet,
) -> None:
    made = make_plan(fleetlet.placement, fleetlet.snapshot)
    moved = [m.partition for m in made.moves]
    refused = {r.partition for r in made.refusals}
    assert len(set(moved)) == len(moved)
    assert refused.isdisjoint(moved)
    drifted = find_drift(fleetlet.placement, fleetlet.snapshot).partitions
    """A partition without a leader is drift, and no move helps it."""
    leaderless = {d.name for d in drifted if d.kind is DifferenceKind.NO_LEADER}
    assert all(p and _state(fleetlet.snapshot, p).leader is None for p in leaderless)
    others = {d.name for d in drifted if d.kind is not DifferenceKind.NO_LEADER}
    assert refused | set(moved) == others


@given(fleetlets())
def test_what_is_where_it_belongs_is_not_moved(fleetlet: Fleetlet) -> None:
    seen = fleetlet.snapshot
    for move in make_plan(fleetlet.placement, seen).moves:
        found = _state(seen, move.partition)
        assert move.original == found.replicas
        assert (move.original, found.leader) != (move.target, move.target[0])
        assert set(move.new).isdisjoint(move.original)


@given(st.lists(replica_lists(least=2), min_size=1, max_size=4), st.data())
def test_nobody_is_to_lead_who_is_not_registered_whatever_is_said_to_be_in_sync(
    lists: list[Replicas], data: st.DataObject
) -> None:
    """A snapshot that is written by hand, or taken while a broker is unregistered, may name it in an ISR."""
    gone = data.draw(st.sampled_from([of[0] for of in lists]))
    registered = [Broker(b, "a") for b in BROKERS if b != gone]
    listed = data.draw(st.sets(st.sampled_from(BROKERS), max_size=3))
    leaders = [data.draw(st.sampled_from([b for b in of if b != gone])) for of in lists]
    states = [
        state(of, of, leader=leader, partition=number)
        for number, (of, leader) in enumerate(zip(lists, leaders, strict=True))
    ]
    seen, asked = (
        snapshot(states, registered=registered),
        placement(blacklist=[listed_leader(b) for b in sorted(listed)]),
    )
    made = make_plan(asked, seen)
    assert gone not in {m.target[0] for m in made.moves}
    about = {r.partition for r in made.refusals} | {m.partition for m in made.moves}
    assert about == {d.name for d in find_drift(asked, seen).partitions}


@given(fleetlets())
def test_overlays_reorder_a_declared_list_and_never_change_its_members(fleetlet: Fleetlet) -> None:
    declared = {
        TopicPartition(r["topic"], r["partition"]): sorted(r["replicas"])
        for r in fleetlet.placement.explicit.to_pylist()
    }
    for move in make_plan(fleetlet.placement, fleetlet.snapshot).moves:
        members = declared.get(move.partition, sorted(move.original))
        assert sorted(move.target) == members


def arrive(move: Move, seen: PartitionState) -> PartitionState:
    """Perform a move on a cluster where whoever is waited for is in sync at once, and nobody else."""
    for _ in range(8):
        request = next_request(move, seen, settled=True)
        if isinstance(request, Done):
            return seen
        if isinstance(request, Wait):
            assert request.missing
            seen = replace(seen, isr=(*seen.isr, *sorted(request.missing)))
            continue
        assert isinstance(request, Request), request
        if request.kind is RequestKind.ELECT:
            seen = replace(seen, leader=request.replicas[0])
        else:
            isr = tuple(b for b in request.replicas if b in seen.isr or b in move.new)
            leader = seen.leader if seen.leader in isr else isr[0]
            seen = replace(seen, replicas=request.replicas, isr=isr, leader=leader)
    raise AssertionError(f"{move} does not arrive: {seen}")


def _state(seen: Snapshot, name: TopicPartition) -> PartitionState:
    found = seen.partition(name)
    assert found is not None
    return found


def _remembered(
    seen: Snapshot, moves: tuple[Move, ...], remember: frozenset[TopicPartition]
) -> dict[TopicPartition, RememberedOrder]:
    before = {name: set(kept.order) for name, kept in seen.remembered.items()}
    first = {
        m.partition: seen.remembered[m.partition].order
        for m in moves
        if before.get(m.partition) == set(m.original)
    }
    written = {
        m.partition: RememberedOrder(first.get(m.partition, m.original), m.topic_id) for m in moves
    }
    return dict(seen.remembered) | {p: written[p] for p in remember}


def _with(
    seen: Snapshot,
    done: dict[TopicPartition, PartitionState],
    remembered: dict[TopicPartition, RememberedOrder],
) -> Snapshot:
    """The snapshot with these partitions as they are now."""
    assume(seen.partitions.num_rows)
    states = [done.get(s.partition, s) for s in seen.states(range(seen.partitions.num_rows))]
    rebuilt = snapshot(states, registered=seen.brokers, remembered=remembered)
    assert seen.cluster_id == CLUSTER_ID
    return replace(rebuilt, topics=seen.topics)
