"""Saved ends of logs, in a folder: one file of record batches for each, as they were in the log, and an index.

`index.json` says of which partition and replica each file is, from which offset to which, and its sha256. It is written
last: a file that it does not name was not saved whole.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from replan.documents.atomic import write_file
from replan.documents.files import cannot, read_text
from replan.documents.forms import Broker, Form, Int32, Int64, Text
from replan.documents.json_text import parse_document
from replan.documents.typed import typed
from replan.errors import BadFile
from replan.model.names import TopicId, TopicPartition

INDEX = "index.json"


class TailForm(Form, frozen=True, kw_only=True):
    """One saved end of a log."""

    topic: Text
    partition: Int32
    topic_id: TopicId
    broker: Broker
    """Whose log it was."""
    leader: Broker
    """Who was chosen to lead: the log without these records."""
    begin: Int64
    end: Int64
    """The offset after its last record."""
    records: Int64
    transactional: Int64 = 0
    """How many of its batches are of transactions."""
    file: Text
    sha256: Text

    @property
    def name(self) -> TopicPartition:
        """The partition."""
        return TopicPartition(self.topic, self.partition)


class IndexForm(Form, frozen=True):
    """The index of a folder."""

    kind: Literal["replan.tails"]
    format_version: Literal[1]
    cluster_id: Text
    tails: tuple[TailForm, ...]


def file_name(name: TopicPartition, broker: int, leader_epoch: int, begin: int) -> str:
    """What the file of one end of a log is called; topic names have no character that a file may not have.

    `leader_epoch`: of the partition while nobody led it. The same log may be cut at the same place twice.
    """
    return f"{name}.broker-{broker}.epoch-{leader_epoch}.from-{begin}.batches"


def write_content(folder: Path, file: str, content: Iterable[bytes]) -> str:
    """Write batches to a file, which no index names yet, and keep them there; returns its sha256. Raises BadFile."""
    digest, path = hashlib.sha256(), folder / file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            for part in content:
                digest.update(part)
                out.write(part)
            out.flush()
            os.fsync(out.fileno())
    except OSError as problem:
        raise cannot("write", path, problem) from problem
    return digest.hexdigest()


def known_files(folder: Path, cluster_id: str) -> dict[str, TopicId]:
    """The files that a folder has whole, with the topic of each; raises BadFile where it is another cluster's."""
    return {tail.file: tail.topic_id for tail in _known(folder, cluster_id)}


def write_index(folder: Path, cluster_id: str, tails: Sequence[TailForm]) -> None:
    """Write the index of a folder, or add to the one that is there; raises BadFile."""
    index = IndexForm("replan.tails", 1, cluster_id, (*_known(folder, cluster_id), *tails))
    text = json.dumps(msgspec.to_builtins(index), indent=2)
    write_file(folder / INDEX, text + "\n")


def _known(folder: Path, cluster_id: str) -> tuple[TailForm, ...]:
    if not (folder / INDEX).exists():
        return ()
    before = read_index(folder)
    if before.cluster_id != cluster_id:
        raise BadFile(
            f"{folder / INDEX}: it is of cluster {before.cluster_id}; name another folder"
        )
    return before.tails


def read_index(folder: Path) -> IndexForm:
    """The index of a folder; raises BadFile."""
    path = folder / INDEX
    if not path.is_file():
        raise BadFile(
            f"{folder}: no {INDEX} is there; `replan elect … --save-tails` makes such folders"
        )
    return typed(parse_document(read_text(path), str(path)), IndexForm, str(path))


def read_content(folder: Path, tail: TailForm) -> bytes:
    """The batches of one end of a log; raises BadFile where they are not those that were saved."""
    path = folder / tail.file
    if path.parent != folder:
        raise BadFile(f"{folder / INDEX}: {tail.file} is not in this folder")
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise cannot("read", path, problem) from problem
    if hashlib.sha256(content).hexdigest() != tail.sha256:
        raise BadFile(f"{path}: it is not what was saved (sha256 differs from {INDEX})")
    return content
