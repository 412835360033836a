"""Recoveries as text: what each candidate has and lacks, who leads, what is lost; in plans as in `elect`."""

from msgspec.structs import replace
from tests.builders import TOPIC_ID
from tests.readings import plan_text
from tests.unit.reporting.rendered import plan_markdown

from replan.model.api import (
    BrokerId,
    LogFound,
    PartitionState,
    ProbeFailure,
    ProbeProblem,
    ReplicaLog,
    TopicPartition,
    replicas,
)
from replan.planning.api import (
    Plan,
    Recovery,
    RecoveryMethod,
    RecoveryWish,
    RiskKind,
    candidate_form,
    candidates,
    chosen_recovery,
    risks,
)
from replan.reporting.api import loss_text, recovery_lines, recovery_summary

NAME = TopicPartition("orders", 7)
ONE, TWO, THREE, FOUR = (BrokerId(b) for b in (1, 2, 3, 4))
LOGS: dict[BrokerId, LogFound] = {
    TWO: ReplicaLog(1500, 2, leader_epoch=3, epochs={0: 1000, 2: 1500}),
    THREE: ReplicaLog(3000, 0, leader_epoch=3, epochs={0: 3000}),
    FOUR: ProbeFailure(ProbeProblem.OFFLINE, 56, "KAFKA_STORAGE_ERROR"),
}


def recovery() -> Recovery:
    state = PartitionState(
        NAME, TOPIC_ID, replicas(1, 2, 3, 4), replicas(1), None, leader_epoch=3, bytes=3_000_000
    )
    found = candidates(state, LOGS, LOGS.keys(), LOGS.keys())
    chosen = chosen_recovery(state, found, RecoveryWish(RecoveryMethod.BALANCED, wait_seconds=300))
    assert isinstance(chosen, Recovery)
    return chosen


def plan(*recoveries: Recovery) -> Plan:
    racks = dict.fromkeys((TWO, THREE, FOUR), "a")
    return Plan("c", "d", racks, (), recoveries=recoveries)


def test_a_recovery_shows_its_candidates_its_requests_and_its_loss() -> None:
    assert list(recovery_lines(recovery())) == [
        "orders-7  no leader -> 2  (unclean, by the best log)",
        (
            "broker  state                                   leader epoch  last epoch  log end  lacks       "
            "        beyond the best"
        ),
        (
            "1       not registered                          ?             ?           ?        ?           "
            "        ?                 in sync last (ISR or ELR)"
        ),
        (
            "2       live                                    3             2           1,500                "
            "                          best log"
        ),
        (
            "3       live                                    3             0           3,000    500 (about 5"
            "00 kB)  2,000 from 1,000"
        ),
        "4       live, log unknown: KAFKA_STORAGE_ERROR  ?             ?           ?        ?                   ?",
        "list   [1,2,3,4] -> [2,3,4]; not registered, left out: [1]",
        "elect  2 (unclean election, after 5 min without a leader)",
        (
            "Loses at least 2,000 records: those of broker 3 from offset 1,000 on; what 1, 4 had beyond that is "
            "not known."
        ),
    ]


def test_the_summary_counts_what_is_lost_at_least() -> None:
    assert recovery_summary([recovery()]) == (
        "1 partition to be led again, 1 unclean: at least 2,000 records lost."
    )
    clean = replace(recovery(), clean=True)
    assert recovery_summary([clean]) == "1 partition to be led again, cleanly."


def test_an_empty_log_is_said_to_be_one_where_it_is_to_lead() -> None:
    """Kafka deletes the remote segments of a tiered topic then (tests/kafka/test_tiered.py)."""
    found = recovery()
    empty = tuple(candidate_form(replace(c, log=ReplicaLog(0))) for c in found.candidates)
    assert "remote storage" in loss_text(replace(found, said=empty))
    assert "remote storage" not in loss_text(found)


def test_a_reviewer_sees_first_that_records_are_lost() -> None:
    made = plan(recovery())
    assert risks(made)[0].kind is RiskKind.RECORDS_LOST
    document = plan_markdown(made)
    assert document.index("Look at this first") < document.index("Partitions without a leader")
    assert "--unclean" in plan_text(made)


def test_a_clean_recovery_is_no_risk() -> None:
    assert not risks(plan(replace(recovery(), clean=True)))
