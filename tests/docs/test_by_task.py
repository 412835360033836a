"""Every example of docs/by-task.md has a plan, on a cluster that has what it names."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import brokers, snapshot, state
from tests.docs.snippets import Block, blocks

from replan.model.api import BrokerId, LogDir
from replan.placement_file.api import load_placement
from replan.planning.api import WarningKind, make_plan

EXAMPLES = [block for block in blocks("yaml") if block.page == "docs/by-task.md"]
TOPICS = ("orders", "payments-eu", "clicks", "logs-a", "logs-raw", "near", "scratch-a")
DIRS = [LogDir(BrokerId(4), path, 10**12, 9 * 10**11) for path in ("/data/d1", "/data/d2")]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 16


@pytest.mark.parametrize("block", EXAMPLES, ids=str)
def test_an_example_has_a_plan_and_everything_in_it_means_something(
    block: Block, tmp_path: Path
) -> None:
    file = tmp_path / "placement.yaml"
    file.write_text(f"version: 1\n{block.text}")
    states = [
        state([1, 2, 3] if topic != "logs-raw" else [4, 8], topic=topic, partition=n, size=100)
        for topic in TOPICS
        for n in range(3 if topic != "payments-eu" else 1)
    ]
    seen = snapshot(states, registered=brokers(9, "abc"))
    seen = replace(seen, log_dirs=tuple(DIRS))
    plan = make_plan(load_placement([file]), seen)
    assert plan.refusals == ()
    idle = {WarningKind.MATCHES_NOTHING, WarningKind.DRAIN_UNREGISTERED, WarningKind.UNKNOWN_RACK}
    assert [w for w in plan.warnings if w.kind in idle] == []
