"""Shares, quotas, growing sizes: the arithmetic of simulated time, and that remembering changes nothing."""

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state

from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    TopicPartition,
    broker_change,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    REPLICA_FETCH_BYTES,
    AlterConfigs,
    AlterReassignments,
    CopyRates,
    Disconnect,
    DropFromIsr,
    Fault,
    Forbid,
    KillBroker,
    LagMetadata,
    Lookahead,
    LoseDisk,
    LoseRequests,
    Produce,
    RepeatRequests,
    ReplaceDisks,
    SendLogMoves,
    SendRequest,
    Simulation,
    SlowBroker,
    SlowLooks,
    StartBroker,
    StopBroker,
    Unresponsive,
    advance,
    apply_fault,
    fair_shares,
    from_snapshot,
    grown_sizes,
    passing_rate,
    submit_command,
    useful_share,
)

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
LINKS = "abcdef"


def throttled(key: str, entries: str | None) -> ConfigChange:
    """The topic's throttled replicas of one side; None removes them."""
    operation = ConfigOperation.DELETE if entries is None else ConfigOperation.SET
    return topic_change("orders", key, operation, entries or "")


def limited(broker: int, key: str, rate: int | None) -> ConfigChange:
    """A broker's throttle rate of one side; None removes it."""
    operation = ConfigOperation.DELETE if rate is None else ConfigOperation.SET
    return broker_change(BrokerId(broker), key, operation, str(rate or ""))


@pytest.mark.parametrize(
    ("links", "shares"),
    [
        (["a"], [12]),
        (["a", "a", "a"], [4, 4, 4]),
        (["ab", "a", "b"], [2, 10, 2]),
        (["ab", "b", "ac", "c"], [2, 2, 10, 90]),
        ([], []),
    ],
)
def test_a_copy_gets_its_share_of_the_tightest_link_and_others_what_is_left(
    links: list[str], shares: list[float]
) -> None:
    widths = {"a": 12.0, "b": 4.0, "c": 100.0}
    assert fair_shares(
        [[LINKS.index(link) for link in used] for used in links],
        {LINKS.index(link): width for link, width in widths.items()},
    ) == pytest.approx(shares)


@given(
    links=st.lists(st.sets(st.sampled_from(LINKS), min_size=1).map(sorted), max_size=12),
    widths=st.lists(st.floats(0, 1e9), min_size=6, max_size=6),
)
def test_no_link_carries_more_than_it_can_and_every_copy_meets_a_full_one(
    links: list[list[str]], widths: list[float]
) -> None:
    wide = dict(zip(LINKS, widths, strict=True))
    numbered = [[LINKS.index(link) for link in used] for used in links]
    shares = fair_shares(numbered, dict(enumerate(widths)))
    carried = {k: sum(s for s, used in zip(shares, links, strict=True) if k in used) for k in LINKS}
    full = {k for k in LINKS if carried[k] >= wide[k] * (1 - 1e-9) - 1e-3}
    assert all(carried[k] <= wide[k] * (1 + 1e-9) + 1e-3 for k in LINKS)
    assert all(full.intersection(used) for used in links)


@pytest.mark.parametrize(
    ("rate", "counted", "copies", "passes"),
    [
        (11.5e6, 0, 1, 11e6),
        (21.5e6, 10e6, 1, 11e6),
        (1, 0, 1, REPLICA_FETCH_BYTES / 11.5),
        (0, 0, 3, 3 * REPLICA_FETCH_BYTES / 11.5),
        (0, 0, 300, 10 * REPLICA_FETCH_BYTES / 11.5),
        (0, 1, 1, 0),
        (10e6, 11e6, 1, 0),
    ],
)
def test_what_passes_a_quota(rate: float, counted: float, copies: int, passes: float) -> None:
    assert passing_rate(rate, counted, copies, 0.5) == pytest.approx(passes)


@pytest.mark.parametrize(
    ("batch", "share"),
    [(16_384, 1.0), (900_160, 0.858), (600_000, 0.572), (2_000_000, 1.0), (500_000, 0.954)],
)
def test_the_part_of_a_fetch_that_is_whole_batches(batch: int, share: float) -> None:
    assert useful_share(batch) == pytest.approx(share, abs=0.001)


def test_sizes_grow_where_there_is_a_leader_and_add_up_whatever_the_steps() -> None:
    rates = {P0: 10.0, P1: 5.0}
    once = grown_sizes({P0: 1.0, P1: 2.0}, rates, (), {}, 30)
    steps = grown_sizes(grown_sizes({P0: 1.0, P1: 2.0}, rates, (), {}, 10), rates, (), {}, 20)
    assert once == steps == {P0: 301.0, P1: 152.0}
    assert grown_sizes(once, rates, {P1}, {}, 10) == {P0: 401.0, P1: 152.0}
    assert grown_sizes(once, {}, (), {}, 10) is once
    limited = grown_sizes(once, rates, (), {P0: 310.0, P1: 100.0}, 10)
    assert limited == {P0: 310.0, P1: 152.0}, "larger than its limit it stays as it is"
    assert len(once) == 2


def changed(change: ConfigChange) -> Fault:
    return SendRequest(AlterConfigs((change,)))


FAULTS: Sequence[Fault] = (
    Produce(P0, 3e6),
    Produce(P1, 0),
    KillBroker(BrokerId(2)),
    StopBroker(BrokerId(3)),
    StartBroker(BrokerId(2)),
    LoseDisk(BrokerId(4)),
    ReplaceDisks(BrokerId(4)),
    DropFromIsr(P1, BrokerId(3), 40_000_000),
    SlowBroker(BrokerId(4), 2e6),
    SlowBroker(BrokerId(4), None),
    changed(throttled(LEADER_REPLICAS, "0:1,1:2")),
    changed(throttled(LEADER_REPLICAS, "1:2")),
    changed(throttled(LEADER_REPLICAS, "*")),
    changed(throttled(LEADER_REPLICAS, None)),
    changed(throttled(FOLLOWER_REPLICAS, "0:4,1:3,1:4")),
    changed(limited(1, LEADER_RATE, 3_000_000)),
    changed(limited(1, LEADER_RATE, None)),
    changed(limited(4, FOLLOWER_RATE, 2_000_000)),
)
OF_REPLAN_ALONE = {
    LoseRequests,
    SendLogMoves,
    RepeatRequests,
    Disconnect,
    LagMetadata,
    Unresponsive,
    SlowLooks,
    Forbid,
}
"""What replan meets, and no copy of the brokers does."""


def test_every_fault_that_copies_may_meet_is_drawn() -> None:
    assert {type(fault) for fault in FAULTS} == set(get_args(Fault)) - OF_REPLAN_ALONE


@given(st.lists(st.sampled_from([*FAULTS, None]), max_size=8))
def test_remembering_changes_no_speed(faults: list[Fault | None]) -> None:
    simulation = _copying()
    lookahead = Lookahead()
    for fault in faults:
        moment = simulation.world.now + 1.7
        afresh = advance(simulation, moment)
        simulation = advance(simulation, moment, lookahead=lookahead)
        assert (simulation.cluster, simulation.world.lags) == (afresh.cluster, afresh.world.lags)
        for _ in range(2):
            assert advance(simulation, moment, lookahead=lookahead) == advance(simulation, moment)
        if fault is not None:
            simulation = apply_fault(simulation, fault)
        assert lookahead.copy_rates.of(simulation) == CopyRates().of(simulation)
        assert lookahead.next_moment(simulation) == Lookahead().next_moment(simulation)


def _copying() -> Simulation:
    states = [state([1, 2, 3], partition=0, size=10**9), state([2, 3, 1], partition=1, size=10**8)]
    start = from_snapshot(snapshot(states, registered=brokers(6)))
    start = replace(start, world=replace(start.world, produce={P0: 1e6, P1: 2e6}))
    items = ((P0, replicas(1, 2, 3, 4)), (P1, replicas(2, 3, 4)))
    return submit_command(start, AlterReassignments(items, allow_replication_factor_change=True))[0]
