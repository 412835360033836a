"""What must hold before a partition is touched, in the words that a person reads."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, brokers, move, state

from replan.applying.api import (
    HoldReason,
    MoveRecord,
    NewBrokerCordoned,
    NewBrokerFenced,
    NoRoom,
    Room,
    TopicReassigned,
    UncleanElectionPossible,
    WritesWouldStop,
    closed_gate,
    others_by_topic,
)
from replan.model.api import (
    Broker,
    BrokerId,
    Features,
    LogDir,
    Look,
    PartitionState,
    Reassignment,
    TopicPartition,
    TopicSettings,
    replicas,
)
from replan.planning.api import Move

AS_PLANNED = TopicSettings(min_insync_replicas=2)
SWAP = move([1, 2, 3], [4, 2, 5], size=100)


def seen(*fenced: int, settings: TopicSettings = AS_PLANNED, cordoned: int = 0) -> Look:
    found = {
        b.id: Broker(b.id, b.rack, fenced=b.id in fenced, cordoned=b.id == cordoned)
        for b in brokers()
    }
    return Look(brokers=found, topics={"orders": settings})


LOW = WritesWouldStop(replicas(1), 2, 2)


@pytest.mark.parametrize(
    ("planned", "found", "around", "reason"),
    [
        pytest.param(SWAP, state([1, 2, 3]), seen(), None, id="all well"),
        pytest.param(
            SWAP,
            state([1, 2, 3]),
            seen(4),
            NewBrokerFenced(BrokerId(4)),
            id="new broker fenced",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3]),
            seen(cordoned=5),
            NewBrokerCordoned(BrokerId(5)),
            id="new broker cordoned",
        ),
        pytest.param(SWAP, state([1, 2, 3], [1, 2]), seen(), None, id="at min ISR"),
        pytest.param(
            move([1], [1, 4]), state([1]), seen(), LOW, id="writes would stop for the whole copy"
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1]),
            seen(),
            None,
            id="under min ISR: the start does not make it worse",
        ),
        pytest.param(
            SWAP, state([1, 2, 3], [1, 2]), seen(2), None, id="under min ISR since a broker died"
        ),
        pytest.param(
            move([1, 2], [1, 2, 4], min_insync_replicas=3),
            state([1, 2]),
            seen(),
            WritesWouldStop(replicas(1, 2), 3, 3),
            id="the minimum would rise",
        ),
        pytest.param(
            move([1, 2], [1, 2, 4], min_insync_replicas=3),
            state([1, 2], [1]),
            seen(),
            WritesWouldStop(replicas(1), 3, 3),
            id="under min ISR, and the minimum would rise",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1]),
            seen(settings=TopicSettings(2, unclean_election=True)),
            UncleanElectionPossible("orders", replicas(1)),
            id="unclean guard",
        ),
        pytest.param(
            SWAP,
            state([1, 2, 3], [1, 2]),
            seen(settings=TopicSettings(2, unclean_election=True)),
            None,
            id="two in sync are enough for the unclean guard",
        ),
    ],
)
def test_a_gate_says_why_nothing_is_added_now(
    planned: Move, found: PartitionState, around: Look, reason: HoldReason | None
) -> None:
    assert closed_gate(planned, planned.expanded, found, around, Room(), {}) == reason


def test_room_is_judged_by_the_larger_of_planned_and_seen_size() -> None:
    room = Room.of((LogDir(BrokerId(5), "/a", 1000, 250, 0),))
    assert closed_gate(SWAP, SWAP.expanded, state([1, 2, 3]), seen(), room, {}) is None
    closed = closed_gate(SWAP, SWAP.expanded, state([1, 2, 3], size=200), seen(), room, {})
    assert isinstance(closed, NoRoom)
    assert (closed.broker, closed.path, closed.size) == (5, "/a", 200)


B5 = BrokerId(5)
OTHER = TopicPartition("clicks", 0)
DIRS = (
    LogDir(B5, "/a", 1000, 500, 0),
    LogDir(B5, "/b", 1001, 500, 3, replicas={"clicks": (0,)}),
)
TWO_DIRS = Room.of(DIRS)
"""The next replica of the broker comes to /a, which takes 400; a replica of clicks lies in /b."""


def test_a_copy_counts_the_replica_that_goes_to_the_same_directory_within_the_broker() -> None:
    size, planned = 380, SWAP.partition
    assert TWO_DIRS.why_not(planned, B5, size) is None
    room = TWO_DIRS.reserve_within((OTHER, B5), "/a", size)
    assert room.why_not(planned, B5, size) == NoRoom(B5, "/a", size, 500, size, 100)
    assert room.why_not(planned, B5, 20) is None
    assert room.why_not(planned, BrokerId(4), size) is None


def test_a_replica_that_goes_to_a_directory_counts_the_copies_that_may_come_there() -> None:
    size, replica = 380, (OTHER, B5)
    room = TWO_DIRS.reserve(SWAP.partition, [B5], size)
    assert room.why_not_within(replica, "/a", size) == NoRoom(B5, "/a", size, 500, size, 100, True)
    assert room.why_not_within(replica, "/a", 20) is None
    assert room.why_not_within(replica, "/b", size) is None


def test_a_replica_that_goes_to_a_directory_counts_what_comes_to_others_on_its_volume() -> None:
    replica, dirs = (OTHER, B5), [replace(d, total_bytes=1000) for d in DIRS]
    room = Room.of(dirs).reserve(SWAP.partition, [B5], 380)
    assert room.why_not_within(replica, "/b", 380) == NoRoom(B5, "/b", 380, 500, 380, 100, True)
    assert room.why_not_within(replica, "/b", 20) is None


def test_a_replica_on_its_way_within_a_broker_does_not_count_beside_itself() -> None:
    room = TWO_DIRS.reserve_within((OTHER, B5), "/a", 380)
    assert room.why_not_within((OTHER, B5), "/a", 380) is None
    lacks = room.why_not_within((TopicPartition("clicks", 1), B5), "/a", 380)
    assert lacks is not None
    assert lacks.promised == 380


@pytest.mark.parametrize(("logs", "fits"), [((0, 2), True), ((0, 1), False), ((1, 1), False)])
def test_a_copy_fits_wherever_a_replica_within_the_broker_may_turn_kafka_to(
    logs: tuple[int, int], fits: bool
) -> None:
    """The one within goes to /a: it counts there already for the next copy, or does not yet."""
    dirs = [LogDir(B5, p, 1000, u, n) for p, u, n in zip("ab", (900, 110), logs, strict=True)]
    room = Room.of(dirs).reserve_within((OTHER, B5), "a", 10)
    assert (room.why_not(SWAP.partition, B5, 50) is None) is fits


@pytest.mark.parametrize(
    ("guarded", "topic", "ours", "reason"),
    [
        (True, "orders", False, None),
        (False, "clicks", False, None),
        (False, "orders", True, None),
        (False, "orders", False, TopicReassigned((TopicPartition("orders", 7),))),
    ],
)
def test_without_the_guard_a_reorder_waits_for_others_on_its_topic(
    guarded: bool, topic: str, ours: bool, reason: HoldReason | None
) -> None:
    running = {
        TopicPartition(topic, 7): Reassignment(replicas(1, 2, 3, 4), replicas(4), replicas())
    }
    around = Look(
        brokers={b.id: b for b in brokers()}, running=running, features=Features(guarded, guarded)
    )
    reorder = move([1, 2, 3], [2, 1, 3])
    listed = replicas(1, 2, 3, 4)
    own = MoveRecord("a-1", TopicPartition(topic, 7), TOPIC_ID, listed, listed, past=(listed,))
    others = others_by_topic(around, {own.partition: own} if ours else {})
    found = closed_gate(reorder, reorder.target, state([1, 2, 3]), around, Room(), others)
    assert found == reason


def test_a_list_that_adds_nothing_passes_the_gates_of_copies() -> None:
    low = state([1, 2, 3, 4, 5], [1])
    assert closed_gate(SWAP, SWAP.target, low, seen(4), Room(), {}) is None
