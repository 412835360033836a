"""The JSON of Kafka's own tools, both ways: reassignments (kafka-reassign-partitions.sh) and elections.

A reassignment: `{"version": 1, "partitions": [{"topic": "foo", "partition": 1, "replicas": [1, 2, 3], "log_dirs":
["any", …]}]}`. A partition that it lists twice is an error, as in Kafka's tool. Log directories are read, and left
out: a placement does not say where a replica lies.

An election (kafka-leader-election.sh): `{"partitions": [{"topic": "orders", "partition": 0}]}`, or the same in YAML; a
partition may also be written as `orders-0`, and one that is listed twice is folded. Kafka's tool ignores the key
`version` there; here it may be 1.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, field

from replan.documents.json_text import NotJson, parse_document, parse_json
from replan.documents.typed import Form, Int32, ReplicaList, Text, complaint, once_each, typed
from replan.errors import BadFile
from replan.model.declared.where import Where
from replan.model.names import BrokerId, Replicas, TopicPartition, parse_topic_partition
from replan.model.snapshot import Snapshot
from replan.placement_file.export import placement_text
from replan.placement_file.sources import Problems, Source, read_source
from replan.placement_file.units import check_topic
from replan.placement_file.yaml_text import (
    YamlMapping,
    fastest_parser,
    place_of,
    read_yaml_document,
)

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class PartitionForm(Form, frozen=True):
    """One partition."""

    topic: Text
    partition: Int32
    desired_leader: Int32 | None = None
    """Who shall lead, for an election that designates a leader (KIP-966)."""


class ElectionFileForm(Form, frozen=True):
    """The document."""

    partitions: Annotated[tuple[PartitionForm | Text, ...], Meta(min_length=1)]
    version: Literal[1] = 1


class ElectionEntry(Struct, frozen=True):
    """What a file says of one partition."""

    leader: BrokerId | None
    """Who shall lead, where the file says so."""
    where: Where


def read_election_file(path: Path) -> dict[TopicPartition, ElectionEntry]:
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
    document = _election_document(source)
    value = json.loads(json.dumps(document))
    try:
        form = convert(value, ElectionFileForm)
    except ValidationError as problem:
        place, what = complaint(problem, value, ElectionFileForm)
        steps = [int(number) if number else key for key, number in _STEP.findall(place)]
        at = source.where(place_of(document, tuple(steps)))
        raise BadFile(f"{at}: ${place}: {what}") from problem
    entries: dict[TopicPartition, ElectionEntry] = {}
    for number, row in enumerate(form.partitions):
        where = source.where(place_of(document, ("partitions", number)))
        name, leader = _read(row, f"{where}: $.partitions[{number}]")
        if name in entries and entries[name].leader != leader:
            raise BadFile(
                f"{where}: $.partitions[{number}]: {name} is listed before with another desiredLeader; keep one"
            )
        entries.setdefault(name, ElectionEntry(leader, where))
    return entries


def _election_document(source: Source) -> YamlMapping:
    """The value of the text with its places; what begins with a brace has to be JSON, which is YAML but for tabs."""
    if source.text.lstrip().startswith("{"):
        try:
            parse_json(source.text)
        except NotJson as problem:
            raise BadFile(f"{source.name}{problem.place}: {problem.problem}") from problem
        source = Source(source.name, source.text.replace("\t", " "))
    problems = Problems()
    document = read_yaml_document(source, problems, fastest_parser())
    problems.raise_if_any()
    return YamlMapping() if document is None else document


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


ANY_LOG_DIR = "any"


class ReassignedForm(Form, frozen=True):
    """One partition of a reassignment."""

    topic: Text
    partition: Int32
    replicas: ReplicaList
    log_dirs: tuple[Text, ...] | None = field(default=None, name="log_dirs")

    def __post_init__(self) -> None:
        try:
            check_topic(self.topic)
        except ValueError as problem:
            raise ValueError(f".topic: {problem}") from problem
        once_each(replicas=self.replicas)
        if self.log_dirs is not None and len(self.log_dirs) != len(self.replicas):
            raise ValueError(
                f".log_dirs: {len(self.log_dirs)} for {len(self.replicas)} replicas; write one for each, or none"
            )


class ReassignmentForm(Form, frozen=True):
    """The document."""

    partitions: Annotated[tuple[ReassignedForm, ...], Meta(min_length=1)]
    version: Literal[1] = 1


class Imported(Struct, frozen=True):
    """What a file of Kafka's tools asks for, as YAML."""

    yaml: str
    partitions: int
    directories: int
    """Replicas for which it names a log directory, which is left out."""


def import_kafka_json(path: Path) -> Imported:
    """Read a reassignment or an election file; raises BadFile with the file, the place and what is wrong.

    A reassignment becomes a placement file that names its partitions, an election file the shorter form of one.
    """
    source = read_source(path)
    document = parse_document(source.text, source.name)
    rows = document.get("partitions")
    lists = isinstance(rows, list) and any(isinstance(r, dict) and "replicas" in r for r in rows)
    if not lists:
        names = sorted(read_election_file(path))
        lines = "".join(f"  - {json.dumps(str(name))}\n" for name in names)
        return Imported(f"partitions:\n{lines}", len(names), 0)
    form = typed(document, ReassignmentForm, source.name)
    assignments = _once_each(form, source.name)
    named = (d for row in form.partitions for d in row.log_dirs or () if d != ANY_LOG_DIR)
    return Imported(placement_text(assignments), len(assignments), sum(1 for _ in named))


def read_reassignment(path: Path) -> dict[TopicPartition, Replicas]:
    """The targets of a reassignment file; raises BadFile as `import_kafka_json` does."""
    source = read_source(path)
    form = typed(parse_document(source.text, source.name), ReassignmentForm, source.name)
    return _once_each(form, source.name)


def _once_each(form: ReassignmentForm, source: str) -> dict[TopicPartition, Replicas]:
    lists: dict[TopicPartition, Replicas] = {}
    places: dict[TopicPartition, int] = {}
    for number, row in enumerate(form.partitions):
        name = TopicPartition(row.topic, row.partition)
        if name in lists:
            first = places[name]
            raise BadFile(
                f"{source}: $.partitions[{number}]: {name} is listed twice, as {list(row.replicas)} here and as "
                f"{list(lists[name])} at $.partitions[{first}]; keep one"
            )
        lists[name], places[name] = row.replicas, number
    return dict(sorted(lists.items()))


def reassignment_json(snapshot: Snapshot, topics: frozenset[str]) -> str:
    """What `--execute` and `--verify` of Kafka's tool take: the lists as they are, or as what runs will leave them."""
    rows = [
        {
            "topic": name.topic,
            "partition": name.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY_LOG_DIR] * len(replicas),
        }
        for name, replicas in _lists(snapshot, topics)
    ]
    return _document({"version": 1}, rows)


def election_json(snapshot: Snapshot, topics: frozenset[str]) -> str:
    """What `--path-to-json-file` of Kafka's election tool takes."""
    rows = [
        {"topic": name.topic, "partition": name.partition} for name, _ in _lists(snapshot, topics)
    ]
    return _document({}, rows)


def _lists(snapshot: Snapshot, topics: frozenset[str]) -> Iterator[tuple[TopicPartition, Replicas]]:
    rows = sorted(row for topic in topics for row in snapshot.topic_rows(topic))
    for state in snapshot.states(rows):
        running = state.running
        yield state.partition, state.replicas if running is None else running.target


def _document(head: Mapping[str, object], rows: Iterable[Mapping[str, object]]) -> str:
    """One partition a line."""
    fixed = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in head.items())
    return "{" + fixed + '"partitions": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n]}\n"
