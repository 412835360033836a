"""What a terminal shows of an application at work, and what is said of it at its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import move, state
from tests.goldens import check_cases
from tests.unit.applying.lab import lab
from tests.unit.applying.three_moves import MOVES, three_moves

from replan.applying.api import (
    Confirming,
    CopyPace,
    CopyProgress,
    MetadataBehind,
    NewBrokerFenced,
    NoRoom,
    NoSlot,
    PartitionResult,
    Performed,
    Progress,
    ReplicaProgress,
    Result,
    ThrottlesLeft,
    Volume,
)
from replan.model.api import BrokerId, MoveThrottle, TopicPartition
from replan.reporting.api import copies, display, drawn, reasons, render_outcome

MB = 1_000_000
FOUR = BrokerId(4)
COPYING = CopyProgress(
    TopicPartition("orders", 0),
    (ReplicaProgress(FOUR, 12 * MB, 60 * MB, 4e6, 12.0, in_sync=False),),
)
IN_SYNC = CopyProgress(
    TopicPartition("payments", 11),
    (ReplicaProgress(FOUR, 30 * MB, 30 * MB, None, 0.0, in_sync=True),),
    Confirming(15.0),
)
PROGRESS = Progress(
    at_seconds=12,
    total=35,
    done=3,
    stopped=0,
    running=2,
    waiting=30,
    copies=(COPYING, IN_SYNC),
    volume=lambda: Volume(81 * MB, 197 * MB, 20e6),
    last_holds={
        **{TopicPartition("orders", n): NoSlot(FOUR, 5, 5) for n in range(1, 18)},
        TopicPartition("orders", 18): NoSlot(BrokerId(5), 5, 5),
        TopicPartition("orders", 19): NewBrokerFenced(BrokerId(6)),
    },
)


def shown(progress: Progress, *, height: int = 24, width: int = 80) -> list[str]:
    return drawn(display(progress, height=height, width=width), width=width).splitlines()


def said() -> Iterator[tuple[str, str]]:
    for title, lines in (
        ("at work", shown(PROGRESS)),
        ("at work, on a narrow terminal", shown(PROGRESS, width=60)),
        ("at work, on a low terminal", shown(replace(PROGRESS, copies=[COPYING] * 40), height=14)),
        ("where nothing copies", shown(replace(PROGRESS, done=7, copies=(), volume=Volume))),
    ):
        yield title, "\n".join(lines)
    outcome = three_moves().apply()
    new = PartitionResult(TopicPartition("clicks", 3), Result.DONE, created=2)
    led = PartitionResult(TopicPartition("clicks", 0), Result.DONE, "clicks-0: led again by 1")
    copied = Performed("000000000000-1", 654.0, 197_000_000, ThrottlesLeft.RESTORED)
    nothing_copied = Performed("000000000000-1", 60.0, 0, None)
    for title, took, results in (
        ("the end of moves", copied, outcome.partitions),
        ("the end of moves and new partitions", nothing_copied, (new, *outcome.partitions)),
        ("the end of new partitions", nothing_copied, (new,)),
        ("the end of a recovery", nothing_copied, (led,)),
    ):
        yield title, render_outcome(replace(outcome, performed=took, results=results))
    made = three_moves()
    made.apply(stop=made.stop_at(4.0))
    yield "the end after an interruption", render_outcome(made.apply())


def test_what_is_shown_and_said_at_the_end_is_as_the_golden_file_has_it() -> None:
    check_cases(Path(__file__).parent / "goldens" / "progress.txt", said())


@pytest.mark.parametrize(("height", "width"), [(10, 80), (14, 80), (24, 80), (24, 40)])
def test_no_more_is_shown_than_a_terminal_has_room_for(height: int, width: int) -> None:
    """Copies are left out, and counted, for what waits, also where each takes several rows of a narrow terminal."""
    lines = shown(replace(PROGRESS, copies=[COPYING] * 40), height=height, width=width)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert f"and {40 - text.count('orders-0')} more copies" in text


def test_a_step_that_is_no_move_says_what_it_waits_for_unless_every_one_does() -> None:
    lacks = NoRoom(FOUR, "/d1", 20, 19, 0, 15, within=True)
    replica = (TopicPartition("clicks", 1), FOUR)
    waits = replace(
        PROGRESS,
        last_holds={},
        step_holds={
            replica: lacks,
            (TopicPartition("clicks", 2), FOUR): lacks,
            TopicPartition("payments", 12): MetadataBehind(),
        },
    )
    assert reasons(waits) == {NoRoom: f"clicks-1 on broker 4  {lacks}"}
    assert copies(waits)[-1] == f"clicks-1 on broker 4  {lacks}"
    assert "clicks-1 on broker 4 waits:" in " ".join(shown(waits))
    recovery = replace(waits, step_holds={TopicPartition("payments", 12): lacks})
    assert reasons(recovery) == {NoRoom: f"payments-12  {lacks}"}


def test_what_is_copied_grows_up_to_all_that_the_plan_copies() -> None:
    made = three_moves()
    outcome = made.apply()
    volumes = [report.volume() for report in made.reports]
    copied = [v.copied_bytes for v in volumes]
    whole = sum(m.copies_bytes for m in MOVES)
    assert {v.total_bytes for v in volumes} == {whole}
    assert copied == sorted(copied)
    assert (copied[0], copied[-1]) == (0, whole)
    assert len(set(copied)) > 4
    assert any(v.seconds_left is not None for v in volumes)
    assert outcome.performed is not None
    assert outcome.performed.copied_bytes == whole


def test_the_time_left_goes_by_the_last_minute_and_ends_when_all_is_confirmed() -> None:
    """10 MB/s on the whole, although the copies that run at a moment may have 1 or 90."""
    pace = CopyPace()

    def at(second: float, volume: Volume) -> Volume:
        return pace.of(replace(PROGRESS, now=second, volume=lambda: volume)).volume()

    for second in range(0, 100, 2):
        running = 1e6 if second % 4 else 90e6
        found = at(second, Volume(10 * MB * second, 2_000 * MB, running, 15.0))
        if second > 5:
            assert found.bytes_per_second == 10e6
            assert found.seconds_left == (200 - second) + 15
    still = Volume(2_000 * MB - MB, 2_000 * MB, 0.0, 15.0)
    assert [at(second, still).seconds_left for second in (160, 220)][-1] is None


def test_the_time_left_is_right_where_one_broker_receives_more_than_others() -> None:
    """Under a throttle broker 5 is still to receive when broker 4 has everything, and the pace says nothing of that."""
    moves = (
        move([1, 2, 3], [4, 2, 5], partition=0, size=40 * MB),
        move([3, 1, 2], [3, 1, 5], partition=1, size=40 * MB),
        move([1, 3, 2], [1, 2, 5], partition=2, size=40 * MB),
    )
    made = lab(
        [state(m.original, partition=m.partition.partition, size=m.bytes) for m in moves],
        moves,
        throttle=MoveThrottle(MB),
    )
    made.apply()
    pace, took = CopyPace(), made.reports[-1].at_seconds
    left = [(took - r.at_seconds, pace.of(r).volume().seconds_left) for r in made.reports]
    told = [(true, said) for true, said in left if said is not None and true < 0.9 * took]
    assert len(told) > 20
    assert [(true, said) for true, said in told if abs(said - true) > 0.2 * true] == []
