"""Wall clocks that are wrong by an hour and some more: who may write the journal, and what is done, stays the same.

Kafka refuses records from more than an hour ahead (log.message.timestamp.after.max.ms), unless the topic takes the time
of its broker.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.commandline import environment
from tests.kafka.clusters import one_jvm_cluster
from tests.kafka.harness.layout import Layout
from tests.kafka.harness.wall_clock import off_by
from tests.kafka.test_main_job import SETTLE, Site, filled, load_on
from tests.kafka.test_two_machines import Machine, begin, copying, slowly, stop_clock
from tests.kafka.test_way_back import configure

HOUR = 3_660


@pytest.fixture
def site(layout: Layout, pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Site]:
    with one_jvm_cluster(layout, pytestconfig) as cluster:
        yield slowly(filled(cluster, tmp_path))


@pytest.fixture
def machine(site: Site, tmp_path: Path) -> Callable[[str, int], Machine]:
    """Of a user, with a wall clock that is so many seconds ahead."""

    def made(user: str, seconds: int) -> Machine:
        found = Machine(site, tmp_path, user)
        found.environment |= off_by(seconds, tmp_path)
        return found

    return made


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("first", "second"), [(HOUR, 0), (-HOUR, 0), (HOUR, -HOUR), (-HOUR, HOUR)])
def test_of_two_appliers_whose_clocks_differ_one_works_and_the_end_is_the_same(
    site: Site, machine: Callable[[str, int], Machine], first: int, second: int
) -> None:
    """The first is refused nothing, and is alive for the second; stopped, it is dead after a minute, and fenced."""
    ann, bob = machine("ann", first), machine("bob", second)
    assert abs(wall_clock(ann) - wall_clock(bob) - (first - second)) < 60
    with load_on(site) as load, ann.started(*begin(ann, site)) as stopped:
        copying(site)
        _, refused = bob.replan("resume", *SETTLE, wanted=4)
        assert "ann@" in refused
        assert "pause" in bob.replan("pause", wanted=0)[0]
        assert "pause lifted" in bob.replan("resume", wanted=0)[0]
        stop_clock(stopped)
        _, taken = bob.replan("resume", *SETTLE, wanted=0)
        assert "taking over" in taken
        stopped.send_signal(signal.SIGCONT)
        _, said = stopped.communicate(timeout=60)
        account = load.close()
    assert stopped.returncode == 4
    assert "taken over by bob@" in said
    assert account.errors == ()
    site.stands_as_declared()
    shown = json.loads(ann.replan("journal", "show", "--format", "json", wanted=0)[0])
    assert [each["status"] for each in shown["applications"]] == ["closed"]


@pytest.mark.nightly
def test_with_the_writers_time_a_clock_that_is_ahead_is_refused_with_what_to_do(
    site: Site, machine: Callable[[str, int], Machine]
) -> None:
    """A journal whose topic was made by hand."""
    ann, bob = machine("ann", 0), machine("bob", HOUR)
    one, other = (f"version: 1\npreferredLeaders: {{{site.topic}: {{0: {b}}}}}\n" for b in (2, 3))
    applied(ann, one, wanted=0)
    configure(site, "topics", "__replan_journal", "message.timestamp.type=CreateTime")
    _, said = applied(bob, other, wanted=1)
    assert "message.timestamp.type=LogAppendTime" in said
    assert site.described()[0][1] == 2
    configure(site, "topics", "__replan_journal", "message.timestamp.type=LogAppendTime")
    applied(bob, other, wanted=0)
    assert site.described()[0][1] == 3


def applied(user: Machine, declared: str, *, wanted: int) -> tuple[str, str]:
    (user.folder / "placement.yaml").write_text(declared)
    return user.replan("apply", "-f", "placement.yaml", "--auto-approve", *SETTLE, wanted=wanted)


def wall_clock(user: Machine) -> float:
    """What a process of this user takes for the time."""
    asked = [sys.executable, "-c", "import time; print(time.time())"]
    done = subprocess.run(
        asked, env=environment(**user.environment), capture_output=True, text=True, check=True
    )
    return float(done.stdout)
