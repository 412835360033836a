"""A loop keeps its laws (`loop_laws`) on drawn histories of weeks, whatever happens to its cluster and to itself.

`python -m tests.properties.hunt_loop` runs any number of them, and makes what it finds smaller.
"""

from hypothesis import given
from hypothesis import strategies as st
from tests.properties.hostile import as_found
from tests.properties.loop_histories import drawn, drawn_outage, happens
from tests.properties.loop_laws import broken, copies_too_much

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
