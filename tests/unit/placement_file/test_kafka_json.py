"""The JSON of Kafka's own tools, both ways."""

import json
from pathlib import Path

import pytest
from tests.builders import snapshot, state

from replan.errors import BadFile
from replan.model.api import TopicPartition
from replan.placement_file.api import (
    election_json,
    import_kafka_json,
    load_placement,
    read_election_file,
    reassignment_json,
)
from replan.planning.api import make_plan

SEEN = snapshot(
    [
        state([1, 2, 3]),
        state([2, 3, 4, 1], [2, 3, 1], partition=1, adding=[4], removing=[1]),
        state([3, 1], topic="12"),
    ]
)
ROW = {"topic": "a", "partition": 0}
ALL = frozenset({"orders", "12"})


def written(folder: Path, text: str, name: str = "file.json") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_what_is_exported_is_imported_and_plans_nothing(tmp_path: Path) -> None:
    quiet = snapshot([state([1, 2, 3]), state([3, 1], topic="12")])
    text = reassignment_json(quiet, ALL)
    rows = json.loads(text)["partitions"]
    assert rows[1] == {
        "topic": "orders",
        "partition": 0,
        "replicas": [1, 2, 3],
        "log_dirs": ["any"] * 3,
    }
    found = import_kafka_json(written(tmp_path, text))
    assert (found.partitions, found.directories) == (2, 0)
    placement = load_placement([written(tmp_path, found.yaml, "placement.yaml")])
    assert placement.explicit.num_rows == 2
    assert make_plan(placement, quiet).empty


def test_of_what_runs_the_target_is_exported() -> None:
    rows = json.loads(reassignment_json(SEEN, ALL))["partitions"]
    assert [r["replicas"] for r in rows] == [[3, 1], [1, 2, 3], [2, 3, 4]]


def test_elections_go_both_ways(tmp_path: Path) -> None:
    text = election_json(SEEN, frozenset({"orders"}))
    names = {TopicPartition("orders", 0): None, TopicPartition("orders", 1): None}
    assert set(read_election_file(written(tmp_path, text))) == set(names)
    imported = import_kafka_json(tmp_path / "file.json")
    assert set(read_election_file(written(tmp_path, imported.yaml, "elections.yaml"))) == set(names)


def test_directories_are_counted_and_left_out(tmp_path: Path) -> None:
    row = {"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}
    found = import_kafka_json(written(tmp_path, json.dumps({"partitions": [row]})))
    assert found.directories == 1
    assert "/d1" not in found.yaml


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            json.dumps({"partitions": [{**ROW, "replicas": [1]}, {**ROW, "replicas": [2]}]}),
            ["$.partitions[1]", "a-0 is listed twice", "[2] here", "[1] at $.partitions[0]"],
        ),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "replicas": [1, 1]}]}',
            ["$.partitions[0].replicas", "broker 1 is listed twice"],
        ),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "replicas": [1], "log_dirs": []}]}',
            ["$.partitions[0].log_dirs", "0 for 1 replicas"],
        ),
        ('{"partitions": [{"topic": "a", "partition": 0, "replicas": []}]}', ["replicas"]),
        (
            '{"version": 2, "partitions": [{"topic": "a", "partition": 0, "replicas": [1]}]}',
            ["version"],
        ),
        (
            '{"partitions": [{"topic": "a b", "partition": 0, "replicas": [1]}]}',
            ["$.partitions[0].topic: 'a b' is no legal topic name"],
        ),
        ('{"topics": [{"topic": "a"}], "version": 1}', [': $: unknown key "topics"']),
        ("[]", ["expected a JSON object"]),
        ('{"partitions": [', [":1:17"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, parts: list[str], tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadFile) as caught:
        import_kafka_json(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)
