"""A loop keeps its laws (`loop_laws`) on drawn histories of weeks, whatever happens to its cluster and to itself.

`python -m tests.properties.hunt_loop` runs any number of them, and makes what it finds smaller.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.hostile import as_found
from tests.properties.loop_histories import (
    FULL_ABOVE,
    HOUR,
    MB,
    Away,
    Declared,
    History,
    KilledLoop,
    Paused,
    drawn,
    drawn_outage,
    happens,
)
from tests.properties.loop_laws import broken, copies_too_much

from replan.model.api import DeviationKind, Reconcile
from replan.reconciling.api import FitsNowhere

HARD = as_found(fast=2, full=20, nightly=4_000)
BROKER = as_found(fast=2, full=10, nightly=1_000)
SEEDS = st.integers(0, 2**40)


@HARD
@given(SEEDS)
def test_a_loop_keeps_its_laws_whatever_happens_in_weeks(seed: int) -> None:
    run = happens(drawn(seed))
    assert list(broken(run)) == []


@BROKER
@given(SEEDS)
def test_a_broker_that_is_away_costs_at_most_its_replicas_once(seed: int) -> None:
    history, lasts = drawn_outage(seed)
    run = happens(history)
    assert list(copies_too_much(run, lasts)) == []
    assert list(broken(run)) == []


def test_what_gives_room_to_others_without_a_balance_is_not_out_of_balance() -> None:
    """Small disks: broker 4 is drained, and one that could stay moves on for its replicas."""
    base, large, small = ((4, 2), (2, 3), (6, 2), (1, 5), (4, 3), (5, 1)), 2_000 * MB, 430 * MB
    done = {}
    for kind in (DeviationKind.OUT_OF_BALANCE, DeviationKind.PLACEMENT_CHANGED):
        history = History(
            policy=Reconcile({kind: 0}),
            events=(Declared(HOUR, base, frozenset({4})),),
            hours=6,
            by_rule=True,
            base=base,
            volumes=(small, small, small, large, small, large),
        )
        done[kind] = [r.moves for r in happens(history).month.watched.rounds.values()]
    assert done == {DeviationKind.OUT_OF_BALANCE: [], DeviationKind.PLACEMENT_CHANGED: [3]}


def test_nothing_leaves_a_rack_whose_brokers_are_all_full() -> None:
    """A rule of one replica a rack would ask it back as soon as one of them has room."""
    base, large, small = ((1, 2, 3), (4, 2, 3), (1, 5, 6), (4, 5, 6)), 2_000 * MB, 230 * MB
    kinds = (DeviationKind.LOG_DIR_FULL, DeviationKind.PLACEMENT_CHANGED)
    history = History(
        policy=Reconcile(dict.fromkeys(kinds, 0), full_above=FULL_ABOVE),
        events=(),
        hours=6,
        by_rule=True,
        base=base,
        volumes=(small, large, large, small, large, large),
    )
    run = happens(history)
    assert run.month.watched.rounds == {}
    deviations = run.seen.statuses[-1].deviations
    full = [(broker, path) for broker in (1, 4) for path in ("/a", "/b")]
    assert [(d.subject.broker, d.subject.path) for d in deviations] == full
    assert [d.why_not for d in deviations] == [FitsNowhere(4_500_000)] * 4


@pytest.mark.parametrize("effects", range(4, 14))
def test_what_a_killed_loop_leaves_half_way_is_its_own_change(effects: int) -> None:
    """Killed at an effect of a round, then a broker of the old list dies, and a person cancels: nothing goes back."""
    kind, dead = DeviationKind.PLACEMENT_CHANGED, HOUR + 300.0
    history = History(
        policy=Reconcile({kind: 0}),
        events=(
            Declared(HOUR, ((1, 4, 5),)),
            KilledLoop(HOUR, effects, True, gap=HOUR / 2),
            Away((2,), dead, (12 * HOUR,), "kill"),
            Paused(dead + 60.0, dead + HOUR + 60.0, cancels=True),
        ),
        hours=48,
        base=((1, 2, 3),),
    )
    run = happens(history)
    assert list(broken(run)) == []
    assert {*run.month.simulation.cluster.topics["orders"].partitions[0].replicas} == {1, 4, 5}
