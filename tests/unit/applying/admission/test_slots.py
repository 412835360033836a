"""Slots, and room on log directories."""

import pytest

from replan.applying.api import NoSlot, Room, Slots, foreign_load, halved, limits_after_success
from replan.model.api import BrokerId, LogDir, Reassignment, TopicPartition, replicas

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
P0, P1, P2 = (TopicPartition("orders", number) for number in range(3))


def test_a_copy_takes_a_slot_on_each_broker_once() -> None:
    slots = Slots.of({}, 2, [(B1, B2, B1), (B1, B3)])
    assert [slots.free(b) for b in (B1, B2, B3)] == [0, 1, 1]
    assert slots.first_full((B2, B1)) == B1
    slots.take((B2, B3))
    assert slots.first_full((B3,)) == B3


def test_the_wait_for_a_slot_names_broker_and_limit() -> None:
    slots = Slots.of({B2: 1}, 5, [(B1, B2)] * 2)
    assert slots.why_full(B2) == NoSlot(B2, limit=1, usual=5)
    assert slots.why_full(B1) == NoSlot(B1, limit=5, usual=5)


def test_what_is_free_can_be_reserved_and_what_is_full_stays_full() -> None:
    slots = Slots.of({}, 1, [(B1,)])
    slots.reserve((B1, B2))
    assert [slots.free(b) for b in (B1, B2, B3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("adding", "removing", "load"),
    [((), (3,), set()), ((4,), (), {1, 4}), ((4, 5), (1,), {1, 4, 5})],
)
def test_copies_of_another_tool_count(
    adding: tuple[int, ...], removing: tuple[int, ...], load: set[int]
) -> None:
    listed = replicas(*adding, *(b for b in (1, 2, 3) if b not in adding))
    running = Reassignment(listed, replicas(*adding), replicas(*removing))
    assert foreign_load(running, lambda b: b == 4) == load
    assert foreign_load(running, lambda _: False) == frozenset()


def test_a_wait_for_a_slot_names_the_reassignments_of_other_tools() -> None:
    theirs = TopicPartition("clicks", 3)
    slots = Slots.of({}, 1, others={theirs: frozenset({B1})})
    assert slots.first_full((B2, B1)) == B1
    assert slots.why_full(B1).others == (theirs,)


def test_limits_halve_and_grow_back_by_one() -> None:
    limits = halved({}, [B1, B1, B2], 5)
    assert limits == {B1: 2, B2: 2}
    assert halved(halved(limits, [B1], 5), [B1], 5)[B1] == 1
    assert limits_after_success(limits, [B1], 5) == {B1: 3, B2: 2}
    assert limits_after_success({B1: 4}, [B1, B3], 5) == {}


def log_dir(path: str, usable: int | None, logs: int, **more: object) -> LogDir:
    """Of a size of its own: none shares its volume."""
    total = None if usable is None else 1000 + ord(path[1]) % 10
    return LogDir(B1, path, total, usable, logs, bool(more.get("cordoned")), more.get("error"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dirs", "size", "chosen"),
    [
        ([], 100, None),
        ([log_dir("/a", None, 0)], 100, None),
        ([log_dir("/a", 200, 0)], 100, None),
        ([log_dir("/a", 200, 0)], 0, None),
        ([log_dir("/a", 199, 0)], 100, ("/a", 199)),
        ([log_dir("/a", 900, 1), log_dir("/b", 150, 2)], 100, None),
        ([log_dir("/a", 900, 2), log_dir("/b", 150, 1)], 100, ("/b", 150)),
        ([log_dir("/a", 900, 1), log_dir("/b", 150, 1)], 100, ("/b", 150)),
        ([log_dir("/a", 900, 1), log_dir("/b", 9, 0, cordoned=True)], 100, None),
        ([log_dir("/a", 900, 1), log_dir("/b", 9, 0, error="offline")], 100, None),
    ],
)
def test_a_replica_must_fit_where_kafka_puts_it(
    dirs: list[LogDir], size: int, chosen: tuple[str, int] | None
) -> None:
    found = Room.of(dirs).why_not(P0, B1, size)
    if chosen is None:
        assert found is None
        return
    assert found is not None
    assert (found.broker, found.path, found.usable) == (B1, *chosen)
    assert (found.size, found.promised, found.kept_free) == (size, 0, 100)


def test_what_was_promised_is_not_there_any_more() -> None:
    room = Room.of((log_dir("/a", 300, 0),)).reserve(P1, [B1, B2], 120)
    found = room.why_not(P0, B1, 100)
    assert found is not None
    assert (found.usable, found.promised, found.kept_free) == (300, 120, 100)
    assert room.why_not(P0, B1, 80) is None
    assert room.why_not(P1, B1, 120) is None, "its own room is reserved already"
    assert room.reserve(P1, [B1], 120) == room


def test_what_was_promised_is_spread_over_directories_as_kafka_places_it() -> None:
    room = Room.of((log_dir("/a", 300, 0), log_dir("/b", 300, 0))).reserve(P1, [B1], 120)
    assert room.why_not(P0, B1, 200) is None, "the other one comes to lie in the other directory"
    two = room.reserve(P2, [B1], 50)
    found = two.why_not(P0, B1, 81)
    assert found is not None, "one is in each; Kafka may put this one beside the larger"
    assert found.promised == 120
    assert two.why_not(P0, B1, 80) is None


def test_what_was_promised_to_one_directory_takes_of_all_that_may_lie_on_its_volume() -> None:
    """They say the same of it; or nearly, as one is asked after the other."""
    for usable in (300, 305):
        dirs = (LogDir(B1, "/a", 1000, 300, 0), LogDir(B1, "/b", 1000, usable, 0))
        room = Room.of(dirs).reserve(P1, [B1], 120)
        assert room.why_not(P0, B1, 80) is None
        found = room.why_not(P0, B1, 86)
        assert found is not None
        assert found.promised == 120
    two = Room.of((dirs[0], LogDir(B1, "/b", 1000, 311, 0))).reserve(P1, [B1], 120)
    assert two.why_not(P0, B1, 200) is None


def test_what_lies_in_a_directory_already_takes_more_of_that() -> None:
    lies = LogDir(B1, "/a", 1000, 300, 1, replicas={P1.topic: (P1.partition,)})
    room = Room.of((lies, log_dir("/b", 300, 1))).reserve(P1, [B1], 120)
    found = room.why_not(P0, B1, 81)
    assert found is not None, "both have as many logs"
    assert (found.path, found.promised) == ("/a", 120)
    wider = Room.of((lies, log_dir("/b", 300, 0))).reserve(P1, [B1], 120)
    assert wider.why_not(P0, B1, 200) is None
