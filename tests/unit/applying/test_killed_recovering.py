"""Killed before or after every effect, or answered by nobody: the best log leads, and nobody else is ever elected."""

from collections.abc import Mapping

import pytest
from tests.builders import state
from tests.unit.applying.lab import Boundary, Killed, Lab, killed_anywhere, lab

from replan.applying.api import (
    EvidenceChanged,
    Outcome,
    RecoveryArrivalPossible,
    RecoveryRecord,
    Status,
    Verb,
    evidence_differs,
    fold,
    lost_records,
    probe,
    with_logs,
)
from replan.errors import Exit
from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    BrokerId,
    ConfigOperation,
    ReplicaLog,
    Replicas,
    TopicPartition,
    topic_change,
)
from replan.planning.api import (
    Plan,
    Recovery,
    RecoveryMethod,
    RecoveryRequest,
    Selection,
    dumps,
    loads,
    partitions_to_probe,
    recovery_elections,
)
from replan.simulator.api import (
    AlterConfigs,
    At,
    DropFromIsr,
    Fault,
    KillBroker,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    SendRequest,
    SlowBroker,
    StartBroker,
    WriteKind,
)

pytestmark = pytest.mark.slow

NAME = TopicPartition("orders", 0)
ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
TROUBLES = (
    LoseRequests(WriteKind.REASSIGN, 1, None),
    LoseRequests(WriteKind.REASSIGN, 1, 0.0),
    LoseRequests(WriteKind.REASSIGN, 1, 30.0),
    RepeatRequests(WriteKind.REASSIGN, 1),
    LoseRequests(WriteKind.ELECT, 1, None),
    LoseRequests(WriteKind.ELECT, 1, 0.0),
    LoseRequests(WriteKind.ELECT, 1, 30.0),
    RepeatRequests(WriteKind.ELECT, 1),
    LagMetadata(8.0),
)


def leaderless(dead: BrokerId | None = None) -> Lab:
    """One partition [1,3,2] that was led by 1, which is dead: 3,000 records there, 2,000 on 2, 1,000 on 3.

    `dead`: broker 3, which then has 2,000 and is dead, too; 2 has 1,000.
    """
    lags = {TWO: 1_000_000, THREE: 2_000_000} if dead is None else {TWO: 2_000_000, dead: 1_000_000}
    made = lab([state([1, 3, 2], size=3_000_000)], ())
    one = topic_change(NAME.topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, "1")
    faults: tuple[Fault, ...] = (
        SendRequest(
            AlterConfigs((one,))
        ),  # with 2 the eligible leader replicas would be recovered cleanly
        SlowBroker(TWO, 1),
        SlowBroker(THREE, 1),
        *(DropFromIsr(NAME, broker, lag) for broker, lag in lags.items()),
        *(KillBroker(broker) for broker in (dead, ONE) if broker is not None),
    )
    for fault in faults:
        made.plane.inject(fault)
    made.clock.sleep(15)
    made.plan = planned(made, frozenset({ONE} if dead is None else {ONE, dead}))
    return made


def planned(made: Lab, given_up: frozenset[BrokerId] = frozenset({ONE})) -> Plan:
    asked = RecoveryRequest(Selection(everything=True), RecoveryMethod.BALANCED, given_up=given_up)
    seen = made.plane.observe()
    seen = with_logs(made.plane, seen, partitions_to_probe(asked.selection, seen))
    return recovery_elections(asked, seen, None, {}).plan


def recovery(made: Lab) -> Recovery:
    (found,) = made.plan.recoveries
    return found


def leader(made: Lab) -> BrokerId | None:
    partition = made.plane.simulation.cluster.partition(NAME)
    assert partition is not None
    return partition.leader


def record(made: Lab) -> RecoveryRecord:
    (found,) = [r for r in made.journal.read() if isinstance(r, RecoveryRecord)][-1:]
    return found


def test_the_plan_with_its_evidence_is_read_back_as_it_was_written() -> None:
    plan = leaderless().plan
    assert loads(dumps(plan), "plan.json") == plan


def test_the_best_log_leads_and_the_journal_keeps_why() -> None:
    made = leaderless()
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert leader(made) == TWO
    kept = record(made)
    assert (kept.status, kept.lost, kept.measured) == (Status.DONE, 0, 0)
    assert kept.evidence == "1: not live; 3: epoch 0, end 1000; 2: epoch 0, end 2000"


def test_killed_before_or_after_any_effect_the_next_run_arrives() -> None:
    for boundary, found in killed_anywhere(leaderless):
        assert found.apply().exit_code is Exit.OK, boundary
        assert leader(found) == TWO, boundary


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


@pytest.mark.parametrize("trouble", [None, TROUBLES[6], TROUBLES[8]], ids=str)
def test_killed_and_then_cancelled_it_elects_nobody_by_itself(
    trouble: LoseRequests | RepeatRequests | LagMetadata | None,
) -> None:
    def troubled() -> Lab:
        made = leaderless()
        if trouble is not None:
            made.plane.inject(trouble)
        return made

    for boundary, made in killed_anywhere(troubled):
        left = fold(made.journal.read())
        if left.application is not None and left.steps_of(RecoveryRecord):
            outcome = cancelled(made)
            ended = (outcome.exit_code, len(outcome.kept))
            assert ended == (Exit.OK, int(leader(made) == TWO)), boundary
            rests(made)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("effect", range(1, 8))
def test_a_cancel_that_is_killed_goes_on(effect: int, after: bool) -> None:
    made = leaderless()
    with pytest.raises(Killed):
        made.apply(boundary=Boundary(kill_after=4))  # the list was changed
    boundary = Boundary(kill_after=effect) if after else Boundary(kill_before=effect)
    try:
        cancelled(made, boundary)
    except Killed:
        if fold(made.journal.read()).application is not None:
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


@pytest.mark.parametrize("trouble", TROUBLES, ids=str)
def test_whatever_becomes_of_a_request_the_chosen_one_leads(
    trouble: LoseRequests | RepeatRequests | LagMetadata,
) -> None:
    made = leaderless()
    made.plane.inject(trouble)
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert leader(made) == TWO


def test_a_replica_that_was_given_up_and_returns_is_not_elected_over() -> None:
    made = leaderless()
    made.plane.schedule((At(made.clock.now(), StartBroker(ONE)),))
    outcome = made.apply()
    assert outcome.exit_code in {Exit.OK, Exit.REFUSED}
    assert leader(made) in {ONE, TWO}
    if leader(made) == ONE:
        assert record(made).status is Status.STALE


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
