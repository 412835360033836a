"""One of every kind of record, and the clock of who has a journal, for the tests of journals."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from tests.builders import TOPIC_ID

from replan.applying.api import (
    Application,
    ApplicationStatus,
    BrokerRates,
    Command,
    CreateRecord,
    LastRequest,
    Lease,
    LogMoveRecord,
    LoopChunk,
    LoopCommand,
    MoveRecord,
    Order,
    OriginalsChunk,
    PlanChunk,
    Reached,
    Record,
    RecoveryRecord,
    RecoveryStep,
    SavedRate,
    SavedReplicaList,
    StandingRecord,
    Status,
    Verb,
)
from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigScope,
    TopicId,
    TopicPartition,
    replicas,
)
from replan.planning.api import Move, RequestKind

P0 = TopicPartition("orders", 0)
APP = Application("a-1", ApplicationStatus.OPEN, "d" * 64, "m" * 64, "cluster", "ann@ops-1")
OWN = MoveRecord(
    "a-1",
    P0,
    TOPIC_ID,
    replicas(1, 2, 3),
    replicas(4, 2, 5),
    asked=LastRequest(RequestKind.EXPAND, replicas(1, 2, 3, 4, 5)),
    past=(replicas(1, 2, 3, 4, 5),),
    reached=Reached.EXPANDED,
)


def begun(planned: Move, **more: Any) -> MoveRecord:
    """What is written down of a move of `APP`."""
    of = planned.partition, planned.topic_id, planned.original, planned.target
    return MoveRecord("a-1", *of, **more)


def rate(broker: int, value: str) -> SavedRate:
    """That a leader rate of a broker is replan's."""
    return SavedRate(BrokerId(broker), LEADER_RATE, None, (value,))


class Hand(Struct):
    """A clock that only its owner moves; what others do meanwhile is done while it sleeps."""

    time: float = 0.0
    meanwhile: Callable[[], None] = field(default=lambda: None)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.meanwhile()


RECORDS: tuple[Record, ...] = (
    APP,
    PlanChunk("a-1", 0, '{"kind": "é"}\n'),
    PlanChunk("a-1", 1, "rest"),
    OWN,
    MoveRecord(
        "a-1",
        P0._replace(partition=1),
        TOPIC_ID,
        replicas(1),
        replicas(2),
        Status.STALE,
        message="why",
    ),
    CreateRecord("a-1", "orders", TOPIC_ID, 12),
    CreateRecord(
        "a-1", "clicks", TopicId("Y2xpY2tzLWNsaWNrcy0wMA"), 3, status=Status.STALE, message="why"
    ),
    StandingRecord("a-1", ConfigScope.TOPIC, "orders", LEADER_REPLICAS),
    StandingRecord("a-1", ConfigScope.BROKER, "4", LEADER_RATE, status=Status.STALE, message="why"),
    LogMoveRecord("a-1", P0, TOPIC_ID, BrokerId(4), "/d1"),
    SavedReplicaList("orders", FOLLOWER_REPLICAS, False, ("0:4", "0:5")),
    SavedRate(BrokerId(4), LEADER_RATE, None, ("1000",)),
    SavedRate(BrokerId(5), LEADER_RATE, "7", ("1000", "2000")),
    Order(P0, TOPIC_ID, replicas(3, 1, 2)),
    OriginalsChunk("a-1", 0, "eJw="),
    Command("a-1", "01", Verb.THROTTLE, "5000", "bob@ops-2", "ann@ops-1"),
    Command(
        "a-1",
        "02",
        Verb.THROTTLE,
        "0",
        obeyed_by="ann@ops-1",
        brokers=(BrokerRates(BrokerId(4), "5000", "unlimited"),),
        others=True,
        refused=True,
    ),
    RecoveryRecord(
        "a-1",
        P0,
        TOPIC_ID,
        replicas(2, 1),
        method="balanced",
        clean=False,
        evidence="1: not live",
        lost=3,
        asked=True,
        step=RecoveryStep.ELECT,
        measured=4,
        status=Status.DONE,
        message="led again",
    ),
    LoopChunk("memory", 0, "{}", "d"),
    Lease("01", "ann@ops-1", "2026-01-01T00:00:00Z", 7),
    LoopCommand("01", Verb.PAUSE, "bob@ops-2"),
)
