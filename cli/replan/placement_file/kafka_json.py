"""The JSON of Kafka's own tools, both ways: reassignments (kafka-reassign-partitions.sh) and elections.

`{"version": 1, "partitions": [{"topic": "foo", "partition": 1, "replicas": [1, 2, 3], "log_dirs": ["any", …]}]}`. A
partition that a reassignment lists twice is an error, as in Kafka's tool; one that an election file lists twice is
folded (`election_file`). Log directories are read, and left out: a placement does not say where a replica lies.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from replan.documents.forms import Form, Int32, ReplicaList, Text, once_each
from replan.documents.json_text import parse_document
from replan.documents.typed import typed
from replan.errors import BadFile
from replan.model.names import Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.placement_file.election_file import read_election_file
from replan.placement_file.export import placement_text
from replan.placement_file.yaml_text.sources import read_source

ANY = "any"


class ReassignedForm(Form, frozen=True):
    """One partition of a reassignment."""

    topic: Text
    partition: Int32
    replicas: ReplicaList
    log_dirs: tuple[Text, ...] | None = msgspec.field(default=None, name="log_dirs")

    def __post_init__(self) -> None:
        once_each(replicas=self.replicas)
        if self.log_dirs is not None and len(self.log_dirs) != len(self.replicas):
            raise ValueError(
                f".log_dirs: {len(self.log_dirs)} for {len(self.replicas)} replicas; write one for each, or none"
            )


class ReassignmentForm(Form, frozen=True):
    """The document."""

    partitions: Annotated[tuple[ReassignedForm, ...], msgspec.Meta(min_length=1)]
    version: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Imported:
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
    found = _once_each(form, source.name)
    named = (d for row in form.partitions for d in row.log_dirs or () if d != ANY)
    return Imported(placement_text(found), len(found), sum(1 for _ in named))


def read_reassignment(path: Path) -> dict[TopicPartition, Replicas]:
    """The targets of a reassignment file; raises BadFile as `import_kafka_json` does."""
    source = read_source(path)
    form = typed(parse_document(source.text, source.name), ReassignmentForm, source.name)
    return _once_each(form, source.name)


def _once_each(form: ReassignmentForm, source: str) -> dict[TopicPartition, Replicas]:
    found: dict[TopicPartition, Replicas] = {}
    places: dict[TopicPartition, int] = {}
    for number, row in enumerate(form.partitions):
        name = TopicPartition(row.topic, row.partition)
        if name in found:
            first = places[name]
            raise BadFile(
                f"{source}: $.partitions[{number}]: {name} is listed twice, as {list(row.replicas)} here and as "
                f"{list(found[name])} at $.partitions[{first}]; keep one"
            )
        found[name], places[name] = row.replicas, number
    return dict(sorted(found.items()))


def reassignment_json(snapshot: Snapshot, topics: frozenset[str]) -> str:
    """What `--execute` and `--verify` of Kafka's tool take: the lists as they are, or as what runs will leave them."""
    rows = [
        {
            "topic": name.topic,
            "partition": name.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY] * len(replicas),
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
    for seen in snapshot.states(rows):
        running = seen.running
        yield seen.partition, seen.replicas if running is None else running.target


def _document(head: Mapping[str, object], rows: Iterable[Mapping[str, object]]) -> str:
    """One partition a line."""
    fixed = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in head.items())
    return "{" + fixed + '"partitions": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n]}\n"
