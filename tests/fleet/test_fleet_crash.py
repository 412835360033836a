"""`fleet run` killed between any two of its stages, and inside them: the next one leaves what one run alone leaves."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from tests.commandline import checked, environment
from tests.fleet.fleets import BROKEN, ORDERS, observed, write_fleet_file

from replan.fleet.api import TABLES, Lake
from replan.snapshots.api import write_snapshot

HELPER = Path(__file__).with_name("killed.py")
EARLIER, LATER = "2026-11-21T03:00:00Z", "2026-11-21T09:00:00Z"
WRITTEN = TABLES.keys() - {"applications", "offsets"}
"""The other two come from clusters with a journal, and from real ones."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two clusters that were judged once and have changed since, one with a broken placement, one that is damaged."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("eu", "us"):
        (folder / f"{name}.yaml").write_text(f"{ORDERS}throttles: {{moves: {{rate: 1MB/s}}}}\n")
    (folder / "lab.yaml").write_text(BROKEN)
    (folder / "gone.json").write_text("{")
    fleet = {
        "eu": "simulated: eu.json, placement: eu.yaml, owners: {orders: sales}",
        "us": "snapshot: us.json, placement: us.yaml",
        "lab": "snapshot: lab.json, placement: lab.yaml",
        "gone": "snapshot: gone.json, placement: eu.yaml",
    }
    write_fleet_file(folder / "fleet.yaml", fleet)
    stand(folder, EARLIER, 1000, eu=[1, 2, 3], us=[1, 2, 4], lab=[1, 2, 4])
    checked("fleet", "run", "-o", "report", folder=folder, wanted=1)
    stand(folder, LATER, 9000, eu=[1, 2, 4], us=[1, 3, 4], lab=[1, 2, 4])
    return folder


def stand(folder: Path, observed_at: str, size: int, **members: Sequence[int]) -> None:
    for name, listed in members.items():
        seen = observed(listed, observed_at, cluster_id=f"id-{name}", size=size)
        write_snapshot(seen, folder / f"{name}.json")


def left(home: Path) -> str:
    """All that a run leaves: rows and files, less where the folder is and in which hour a cluster did not answer."""
    lake = Lake(str(home / "lake"))
    found: dict[str, Any] = {n: lake.read(t).to_pylist() for n, t in TABLES.items()}
    unanswered = {"day": None, "hour": None}
    found["errors"] = [
        row | (unanswered if row["stage"] == "collect" else {}) for row in found["errors"]
    ]
    rows = {name: sorted({str(row) for row in rows}) for name, rows in found.items()}
    # A killed run may leave a `.NAME.XXXX.partial`, which nothing reads.
    files = sorted(f for f in (home / "report").rglob("*.*") if not f.name.startswith("."))
    written = {str(f.relative_to(home)): f.read_text() for f in files}
    return json.dumps({"rows": rows, "files": written}, indent=1).replace(str(home), "HOME")


def killed(template: Path, homes: Path, way: str) -> list[dict[str, Any]]:
    """What the helper says, a line for each place."""
    homes.mkdir()
    run = subprocess.run(
        [sys.executable, str(HELPER), str(template), str(homes), way],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    runs = [json.loads(line) for line in run.stdout.splitlines()]
    assert {one["place"] for one in runs} >= WRITTEN | {"index.html"}
    assert (runs[-1]["place"], runs[-1]["ended"]) == (None, 1)
    return runs


@pytest.fixture
def undisturbed(home: Path, tmp_path: Path) -> str:
    """What one run leaves that nobody kills."""
    folder = copytree(home, tmp_path / "undisturbed")
    checked("fleet", "run", "-o", "report", folder=folder, wanted=1)
    return left(folder)


@pytest.mark.command
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_killed_again_and_again_it_leaves_what_an_undisturbed_run_leaves(
    home: Path, tmp_path: Path, undisturbed: str
) -> None:
    """Each run comes one table further than the last."""
    killed(home, tmp_path / "homes", "chain")
    assert left(tmp_path / "homes" / "chain") == undisturbed


@pytest.mark.command
@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("way", ["before", "middle"])
def test_killed_anywhere_once_and_run_again_it_leaves_the_same(
    home: Path, tmp_path: Path, undisturbed: str, way: str
) -> None:
    for one in killed(home, tmp_path / "homes", way):
        assert one["again"] == 1, one
        assert left(tmp_path / "homes" / one["home"]) == undisturbed, one
