"""Which files of a fleet are snapshots and placements, and what is said where there are none."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.builders import OBSERVED_AT

from replan.errors import BadFile, BadUsage, ReplanError
from replan.fleet.engine import Where, require_spark
from replan.fleet.lake.delta import Hour
from replan.fleet.perform import DRIFT_STAGES
from replan.fleet.run import run_stages
from replan.fleet.tasks.sources import find_placements, find_snapshots
from replan.fleet.tasks.todo import Todo, from_folders
from replan.fleet.tasks.work import Task


def make(home: Path, *names: str) -> Path:
    for name in names:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return home


def test_snapshots_are_found_in_both_forms_and_at_any_depth_of_a_lake(tmp_path: Path) -> None:
    make(
        tmp_path,
        "eu/2026-11-20/header.json",
        "eu/2026-11-21/header.json",
        "eu/2026-11-21/topics.parquet",
        "us.json",
        "torn/partitions.parquet",
        "README.md",
        "empty/nothing.txt",
        ".us.json.partial",
        "eu/.2026.partial/header.json",
    )
    found = [(s.name, str(s.path.relative_to(tmp_path))) for s in find_snapshots(tmp_path)]
    assert found == [
        ("eu", "eu/2026-11-20"),
        ("eu", "eu/2026-11-21"),
        ("torn", "torn"),
        ("us", "us.json"),
    ]


def test_a_link_that_leads_back_is_not_followed_for_ever(tmp_path: Path) -> None:
    make(tmp_path, "eu/now/header.json")
    (tmp_path / "eu" / "again").symlink_to(tmp_path)
    assert len(find_snapshots(tmp_path)) < 10


def test_placements_are_yaml_files_and_folders(tmp_path: Path) -> None:
    make(tmp_path, "eu.v2.yaml", "us.yml", "asia.v2/orders.yaml", "README.md", ".git/config")
    assert [s.name for s in find_placements(tmp_path)] == ["asia.v2", "eu.v2", "us"]


def test_a_fleet_without_snapshots_or_placements_is_refused(tmp_path: Path) -> None:
    snapshots, placements = tmp_path / "s", tmp_path / "p"
    with pytest.raises(BadFile) as refused:
        from_folders(snapshots, placements, datetime.now(UTC))
    assert str(refused.value) == f"{snapshots}: cannot read: No such file or directory"

    snapshots.mkdir()
    placements.mkdir()
    with pytest.raises(BadFile) as refused:
        from_folders(snapshots, placements, datetime.now(UTC))
    assert str(refused.value) == (
        f"{snapshots}: there is no snapshot in this folder; "
        f"`replan snapshot -o {snapshots}/CLUSTER` writes one"
    )

    make(snapshots, "eu.json")
    with pytest.raises(BadFile) as refused:
        from_folders(snapshots, placements, datetime.now(UTC))
    assert str(refused.value) == (
        f"{placements}: there is no placement in this folder: "
        "it should hold a YAML file or a folder for each cluster"
    )


def test_executors_elsewhere_need_an_output_that_they_see() -> None:
    todo = Todo((Task("eu", "id", OBSERVED_AT, "p", snapshot="s"),))
    with pytest.raises(BadUsage) as refused:
        run_stages(todo, DRIFT_STAGES, Where(master="spark://host:7077"), Hour.of("", OBSERVED_AT))
    assert str(refused.value) == (
        "with --master spark://host:7077 the executors need a folder that all of them see: "
        "a lake there, or with two folders an --output there"
    )


def test_without_the_extra_the_way_to_it_is_said() -> None:
    with pytest.raises(ReplanError) as refused:
        require_spark(lambda package: None if package == "pyspark" else package)
    assert str(refused.value) == (
        "the engine spark needs pyspark, which is not installed: pip install 'replan[fleet]'"
    )


@pytest.mark.command
def test_importing_the_entry_point_and_the_report_imports_no_spark() -> None:
    script = (
        "import sys, replan.fleet.run, replan.fleet.report; "
        "sys.exit('pyspark' in sys.modules or 'pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
