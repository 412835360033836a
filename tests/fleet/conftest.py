"""A lake that tests of several modules of this folder begin with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fleet.fleets import BROKEN, CLOCK, Clusters, drawn_placement, drawn_snapshot

from replan.fleet.api import Fleet, FleetCluster, Lake, Todo, from_lake, keep_snapshots
from replan.model.api import Snapshot


@pytest.fixture
def in_a_lake(tmp_path: Path) -> Callable[[str], tuple[Lake, Todo]]:
    """Makes a lake of seven clusters that drifted, one of which cannot be judged, and what is to be done of it."""

    def made(name: str) -> tuple[Lake, Todo]:
        lake = Lake(str(tmp_path / name))
        fleet: dict[str, FleetCluster] = {}
        seen: dict[str, Snapshot] = {}
        for seed in range(45, 52):
            path = tmp_path / f"c{seed}.yaml"
            seen[f"c{seed}"] = drawn_snapshot(seed)
            path.write_text(drawn_placement(seed, seen[f"c{seed}"], "x"))
            fleet[f"c{seed}"] = FleetCluster(f"c{seed}", placement=path)
        keep_snapshots(lake, seen.items())
        (tmp_path / "c51.yaml").write_text(BROKEN)
        return lake, from_lake(Fleet(fleet, lake.address), lake, CLOCK)

    return made


@pytest.fixture
def clusters(tmp_path: Path) -> Clusters:
    return Clusters(tmp_path / "home")
