"""A lake that tests of several modules of this folder begin with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fleet.fleets import CLOCK, drawn_placement, drawn_snapshot, keep_snapshot

from replan.fleet.api import Fleet, FleetCluster, Lake, Todo, from_lake


@pytest.fixture
def in_a_lake(tmp_path: Path) -> Callable[[str], tuple[Lake, Todo]]:
    """Makes a lake of seven clusters that drifted, one of which cannot be judged, and what is to be done of it."""

    def made(name: str) -> tuple[Lake, Todo]:
        lake, fleet = Lake(str(tmp_path / name)), {}
        for seed in range(45, 52):
            path = tmp_path / f"c{seed}.yaml"
            seen = drawn_snapshot(seed)
            path.write_text(drawn_placement(seed, seen, "x"), encoding="utf-8")
            fleet[f"c{seed}"] = FleetCluster(f"c{seed}", placement=path)
            keep_snapshot(lake, seen, f"c{seed}")
        (tmp_path / "c51.yaml").write_text("version: 1\nassignment: 3\n", encoding="utf-8")
        return lake, from_lake(Fleet(fleet, lake.address), lake, CLOCK)

    return made
