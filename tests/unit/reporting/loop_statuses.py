"""Statuses of a loop, as tests show them."""

from replan.model.api import DeviationKind
from replan.reconciling.api import (
    BrokersDown,
    CopyingReplica,
    DeclaredByList,
    ListedDeviation,
    LoopState,
    LoopStatus,
    Next,
    NotAllowed,
    PersonActs,
    PlacementSource,
    Round,
    RoundResult,
    Running,
    Subject,
    Tally,
    TooEarly,
)

NOW = 1_795_600_000.0
"""2026-11-25 09:46:40 UTC."""
HOSTILE = '</script><img src=x onerror=alert(1)>\u202e"'
DOWN, CHANGED = DeviationKind.BROKER_DOWN, DeviationKind.CHANGED_ELSEWHERE


def at_rest() -> LoopStatus:
    """Nothing differs."""
    return LoopStatus(
        at=NOW,
        instance="replan@ops-1 (pid 4711)",
        state=LoopState.AT_REST,
        since=NOW - 7200,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        cluster_name="payments-eu",
        source=PlacementSource(
            "https://git.example.com/kafka.git, main, payments", "ab" * 32, "c0ffee" * 6
        ),
        rounds_begun=25,
        looked_at=NOW - 2,
        next=Next(NOW + 298),
    )


def acting() -> LoopStatus:
    """It replaces what a broker has that is down; something was changed elsewhere, by whoever chooses strange names."""
    deviations = (
        ListedDeviation(
            DOWN,
            Subject("orders", 7),
            NOW - 2400,
            NOW - 600,
            declared=(1, 2, 3),
            observed=(1, 2, 4),
            drift="broker-down",
        ),
        ListedDeviation(
            DOWN, Subject("ledger", 0), NOW - 2400, NOW - 600, DeclaredByList(), (4, 1), (4, 1)
        ),
        ListedDeviation(CHANGED, Subject(HOSTILE, 0), NOW - 90, None, NotAllowed(), (1, 2), (2, 1)),
        ListedDeviation(
            DeviationKind.STALE_THROTTLE,
            Subject(broker=2, detail="leader.replication.throttled.rate=1000"),
            NOW - 60,
            NOW + 3540,
            TooEarly(),
        ),
        ListedDeviation(None, Subject("gone", 3), NOW - 90_000, None, PersonActs()),
    )
    return LoopStatus(
        at=NOW,
        instance="replan@ops-1 (pid 4711)",
        state=LoopState.ACTING,
        since=NOW - 600,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        cluster_name=f"eu {HOSTILE}",
        source=PlacementSource("placement.yaml", "ab" * 32),
        rounds_begun=9,
        looked_at=NOW - 600,
        differs=(
            Tally(DOWN, 212, NOW - 2400, NOW - 600),
            Tally(DeviationKind.CHANGED_ELSEWHERE, 1, NOW - 90),
            Tally(DeviationKind.STALE_THROTTLE, 1, NOW - 60, NOW + 3540),
            Tally(None, 1, NOW - 90_000),
        ),
        deviations=deviations,
        running=Running(
            application="a1b2c3",
            plan_digest="12" * 32,
            began_at=NOW - 590,
            kinds=(DOWN,),
            total=211,
            done=90,
            stopped=1,
            running=20,
            waiting=100,
            copied_bytes=45 * 10**9,
            total_bytes=100 * 10**9,
            bytes_per_second=75e6,
            seconds_left=733,
            copies=(
                CopyingReplica("orders", 7, 5, 400_000_000, 1_000_000_000, 25e6, 24.0),
                CopyingReplica(HOSTILE, 8, 6, None, 2_000_000_000, None, None),
            ),
        ),
        rounds=(
            Round(
                7,
                NOW - 90_000,
                NOW - 89_000,
                RoundResult.PARTLY,
                (CHANGED, DOWN),
                14,
                3 * 10**9,
                "34" * 32,
                "ffee",
                commit="0123456789abcdef",
                text="2 of 14 partitions were refused",
            ),
            Round(6, NOW - 180_000, NOW - 179_990, RoundResult.DONE, (DOWN,), 1, 0, "56" * 32),
        ),
        next=Next(NOW + 60, NOW + 3540, (DeviationKind.STALE_THROTTLE,), 1),
    )


def holding() -> LoopStatus:
    """Too much is down."""
    down = Tally(DOWN, 900, NOW - 60, NOW + 1740)
    return LoopStatus(
        at=NOW,
        instance="replan@ops-2 (pid 1)",
        state=LoopState.HOLDING,
        since=NOW - 60,
        reasons=(BrokersDown((3, 4), 6, 2),),
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        cluster_name="payments-eu",
        rounds_begun=4,
        looked_at=NOW - 1,
        differs=(down,),
        next=Next(NOW + 300),
    )
