"""How long the drift of a whole fleet takes in Spark, and in one process; peak memory of both.

    python benchmarks/fleet_drift.py --clusters 10 --partitions 100000

Peaks are the summed resident memory of the process and all its children (Java, Python workers), sampled
every 0.2 s; pages that they share are counted once for each. CPU is that of the same processes, each as it was when it
was last seen: Linux counts the Python workers of Spark with nobody that we wait for. Linux only.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fleet_synthetic import DIFFERING, synthetic_snapshot, write_placement

from replan.fleet.api import DRIFT_STAGES, Engine, SparkTarget, Stage, judged_folders
from replan.snapshots.api import write_snapshot

SAMPLE_SECONDS = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=100_000, help="of each cluster")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--engine", choices=("spark", "local"))
    parser.add_argument("--home", type=Path)
    asked = parser.parse_args()
    if asked.engine is not None:
        print(run(asked.engine, asked.home, asked.master))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_fleet(home, asked.clusters, asked.partitions)
        total = asked.clusters * asked.partitions
        print(f"{asked.clusters} clusters, {total:,} partitions, {asked.master}")
        for engine in ("local", "spark"):
            command = [sys.executable, __file__, "--engine", engine, "--home", folder]
            seconds, cpu, peak, said = measured([*command, "--master", asked.master])
            assert int(said) == asked.clusters * len(range(7, asked.partitions, DIFFERING)), said
            print(
                f"{engine:5} {seconds:7.1f} s, {cpu:.1f} s of CPU  peak {peak:6,.0f} MB  {int(said):,} rows of drift"
            )


def make_fleet(home: Path, clusters: int, partitions: int) -> None:
    (home / "snapshots").mkdir()
    (home / "placements").mkdir()
    for n in range(clusters):
        name = f"cluster-{n:04d}"
        write_snapshot(synthetic_snapshot(name, partitions), home / "snapshots" / name)
        write_placement(name, partitions, home / "placements" / f"{name}.yaml")


def run(engine: str, home: Path, master: str) -> int:
    """Compare the fleet; the number of partitions that drifted."""
    where = (
        SparkTarget(Engine.SPARK, master, between=home)
        if engine == "spark"
        else SparkTarget(Engine.LOCAL)
    )
    folders = home / "snapshots", home / "placements"
    stages = [*DRIFT_STAGES, Stage.COST]
    with judged_folders(*folders, stages, where, datetime.now(UTC)) as found:
        assert not found.errors.num_rows, found.errors.to_pylist()
        return int(found.drifted.num_rows)


def measured(command: list[str]) -> tuple[float, float, float, str]:
    """Seconds, CPU seconds of all processes, peak MB and what it printed."""
    started, peak = time.perf_counter(), 0.0
    used: dict[tuple[int, str], float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while child.poll() is None:
            mine = family(child.pid)
            peak = max(peak, sum(resident_mb(pid) for pid in mine))
            used |= dict(filter(None, map(cpu_of, mine)))
            time.sleep(SAMPLE_SECONDS)
        assert child.stdout is not None
        return time.perf_counter() - started, sum(used.values()), peak, child.stdout.read()


def cpu_of(pid: int) -> tuple[tuple[int, str], float] | None:
    """A process, by its number and when it began, with the CPU seconds that it has used itself."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return None
    return (pid, found[19]), (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it has just ended
            continue
        for child in children:
            found += family(int(child))
    return found


def resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
