"""What a second worker of a standalone Spark brings: each has one core, and is bound to a CPU of its own.

    python benchmarks/fleet_workers.py [--clusters 40] [--partitions 50000] [--home DIR]

The fleet and what is done are those of fleet_scale.py. The process that starts the run, and its Java, go where they
like. CPU is that of a worker's executor with its Python, as in fleet_drift.py: the wall time means something only where
nothing else runs, the share of the CPU that falls to the busier worker does anywhere.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fleet_drift import SAMPLE_SECONDS, cpu_of, family
from benchmarks.fleet_scale import make_fleet, run_engine
from tests.fleet.test_two_workers import standalone

from replan.fleet.api import Engine, SparkTarget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=40)
    parser.add_argument("--partitions", type=int, default=50_000, help="of each cluster")
    parser.add_argument("--home", type=Path, help="keep the fleet here, and use the one that is")
    parser.add_argument("--master")
    asked = parser.parse_args()
    if asked.master is not None:
        print(run_engine(asked.home, SparkTarget(Engine.SPARK, asked.master)))
        return
    with tempfile.TemporaryDirectory() as folder:
        home = asked.home or Path(folder)
        if not (home / "placements").exists():
            make_fleet(home, [asked.partitions] * asked.clusters)
        print(f"{asked.clusters} clusters, {asked.clusters * asked.partitions:,} partitions")
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as place:
                print(measured(home, Path(place), workers), flush=True)


def measured(home: Path, place: Path, workers: int) -> str:
    """Judge the fleet on so many workers; seconds, and CPU seconds of each worker and of all else."""
    bound = [("taskset", "-c", str(cpu)) for cpu in range(workers)]
    with standalone(place, bound) as cluster:
        command = [sys.executable, __file__, "--home", str(home), "--master", cluster.master]
        used: dict[int, dict[tuple[int, str], float]] = {pid: {} for pid in cluster.workers}
        rest: dict[tuple[int, str], float] = {}
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            while child.poll() is None:
                rest |= dict(filter(None, map(cpu_of, family(child.pid))))
                for worker, mine in used.items():
                    mine |= dict(filter(None, map(cpu_of, family(worker)[1:])))
                time.sleep(SAMPLE_SECONDS)
            assert child.stdout is not None
            said = child.stdout.read().strip()
        seconds = time.perf_counter() - started
    shares = " and ".join(f"{sum(mine.values()):.1f}" for mine in used.values())
    return (
        f"{workers} of one core: {seconds:.1f} s at load {os.getloadavg()[0]:.0f}; CPU of the workers {shares} s, "
        f"of all else {sum(rest.values()):.1f} s: {said}"
    )


if __name__ == "__main__":
    main()
