"""The partitions of an election file: the JSON of kafka-leader-election.sh, or the same in YAML.

`{"partitions": [{"topic": "orders", "partition": 0}]}`; a partition may also be written as `orders-0`. One that is
listed twice is folded. Kafka's tool ignores the key `version`, which its other files have; here it may be 1.
"""

import json
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from replan.documents.forms import Form, Int32, Text
from replan.documents.json_text import NotJson, parse_json
from replan.documents.typed import typed
from replan.errors import BadFile
from replan.manifest.yaml_text.events import fastest_parser, read_document
from replan.manifest.yaml_text.sources import Problems, Source, read_source
from replan.model.names import BrokerId, TopicPartition, parse_topic_partition


class PartitionForm(Form, frozen=True):
    """One partition."""

    topic: Text
    partition: Int32
    desired_leader: Int32 | None = None
    """Who shall lead, for an election that designates a leader (KIP-966)."""


class ElectionFileForm(Form, frozen=True):
    """The document."""

    partitions: Annotated[tuple[PartitionForm | Text, ...], msgspec.Meta(min_length=1)]
    version: Literal[1] = 1


def read_election_file(path: Path) -> dict[TopicPartition, BrokerId | None]:
    """The partitions, each once, in the order of the file, with the leader that is desired there, if one is.

    Raises BadFile, and BadManifest where it is not even YAML.
    """
    if not path.exists():
        raise BadFile(f"{path}: there is no such file; check the path of --election-file")
    source = read_source(path)
    begins = source.text.lstrip()[:1]
    if begins in {"", "["}:
        what = "a list" if begins else "empty"
        raise BadFile(
            f"{source.name}:1:1: this file is {what}; an election file is Kafka's own, or partitions: [orders-7]"
        )
    form = typed(_document(source), ElectionFileForm, source.name)
    found: dict[TopicPartition, BrokerId | None] = {}
    for number, row in enumerate(form.partitions):
        name, leader = _read(row, f"{source.name}: $.partitions[{number}]")
        if found.get(name, leader) != leader:
            raise BadFile(
                f"{source.name}: $.partitions[{number}]: {name} is listed before with another desiredLeader; keep one"
            )
        found[name] = leader
    return found


def _document(source: Source) -> object:
    """The value of the text; what begins with a brace is JSON."""
    if source.text.lstrip().startswith("{"):
        try:
            return parse_json(source.text)
        except NotJson as problem:
            raise BadFile(f"{source.name}{problem.place}: {problem.problem}") from problem
    problems = Problems()
    found = read_document(source, problems, fastest_parser())
    problems.raise_if_any()
    return json.loads(json.dumps(found))


def _read(row: PartitionForm | str, place: str) -> tuple[TopicPartition, BrokerId | None]:
    if isinstance(row, PartitionForm):
        leader = row.desired_leader
        return TopicPartition(row.topic, row.partition), None if leader is None else BrokerId(
            leader
        )
    try:
        return parse_topic_partition(row), None
    except ValueError as problem:
        raise BadFile(f"{place}: {problem}; write e.g. orders-7") from problem
