"""What is remembered of a partition that waits never changes a decision; it only saves judging it again."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import brokers, move, state
from tests.unit.applying.journal.records import begun
from tests.unit.applying.lab import plan_of

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Job,
    KeptHolds,
    LastRequest,
    PartitionInput,
    Reached,
    Repeat,
    RunState,
    Settings,
    TickInput,
    decide,
    first_state,
    fold,
)
from replan.model.api import (
    BrokerId,
    Look,
    OutcomeUnknown,
    PartitionState,
    Reassignment,
    Rejected,
    TopicPartition,
    TopicSettings,
    replicas,
)
from replan.planning.api import RequestKind

COPY = move([1, 2, 3], [1, 2, 4], size=100)
NAME = COPY.partition
EXPANDED = replicas(1, 2, 3, 4)
RUNNING = Reassignment(EXPANDED, replicas(4), ())
APP = Application("a-1", ApplicationStatus.OPEN, "d", "m", "cluster", "ann")
OWN = begun(
    COPY,
    asked=LastRequest(RequestKind.EXPAND, EXPANDED, confirmed=True),
    past=(EXPANDED,),
    reached=Reached.EXPANDED,
)
Case = tuple[TickInput, RunState]


def copying() -> Case:
    """A partition that copies, and a run that knows nothing of it but its record."""
    job = Job.of(plan_of([COPY]), Settings())
    seen = Look(
        brokers={b.id: b for b in brokers()},
        partitions={NAME: state(EXPANDED, [1, 2, 3], adding=[4])},
        topics={"orders": TopicSettings(2)},
        running={NAME: RUNNING},
    )
    return TickInput(job=job, look=seen, now=100, ended=100), first_state(job, fold([APP, OWN]), 0)


def later(tick: TickInput, **seen: Any) -> TickInput:
    """The next tick, which sees something else."""
    return replace(tick, now=101, ended=101, look=replace(tick.look, **seen))


def shown(isr: list[int], **more: Any) -> dict[TopicPartition, PartitionState]:
    """The partition, with another ISR."""
    return {NAME: state(EXPANDED, isr, adding=[4], **more)}


def knowing(run: RunState, **more: Any) -> RunState:
    """What a process knows of the requests of moves."""
    return replace(run, moves=replace(run.moves, **more))


def nothing(tick: TickInput, run: RunState) -> Case:
    """The next tick, which sees the same."""
    return later(tick), run


CHANGES: dict[str, Callable[[TickInput, RunState], Case]] = {
    "nothing": nothing,
    "in sync": lambda t, s: (later(t, partitions=shown([1, 2, 3, 4])), s),
    "no leader": lambda t, s: (later(t, partitions=shown([1], leader=None)), s),
    "gone": lambda t, s: (later(t, partitions={}), s),
    "unclear": lambda t, s: (later(t, unclear=frozenset({NAME})), s),
    "another min ISR": lambda t, s: (later(t, topics={"orders": TopicSettings(3)}), s),
    "unclean election": lambda t, s: (
        later(t, topics={"orders": TopicSettings(2, unclean_election=True)}),
        s,
    ),
    "topic gone": lambda t, s: (later(t, topics={}), s),
    "target fenced": lambda t, s: (
        later(t, brokers={b.id: b for b in brokers(fenced=[4])}),
        s,
    ),
    "target unregistered": lambda t, s: (later(t, brokers={b.id: b for b in brokers(3)}), s),
    "refused": lambda t, s: (
        later(t),
        knowing(s, answers={NAME: Rejected(39, "INVALID_REPLICA_ASSIGNMENT", "no")}),
    ),
    "unknown": lambda t, s: (
        later(t),
        knowing(s, answers={NAME: OutcomeUnknown("late")}, unknown_since={NAME: 100.0}),
    ),
    "to repeat": lambda t, s: (later(t), knowing(s, repeats={NAME: Repeat(1, 105.0)})),
    "log missing": lambda t, s: (
        later(t),
        replace(s, history=replace(s.history, misses={(NAME, BrokerId(4)): 3})),
    ),
    "settled": lambda t, s: (
        later(t),
        replace(s, history=replace(s.history, target_in_sync={NAME: 0.0}, vouched=20.0)),
    ),
    "asked again": lambda t, s: (
        later(t),
        replace(s, ledger=fold([APP, replace(OWN, reached=Reached.NOTHING)])),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_decision_is_the_same_without_what_is_remembered(change: str) -> None:
    tick, run = copying()
    _, after = decide(tick, run)
    assert NAME in after.waits.of
    given = CHANGES[change](tick, after)
    forgetful = given[0], replace(given[1], waits=KeptHolds())
    found, expected = decide(*given)[0], decide(*forgetful)[0]
    assert replace(found, waits=KeptHolds()) == replace(expected, waits=KeptHolds())
    assert found.waits == expected.waits


def test_whoever_adds_something_to_judge_by_says_how_a_change_of_it_is_noticed() -> None:
    known = {"own", "given_up_list", "state", "settled", "look"}
    concerns = {
        "answer",
        "repeat_seconds",
        "repeat_refusal",
        "refusal",
        "quarantine_seconds",
        "logless",
    }
    never_changes = {"move", "settle_seconds", "racks"}
    assert set(PartitionInput.__struct_fields__) == known | concerns | never_changes


def test_it_is_not_judged_again_while_nothing_changes() -> None:
    tick, run = copying()
    _, after = decide(tick, run)
    again, _ = decide(*nothing(tick, after))
    assert again.waits.of[NAME] is after.waits.of[NAME]
