"""The partitions of an election file: the JSON of kafka-leader-election.sh, or the same in YAML.

`{"partitions": [{"topic": "orders", "partition": 0}]}`; a partition may also be written as `orders-0`. One that is
listed twice is folded. Kafka's tool ignores the key `version`, which its other files have; here it may be 1.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import ValidationError, convert

from replan.documents.forms import Form, Int32, Text
from replan.documents.json_text import NotJson, parse_json
from replan.documents.typed import complaint
from replan.errors import BadFile
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition, parse_topic_partition
from replan.placement_file.yaml_text.events import fastest_parser, read_document
from replan.placement_file.yaml_text.sources import Problems, Source, read_source
from replan.placement_file.yaml_text.values import YamlMapping, place_of

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


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


@dataclass(frozen=True, slots=True)
class Listed:
    """What a file says of one partition."""

    leader: BrokerId | None
    """Who shall lead, where the file says so."""
    where: Where


def read_election_file(path: Path) -> dict[TopicPartition, Listed]:
    """The partitions, each once, in the order of the file.

    Raises BadFile, and BadPlacement where it is not even YAML.
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
    document = _document(source)
    value = json.loads(json.dumps(document))
    try:
        form = convert(value, ElectionFileForm)
    except ValidationError as problem:
        place, what = complaint(problem, value, ElectionFileForm)
        steps = [int(number) if number else key for key, number in _STEP.findall(place)]
        at = source.where(place_of(document, tuple(steps)))
        raise BadFile(f"{at}: $.{place.removeprefix('.')}: {what}") from problem
    found: dict[TopicPartition, Listed] = {}
    for number, row in enumerate(form.partitions):
        where = source.where(place_of(document, ("partitions", number)))
        name, leader = _read(row, f"{where}: $.partitions[{number}]")
        if name in found and found[name].leader != leader:
            raise BadFile(
                f"{where}: $.partitions[{number}]: {name} is listed before with another desiredLeader; keep one"
            )
        found.setdefault(name, Listed(leader, where))
    return found


def _document(source: Source) -> YamlMapping:
    """The value of the text with its places; what begins with a brace has to be JSON, which is YAML but for tabs."""
    if source.text.lstrip().startswith("{"):
        try:
            parse_json(source.text)
        except NotJson as problem:
            raise BadFile(f"{source.name}{problem.place}: {problem.problem}") from problem
        source = Source(source.name, source.text.replace("\t", " "))
    problems = Problems()
    found = read_document(source, problems, fastest_parser())
    problems.raise_if_any()
    return YamlMapping() if found is None else found


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
