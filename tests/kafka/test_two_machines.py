"""An application that goes on elsewhere: the journal is on the cluster, and one process at a time may write it.

Each machine has a folder, a home and a user of its own; the second knows nothing but the bootstrap address. A lock is
dead after 60 s if nobody releases it, and for 85 s a request of the process before may still arrive: these tests wait.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.commandline import checked, replan, started
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.clients import until
from tests.kafka.harness.doors import Doors
from tests.kafka.harness.layout import FIVE_BROKERS, Layout
from tests.kafka.harness.one_jvm import OneJvmCluster
from tests.kafka.test_main_job import SETTLE, Site, filled, load_on, placement

SLOW = "4MB/s"
ALTER_PARTITION_REASSIGNMENTS = 45
LATE_SECONDS = 600.0


class Machine:
    """A user on a machine."""

    def __init__(self, site: Site, folder: Path, user: str) -> None:
        self.folder = folder / user
        self.folder.mkdir()
        self.flags = site.flags
        self.environment: dict[str, Any] = {"HOME": str(self.folder), "LOGNAME": user}

    def replan(self, *arguments: str, wanted: int) -> tuple[str, str]:
        words = (*arguments, *self.flags)
        done = checked(*words, folder=self.folder, wanted=wanted, **self.environment)
        return done.stdout, done.stderr

    def started(self, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
        return started([*arguments, *self.flags], folder=self.folder, **self.environment)


@pytest.fixture
def site(without_journal: OneJvmCluster, tmp_path: Path) -> Site:
    return slowly(filled(without_journal, tmp_path))


def slowly(site: Site) -> Site:
    (site.folder / "placement.yaml").write_text(placement(site.topic, rate=SLOW))
    return site


@pytest.fixture
def machine(site: Site, tmp_path: Path) -> Callable[[str], Machine]:
    return lambda user: Machine(site, tmp_path, user)


def begin(ann: Machine, site: Site) -> tuple[str, ...]:
    """Plan there; the command that applies."""
    ann.replan("plan", "-f", str(site.folder / "placement.yaml"), "-o", "plan.json", wanted=2)
    return ("apply", "plan.json", *SETTLE)


def release(user: Machine) -> None:
    """Take the lock away, rather than watch it for a minute."""
    shown, _ = user.replan("lock", "show", wanted=0)
    user.replan("lock", "release", shown.split()[1], "--reason", "it hangs", wanted=0)


def test_a_stopped_process_that_was_taken_over_sends_nothing_when_it_continues(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    ann, bob, cy = machine("ann"), machine("bob"), machine("cy")
    with ann.started(*begin(ann, site)) as stopped:
        copying(site)
        _, refused = bob.replan("resume", *SETTLE, wanted=4)
        assert "ann@" in refused
        stop_clock(stopped)
        _, taken = bob.replan("resume", *SETTLE, wanted=0)
        assert "taking over" in taken
        site.by_another_tool(1, [1, 2])
        before = site.described(), site.leftovers()
        journal = cy.replan("journal", "show", "--format", "json", wanted=0)
        stopped.send_signal(signal.SIGCONT)
        _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == 4
    assert "taken over by bob@" in said
    assert (site.described(), site.leftovers()) == before
    assert cy.replan("journal", "show", "--format", "json", wanted=0) == journal


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_throttle_clear_and_resume_after_a_kill_wait_once_for_what_may_arrive(
    site: Site, machine: Callable[[str], Machine]
) -> None:
    """For a minute the lock is watched, and that counts; whoever resumes afterwards finds nothing to wait for."""
    ann, bob = machine("ann"), machine("bob")
    with ann.started(*begin(ann, site)) as applying:
        copying(site)
        kill(applying)
    _, cleared = bob.replan("throttle", "clear", wanted=0)
    assert re.search(r"no sign of life of ann@.* it is taken over in \d+ s", cleared)
    left = re.findall(
        r"restored; for (\d+) s more a change that was sent before may arrive", cleared
    )
    assert len(left) == 1
    assert int(left[0]) <= 30
    _, resumed = bob.replan("resume", *SETTLE, wanted=0)
    assert "may still arrive" not in resumed
    site.stands_as_declared()


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("held_seconds", [30, 80])
def test_a_request_that_arrives_after_the_takeover_changes_nothing(
    layout: Layout, pytestconfig: pytest.Config, tmp_path: Path, held_seconds: int
) -> None:
    """The network holds back what the first one asked for, which is stopped and goes on when all is over."""
    with (
        Doors(FIVE_BROKERS) as doors,
        one_jvm_cluster(replace(layout, own_properties=doors.properties), pytestconfig) as cluster,
    ):
        site = slowly(filled(cluster, tmp_path))
        ann, bob = Machine(site, tmp_path, "ann"), Machine(site, tmp_path, "bob")
        ann.flags = ("--bootstrap-server", doors.of(1))
        held = doors.hold(ALTER_PARTITION_REASSIGNMENTS)
        with load_on(site) as load, ann.started(*begin(ann, site)) as stopped:
            until(held.is_set, "a request", limit_seconds=60)
            stop_clock(stopped)
            over = time.monotonic() + held_seconds
            release(bob)
            with bob.started("resume", *SETTLE) as resuming:
                until(lambda: time.monotonic() > over, "its time", limit_seconds=held_seconds + 10)
                assert resuming.poll() is None
                doors.release()
                shown, said = resuming.communicate(timeout=300)
            assert resuming.returncode == 0, f"{shown}\n{said}"
            stopped.send_signal(signal.SIGCONT)
            _, refused = stopped.communicate(timeout=60)
            account = load.close()
        assert stopped.returncode == 4, refused
        assert account.errors == ()
        site.stands_as_declared()


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_a_request_that_arrives_ten_minutes_late_is_named_and_taken_back(
    layout: Layout, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    """What it asks for is long done then; the application is open because a broker that is to get a copy is down.

    By default a broker closes a connection that has been idle for ten minutes, and the request is lost with it.
    """
    patient = replace(layout, broker_properties={"connections.max.idle.ms": "3600000"})
    with (
        Doors(FIVE_BROKERS) as doors,
        one_jvm_cluster(replace(patient, own_properties=doors.properties), pytestconfig) as cluster,
    ):
        site = filled(cluster, tmp_path)
        lists = "{0: [4, 2, 5], 1: [3, 4]}"
        (tmp_path / "placement.yaml").write_text(
            f"version: 1\nassignments: {{{site.topic}: {{partitions: {lists}}}}}\n"
            f"throttles: {{moves: {{rate: {SLOW}}}}}\n"
        )
        ann, bob = Machine(site, tmp_path, "ann"), Machine(site, tmp_path, "bob")
        ann.flags = ("--bootstrap-server", doors.of(1))
        cluster.stop(5)
        held = doors.hold(ALTER_PARTITION_REASSIGNMENTS)
        with load_on(site) as load, ann.started(*begin(ann, site)) as stopped:
            until(held.is_set, "a request", limit_seconds=60)
            stop_clock(stopped)
            over = time.monotonic() + LATE_SECONDS
            release(bob)
            with bob.started("resume", *SETTLE) as resuming:
                until(lambda: site.described()[1][0] == [3, 4], "the move", limit_seconds=240)
                until(lambda: time.monotonic() > over, "its time", limit_seconds=LATE_SECONDS)
                cluster.stop(2)  # the late list adds it: it would be done between two looks else
                doors.release()
                until(lambda: len(site.described()[1][0]) > 2, "the late list", limit_seconds=30)
                until(lambda: site.described()[1][0] == [3, 4], "its end", limit_seconds=60)
                cluster.start(2)
                cluster.start(5)
                shown, said = resuming.communicate(timeout=300)
            assert resuming.returncode == 0, f"{shown}\n{said}"
            assert "runs there after it was done, as an earlier request wanted" in shown + said
            stopped.send_signal(signal.SIGCONT)
            _, refused = stopped.communicate(timeout=60)
            account = load.close()
        assert stopped.returncode == 4, refused
        assert account.errors == ()
        found = site.described()
        assert (found[0], found[1]) == (([4, 2, 5], 4), ([3, 4], 3))
        assert site.leftovers() == []
        site.replan("plan", wanted=0)


def test_it_is_steered_from_another_machine(site: Site, machine: Callable[[str], Machine]) -> None:
    ann, bob = machine("ann"), machine("bob")
    with ann.started(*begin(ann, site)) as applying:
        copying(site)
        shown = bob.replan("status", "--over", "3s", wanted=2)[0]
        assert re.search(r"Behind by [\d,]+ messages? .* of .* %\) .*/s .* replan", shown), shown
        assert "paused, by ann@" in bob.replan("pause", wanted=0)[0]
        assert bob.replan("throttle", "5MB/s", wanted=0)[0].startswith(
            "throttle: 5 MB/s, set by ann@"
        )
        until(
            lambda: "throttled.rate=5000000" in "".join(site.leftovers()),
            "the new rate",
            limit_seconds=90,
        )
        assert "pause lifted, by ann@" in bob.replan("resume", wanted=0)[0]
        _, said = applying.communicate(timeout=240)
    assert applying.returncode == 0, said
    site.stands_as_declared()
    assert site.leftovers() == []
    assert "nothing to steer" in bob.replan("pause", wanted=4)[1]


def copying(site: Site) -> None:
    until(lambda: bool(moving(site)), "a running copy", limit_seconds=150)


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def stop_clock(process: subprocess.Popen[str]) -> None:
    """It does nothing until it gets SIGCONT."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def moving(site: Site) -> list[str]:
    """The running reassignments, as replan shows them."""
    done = replan("status", *site.flags, folder=site.folder, HOME=str(site.folder))
    return [line for line in done.stdout.splitlines() if "Behind" in line]
