"""When a copy that runs is taken back: every row of the table in `judge_while_copying`."""

import pytest
from msgspec.structs import replace
from tests.builders import brokers, state
from tests.unit.applying.partitions.test_judge import (
    CANCEL,
    EXPAND,
    EXPANDED,
    LOST,
    SWAP,
    own,
    sight,
    stale,
)

from replan.applying.api import (
    AwaitingSync,
    Confirming,
    CopyStopsWrites,
    EffectUnseen,
    Fact,
    Hold,
    MoveVerdict,
    NoLeader,
    NotAsPlanned,
    OutcomePending,
    PartitionInput,
    Suspect,
    UncleanElectionPossible,
    judge_while_copying,
)
from replan.model.api import TopicSettings, replicas
from replan.planning.api import Request, RequestKind

UNCLEAN = replace(SWAP, unclean_election=True)


def copying(
    isr: list[int],
    *,
    asked: Request = EXPAND,
    planned: bool = True,
    now: bool = True,
    m: int = 2,
    quarantine: float | None = None,
    fenced: tuple[int, ...] = (),
) -> PartitionInput:
    found = state(EXPANDED, isr=isr, adding=[4, 5])
    seen = sight(
        own(asked, confirmed=quarantine is None),
        found,
        planned=UNCLEAN if planned else SWAP,
        quarantine=quarantine,
    )
    settings = TopicSettings(m, unclean_election=now)
    live = {b.id: replace(b, fenced=b.id in fenced) for b in brokers()}
    return replace(seen, look=replace(seen.look, topics={"orders": settings}, brokers=live))


def could_lead(*in_sync: int) -> UncleanElectionPossible:
    return UncleanElectionPossible("orders", replicas(*in_sync))


def awaiting(*missing: int, fenced: tuple[int, ...] = ()) -> Hold:
    return Hold(AwaitingSync(replicas(*missing), fenced=replicas(*fenced)))


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (copying([1, 2, 3]), awaiting(4, 5)),
        (copying([1, 2]), awaiting(4, 5)),
        (copying([1]), Suspect(CANCEL, could_lead(1))),
        (copying([1, 4]), awaiting(5)),
        (copying([1, 2], fenced=(2,)), Suspect(CANCEL, could_lead(1))),
        (copying([1, 4, 5]), Hold(Confirming(15))),
        (copying([1], planned=False, now=False), awaiting(4, 5)),
        (copying([1, 2, 3], planned=False), Suspect(CANCEL, could_lead(1, 2, 3))),
        (
            copying([1], quarantine=30),
            Hold(OutcomePending(EXPAND.kind, EXPAND.replicas, CANCEL.kind, 30)),
        ),
        (copying([1, 2, 3], asked=CANCEL), Suspect(CANCEL, EffectUnseen(CANCEL.kind))),
        (replace(copying([1], asked=CANCEL), answer=LOST), CANCEL),
    ],
)
def test_a_copy_that_could_be_elected_is_taken_back(
    seen: PartitionInput, verdict: MoveVerdict
) -> None:
    assert judge_while_copying(seen)[1] == verdict


@pytest.mark.parametrize(
    ("isr", "m", "fenced", "taken_back"),
    [
        ([1, 2, 3], 3, (), None),
        ([1, 2, 3], 4, (), CopyStopsWrites(replicas(1, 2, 3), 4, 4)),
        ([1, 2, 3, 4], 4, (), None),
        ([1, 2, 3, 4], 9, (), CopyStopsWrites(replicas(1, 2, 3, 4), 9, 5)),
        ([1, 2, 3], 4, (3,), None),  # under its minimum without the copy, too
        ([1, 2, 4], 4, (), None),
    ],
)
def test_a_copy_that_stops_writes_is_taken_back(
    isr: list[int], m: int, fenced: tuple[int, ...], taken_back: CopyStopsWrites | None
) -> None:
    _, verdict = judge_while_copying(copying(isr, m=m, fenced=fenced, planned=False, now=False))
    if taken_back is None:
        assert not isinstance(verdict, Suspect) or verdict.conclusion != CANCEL
    else:
        assert verdict == Suspect(CANCEL, taken_back)


def test_without_a_leader_nothing_is_asked_for() -> None:
    seen = copying([])
    assert seen.state is not None
    leaderless = replace(seen, state=replace(seen.state, leader=None))
    assert judge_while_copying(leaderless)[1] == Hold(NoLeader())


def test_a_copy_is_taken_back_also_where_kafka_drops_a_replica_after_it() -> None:
    """The list could not name 2; a cancel puts it last, and the move begins again from that order."""
    without_2 = Request(RequestKind.EXPAND, replicas(1, 3, 4, 5))
    dropping = state([1, 3, 4, 5, 2], isr=[1], adding=[4, 5], removing=[2])
    record = replace(own(without_2), past=(without_2.replicas,))
    seen = replace(copying([1]), own=record, state=dropping)
    assert judge_while_copying(seen)[1] == Suspect(CANCEL, could_lead(1))
    back = replace(copying([1], asked=CANCEL), state=state([1, 3, 2]))
    verdict = judge_while_copying(back)[1]
    assert verdict == Request(RequestKind.EXPAND, replicas(1, 3, 2, 4, 5))


def test_what_was_taken_back_begins_again_or_is_stale() -> None:
    back = state([1, 2, 3])
    assert judge_while_copying(replace(copying([1], asked=CANCEL), state=back))[1] == EXPAND
    other = judge_while_copying(replace(copying([1], asked=CANCEL, planned=False), state=back))[1]
    assert other == stale(NotAsPlanned(Fact.UNCLEAN_ELECTION, planned=False, observed=True))


def test_what_is_shown_of_the_copy_after_the_cancel_does_not_count_as_reached() -> None:
    """The cancel takes effect later: its list is not missed then."""
    own_record, _ = judge_while_copying(copying([1], asked=CANCEL))
    assert own_record is not None
    assert own_record.reached == 0
