"""All the benchmarks that need no cluster, one after another, each in a process of its own: `make bench`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ALONE = ("diff.py", "placement_load.py", "fleet_snapshots.py", "fleet_drift.py", "simulate_week.py")


def main() -> None:
    for name in ALONE:
        print(f"\n## {name}\n", flush=True)
        subprocess.run([sys.executable, str(HERE / name)], check=True)


if __name__ == "__main__":
    main()
