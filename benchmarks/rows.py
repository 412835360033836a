"""The rows of `benchmarks/run.py`: what is made ready for each, outside of what is measured, and what is then run.

Rows on real brokers are not here, since they need minutes and a quiet machine: benchmarks/README.md names them.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from benchmarks.fleet_synthetic import of_every_class, synthetic_snapshot, write_placement
from benchmarks.placing_speed import problem
from benchmarks.rehearse import planned
from benchmarks.simulate_week import cluster, simulated
from benchmarks.ticks import Cluster, ticking
from msgspec import Struct
from tests.commandline import environment
from tests.kafka.harness.fake_cluster import Shape

from replan.applying.api import JournalState, MemoryJournal, fold
from replan.fleet.api import Lake, keep_snapshots
from replan.kafka.api import SystemClock, open_cluster
from replan.model.api import Snapshot
from replan.placement_file.api import export_placement, load_placement
from replan.planning.api import Plan, choose, compare_lists, make_plan, partition_rows
from replan.reconciling.api import (
    Loop,
    LoopPorts,
    LoopSettings,
    LoopState,
    LoopStatus,
    MemoryStore,
    PlacementSource,
    Proposal,
    Read,
)
from replan.rehearsal.api import Options, rehearse_plan
from replan.snapshots.api import read_snapshot, write_snapshot

Work = Callable[[], object]
EXAMPLE = Path(__file__).parents[1] / "examples" / "move"
REPLAN = (sys.executable, "-m", "replan")
HOME = Path(tempfile.mkdtemp(prefix="replan-bench-"))
"""Files of this process, which go with it; it ends with one row."""
atexit.register(shutil.rmtree, HOME, ignore_errors=True)


def fixed_work() -> None:
    """Some 0.15 s of what planning does: objects, dictionaries and sorting in Python, sorting in numpy."""
    rows = [(i * 7_919 % 100_003, f"topic-{i % 997:03d}") for i in range(60_000)]
    by_name: dict[str, list[int]] = {}
    for number, name in sorted(rows):
        by_name.setdefault(name, []).append(number)
    assert len(by_name) == 997
    numbers = np.arange(400_000, dtype=np.int64) * 7_919 % 1_000_003
    assert int(np.sort(numbers)[0]) == 0


def import_numpy() -> None:
    """A process that imports numpy."""
    _process(HOME, sys.executable, "-c", "import numpy")


class Row(Struct, frozen=True):
    """What is measured, at which sizes, beside which work; `prepare` takes a size and returns what is run."""

    name: str
    prepare: Callable[[int], Work]
    sizes: Sequence[int] = (10_000, 100_000, 1_000_000)
    unit: str = "partitions"
    runs: int = 5
    process: bool = False
    """A whole process of replan, beside one that imports numpy as each `plan` does."""

    @property
    def beside(self) -> Work:
        """What is run in turns with it."""
        return import_numpy if self.process else fixed_work


def _process(folder: Path, *command: str) -> None:
    variables = environment(PYTHONPYCACHEPREFIX=str(HOME / "bytecode"))
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 2}, done.stdout + done.stderr


def _command(*words: str) -> Callable[[int], Work]:
    """A whole process of replan beside the example of three partitions."""

    def prepare(_size: int) -> Work:
        for name in ("cluster.json", "placement.yaml"):
            shutil.copy(EXAMPLE / name, HOME)
        _process(HOME, *REPLAN, "export", "--snapshot", "cluster.json", "-o", "same.yaml")
        return lambda: _process(HOME, *REPLAN, *words)

    return prepare


def _placement_of(size: int) -> Path:
    path = HOME / "placement.yaml"
    write_placement("bench", size, path)
    return path


def _load(size: int) -> Work:
    path = _placement_of(size)
    return lambda: load_placement([path])


def _read_json(size: int) -> Work:
    path = HOME / "snapshot.json"
    write_snapshot(synthetic_snapshot("bench", size), path)
    return lambda: read_snapshot(path)


def _compare(size: int) -> Work:
    placement, observed = load_placement([_placement_of(size)]), synthetic_snapshot("bench", size)
    declared, table = placement.explicit, observed.partitions
    return lambda: compare_lists(declared, table, partition_rows(declared, table))


def _plan(size: int) -> Work:
    placement, observed = load_placement([_placement_of(size)]), synthetic_snapshot("bench", size)
    return lambda: make_plan(placement, observed)


def _choose(kind: str) -> Callable[[int], Work]:
    def prepare(size: int) -> Work:
        asked = problem(kind, size)
        return lambda: choose(asked)

    return prepare


def _observe(size: int) -> Work:
    fake = Cluster(Shape(100, size, 50, 10))
    connected = open_cluster(fake.bootstrap, None).__enter__()
    return connected.observe


class _Silent:
    """Watches a loop, and says nothing."""

    def changed(self, status: LoopStatus) -> None: ...

    def planned(self, plan: Plan, snapshot: Snapshot) -> None: ...

    def proposed(self, proposal: Proposal) -> None: ...


def _idle_round(size: int) -> Work:
    """A round of a loop, its file read again, on a cluster that is as declared: the second one, as all that follow."""
    fake = Cluster(Shape(100, size, 50))
    connected = open_cluster(fake.bootstrap, None).__enter__()
    path = HOME / "placement.yaml"
    observed = connected.observe()
    text = export_placement(observed)
    path.write_text(
        text + "reconcile: {putRight: {placementChanged: 0s, brokerDown: 30m}}\n", "utf-8"
    )
    records = MemoryJournal()

    def read() -> Read:
        placement = load_placement([path])
        return Read(placement, PlacementSource(str(path), placement.digest))

    ports = LoopPorts(
        reader=connected,
        writer=connected,
        clock=SystemClock(),
        wall=time.time,
        read=read,
        journal=lambda _: JournalState(fold(records.read())),
        own=lambda *_: nullcontext(records),
        store=MemoryStore(),
        stop=lambda: False,
        observer=_Silent(),
    )
    loop = Loop(ports, LoopSettings(owner="bench"))

    def once() -> None:
        assert not loop.round()
        assert loop.status.state is LoopState.AT_REST

    once()
    return once


def _tick(size: int) -> Work:
    shape = Shape(100, 100_000, 50, size)
    fake = Cluster(shape)
    connected = open_cluster(fake.bootstrap, None).__enter__()
    tick = ticking(shape, connected)

    def minute() -> None:
        for _ in range(60):
            next(tick)

    next(tick)  # reads everything
    return minute


def _rehearse(size: int) -> Work:
    plan, observed = planned(size, 1.0)
    return lambda: rehearse_plan(plan, observed, Options())


def _week(size: int) -> Work:
    def run() -> None:
        simulated(*cluster(size))

    return run


def _fleet(size: int) -> Work:
    """Ten clusters of so many partitions together, whose snapshots nobody has judged yet."""
    of_each = size // 10
    lake, placements = HOME / "lake", HOME / "placements"
    placements.mkdir()
    names = [f"cluster-{number}" for number in range(10)]
    for name in names:
        seen = of_every_class(synthetic_snapshot(name, of_each))
        keep_snapshots(Lake(str(lake)), [(name, seen)])
        write_placement(name, of_each, placements / f"{name}.yaml")
    fleet = HOME / "fleet.yaml"
    clusters = "".join(f"  {name}: {{placement: placements/{name}.yaml}}\n" for name in names)
    fleet.write_text(f"version: 1\nlake: lake\nclusters:\n{clusters}")
    as_of = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = ("fleet", "run", "--fleet", "fleet.yaml", "--as-of", as_of, "--engine", "local")

    pristine = HOME / "pristine"
    lake.rename(pristine)

    def run() -> None:
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(pristine, lake, copy_function=os.link)
        _process(HOME, *REPLAN, *words)

    return run


ROWS = (
    Row("replan --version", _command("--version"), (3,), process=True),
    Row("replan validate", _command("validate"), (3,), process=True),
    Row(
        "replan plan, nothing to change",
        _command("plan", "--snapshot", "cluster.json", "-f", "same.yaml"),
        (3,),
        process=True,
    ),
    Row(
        "replan plan, three moves",
        _command("plan", "--snapshot", "cluster.json"),
        (3,),
        process=True,
    ),
    Row("load a placement of lists", _load, runs=3),
    Row("read a snapshot of JSON", _read_json, (10_000, 200_000)),
    Row("compare lists", _compare),
    Row("make a plan, one of 100 moves", _plan, runs=3),
    Row("choose brokers: one of 100 is drained", _choose("drain"), runs=3),
    Row("choose brokers: 10 join 90", _choose("join"), runs=3),
    Row("choose brokers: 10 join 90, by bytes", _choose("join-bytes"), (10_000, 100_000), runs=3),
    Row("choose brokers: bytes are evened", _choose("bytes"), (10_000, 100_000), runs=3),
    Row("choose brokers: a replica more", _choose("third"), (10_000, 100_000), runs=3),
    Row("observe 100 brokers", _observe, runs=3),
    Row("an idle round of reconcile", _idle_round, (10_000, 100_000), runs=3),
    Row("a minute of ticks", _tick, (10, 1_000), "copies", runs=3),
    Row("rehearse", _rehearse, (100, 1_000), "moves", runs=3),
    Row("simulate a week of moves", _week, (1_000, 4_000), runs=1),
    Row("fleet run, ten clusters", _fleet, runs=3, process=True),
)
