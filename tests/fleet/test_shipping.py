"""The package as executors get it."""

from pathlib import Path

import pytest
from tests.commandline import python

from replan.fleet.spark.api import zip_package


@pytest.mark.command
def test_everything_that_executors_call_works_out_of_the_zip(tmp_path: Path) -> None:
    package = zip_package(tmp_path)
    placement = tmp_path / "placement.yaml"
    placement.write_text("version: 1\nassignments: {orders: {partitions: [[1, 2]]}}\n")
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from replan.fleet.spark.frames import done_frame
from replan.fleet.do_task import Stage, rows_of_stages
from replan.fleet.tasks.work import Task, Work
from replan.placement_file.load import load_placement
import replan
task = Task("eu", "id", "2026-11-21T03:00:00Z", sys.argv[2], lake=sys.argv[3])
done = rows_of_stages(Work(task), list(Stage))
print(replan.__file__.startswith(sys.argv[1]), load_placement([Path(sys.argv[2])]).explicit.num_rows)
print(sorted(set(done["errors"].column("message").to_pylist())))
"""
    run = python("-c", script, package, str(placement), "nowhere", folder=tmp_path)
    place = f"{tmp_path}/nowhere/snapshots, eu 2026-11-21 03h"
    said = [f"{place}: there are 0 snapshots, where one is expected"]
    assert (run.stdout, run.stderr) == (f"True 1\n{said}\n", "")
