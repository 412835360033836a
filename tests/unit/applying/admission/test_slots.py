"""Slots and the queues in front of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replan.applying.admission.disk_space import Room
from replan.applying.admission.queue import PATIENT_TIMES, AdmissionQueue
from replan.applying.admission.slots import Slots, foreign_load, grown, halved
from replan.model.broker import LogDir
from replan.model.names import BrokerId, replicas
from replan.model.partition import Reassignment

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


def test_a_copy_takes_a_slot_on_each_broker_once() -> None:
    slots = Slots({}, 2, [(B1, B2, B1), (B1, B3)])
    assert [slots.free(b) for b in (B1, B2, B3)] == [0, 1, 1]
    assert slots.first_full((B2, B1)) == B1
    slots.take((B2, B3))
    assert slots.first_full((B3,)) == B3


def test_the_wait_for_a_slot_names_measure_and_limit() -> None:
    slots = Slots({B2: 1}, 5, [(B1, B2)] * 2)
    assert slots.why_full(B2) == (
        "broker 2 takes part in 2 copies (at most 1, 5 before in-sync replicas were lost); "
        "the next one to end makes room"
    )
    assert slots.why_full(B1) == (
        "broker 1 takes part in 2 copies (at most 5); the next one to end makes room"
    )


def test_what_is_free_can_be_reserved_and_what_is_full_stays_full() -> None:
    slots = Slots({}, 1, [(B1,)])
    slots.reserve((B1, B2))
    assert [slots.free(b) for b in (B1, B2, B3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("adding", "removing", "load"),
    [((), (3,), set()), ((4,), (), {1, 4}), ((4, 5), (1,), {1, 4, 5})],
)
def test_somebody_elses_copies_count(
    adding: tuple[int, ...], removing: tuple[int, ...], load: set[int]
) -> None:
    listed = replicas(*adding, *(b for b in (1, 2, 3) if b not in adding))
    assert foreign_load(Reassignment(listed, replicas(*adding), replicas(*removing))) == load


def test_limits_halve_and_grow_back_by_one() -> None:
    limits = halved({}, [B1, B1, B2], 5)
    assert limits == {B1: 2, B2: 2}
    assert halved(halved(limits, [B1], 5), [B1], 5)[B1] == 1
    assert grown(limits, [B1], 5) == {B1: 3, B2: 2}
    assert grown({B1: 4}, [B1, B3], 5) == {}


def plenty(_: BrokerId) -> int:
    return 100


def test_a_parked_move_comes_back_when_its_broker_has_room() -> None:
    waiting = AdmissionQueue([0, 1, 2])
    waiting.park(0, B1)
    waiting.park(2, B2)
    free = {B1: 0, B2: 1}
    assert waiting.next(9, 0, lambda b: free[b], alone=False) == [1, 2]
    free[B1] = 1
    assert waiting.next(9, 0, lambda b: free[b], alone=False) == [0, 1, 2]
    assert len(waiting) == 3


def test_a_broker_gives_back_no_more_than_it_may_have_room_for() -> None:
    waiting = AdmissionQueue(range(20))
    for place in range(20):
        waiting.park(place, B1)
    assert waiting.next(99, 0, lambda _: 2, alone=False) == [0, 1, 2, 3, 4, 5]


def test_a_move_that_is_deferred_comes_back_in_time() -> None:
    waiting = AdmissionQueue([0, 1])
    waiting.defer(0, until=10)
    assert waiting.next(9, 9.9, plenty, alone=False) == [1]
    assert waiting.next(9, 10, plenty, alone=False) == [0, 1]


def test_internal_ones_come_alone_and_when_nothing_else_waits() -> None:
    waiting = AdmissionQueue([0], [1, 2])
    assert waiting.next(9, 0, plenty, alone=True) == [0]
    waiting.defer(0, until=10)
    assert waiting.next(9, 0, plenty, alone=True) == []
    waiting.next(9, 10, plenty, alone=True)
    waiting.remove(0)
    assert waiting.next(9, 10, plenty, alone=False) == []
    assert waiting.next(9, 10, plenty, alone=True) == [1]
    waiting.defer(1, until=99)
    waiting.park(1, B1)
    assert waiting.next(9, 10, plenty, alone=True) == [1]
    waiting.remove(1)
    assert waiting.next(9, 10, plenty, alone=True) == [2]
    assert len(waiting) == 1


def test_a_move_that_was_passed_over_too_often_stays_in_view_and_reserves() -> None:
    waiting = AdmissionQueue([0])
    for _ in range(PATIENT_TIMES):
        assert not waiting.starving(0)
        waiting.next(9, 0, plenty, alone=False)
        waiting.park(0, B1)
    assert waiting.starving(0)
    assert waiting.next(9, 0, lambda _: 0, alone=False) == [0]
    waiting.remove(0)
    assert not waiting.starving(0)


def test_what_was_admitted_and_asked_nothing_can_be_given_back() -> None:
    waiting = AdmissionQueue([0, 1, 2])
    waiting.remove(1)
    waiting.readmit(1)
    assert waiting.next(9, 0, plenty, alone=False) == [0, 1, 2]


needs = st.lists(
    st.lists(st.sampled_from([B1, B2, B3]), min_size=1, max_size=3, unique=True), max_size=12
)


@given(needs, st.integers(1, 3), st.lists(st.integers(0, 11), max_size=30))
def test_queues_admit_what_a_scan_of_everything_would(
    wanted: list[list[BrokerId]], limit: int, ends: list[int]
) -> None:
    """After some ticks no move waits that a look at all of them would admit."""
    waiting, running = AdmissionQueue(range(len(wanted))), dict[int, list[BrokerId]]()
    for end in [*ends, -1, -1]:
        running.pop(end, None)
        for _ in range(PATIENT_TIMES // 2):
            slots = Slots({}, limit, running.values())
            looked = waiting.next(99, 0, slots.free, alone=not running)
            for place in looked:
                full = slots.first_full(wanted[place])
                if full is not None:
                    waiting.park(place, full)
                    continue
                slots.take(wanted[place])
                waiting.remove(place)
                running[place] = wanted[place]
        parked = [p for p in range(len(wanted)) if p not in running and p not in ends]
        assert all(slots.first_full(wanted[p]) is not None for p in parked)


def log_dir(path: str, usable: int | None, logs: int, **more: object) -> LogDir:
    total = None if usable is None else 1000
    return LogDir(B1, path, total, usable, logs, bool(more.get("cordoned")), more.get("error"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dirs", "size", "reason"),
    [
        ([], 100, None),
        ([log_dir("/a", None, 0)], 100, None),
        ([log_dir("/a", 200, 0)], 100, None),
        ([log_dir("/a", 200, 0)], 0, None),
        (
            [log_dir("/a", 199, 0)],
            100,
            (
                "broker 1 has no room: 100 bytes to /a (the directory with the fewest logs), 199 usable, "
                "100 must stay free; make room there"
            ),
        ),
        ([log_dir("/a", 900, 1), log_dir("/b", 150, 2)], 100, None),
        (
            [log_dir("/a", 900, 2), log_dir("/b", 150, 1)],
            100,
            (
                "broker 1 has no room: 100 bytes to /b (the directory with the fewest logs), 150 usable, "
                "100 must stay free; make room there"
            ),
        ),
        (
            [log_dir("/a", 900, 1), log_dir("/b", 150, 1)],
            100,
            (
                "broker 1 has no room: 100 bytes to /b (the directory with the fewest logs), 150 usable, "
                "100 must stay free; make room there"
            ),
        ),
        ([log_dir("/a", 900, 1), log_dir("/b", 9, 0, error="offline")], 100, None),
        ([log_dir("/a", 900, 1), log_dir("/b", 9, 0, cordoned=True)], 100, None),
    ],
)
def test_a_replica_must_fit_where_kafka_puts_it(
    dirs: list[LogDir], size: int, reason: str | None
) -> None:
    assert Room(tuple(dirs)).why_not(B1, size) == reason


def test_what_was_promised_is_not_there_any_more() -> None:
    room = Room((log_dir("/a", 300, 0),)).reserve([B1, B2], 120)
    assert room.why_not(B1, 100) == (
        "broker 1 has no room: 100 bytes to /a (the directory with the fewest logs), 300 usable, "
        "120 of them promised to other copies, 100 must stay free; make room there"
    )
    assert room.why_not(B1, 80) is None
