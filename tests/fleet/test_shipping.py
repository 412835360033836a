"""The package as executors get it."""

import subprocess
import sys
from pathlib import Path

import pytest

from replan.fleet.shipping import zip_package


@pytest.mark.command
def test_everything_that_executors_call_works_out_of_the_zip(tmp_path: Path) -> None:
    zip_package(tmp_path / "replan.zip")
    placement = tmp_path / "placement.yaml"
    placement.write_text("version: 1\nassignments: {orders: {partitions: [[1, 2]]}}\n")
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import replan.fleet.resolve
from replan.manifest.load import load_placement
print(replan.__file__.startswith(sys.argv[1]), load_placement([Path(sys.argv[2])]).explicit.num_rows)
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "replan.zip"), str(placement)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (run.stdout, run.stderr) == ("True 1\n", "")
