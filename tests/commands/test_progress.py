"""What a log has of a long application: a summary now and then, each new kind of reason once, all of it on demand."""

import pytest
from msgspec.structs import replace

from replan.applying.api import NewBrokerFenced, NoSlot, Progress
from replan.commands.api import progress_to
from replan.model.api import BrokerId, TopicPartition

MOVES = 477


def ticks(seconds: int) -> list[Progress]:
    """An application of which a move ends every second, while others wait for slots of ever other brokers."""
    return [
        Progress(
            at_seconds=float(now),
            total=MOVES,
            done=min(now, MOVES),
            stopped=0,
            running=min(5, MOVES - min(now, MOVES)),
            waiting=max(0, MOVES - now - 5),
            holds={
                TopicPartition("orders", n): NoSlot(BrokerId(n % 7 + now % 3), 5, 5)
                for n in range(9)
            },
        )
        for now in range(seconds)
    ]


def logged(
    capsys: pytest.CaptureFixture[str], *, quiet: bool = False, verbose: bool = False
) -> list[str]:
    with progress_to(quiet=quiet, verbose=verbose) as report:
        for progress in ticks(500):
            report(progress)
    return capsys.readouterr().err.splitlines()


def test_a_log_has_a_summary_every_minute_and_each_reason_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = logged(capsys)
    assert lines[0] == "0.0 s: orders-0  broker 0 is at its limit (`--slots 5`)"
    assert lines[1] == "0.0 s: 0 of 477 steps done, 5 running, 472 waiting"
    assert lines[2] == "1 min: 60 of 477 steps done, 5 running, 412 waiting"
    assert sum("is at its limit" in line for line in lines) == 1
    assert "7 min 57 s: 477 of 477 steps done" in lines
    assert len(lines) == 1 + 8 + 1


def test_a_verbose_log_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = logged(capsys, verbose=True)
    assert sum("is at its limit" in line for line in lines) > 9 * 470


def test_a_quiet_one_has_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert logged(capsys, quiet=True) == []


@pytest.mark.parametrize("verbose", [False, True])
def test_what_is_waited_for_when_all_moves_have_ended_is_said(
    capsys: pytest.CaptureFixture[str], *, verbose: bool
) -> None:
    ended = Progress(at_seconds=17, total=3, done=3, stopped=0, running=0, waiting=0, throttles=7)
    with progress_to(quiet=False, verbose=verbose) as report:
        report(ended)
    said = capsys.readouterr().err
    assert said.startswith("17 s: 3 of 3 steps done")
    assert said.endswith("restoring 7 throttle settings\n")


def test_settings_that_may_still_change_are_waited_for_with_the_time_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ended = Progress(17, total=3, done=3, stopped=0, running=0, waiting=0, throttles=7)
    with progress_to(quiet=False, verbose=True) as report:
        report(replace(ended, arriving_seconds=64))
    assert "restoring 7 throttle settings: for 1 min 4 s more" in capsys.readouterr().err


def test_a_long_wait_is_named_with_how_long_it_has_lasted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dead = {TopicPartition("orders", 7): NewBrokerFenced(BrokerId(4))}
    with progress_to(quiet=False, verbose=False) as report:
        for progress in ticks(121):
            holds = {**(progress.holds or {}), **dead}
            since = dict.fromkeys(dead, 0.0)
            report(replace(progress, holds=holds, now=progress.at_seconds, since=since))
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("2 min: 120 of 477 steps done")
    assert "longest wait: orders-7 broker 4 is to receive a replica and is fenced" in last
    assert last.endswith("(for 2 min)")
