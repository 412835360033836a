"""A loop keeps its laws (`loop_laws`) on drawn histories of weeks, whatever happens to its cluster and to itself.

`python -m tests.properties.hunt_loop` runs any number of them, and makes what it finds smaller.
"""

from hypothesis import given
from hypothesis import strategies as st
from tests.properties.hostile import as_found
from tests.properties.loop_histories import (
    HOUR,
    MB,
    Declared,
    History,
    drawn,
    drawn_outage,
    happens,
)
from tests.properties.loop_laws import broken, copies_too_much

from replan.model.declared.reconcile import DeviationKind, Reconcile

HARD = as_found(fast=4, full=20, nightly=4_000)
BROKER = as_found(fast=3, full=10, nightly=1_000)
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
