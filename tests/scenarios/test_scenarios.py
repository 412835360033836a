"""Every story in this folder is told again and ends as it is written; REPLAN_REWRITE=1 writes what is told now."""

import os
from pathlib import Path

import pytest

from replan.scenarios.run import rewritten, run_scenario

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_told_as_it_is_written(path: Path) -> None:
    run = run_scenario(path.read_text(encoding="utf-8"), str(path))
    if "REPLAN_REWRITE" in os.environ:
        path.write_text(rewritten(run), encoding="utf-8")
    else:
        assert run.passed, run.difference()
