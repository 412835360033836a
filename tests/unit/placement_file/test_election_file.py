"""The partitions of an election file: Kafka's JSON, the same in YAML, and what is said of anything else."""

from pathlib import Path

import pytest

from replan.errors import BadFile, ReplanError
from replan.model.api import BrokerId, TopicPartition
from replan.placement_file.api import read_election_file

TWO = {TopicPartition("orders", 0): None, TopicPartition("orders-eu", 11): None}


def written(folder: Path, text: str) -> Path:
    path = folder / "elections"
    path.write_text(text)
    return path


def leaders(path: Path) -> dict[TopicPartition, BrokerId | None]:
    return {name: of.leader for name, of in read_election_file(path).items()}


@pytest.mark.parametrize(
    "text",
    [
        '{"partitions": [{"topic": "orders", "partition": 0}, {"topic": "orders-eu", "partition": 11}]}',
        '{"version": 1,\n\t"partitions": [\n\t{"topic": "orders", "partition": 0}, "orders-eu-11"]}',
        "partitions:\n  - {topic: orders, partition: 0}\n  - topic: orders-eu\n    partition: 11\n",
        "partitions: [orders-0, orders-eu-11, orders-0]\n",
    ],
    ids=["kafka", "tabs and names", "yaml", "folded"],
)
def test_it_is_read(text: str, tmp_path: Path) -> None:
    assert leaders(written(tmp_path, text)) == TWO


def test_a_desired_leader_is_read(tmp_path: Path) -> None:
    text = '{"partitions": [{"topic": "orders", "partition": 0, "desiredLeader": 3}]}'
    assert leaders(written(tmp_path, text)) == {TopicPartition("orders", 0): 3}


def test_each_partition_has_its_place(tmp_path: Path) -> None:
    text = (
        '{"version": 1,\n\t"partitions": [\n\t{"topic": "orders", "partition": 0}, "orders-eu-11"]}'
    )
    found = read_election_file(written(tmp_path, text))
    assert [(of.where.line, of.where.column) for of in found.values()] == [(3, 2), (3, 39)]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"partitions": [{"topic": "orders"}]}', ":1:17: $.partitions[0]"),
        (
            '{"partitions": [\n {"topic": "a", "partition": -1}]}',
            ":2:30: $.partitions[0].partition",
        ),
        ('{"partitions": [{"topic": "orders", "partition": -1}]}', "$.partitions[0].partition"),
        ('{"partitions": [{"topic": "orders", "partition": "0"}]}', "$.partitions[0].partition"),
        ('{"partitions": []}', "$.partitions"),
        ('{"partition": []}', "partition"),
        ('{"version": 2, "partitions": ["a-1"]}', "$.version"),
        ('{"partitions": ["a"]}', "$.partitions[0]: 'a' is not TOPIC-PARTITION"),
        ('{"partitions": [', ":1:17"),
        ("- a\n", ":1:1"),
        ("", "empty"),
        (
            '{"partitions": [{"topic": "a", "partition": 0, "desiredLeader": 1}, "a-0"]}',
            "$.partitions[1]: a-0 is listed before with another desiredLeader",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, part: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ReplanError) as caught:
        read_election_file(path)
    assert str(path) in str(caught.value)
    assert part in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises((BadFile, ReplanError), match="no such file"):
        read_election_file(tmp_path / "missing.json")
