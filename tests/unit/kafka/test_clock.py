"""The real clock: it goes forward, and a sleep can be cut short."""

import resource
import threading
from contextlib import ExitStack
from pathlib import Path

from replan.kafka.api import SystemClock, process_seconds


def test_time_passes_while_one_sleeps() -> None:
    clock = SystemClock()
    before = clock.now()

    clock.sleep(0.01)

    assert clock.now() >= before + 0.009


def test_an_interrupt_ends_the_sleep_that_runs_and_no_other() -> None:
    clock = SystemClock()
    before = clock.now()
    threading.Timer(0.02, clock.interrupt).start()

    clock.sleep(60)

    interrupted = clock.now()
    assert interrupted - before < 30
    clock.sleep(0.05)
    assert clock.now() - interrupted >= 0.05


def test_an_interrupt_before_a_sleep_ends_that_one() -> None:
    clock = SystemClock()
    clock.interrupt()
    before = clock.now()

    clock.sleep(60)

    assert clock.now() - before < 30


def test_a_process_knows_how_long_ago_it_began() -> None:
    before = process_seconds()

    SystemClock().sleep(0.02)

    assert process_seconds() > before > 0


def test_a_sleep_can_be_cut_short_in_a_process_with_many_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            files.enter_context(Path("/dev/null").open())
        clock = SystemClock()
        clock.interrupt()

        clock.sleep(60)
