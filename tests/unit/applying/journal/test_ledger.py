"""What the records of a journal mean together."""

import pytest
from tests.builders import TOPIC_ID
from tests.unit.applying.journal.records import APP, P0, RECORDS

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import Journal, MemoryJournal
from replan.applying.journal.records import Application, ApplicationStatus, Forget, Record
from replan.applying.journal.steps import MoveRecord, Status
from replan.errors import Held
from replan.model.configs import FOLLOWER_REPLICAS, LEADER_RATE
from replan.model.names import replicas
from replan.model.snapshot import RememberedOrder


def filled() -> Journal:
    journal = MemoryJournal()
    journal.append(RECORDS)
    return journal


def test_the_fold_finds_the_open_application_and_what_is_its() -> None:
    ledger = fold(filled().read())
    assert ledger.application == APP
    assert set(ledger.owned) == {P0, P0._replace(partition=1)}
    assert set(ledger.open) == {P0}
    assert ledger.plan_text("a-1") == '{"kind": "é"}\nrest'
    assert ledger.applications("d" * 64) == [APP]
    assert set(ledger.entries) == {("orders", FOLLOWER_REPLICAS)}
    assert set(ledger.rates) == {(4, LEADER_RATE), (5, LEADER_RATE)}
    assert ledger.remembered() == {P0: RememberedOrder(replicas(3, 1, 2), TOPIC_ID)}
    assert [o.partition.partition for o in ledger.ended(Status.STALE)] == [1]


def test_folding_step_by_step_is_folding_at_once() -> None:
    more: tuple[Record, ...] = (
        MoveRecord("a-1", P0, TOPIC_ID, replicas(1, 2, 3), replicas(4, 2, 5), Status.DONE),
        MoveRecord("b-1", P0, TOPIC_ID, replicas(1), replicas(2)),
        Forget("prior/broker/4/leader.replication.throttled.rate"),
        Application("a-1", ApplicationStatus.CLOSED, "d", "m", "cluster", "ann"),
    )
    ledger = fold([])
    for record in (*RECORDS, *more):
        ledger = ledger.after([record])
    assert ledger == fold([*RECORDS, *more])
    assert ledger.application is None
    assert ledger.owned == {}
    assert ledger.after([]) is ledger


def test_two_open_applications_are_refused_with_the_command_that_ends_both() -> None:
    other = Application("b-1", ApplicationStatus.OPEN, "e", "m", "cluster", "bob@ops-2")
    with pytest.raises(Held) as held:
        fold([APP, other])
    assert str(held.value) == (
        "the journal holds 2 open applications: a-1 of ann@ops-1, b-1 of bob@ops-2\n"
        "Two processes wrote to it at once. `replan abandon` ends them all: their moves stay as they are, and "
        "throttles set by replan are restored."
    )
