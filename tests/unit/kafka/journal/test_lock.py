"""When a lock may be taken: elapsed time of the watcher decides, and no wall clock."""

import msgspec
import pytest

from replan.errors import BadFile
from replan.kafka.api import (
    LOCK_DEAD_SECONDS,
    Lock,
    LockWatch,
    decode_lock,
    encode_lock,
)

HELD = Lock.new("ann@ops-1 (pid 7)", "cluster")


def test_a_lock_is_read_as_it_was_written() -> None:
    assert decode_lock(encode_lock(HELD)) == HELD


@pytest.mark.parametrize(
    "value", [b"{}", b"no json", encode_lock(HELD)[:-1] + b',"of a newer release":1}']
)
def test_what_is_no_lock_of_this_release_is_refused(value: bytes) -> None:
    with pytest.raises(BadFile):
        decode_lock(value)


def test_nobody_has_it_where_there_is_none_or_it_was_released() -> None:
    assert LockWatch(None, 0.0).free(0.0)
    assert LockWatch(HELD.released(), 0.0).free(0.0)


def test_it_is_dead_when_it_has_not_changed_for_a_minute() -> None:
    watch = LockWatch(HELD, 100.0).after(HELD, 130.0)
    assert not watch.free(100.0 + LOCK_DEAD_SECONDS - 1)
    assert watch.free(100.0 + LOCK_DEAD_SECONDS)


def test_each_sign_of_life_begins_the_minute_again() -> None:
    watch = LockWatch(HELD, 100.0).after(HELD.renewed("a-1"), 150.0)
    assert not watch.free(100.0 + LOCK_DEAD_SECONDS)
    assert watch.free(150.0 + LOCK_DEAD_SECONDS)


@pytest.mark.parametrize("hours", [-1, 1])
def test_the_owners_wall_clock_does_not_matter(hours: int) -> None:
    wrong = msgspec.structs.replace(HELD, at=f"2026-01-01T{12 + hours:02}:00:00Z")
    assert not LockWatch(wrong, 0.0).free(LOCK_DEAD_SECONDS - 1)
    assert LockWatch(wrong, 0.0).free(LOCK_DEAD_SECONDS)
