"""The queue of moves that have not begun."""

from hypothesis import given
from hypothesis import strategies as st

from replan.applying.api import TIMES_PASSED_OVER, AdmissionQueue, Admitted, Deferred, Parked, Slots
from replan.model.api import BrokerId

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)


def plenty(_: BrokerId) -> int:
    return 100


def full(_: BrokerId) -> int:
    return 0


def test_a_parked_move_comes_back_when_its_broker_has_room() -> None:
    queue = AdmissionQueue((0, 1, 2)).after({0: Parked(B1), 2: Parked(B2)})
    free = {B1: 0, B2: 1}
    queue = queue.released(0, lambda b: free[b])
    assert queue.next(9) == (1, 2)
    assert queue.released(0, plenty).next(9) == (0, 1, 2)
    assert len(queue) == 3


def test_a_broker_releases_no_more_than_it_may_have_room_for() -> None:
    queue = AdmissionQueue(tuple(range(20))).after({place: Parked(B1) for place in range(20)})
    assert queue.released(0, lambda _: 2).next(99) == (0, 1, 2, 3, 4, 5)


def test_a_move_that_is_deferred_comes_back_in_time() -> None:
    queue = AdmissionQueue((0, 1)).after({0: Deferred(until=10)})
    assert queue.released(9.9, plenty).next(9) == (1,)
    assert queue.released(10, plenty).next(9) == (0, 1)


def test_a_move_that_was_passed_over_too_often_stays_in_view_and_reserves() -> None:
    queue = AdmissionQueue((0,))
    for _ in range(TIMES_PASSED_OVER):
        assert not queue.starving(0)
        queue = queue.released(0, plenty).after({0: Parked(B1)})
    assert queue.starving(0)
    assert queue.released(0, full).next(9) == (0,)
    assert not queue.after({0: Admitted()}).starving(0)
    for _ in range(TIMES_PASSED_OVER):
        assert queue.starving(0)
        queue = queue.released(0, plenty).after({0: Parked(B1)})
    assert not queue.starving(0)


def test_what_was_admitted_comes_back_in_its_place() -> None:
    queue = AdmissionQueue((0, 1, 2)).after({0: Admitted()})
    queue = queue.after({0: Deferred(until=5)}).released(5, plenty)
    assert queue.next(9) == (0, 1, 2)
    queue = queue.after({place: Admitted() for place in range(3)})
    assert len(queue) == 0
    assert queue.after({1: Parked(B1)}).released(5, plenty).next(9) == (1,)


needs = st.lists(
    st.lists(st.sampled_from([B1, B2, B3]), min_size=1, max_size=3, unique=True), max_size=12
)


@given(needs, st.integers(1, 3), st.lists(st.integers(0, 11), max_size=30))
def test_the_queue_admits_what_a_scan_of_everything_would(
    wanted: list[list[BrokerId]], limit: int, ends: list[int]
) -> None:
    """After some ticks no move waits that a look at all of them would admit."""
    queue, running = AdmissionQueue(tuple(range(len(wanted)))), dict[int, list[BrokerId]]()
    for end in [*ends, -1, -1]:
        running.pop(end, None)
        for _ in range(TIMES_PASSED_OVER // 2):
            slots = Slots.of({}, limit, running.values())
            queue = queue.released(0, slots.free)
            changes: dict[int, Parked | Admitted] = {}
            for place in queue.next(99):
                broker = slots.first_full(wanted[place])
                if broker is not None:
                    changes[place] = Parked(broker)
                    continue
                slots.take(wanted[place])
                changes[place] = Admitted()
                running[place] = wanted[place]
            queue = queue.after(changes)
        waiting = [p for p in range(len(wanted)) if p not in running and p not in ends]
        assert all(slots.first_full(wanted[p]) is not None for p in waiting)
