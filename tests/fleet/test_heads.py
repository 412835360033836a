"""Of which cluster a source is, read with as little of it as possible, and never wrongly."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.builders import CLUSTER_ID, OBSERVED_AT, snapshot, state

from replan.fleet.tasks.heads import head_of
from replan.fleet.tasks.sources import Role, Source
from replan.snapshots.files import write_snapshot


def head(role: str, path: Path) -> dict[str, Any]:
    found = asdict(head_of(Source(Role(role), path.stem, path)))
    assert (found.pop("role"), found.pop("name"), found.pop("path")) == (role, path.stem, str(path))
    return found


def test_a_snapshot_of_either_form_names_its_cluster_and_time(tmp_path: Path) -> None:
    for name in ("eu", "eu.json"):
        write_snapshot(snapshot([state([1, 2])]), tmp_path / name)
        assert head("snapshot", tmp_path / name) == {
            "cluster_id": CLUSTER_ID,
            "cluster_name": None,
            "observed_at": OBSERVED_AT,
            "message": None,
        }


BELOW = "assignments:\n  orders:\n    partitions: [[1, 2]]\n"
PLACEMENTS = {
    "in one line": f"version: 1\ncluster: {{name: eu, id: one}}\n{BELOW}",
    "in a block": f"version: 1\ncluster:\n  name: eu\n\n# which one\n  id: one\n{BELOW}",
    "at the end": f"version: 1\n{BELOW}cluster:\n  name: eu\n  id: one",
    "in a flow": "{version: 1, cluster: {name: eu, id: one}}",
    "under a quoted key": f'version: 1\n"cluster": {{name: eu, id: one}}\n{BELOW}',
    "beside a comment": f"version: 1\n# cluster: {{name: x}}\ncluster: {{name: eu, id: one}} # here\n{BELOW}",
}


@pytest.mark.parametrize("text", PLACEMENTS.values(), ids=PLACEMENTS)
def test_a_placement_names_its_cluster_however_it_is_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "eu.yaml"
    path.write_text(text, encoding="utf-8")
    found = head("placement", path)
    assert (found["cluster_id"], found["cluster_name"], found["message"]) == ("one", "eu", None)


def test_a_placement_of_several_files_names_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"version: 1\n{BELOW}", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("version: 1\ncluster: {name: eu, id: one}\n", encoding="utf-8")
    found = head("placement", tmp_path)
    assert (found["cluster_id"], found["cluster_name"]) == ("one", "eu")


def test_a_cluster_block_that_is_wrong_is_reported_with_its_true_line(tmp_path: Path) -> None:
    path = tmp_path / "eu.yaml"
    path.write_text(f"version: 1\n{BELOW}cluster: {{nam: eu}}\n", encoding="utf-8")
    assert head("placement", path)["message"].startswith(f"{path}:5:")


def test_a_mistake_of_this_program_is_a_message_too(tmp_path: Path) -> None:
    found = head("snapshot", tmp_path / "a\0b")
    assert found["message"].startswith("unexpected ValueError: ")
    assert found["message"].endswith("; please report it")
