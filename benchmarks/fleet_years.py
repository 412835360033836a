"""What `fleet run` costs in many small clusters, hour after hour, and what opening a lake of many days costs.

    python benchmarks/fleet_years.py --clusters 10000 --hours 4
    python benchmarks/fleet_years.py --clusters 100 --days 90

Prints the CPU of each run, with that of its processes. With `--days` the tables of so many days are written first,
a file for each cluster and day, as they are when they are merged; then they are opened as a run does it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
from tests.builders import snapshot, state

from replan.fleet.api import (
    JUDGED,
    SNAPSHOTS,
    Fleet,
    FleetCluster,
    Hour,
    Lake,
    from_lake,
    replace_rows,
    rows_of_snapshot,
)
from replan.snapshots.api import write_snapshot

BEGIN = datetime(2026, 11, 21, 3, tzinfo=UTC)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--hours", type=int, default=4)
    parser.add_argument("--days", type=int)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if asked.days is not None:
            days(home, asked.clusters, asked.days)
            return
        for hour in range(asked.hours):
            fleet(home, asked.clusters, BEGIN + timedelta(hours=hour))
            print(f"hour {hour + 1}: {run(home):.1f} s of CPU", flush=True)
        print(f"nothing new: {run(home):.1f} s of CPU")


def fleet(home: Path, clusters: int, now: datetime) -> None:
    """Clusters of three partitions, observed now; in one of ten a partition is elsewhere."""
    lines = ["version: 1", "lake: lake", "clusters:"]
    for number in range(clusters):
        name = f"c{number}"
        states = [state([1, 2, 3], partition=p, size=now.hour * 10**6) for p in range(3)]
        seen = snapshot(states, observed_at=now.isoformat().replace("+00:00", "Z"))
        write_snapshot(replace(seen, cluster_id=name), home / f"{name}.json")
        last = 4 if number % 10 == 0 else 3
        lists = f"[[1, 2, 3], [1, 2, 3], [1, 2, {last}]]"
        text = f"version: 1\nassignments: {{orders: {{partitions: {lists}}}}}\n"
        (home / f"{name}.yaml").write_text(text, encoding="utf-8")
        lines.append(f"  {name}: {{snapshot: {name}.json, placement: {name}.yaml}}")
    (home / "fleet.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(home: Path) -> float:
    """The CPU of a run, in seconds."""
    before = os.times()
    command = [sys.executable, "-m", "replan", "fleet", "run", "-o", "report", "--engine", "local"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def days(home: Path, clusters: int, count: int) -> None:
    """Tables of many days; then what a run opens."""
    lake = Lake(str(home / "lake"))
    found: dict[Hour, tuple[pa.Table, dict[str, object]]] = {}
    for number in range(clusters):
        for day in range(count):
            moment = (BEGIN - timedelta(days=day)).isoformat()
            seen = replace(snapshot([state([1, 2, 3])], observed_at=moment), cluster_id="id")
            at = Hour.of(f"c{number}", moment)
            found[at] = rows_of_snapshot(seen, at), row(at, moment)
    snapshots = pa.concat_tables(rows for rows, _ in found.values())
    replace_rows(lake, SNAPSHOTS, snapshots, found)
    judged = pa.Table.from_pylist([one for _, one in found.values()], JUDGED.schema)
    replace_rows(lake, JUDGED, judged, found)
    placement = home / "placement.yaml"
    placement.write_text("version: 1\nassignments: {orders: {partitions: [[1, 2, 3]]}}\n")
    named = {f"c{n}": FleetCluster(f"c{n}", placement=placement) for n in range(clusters)}
    files = sum(map(len, lake.files(SNAPSHOTS).values()))
    begun = time.process_time()
    todo = from_lake(Fleet(named), Lake(lake.address), BEGIN + timedelta(days=1))
    assert len(todo.tasks) == clusters
    print(f"{files} files in each table: opened in {time.process_time() - begun:.1f} s of CPU")


def row(at: Hour, moment: str) -> dict[str, object]:
    """A comparison that found nothing."""
    same = {"cluster": at.cluster, "day": at.day, "hour": at.hour}
    seen = {"cluster_id": "id", "observed_at": moment, "digest": "d", "partitions": 1}
    return {**same, **seen, "drifted": 0, "converging": 0, "acknowledged": 0}


if __name__ == "__main__":
    main()
