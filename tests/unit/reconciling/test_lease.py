"""One loop at a time: the lease, on virtual time."""

from pathlib import Path

import pytest

from replan.applying.api import Forget
from replan.errors import BadFile
from replan.reconciling.api import (
    CLAIM_SECONDS,
    LEASE_BEAT_SECONDS,
    LEASE_DEAD_SECONDS,
    FolderStore,
    History,
    LeaseHeld,
    LeaseKeeper,
    Memory,
    MemoryStore,
    SomebodyPaused,
    history_records,
    load,
    memory_records,
)
from replan.simulator.api import VirtualClock


def two() -> tuple[VirtualClock, LeaseKeeper, LeaseKeeper]:
    clock, store = VirtualClock(), MemoryStore()
    return clock, LeaseKeeper(store, clock, "ann", ""), LeaseKeeper(store, clock, "bob", "")


def test_the_first_one_has_it_and_the_other_one_waits_as_long_as_it_beats() -> None:
    clock, ann, bob = two()
    for _ in range(100):
        assert ann.keep(0.0) is None
        assert isinstance(bob.keep(0.0), LeaseHeld)
        clock.sleep(2.0)
    assert bob.alive


def test_it_is_taken_over_within_a_minute_and_the_one_before_notices() -> None:
    clock, ann, bob = two()
    ann.keep(0.0)
    died = clock.now()
    while bob.keep(0.0) is not None:
        clock.sleep(2.0)
    assert clock.now() - died <= LEASE_DEAD_SECONDS + CLAIM_SECONDS + 2 * LEASE_BEAT_SECONDS < 64
    assert not bob.alive
    assert isinstance(ann.keep(0.0), LeaseHeld)
    assert not ann.held


def test_what_was_released_is_taken_at_once() -> None:
    _, ann, bob = two()
    ann.keep(0.0)
    bob.keep(0.0)
    ann.release()
    assert bob.keep(0.0) is None


def test_a_writing_that_was_cut_off_leaves_the_one_before() -> None:
    """After each of its records: the memory is the old one or the new one, and a pause is not forgotten."""
    history = History("digest", {"orders": {0: (1, 2, 3)}}, "a", "b")
    many = {f"changedElsewhere orders-{n}": 1.5 for n in range(30_000)}
    few = dict(list(many.items())[:10])
    store, before = MemoryStore(), Memory(paused=SomebodyPaused("bob", 1.0))
    store.write([*history_records(history, ()), *memory_records(before, ())])
    for since in (many, {**many, "a": 1.0}, few, {}, many, few):
        now, seen = Memory(since=since, paused=before.paused), list[Memory]()
        for record in memory_records(now, store.read()):
            store.write([record])
            seen.append(load(store.read())[0])
        turn = seen.index(now)
        assert seen == [before] * turn + [now] * (len(seen) - turn)
        assert load(store.read()) == (now, history)
        before = now
    assert len(store.read()) == 2


def test_a_folder_that_cannot_be_used_is_said_as_any_file(tmp_path: Path) -> None:
    store, folder = FolderStore(tmp_path / "journal"), tmp_path / "journal.loop"
    folder.write_text("no folder")
    with pytest.raises(
        BadFile, match=r"journal\.loop/loop-memory-000000\.json: cannot write: File exists"
    ):
        store.write(memory_records(Memory(), ()))
    folder.unlink()
    store.write(memory_records(Memory(number=7), ()))
    assert load(store.read())[0].number == 7
    (kept,) = folder.iterdir()
    kept.unlink()
    kept.mkdir()
    with pytest.raises(BadFile, match=r"cannot read: Is a directory"):
        store.read()
    with pytest.raises(BadFile, match=r"cannot write: Is a directory"):
        store.write([Forget("loop/memory/000000")])
