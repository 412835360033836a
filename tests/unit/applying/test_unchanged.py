"""What is remembered of a partition that waits never changes a decision; it only saves judging it again."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.builders import brokers, move, state
from tests.unit.applying.test_decide import APP, Case, case, own

from replan.applying.api import (
    KeptHolds,
    MoveRecord,
    PartitionInput,
    Reached,
    Repeat,
    RequestMemory,
    decide,
    fold,
)
from replan.model.api import (
    BrokerId,
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
OWN = own(COPY, RequestKind.EXPAND, *EXPANDED)


def shown(isr: list[int], **more: Any) -> dict[TopicPartition, PartitionState]:
    """The partition, with another ISR."""
    return {NAME: state(EXPANDED, isr, adding=[4], **more)}


def copying() -> Case:
    """A partition that copies, and a run that knows nothing of it but its record."""
    running = {NAME: Reassignment(EXPANDED, replicas(4), ())}
    return case([COPY], [*shown([1, 2, 3]).values()], owned=(OWN,), running=running)


def without_an_answer(record: MoveRecord, listed: list[int]) -> Case:
    """Its last list may still arrive, and is to be sent again after a pause."""
    assert record.asked is not None
    lost = replace(record, asked=replace(record.asked, confirmed=False), reached=Reached.NOTHING)
    known = RequestMemory(unknown_since={NAME: 99.0}, repeats={NAME: Repeat(2, 100.5)})
    return case([COPY], [state(listed)], owned=(lost,), known=known)


WAITS = {
    "copies": copying(),
    "is confirmed": case([COPY], [state(EXPANDED)], owned=(OWN,)),
    "its list may arrive": without_an_answer(own(COPY, RequestKind.ASSIGN, 1, 2, 4), [1, 2, 4]),
    "is sent again later": without_an_answer(OWN, [1, 2, 3]),
}
Changes = dict[str, Any]
CHANGES: dict[str, tuple[Changes, Changes, Changes]] = {
    "nothing": ({}, {}, {}),
    "in sync": ({"partitions": shown([1, 2, 3, 4])}, {}, {}),
    "no leader": ({"partitions": shown([1], leader=None)}, {}, {}),
    "gone": ({"partitions": {}}, {}, {}),
    "unclear": ({"unclear": frozenset({NAME})}, {}, {}),
    "another min ISR": ({"topics": {"orders": TopicSettings(3)}}, {}, {}),
    "unclean election": ({"topics": {"orders": TopicSettings(2, unclean_election=True)}}, {}, {}),
    "topic gone": ({"topics": {}}, {}, {}),
    "target fenced": ({"brokers": {b.id: b for b in brokers(fenced=[4])}}, {}, {}),
    "target unregistered": ({"brokers": {b.id: b for b in brokers(3)}}, {}, {}),
    "refused": ({}, {"answers": {NAME: Rejected(39, "INVALID_REPLICA_ASSIGNMENT", "no")}}, {}),
    "unknown": (
        {},
        {"answers": {NAME: OutcomeUnknown("late")}, "unknown_since": {NAME: 100.0}},
        {},
    ),
    "answered": ({}, {"unknown_since": {}, "repeats": {}}, {}),
    "to repeat": ({}, {"repeats": {NAME: Repeat(1, 105.0)}}, {}),
    "log missing": ({}, {}, {"misses": {(NAME, BrokerId(4)): 3}}),
    "settled": ({}, {}, {"target_in_sync": {NAME: 0.0}, "vouched": 20.0}),
}
"""What the next look shows, what is known of requests, and what earlier looks have shown."""


def a_second_later(given: Case, change: str) -> Case:
    """The next tick."""
    (tick, run), (seen, requests, looks) = given, CHANGES[change]
    tick = replace(tick, now=101, ended=101, look=replace(tick.look, **seen))
    moves, history = replace(run.moves, **requests), replace(run.history, **looks)
    return tick, replace(run, moves=moves, history=history)


def check_that_nothing_depends_on_it(given: Case) -> None:
    tick, run = given
    found, expected = decide(tick, run)[0], decide(tick, replace(run, waits=KeptHolds()))[0]
    assert found == expected


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("wait", WAITS)
def test_a_decision_is_the_same_without_what_is_remembered(wait: str, change: str) -> None:
    tick, run = WAITS[wait]
    _, after = decide(tick, run)
    assert NAME in after.holds
    check_that_nothing_depends_on_it(a_second_later((tick, after), change))


def test_it_is_the_same_where_its_record_is_another_one() -> None:
    tick, run = copying()
    _, after = decide(tick, run)
    asked_again = fold([APP, replace(OWN, reached=Reached.NOTHING)])
    check_that_nothing_depends_on_it((tick, replace(after, ledger=asked_again)))


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
    again, _ = decide(*a_second_later((tick, after), "nothing"))
    assert again.waits.of[NAME] is after.waits.of[NAME]
