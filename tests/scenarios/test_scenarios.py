"""Every story in this folder runs again and its output is as written; REPLAN_REWRITE=1 writes the present output."""

import os
from pathlib import Path

import pytest

from replan.scenarios.api import rewritten, run_scenario

pytestmark = pytest.mark.slow

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_output_of_a_scenario_is_as_written(path: Path) -> None:
    run = run_scenario(path.read_text(encoding="utf-8"), str(path))
    if "REPLAN_REWRITE" in os.environ:
        path.write_text(rewritten(run), encoding="utf-8")
    else:
        assert run.passed, run.difference()
