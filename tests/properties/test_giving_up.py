"""An application that is given up at any moment, whatever fails: what is given up does not take effect later.

1. Once `abandon` has ended, no throttle that replan has set is left, now or later; what could not be restored, as the
   rate of a broker that is down, the journal goes on to know, and the exit code says so.
2. Where it let nothing run on, it ends with nothing running, and the lists stay as they are from then on: no request of
   the application arrives any more.
"""

from collections.abc import Mapping
from contextlib import suppress

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.properties.hostile import Case, as_found, cases
from tests.unit.applying.lab import Boundary, Killed, Lab

from replan.applying.api import Outcome, RunningCopies, Settings
from replan.errors import ClusterUnreachable, Exit, Held
from replan.model.api import Replicas, TopicPartition
from replan.planning.api import Broken, throttles_are_known
from replan.rehearsal.api import journalled_throttles, throttles_of
from replan.simulator.api import (
    LoseRequests,
    SimulatedControlPlane,
    VirtualClock,
    WriteKind,
    scheduled,
)

HARD = as_found(fast=4, full=40, nightly=3_000)
TRIES = 10
LATE = 60.0
LATER = 300.0
"""Longer than any request is held back, and than brokers are away."""


LIVES = st.tuples(st.integers(1, 25), st.integers(1, 4), st.sampled_from(WriteKind))
"""After how many effects a process is killed, and the next one, of whose requests the first of a kind arrives late."""


@HARD
@given(cases(others=False), LIVES, st.sampled_from(RunningCopies))
def test_what_is_given_up_does_not_take_effect_later(
    case: Case, lives: tuple[int, int, WriteKind], copies: RunningCopies
) -> None:
    before = throttles_of(case.stage.cluster)
    made = begun(case, *lives)
    assume(made.ledger.application is not None)
    outcome = given_up(made, copies)
    assume(outcome is not None)
    restored = outcome is not None and outcome.exit_code is Exit.OK
    assert unknown_throttles(made, before, restored=restored) == []
    at_the_end = lists(made)
    if copies is not RunningCopies.UNTHROTTLED:
        assert not any(copied for _, copied in at_the_end.values())
    made.clock.sleep(max(0.0, case.over_at - made.clock.now()) + LATER)
    assert unknown_throttles(made, before, restored=restored) == []
    if copies is not RunningCopies.UNTHROTTLED:
        assert lists(made) == at_the_end


def begun(case: Case, effects: int, more: int, late: WriteKind) -> Lab:
    """An application that was killed after so many effects, and once more after some, or has ended before."""
    clock = VirtualClock()
    stage = replace(case.stage, world=scheduled(case.stage.world, case.schedule))
    limits = Settings(slots_per_broker=case.slots, give_up_seconds=600)
    made = Lab(SimulatedControlPlane(stage, clock), clock, case.plan, settings=limits)
    with suppress(Killed, Held, ClusterUnreachable):
        made.apply(boundary=Boundary(kill_after=effects))
    if made.ledger.application is not None:
        made.plane.inject(LoseRequests(late, 1, LATE))
        with suppress(Killed, Held, ClusterUnreachable):
            made.apply(boundary=Boundary(kill_after=more))
    return made


def given_up(made: Lab, copies: RunningCopies) -> Outcome | None:
    """How it could be given up, in some tries; None where it could not."""
    for _ in range(TRIES):
        made.plane.connect_again()
        with suppress(Held, ClusterUnreachable):
            return made.abandon(copies)
        made.clock.sleep(60)
    return None


def lists(made: Lab) -> dict[TopicPartition, tuple[Replicas, bool]]:
    """The list of every partition, and whether a replica is copied for it.

    A reassignment that copies nothing any more may wait for a broker of the original list that is down.
    """
    return {
        name: (found.replicas, not set(found.adding) <= set(found.isr))
        for name, found in made.plane.simulation.cluster.partitions()
    }


def unknown_throttles(
    made: Lab, before: Mapping[tuple[str, str, str], str], *, restored: bool
) -> list[Broken]:
    """What differs from before, and the journal does not know; it knows nothing where all is restored."""
    known = journalled_throttles(made.journal.read())
    assert not (restored and known)
    now = throttles_of(made.plane.simulation.cluster)
    return list(throttles_are_known(before, now, known))
