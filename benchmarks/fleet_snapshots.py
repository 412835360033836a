"""How long a snapshot takes to write and to read, how large it is on disk, and at what peak of memory.

    python benchmarks/fleet_snapshots.py --partitions 1000000

Each form runs in a process of its own, so that the peaks are its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.fleet_synthetic import synthetic_snapshot

from replan.snapshots.files import read_snapshot, write_snapshot

FORMS = ("snapshot", "snapshot.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1_000_000)
    parser.add_argument("--step", choices=("write", "read"))
    parser.add_argument("--path", type=Path)
    asked = parser.parse_args()
    if asked.step is not None:
        print(one_step(asked.step, asked.path, asked.partitions))
        return
    with tempfile.TemporaryDirectory() as home:
        for form in FORMS:
            path = Path(home, form)
            for step in ("write", "read"):
                command = [sys.executable, __file__, "--step", step, "--path", str(path)]
                command += ["--partitions", str(asked.partitions)]
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                print(f"{form:14} {step:5} {said.strip()}, {size(path) / 1e6:.1f} MB on disk")


def one_step(step: str, path: Path, partitions: int) -> str:
    if step == "write":
        snapshot = synthetic_snapshot("benchmark", partitions)
        started = time.perf_counter()
        write_snapshot(snapshot, path)
    else:
        started = time.perf_counter()
        read_snapshot(path)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"{seconds:6.2f} s, peak {peak:,.0f} MB of the whole process"


def size(path: Path) -> int:
    return sum(f.stat().st_size for f in (path.iterdir() if path.is_dir() else [path]))


if __name__ == "__main__":
    main()
