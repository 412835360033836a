"""The lifecycle that all steps beside moves share, held by steps of a kind that says no more than it has to."""

from collections.abc import Iterable

import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.builders import TOPIC, TOPIC_ID
from tests.unit.applying.lab import plan_of

from replan.applying.api import (
    Ask,
    Cancelling,
    CreateArrivalPossible,
    CreateRecord,
    End,
    FromRecord,
    Hold,
    HoldReason,
    Job,
    Ledger,
    NextBatch,
    NotCreated,
    OtherReassignment,
    PartitionsUnseen,
    Paused,
    Rechecking,
    RequestMemory,
    RequestSubject,
    Settings,
    Status,
    StepInput,
    StepsDecided,
    StepVerdict,
    Stopping,
    Suspect,
    TickInput,
    judge_steps,
    suspected,
)
from replan.model.api import Look, TopicPartition, replicas

NAME = TopicPartition(TOPIC, 7)
SETTINGS = Settings()
BEGUN = CreateRecord("a-1", TOPIC, TOPIC_ID, 8)
GONE = suspected(Status.STALE, NotCreated())
STALE = GONE.conclusion
LISTED = suspected(Status.FOREIGN, OtherReassignment(replicas(1), replicas(1), ()))
REJECTED = End(Status.REJECTED, NotCreated())
DONE = End(Status.DONE)
AGAIN: Suspect[Ask] = Suspect(Ask("once more"), PartitionsUnseen())


class Drawn(Struct, FromRecord, frozen=True):
    """A step whose verdict a test chooses; it says nothing else."""

    verdict: StepVerdict
    record: CreateRecord | None = None
    cancelled: StepVerdict = DONE
    subject: TopicPartition = NAME

    def judge(self, _given: StepInput) -> StepVerdict:
        return self.verdict

    def judge_cancelled(self, _given: StepInput) -> StepVerdict:
        return self.cancelled

    def arrival_possible(self, _end: End, _given: StepInput, seconds: float) -> HoldReason:
        return CreateArrivalPossible(seconds)

    def begun(self, _ledger: Ledger) -> CreateRecord:
        return BEGUN

    def asking(self, _ask: Ask, _ledger: Ledger) -> Iterable[CreateRecord]:
        return (BEGUN,)


def given(known: RequestMemory[RequestSubject] | None = None, now: float = 100.0) -> StepInput:
    """A tick in which nothing is seen; `known`: of the requests before."""
    job = Job.of(plan_of([]), SETTINGS)
    tick = TickInput(job=job, look=Look(brokers={}), now=now, ended=now)
    return StepInput(tick, Ledger(), RequestMemory() if known is None else known)


def decided(
    *steps: Drawn,
    known: RequestMemory[RequestSubject] | None = None,
    closed: HoldReason | None = None,
    now: float = 100.0,
) -> StepsDecided:
    found = StepsDecided()
    for step, ask in judge_steps(steps, given(known, now), closed, found):
        found.ask(step, ask, Ledger())
    return found


def statuses(found: StepsDecided) -> list[Status]:
    return [r.status for r in found.records if isinstance(r, CreateRecord)]


def test_what_is_asked_for_is_written_down_and_what_waits_says_why() -> None:
    found = decided(Drawn(Ask("it")))
    assert (found.asks, found.records, found.holds) == ({NAME: "it"}, [BEGUN], {})
    assert decided(Drawn(Hold(NextBatch(elections=False)))).holds == {NAME: NextBatch(False)}
    assert statuses(decided(Drawn(DONE))) == [Status.DONE]
    assert statuses(decided(Drawn(REJECTED))) == [Status.REJECTED]


@pytest.mark.parametrize(
    ("verdict", "seconds"), [(GONE, SETTINGS.ending_seconds), (LISTED, 5.0), (AGAIN, 5.0)]
)
def test_a_suspicion_becomes_its_conclusion_once_looks_have_agreed(
    verdict: Suspect[Ask], seconds: float
) -> None:
    first = decided(Drawn(verdict, BEGUN))
    assert (first.records, first.holds) == ([], {NAME: verdict.reason})
    assert first.suspected == [(NAME, verdict.conclusion)]
    known: RequestMemory[RequestSubject] = RequestMemory(
        suspected={(NAME, verdict.conclusion): 100.0}
    )
    early = decided(Drawn(verdict, BEGUN), known=known, now=100.0 + seconds - 0.1)
    assert (early.records, early.holds) == ([], {NAME: verdict.reason})
    agreed = decided(Drawn(verdict, BEGUN), known=known, now=100.0 + seconds)
    assert agreed.holds == {}
    assert len(agreed.records) == 1


def test_what_was_asked_for_again_is_to_be_agreed_on_again() -> None:
    known: RequestMemory[RequestSubject] = RequestMemory(suspected={(NAME, AGAIN.conclusion): 0.0})
    assert decided(Drawn(AGAIN, BEGUN), known=known).suspected == []


@pytest.mark.parametrize("end", [STALE, REJECTED])
@pytest.mark.parametrize("cancelled", [False, True])
def test_nothing_ends_short_of_being_done_while_a_request_may_arrive(
    end: End, *, cancelled: bool
) -> None:
    step = Drawn(end, BEGUN, end)
    closed = Cancelling("ann") if cancelled else None
    late: RequestMemory[RequestSubject] = RequestMemory(unknown_since={NAME: 40.0})
    found = decided(step, known=late, closed=closed)
    assert (found.records, found.holds) == ([], {NAME: CreateArrivalPossible(30.0)})
    over = replace(late, unknown_since={NAME: 100.0 - SETTINGS.quarantine_seconds})
    assert statuses(decided(step, known=over, closed=closed)) == [end.status]
    assert statuses(decided(replace(step, verdict=DONE, cancelled=DONE), known=late)) == [
        Status.DONE
    ]


@pytest.mark.parametrize("closed", [Paused("ann"), Cancelling("ann"), Stopping()])
def test_while_it_is_closed_only_what_takes_back_is_asked_for(closed: HoldReason) -> None:
    found = decided(Drawn(Ask("it"), None, Ask("it")), closed=closed)
    assert (found.asks, found.records, found.holds) == ({}, [], {NAME: closed})
    back = Ask("back", takes_back=True)
    assert decided(Drawn(back, BEGUN, back), closed=closed).asks == {NAME: "back"}


def test_once_cancelled_what_has_begun_is_judged_as_such_and_nothing_else() -> None:
    closed = Cancelling("ann")
    rests = suspected(Status.CANCELLED, NotCreated())
    step = Drawn(Hold(PartitionsUnseen()), BEGUN, rests)
    assert decided(step, closed=closed).holds == {NAME: Rechecking(NotCreated())}
    assert decided(step, closed=Paused("ann")).holds == {NAME: PartitionsUnseen()}
    fresh = replace(step, record=None)
    assert decided(fresh, closed=closed).holds == {NAME: PartitionsUnseen()}


def test_what_a_tick_has_no_room_for_waits_for_the_next_one() -> None:
    full = NextBatch(elections=False)
    ask = Ask("it", limits=(("lists", 2),), full=full)
    names = [TopicPartition(TOPIC, n) for n in range(3)]
    found = decided(*(Drawn(ask, subject=name) for name in names))
    assert list(found.asks) == names[:2]
    assert found.holds == {names[2]: full}
