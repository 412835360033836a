"""What a terminal shows of an application at work, and what is said of it at its end."""

from msgspec.structs import replace
from tests.builders import move, state
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


def test_a_terminal_shows_the_whole_each_copy_and_what_waits_by_reason() -> None:
    assert shown(PROGRESS) == [
        "━━━━━━━━━━━━──────────────────  41 %  81 MB of 197 MB  20 MB/s  5.8 s left",
        "12 s: 3 of 35 steps done, 2 running, 30 waiting",
        "  orders-0     to 4: 12 MB of 60 MB (20 %), 4 MB/s, 12 s left",
        "  payments-11  to 4: in sync; confirming for 15 s",
        "18 wait: broker 4 is at its limit (`--slots 5`); 1 more like that",
        "orders-19 waits: broker 6 is to receive a replica and is fenced; start it",
        "11 partitions behind these",
    ]


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


def test_a_low_terminal_shows_the_whole_and_the_reasons_and_as_many_copies_as_fit() -> None:
    many = replace(PROGRESS, copies=[COPYING] * 40)
    lines = shown(many, height=14)
    assert len(lines) <= 14
    assert any(line == "  and 33 more copies" for line in lines)
    assert lines[-1] == "11 partitions behind these"


def test_a_narrow_terminal_shows_a_shorter_bar_and_still_the_time_left() -> None:
    (bar, *_) = shown(PROGRESS, width=60)
    assert bar == "━━━━━━──────────  41 %  81 MB of 197 MB  20 MB/s  5.8 s left"
    assert len(bar) <= 60


def test_where_nothing_is_copied_the_bar_counts_what_is_done() -> None:
    (bar, *_) = shown(replace(PROGRESS, done=7, copies=(), volume=Volume))
    assert bar == "━━━━━━────────────────────────  20 %"


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


def test_the_end_says_how_long_how_much_what_became_of_throttles_and_where_it_is_kept() -> None:
    made = three_moves()
    outcome = made.apply()
    took = Performed("000000000000-1", 654.0, 197 * MB, ThrottlesLeft.RESTORED)
    assert render_outcome(replace(outcome, performed=took)).splitlines()[-1] == (
        "3 moves in 10 min 54 s; 197 MB copied; throttles restored; "
        "`replan journal show` has application 000000000000-1"
    )


def test_the_end_counts_new_partitions_elections_and_moves_apart() -> None:
    outcome = three_moves().apply()
    took = Performed("000000000000-1", 60.0, 0, None)
    new = PartitionResult(TopicPartition("clicks", 3), Result.DONE, created=2)
    led = PartitionResult(TopicPartition("clicks", 0), Result.DONE, "clicks-0: led again by 1")
    ends = [
        render_outcome(replace(outcome, performed=took, results=results))
        .splitlines()[-1]
        .partition(";")[0]
        for results in ((new, *outcome.partitions), (new,), (led,))
    ]
    assert ends == [
        "2 new partitions, 3 moves in 1 min",
        "2 new partitions in 1 min",
        "1 partition led again in 1 min",
    ]


def test_an_end_after_an_interruption_says_that_it_was_resumed() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(4.0))
    last = render_outcome(made.apply()).splitlines()[-1]
    assert "3 moves in " in last
    assert " s since it was resumed; " in last


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
