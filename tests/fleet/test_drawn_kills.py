"""Processes of `fleet run` are killed at drawn moments: the lake of the next run is that of one that nobody disturbs.

Whatever dies, nothing stays behind: no process, no folder between, no file in a table that its log does not name.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from deltalake import DeltaTable
from msgspec import Struct
from msgspec.structs import replace
from tests.commandline import start
from tests.fleet.test_lost import is_alive, state_and_parent
from tests.fleet.test_oracle import Home

pytestmark = [pytest.mark.command, pytest.mark.slow]
SEEDS = range(6)
WAYS = {
    "a worker": "the Python worker or executor that judged it was lost",
    "java": r"Spark's Java process \(pid \d+\) ended by SIGKILL|its Java process ended while it started",
    "daemon": "the Python worker or executor that judged it was lost",
}
"""What the error of a cluster or of the run says, by what was lost."""


class Unbroken(Struct, frozen=True):
    """A fleet before a run, and what the run leaves when nobody disturbs it."""

    template: Path
    home: Path
    engine: str
    seconds: float
    code: int
    rows: dict[str, list[str]]

    def afresh(self) -> None:
        """The fleet as before the run, at the same place."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.template, self.home)

    def start(self) -> "subprocess.Popen[str]":
        return start(command(self.engine), folder=self.home, TMPDIR=str(self.temporary))

    def run(self) -> tuple[int, str]:
        """Its exit code and what it says, however long that takes: the whole test has a limit."""
        running = self.start()
        said = "".join(running.communicate())
        return running.returncode, said

    @property
    def temporary(self) -> Path:
        """The folder for temporary files; beside the fleet, so that what killed runs leave is there for the next."""
        found = self.home.with_name("tmp")
        found.mkdir(exist_ok=True)
        return found


def command(engine: str) -> tuple[str, ...]:
    return ("fleet", "run", "-o", "report", "--engine", engine)


def unbroken(folder: Path, engine: str) -> Unbroken:
    """Drawn clusters, judged once and changed since."""
    home = folder / "home"
    home.mkdir()
    fleet = Home(home, SEEDS)
    fleet.run(("local",))
    fleet.arrive(1)
    template = folder / "template"
    shutil.copytree(home, template)
    found = Unbroken(template, home, engine, 0, 0, {})
    begun = time.monotonic()
    code, said = found.run()
    assert code in {1, 2}, said
    return replace(found, seconds=time.monotonic() - begun, code=code, rows=rows(home / "lake"))


def rows(lake: Path) -> dict[str, list[str]]:
    """All rows of all tables."""
    tables = sorted(log.parent for log in lake.glob("*/_delta_log"))
    return {
        t.name: sorted(map(str, DeltaTable(str(t)).to_pyarrow_table().to_pylist())) for t in tables
    }


def processes_of(run: int) -> dict[int, str]:
    """Those that a run has started, by what they are."""
    parents: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int(state_and_parent(int(process.name))[1])
        except OSError:  # it has ended
            continue
    found = {run: "driver"}
    while more := [p for p, parent in parents.items() if parent in found and p not in found]:
        found |= {p: kind_of(p, found[parents[p]]) for p in more}
    return found


def kind_of(process: int, parent: str) -> str:
    """What a process is, by its command and by who has started it."""
    try:
        text = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return "gone"
    if b"java" in text.split(b"\0")[0]:
        return "java"
    return {"java": "daemon", "daemon": "a worker"}.get(parent, "other")


def kill_at(run: "subprocess.Popen[str]", seconds: float, chance: Random) -> str:
    """Kill one of its processes at a moment; what it was. Any kind that is there is as likely as another."""
    time.sleep(seconds)
    if run.poll() is not None:
        return "nothing"
    there = {p: kind for p, kind in processes_of(run.pid).items() if kind not in {"other", "gone"}}
    kind = chance.choice(sorted(set(there.values())))
    victim = chance.choice(sorted(p for p, of in there.items() if of == kind))
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return "nothing"
    return kind


def kill_and_run_again(fleet: Unbroken, chance: Random, kills: int) -> list[str]:
    """Disturb some runs, then leave one alone, and compare; what was killed."""
    fleet.afresh()
    killed = []
    for _ in range(kills):
        running = fleet.start()
        seconds = chance.uniform(0, fleet.seconds)
        time.sleep(seconds * 0.9)
        mine = set(processes_of(running.pid))
        kind = kill_at(running, seconds * 0.1, chance)
        mine |= set(processes_of(running.pid))
        _, said = running.communicate()
        killed.append(kind)
        assert "Traceback" not in said, (kind, said)
        if kind in WAYS and running.returncode != fleet.code:
            assert running.returncode == 1, (kind, said)
            errors = rows(fleet.home / "lake").get("errors", [])
            assert any(re.search(WAYS[kind], text) for text in (said, *errors)), (kind, said)
        while any(map(is_alive, mine)):  # none outlives the run
            time.sleep(0.1)
    code, said = fleet.run()
    assert code == fleet.code, (killed, said, rows(fleet.home / "lake")["errors"])
    assert rows(fleet.home / "lake") == fleet.rows, killed
    assert list(left_behind(fleet)) == [], killed
    return killed


def left_behind(fleet: Unbroken) -> Iterator[str]:
    """Files that no table knows, and what is for a run alone."""
    lake = fleet.home / "lake"
    for table in (log.parent for log in lake.glob("*/_delta_log")):
        known = {
            json.loads(line)["add"]["path"]
            for log in (table / "_delta_log").glob("*.json")
            for line in log.read_text().splitlines()
            if "add" in json.loads(line)
        }
        for file in table.rglob("*.parquet"):
            name = str(file.relative_to(table))
            if "_delta_log" not in name and name not in known:
                yield f"{table.name}/{name}"
    yield from (f.name for f in lake.glob(".*"))
    yield from (f.name for f in fleet.temporary.iterdir() if not f.name.startswith("hsperfdata"))


def sequences(engine: str, folder: Path, kills: Sequence[int], seed: int) -> list[str]:
    """Several sequences of killed runs; all that was killed."""
    fleet = unbroken(folder, engine)
    chance = Random(f"{engine} {seed}")  # noqa: S311 - the same moments every time, as far as the machine allows
    return [kind for number in kills for kind in kill_and_run_again(fleet, chance, number)]


@pytest.mark.nightly
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_local_engine_killed_at_two_hundred_moments(tmp_path: Path, seed: int) -> None:
    assert "driver" in sequences("local", tmp_path, (4,) * 10, seed)


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("seed", range(1, 11))
def test_spark_killed_at_two_hundred_moments(tmp_path: Path, seed: int) -> None:
    killed = sequences("spark", tmp_path, (4,) * 5, seed)
    assert {"driver", "java"} <= set(killed), killed
