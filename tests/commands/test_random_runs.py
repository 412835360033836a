"""`rehearse --runs` on several cores: the same result for any number of processes, and none is left behind."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.commandline import LIMIT_SECONDS, checked, environment
from tests.unit.rehearsal.stages import SEEN, faults_of, plan_of

from replan.commands.api import WithRandomFaults, in_processes
from replan.errors import BadUsage, ReplanError
from replan.rehearsal.api import Options, cluster_of, render_rehearsal_json, report_on
from replan.workers import cores

pytestmark = pytest.mark.slow

PLAN = plan_of([1, 2, 4], [2, 3, 5])


def test_any_number_of_processes_gives_the_same_report() -> None:
    options = Options(produce=50_000.0, faults=faults_of("slow 4 to 5MB/s at 5s for 20s"))
    random = WithRandomFaults(PLAN, cluster_of(SEEN), options, horizon_seconds=60.0)
    texts = set()
    for processes in (1, 2, 3):
        with closing(in_processes(random, range(5, 11), processes)) as made:
            runs = tuple(made)
        assert [run.seed for run in runs] == [5, 6, 7, 8, 9, 10]
        texts.add(render_rehearsal_json(report_on(PLAN, options, runs[0].rehearsal, runs)))
    assert len(texts) == 1


def test_what_the_work_raises_is_raised_where_it_was_given() -> None:
    with pytest.raises(BadUsage, match="not 3"), closing(in_processes(_not_3, range(6), 2)) as made:
        assert list(made) == []


def test_a_process_that_ends_by_itself_is_an_error_that_says_so() -> None:
    with (
        pytest.raises(ReplanError, match="ended by itself, with code 7"),
        closing(in_processes(_ends, range(2), 2)) as made,
    ):
        assert list(made) == []


def _not_3(number: int) -> int:
    if number == 3:
        raise BadUsage("not 3")
    return number


def _ends(_number: int) -> int:
    os._exit(7)


@pytest.fixture
def folder(folder: Path) -> Path:
    planned = ("plan", "--snapshot", "cluster.json", "-o", "plan.json")
    checked(*planned, folder=folder, wanted=2)
    return folder


@pytest.mark.command
def test_no_process_is_left_behind_by_an_interrupt(folder: Path) -> None:
    """^C reaches all processes of a terminal."""
    arguments = ("rehearse", "plan.json", "--snapshot", "cluster.json", "--runs", "100000")
    with subprocess.Popen(
        [sys.executable, "-m", "replan", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert any(line.startswith("runs with random faults: ") for line in process.stderr)
            started = [pid for pid in _children(process.pid) if "spawn_main" in _command_line(pid)]
            assert len(started) == (cores() if cores() > 1 else 0)
            assert all(_blocks_interrupts(pid) for pid in started)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=LIMIT_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not [pid for pid in started if "spawn_main" in _command_line(pid)]


KILLED = """
import os, signal, time
from replan.workers import WorkerPool

with WorkerPool(time.sleep) as pool:
    worker = pool.start()
    worker.give(0)
    worker.take()
    worker.give(10_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_ends_in_the_middle_of_its_work_when_its_parent_is_killed() -> None:
    """Whoever is left keeps the outputs open, so that this one would wait for them."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_SECONDS,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, ""), done.stderr
    assert "Traceback" not in done.stderr  # Python's own tracker of resources notices a kill


def _children(pid: int) -> list[int]:
    return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _blocks_interrupts(pid: int) -> bool:
    lines = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines()
    )
    return bool(int(lines["SigBlk"], 16) & 1 << (signal.SIGINT - 1))


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
