"""What reports say of prices, recoveries and results, case by case, in `goldens/sentences.txt`."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, move
from tests.goldens import check_cases
from tests.readings import plan_text
from tests.unit.reporting.rendered import plan_markdown

from replan.applying.api import (
    CopyingInBroker,
    Ending,
    LogMoveResult,
    NewBrokerFenced,
    OpenApplication,
    Outcome,
    PartitionResult,
    Result,
    Stopping,
)
from replan.errors import Exit
from replan.model.api import (
    BrokerId,
    DeviationKind,
    PartitionState,
    Prices,
    ProbedLog,
    ProbeFailure,
    ProbeProblem,
    ReplicaLog,
    TopicPartition,
    replicas,
)
from replan.planning.api import (
    Move,
    Plan,
    Recovery,
    RecoveryMethod,
    RecoveryWish,
    RiskKind,
    candidates,
    chosen_recovery,
    log_form,
    risks,
)
from replan.reconciling.api import (
    ByPolicy,
    Deviation,
    Judged,
    LoopHolds,
    NoHistory,
    NotAllowed,
    SomebodyPaused,
    Subject,
    TooEarly,
)
from replan.reporting.api import (
    application_lines,
    by_policy_text,
    cross_rack_bytes,
    drawn,
    loss_text,
    outcome_text,
    price_lines,
    recovery_lines,
    recovery_summary,
    result_text,
    stored_bytes,
)

GB, HOUR = 10**9, 3_600
ONE, TWO, THREE, FOUR = (BrokerId(b) for b in (1, 2, 3, 4))
NAME = TopicPartition("orders", 7)
RACKS = {ONE: "a", TWO: "a", THREE: "b", FOUR: "b", BrokerId(5): None}
Said = Iterator[tuple[str, str]]


def of_prices() -> Said:
    made = Plan("c", "d", RACKS, (move([1], [1, 3, 2], leader=1, size=1_500 * GB),))
    both = Prices("EUR", Decimal("0.02"), Decimal("0.08"))
    for title, plan, prices in (
        ("two prices", made, both),
        ("no price", made, Prices("EUR")),
        ("nothing of prices", made, None),
        ("prices, and nothing to do", replace(made, moves=()), both),
    ):
        yield title, "\n".join(price_lines(plan, prices))


def recovery() -> Recovery:
    logs: dict[BrokerId, ProbedLog] = {
        TWO: ReplicaLog(1500, 2, leader_epoch=3, epochs={0: 1000, 2: 1500}),
        THREE: ReplicaLog(3000, 0, leader_epoch=3, epochs={0: 3000}),
        FOUR: ProbeFailure(ProbeProblem.OFFLINE, 56, "KAFKA_STORAGE_ERROR"),
    }
    state = PartitionState(
        NAME, TOPIC_ID, replicas(1, 2, 3, 4), replicas(1), None, leader_epoch=3, bytes=3_000_000
    )
    found = candidates(state, logs, logs.keys(), logs.keys())
    chosen = chosen_recovery(state, found, RecoveryWish(RecoveryMethod.BALANCED, wait_seconds=300))
    assert isinstance(chosen, Recovery)
    return chosen


def of_recoveries() -> Said:
    found = recovery()
    yield "a recovery", "\n".join(recovery_lines(found))
    yield "the summary of one", recovery_summary([found])
    yield "the summary of a clean one", recovery_summary([replace(found, clean=True)])


def of_results() -> Said:
    first = TopicPartition("orders", 0)
    for title, result in (
        ("it waits", PartitionResult(first, Result.WAITING)),
        ("it runs", PartitionResult(first, Result.RUNNING)),
        ("it runs, and the process stops", PartitionResult(first, Result.RUNNING, hold=Stopping())),
        ("it is stale", PartitionResult(first, Result.STALE, "orders-0: gone")),
    ):
        yield title, result_text(result)
    waiting = [
        PartitionResult(
            TopicPartition("orders", number),
            Result.WAITING,
            hold=NewBrokerFenced(BrokerId(4 if number else 5)),
            held_seconds=60.0 + number,
        )
        for number in range(6)
    ]
    gave_up = Outcome(exit_code=Exit.HELD, ending=Ending.GAVE_UP, results=tuple(waiting))
    yield "given up while six wait, five of them for the same", outcome_text(gave_up)
    copying = [
        LogMoveResult(
            TopicPartition("orders", number),
            FOUR,
            Result.RUNNING,
            hold=CopyingInBroker(1_000_000 * number, 16_000_000),
        )
        for number in (1, 1, 3)
    ]
    found = OpenApplication("a", "ann", "pid 12", tuple(copying), 0, {}, throttled=False)
    said = drawn(application_lines(found, "replan resume"))
    yield "an open application whose steps wait alike, with numbers of their own", said


def of_policy() -> Said:
    """What `explain` says that policy does with a list that was declared otherwise at 03:00."""
    began, kind = 1_795_230_000.0, DeviationKind.PLACEMENT_CHANGED
    changed = Deviation(kind, Subject("orders", 7), "placementChanged orders-7")
    due, window = began + 6 * HOUR, began + 67 * HOUR
    early = Judged(changed, began, due, TooEarly(), due)
    paused = (SomebodyPaused("bob@ops-2", began),)
    now = replace(early, due_at=began, why_not=None, acts_at=began)
    for title, policy in (
        ("too early", ByPolicy(early, 6 * HOUR, True)),
        (
            "too early, and then outside of a window",
            ByPolicy(replace(early, acts_at=window), 6 * HOUR, True),
        ),
        ("due, and no window ever opens", ByPolicy(replace(early, acts_at=None), 6 * HOUR, True)),
        ("due now", ByPolicy(now, 0, True)),
        (
            "due, and the loop is paused",
            ByPolicy(replace(now, why_not=LoopHolds()), 0, True, paused),
        ),
        (
            "never, and seen by no loop",
            ByPolicy(replace(early, due_at=None, why_not=NotAllowed()), None, False),
        ),
        (
            "nobody knows who changed it",
            ByPolicy(replace(early, due_at=None, why_not=NoHistory()), 0, False),
        ),
    ):
        yield f"by policy: {title}", by_policy_text(policy)


def test_every_sentence_is_as_the_golden_file_has_it() -> None:
    golden = Path(__file__).parent / "goldens" / "sentences.txt"
    check_cases(golden, chain(of_prices(), of_recoveries(), of_results(), of_policy()))


@pytest.mark.parametrize(
    ("moved", "crossing", "stored"),
    [
        (move([1, 3], [1, 2], leader=1, size=GB), 0, 0),
        (move([1, 2], [3, 4], leader=1, size=GB), 2 * GB, 0),
        (move([3, 1], [4, 1], leader=1, size=GB), GB, 0),
        (move([1], [1, 2, 3], leader=1, size=GB), GB, 2 * GB),
        (move([1, 2, 3], [1], leader=1, size=GB), 0, -2 * GB),
        (move([1], [1, 5], leader=1, size=GB), 0, GB),
    ],
)
def test_bytes_cross_racks_where_both_racks_are_known_and_differ(
    moved: Move, crossing: int, stored: int
) -> None:
    plan = Plan("c", "d", RACKS, (moved,))
    assert (cross_rack_bytes(plan), stored_bytes(plan)) == (crossing, stored)


def test_an_empty_log_is_said_to_be_one_where_it_is_to_lead() -> None:
    """Kafka deletes the remote segments of a tiered topic then (tests/kafka/test_tiered.py)."""
    found = recovery()
    log = log_form(BrokerId(1), ReplicaLog(0))
    empty = tuple(replace(c, answer=log) for c in found.candidates)
    assert "remote storage" in loss_text(replace(found, candidates=empty))
    assert "remote storage" not in loss_text(found)


def test_a_reviewer_sees_first_that_records_are_lost() -> None:
    made = Plan("c", "d", RACKS, (), recoveries=(recovery(),))
    assert risks(made)[0].kind is RiskKind.RECORDS_LOST
    document = plan_markdown(made)
    assert document.index("Look at this first") < document.index("Partitions without a leader")
    assert "--unclean" in plan_text(made)
    assert not risks(replace(made, recoveries=(replace(recovery(), clean=True),)))
