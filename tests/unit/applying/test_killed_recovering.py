"""Killed before or after every effect, or answered by nobody: the best log leads, and nobody else is ever elected."""

import pytest
from tests.builders import state
from tests.unit.applying.lab import Boundary, Killed, Lab, lab

from replan.applying.journal.steps import RecoveryRecord, Status
from replan.applying.reasons.recovery import EvidenceChanged
from replan.applying.steps.judge_recovery import evidence_differs, lost_records
from replan.applying.steps.probing import probe, with_logs
from replan.errors import Exit
from replan.model.configs import MIN_INSYNC_REPLICAS, ConfigOperation, topic_change
from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import ReplicaLog
from replan.planning.elections.recover import (
    RecoveryRequest,
    partitions_to_probe,
    recovery_elections,
)
from replan.planning.elections.selection import Selection
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import dumps, loads
from replan.planning.recovery.recovery import Method, Recovery
from replan.simulator.cluster.faults import (
    Ask,
    At,
    DropFromIsr,
    KillBroker,
    LagMetadata,
    LoseRequests,
    RepeatRequests,
    RequestKind,
    SlowBroker,
    StartBroker,
)
from replan.simulator.controller.commands import AlterConfigs

NAME = TopicPartition("orders", 0)
ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
TROUBLES = (
    LoseRequests(RequestKind.REASSIGN, 1, None),
    LoseRequests(RequestKind.REASSIGN, 1, 0.0),
    LoseRequests(RequestKind.REASSIGN, 1, 30.0),
    RepeatRequests(RequestKind.REASSIGN, 1),
    LoseRequests(RequestKind.ELECT, 1, None),
    LoseRequests(RequestKind.ELECT, 1, 0.0),
    LoseRequests(RequestKind.ELECT, 1, 30.0),
    RepeatRequests(RequestKind.ELECT, 1),
    LagMetadata(8.0),
)


def leaderless() -> Lab:
    """One partition [1,3,2] that was led by 1, which is dead: 3,000 records there, 2,000 on 2, 1,000 on 3."""
    made = lab([state([1, 3, 2], size=3_000_000)], ())
    one = topic_change(NAME.topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, "1")
    for fault in (
        Ask(AlterConfigs((one,))),  # with 2 the eligible leader replicas would be recovered cleanly
        SlowBroker(TWO, 1),
        SlowBroker(THREE, 1),
        DropFromIsr(NAME, TWO, 1_000_000),
        DropFromIsr(NAME, THREE, 2_000_000),
        KillBroker(ONE),
    ):
        made.plane.inject(fault)
    made.clock.sleep(15)
    made.plan = planned(made)
    return made


def planned(made: Lab) -> Plan:
    asked = RecoveryRequest(Selection(everything=True), Method.BALANCED, given_up=frozenset({ONE}))
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


def crossings() -> int:
    """How many effects an undisturbed application has."""
    counting = Boundary()
    leaderless().apply(boundary=counting)
    return counting.crossings


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


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("effect", range(1, crossings() + 1))
def test_killed_before_or_after_any_effect_the_next_run_arrives(effect: int, after: bool) -> None:
    made = leaderless()
    boundary = Boundary(kill_after=effect) if after else Boundary(kill_before=effect)
    with pytest.raises(Killed):
        made.apply(boundary=boundary)
    outcome = made.apply()
    assert outcome.exit_code is Exit.OK
    assert leader(made) == TWO


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
