"""Partitions that are led again, beside what the kill matrix says of them: who leads, why, and what is lost."""

from collections.abc import Mapping

import pytest
from tests.unit.applying.examples import (
    LAG,
    NAME,
    ONE,
    THREE,
    TWO,
    leader,
    leaderless,
    list_changed,
)
from tests.unit.applying.lab import Boundary, Lab, killed_anywhere

from replan.applying.api import (
    EvidenceChanged,
    Outcome,
    RecoveryArrivalPossible,
    RecoveryRecord,
    Status,
    Verb,
    evidence_differs,
    lost_records,
    probe,
)
from replan.errors import Exit
from replan.model.api import (
    ReplicaLog,
    Replicas,
    TopicPartition,
)
from replan.planning.api import (
    Recovery,
)
from replan.simulator.api import (
    At,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    StartBroker,
    WriteKind,
)

pytestmark = pytest.mark.slow


def recovery(made: Lab) -> Recovery:
    (found,) = made.plan.recoveries
    return found


def record(made: Lab) -> RecoveryRecord:
    (found,) = [r for r in made.journal.read() if isinstance(r, RecoveryRecord)][-1:]
    return found


def test_the_best_log_leads_and_the_journal_keeps_why() -> None:
    made = leaderless()
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert leader(made) == TWO
    kept = record(made)
    assert (kept.status, kept.lost, kept.measured) == (Status.DONE, 0, 0)
    assert kept.evidence == "1: not live; 3: epoch 0, end 1000; 2: epoch 0, end 2000"


def cancelled(made: Lab, boundary: Boundary | None = None) -> Outcome:
    """Cancel it; no election and no list but the one that was found is asked for."""
    boundary = boundary or Boundary()
    found = recovery(made).original
    boundary.lists = lambda lists: _only(lists, found)
    try:
        return made.apply(verb=Verb.CANCEL, boundary=boundary)
    finally:
        assert "elect" not in boundary.log


def _only(lists: Mapping[TopicPartition, Replicas | None], wanted: Replicas) -> None:
    assert set(lists.values()) == {wanted}


def rests(made: Lab) -> None:
    """The chosen one leads, as its election was sent, and is measured; or all is as it was found."""
    partition = made.plane.simulation.cluster.partition(NAME)
    assert partition is not None
    if partition.leader is None:
        assert (partition.replicas, record(made).status) == ((1, 3, 2), Status.CANCELLED)
    else:
        assert (partition.leader, record(made).status, record(made).measured) == (TWO, "done", 0)


@pytest.mark.parametrize("trouble", [None, LoseRequests(WriteKind.ELECT, 1, 30.0), LAG], ids=str)
def test_killed_and_then_cancelled_it_elects_nobody_by_itself(
    trouble: LoseRequests | RepeatRequests | LagMetadata | None,
) -> None:
    def troubled() -> Lab:
        made = leaderless()
        if trouble is not None:
            made.plane.inject(trouble)
        return made

    for boundary, made in killed_anywhere(troubled):
        left = made.ledger
        if left.application is not None and left.steps_of(RecoveryRecord):
            outcome = cancelled(made)
            ended = (outcome.exit_code, len(outcome.kept))
            assert ended == (Exit.OK, int(leader(made) == TWO)), boundary
            rests(made)


def test_cancelled_when_its_list_was_changed_all_is_as_it_was_found() -> None:
    made = list_changed()
    cancelled(made)
    rests(made)
    assert leader(made) is None


def test_nothing_ends_while_an_election_may_arrive_and_what_that_cuts_is_measured() -> None:
    """A better log than the chosen one's returns meanwhile."""
    made = leaderless(dead=THREE)
    made.plane.inject(LoseRequests(WriteKind.ELECT, 1, 60.0))
    made.plane.schedule((At(made.clock.now() + 2, StartBroker(THREE)),))
    outcome = made.apply()
    assert [r.lost for r in outcome.partitions] == [1000]
    assert (leader(made), record(made).status, record(made).lost) == (TWO, Status.DONE, 0)
    holds = [h for p in made.reports for h in (p.holds or {}).values()]
    assert RecoveryArrivalPossible(TWO, led=False, better=(THREE,), seconds=0) in holds


def test_a_log_that_differs_from_the_plan_stops_its_partition() -> None:
    made = leaderless()
    logs = probe(made.plane, {NAME: (TWO, THREE)})[NAME]
    found = recovery(made)
    assert evidence_differs(found, logs) is None
    longer = {**logs, THREE: ReplicaLog(4000, 1, epochs={0: 1000, 1: 4000})}
    returned = {**logs, ONE: ReplicaLog(3000, 0, epochs={0: 3000})}
    assert getattr(evidence_differs(found, longer), "reason", None) == EvidenceChanged(
        THREE, (0, 1000), (1, 4000)
    )
    assert getattr(evidence_differs(found, returned), "reason", None) == EvidenceChanged(
        ONE, None, (0, 3000)
    )


def test_what_a_leader_has_lost_is_measured_by_where_its_old_epoch_ends() -> None:
    found = recovery(leaderless())
    kept_all = ReplicaLog(2500, 5, epochs={0: 2000, 5: 2500})
    kept_less = ReplicaLog(1700, 5, epochs={0: 1500, 5: 1700})
    gone = ReplicaLog(9000, 9, epochs={8: 8000, 9: 9000})
    assert [lost_records(found, log) for log in (kept_all, kept_less, gone)] == [0, 500, None]
    returned = {ONE: ReplicaLog(3000, 0, epochs={0: 3000}), THREE: ReplicaLog(900, 0)}
    assert lost_records(found, kept_all, returned) == 1000
