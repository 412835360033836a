"""Saved ends of logs, in a folder: one file of record batches for each, as they were in the log, and an index.

`index.json` says of which partition and replica each file is, from which offset to which, and its sha256. It is written
last: a file that it does not name was not saved whole.

A replay, which produces them again, writes a file beside the index as it goes on, one line for each thing that happens,
in order; `FILE` is that of the end of a log:

    sending FILE FROM TO     a batch is about to be sent: written, and on disk, before the request
    produced FILE TO         everything up to this offset is produced, or was left out on purpose
    refused FILE             the cluster has rejected it: it is not in the log
    again FILE...            a person asks for all of these once more: another round of them begins

A `sending` without one of the others behind it is unknown: the batch may be in the log or not. A line that is cut off
was never acted on. So a round that was interrupted is known as such, and goes on where it was.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from replan.documents.files import cannot, read_text, write_file
from replan.documents.json_text import parse_document
from replan.documents.typed import Form, Int32, Int64, Text, ValidBrokerId, typed
from replan.errors import BadFile
from replan.model.names import TopicId, TopicPartition

INDEX = "index.json"


class TailForm(Form, frozen=True, kw_only=True):
    """One saved end of a log."""

    topic: Text
    partition: Int32
    topic_id: TopicId
    broker: ValidBrokerId
    """Whose log it was."""
    leader: ValidBrokerId
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

    `leader_epoch`: of the partition while it had no leader. The same log may be cut at the same place twice.
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


def saved_topic_ids(folder: Path, cluster_id: str) -> dict[str, TopicId]:
    """The files that a folder has whole, with the topic of each; raises BadFile where it is another cluster's."""
    return {tail.file: tail.topic_id for tail in _saved_tails(folder, cluster_id)}


def write_index(folder: Path, cluster_id: str, tails: Sequence[TailForm]) -> None:
    """Write the index of a folder, or add to the one that is there; raises BadFile."""
    index = IndexForm("replan.tails", 1, cluster_id, (*_saved_tails(folder, cluster_id), *tails))
    text = json.dumps(to_builtins(index), indent=2)
    write_file(folder / INDEX, text + "\n")


def _saved_tails(folder: Path, cluster_id: str) -> tuple[TailForm, ...]:
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


def read_tail_batches(folder: Path, tail: TailForm) -> bytes:
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


REPLAYED = "replayed.txt"
_WORDS = {"sending": 3, "produced": 2, "refused": 1}
"""How many follow each; any number follows `again`."""


class Replayed(Struct, frozen=True):
    """How far one end of a log is."""

    to: int
    """Everything before this offset is produced."""
    unknown_to: int | None = None
    """Up to where a batch may be produced or not."""
    round: int = 0
    """How many rounds had begun in the folder when this one did."""


_NOTHING = Replayed(-1)


class Replays:
    """How far all ends of logs of a folder are; what happens is written down before it counts."""

    def __init__(self, text: str, out: FileIO | None = None) -> None:
        self._replayed: dict[str, tuple[Replayed, ...]] = {}
        self._rounds = 0
        self._out = out
        for line in text.splitlines():
            what, *words = line.split(" ")
            if what != "again" and len(words) != _WORDS.get(what):
                raise ValueError(line)
            self._take(what, *words)

    def of(self, tail: TailForm) -> Replayed:
        """How far one is, in the last round that it is part of."""
        latest = self._replayed.get(tail.file, (_NOTHING,))[-1]
        return replace(latest, to=max(latest.to, tail.begin))

    def since(self, tail: TailForm, begun: int) -> int:
        """Up to where one was produced in this round or a later one."""
        of_file = self._replayed.get(tail.file, ())
        return max(tail.begin, *(r.to for r in of_file if r.round >= begun), _NOTHING.to)

    def asked_again(self, tails: Sequence[TailForm]) -> "Replays":
        """What `again` would make of it; nothing is written."""
        copy = Replays("")
        copy._replayed, copy._rounds = dict(self._replayed), self._rounds
        copy.again(tails)
        return copy

    def unfinished(self, tail: TailForm) -> bool:
        """Whether it is in a round that somebody asked for, and was interrupted."""
        return (replay := self.of(tail)).round > 0 and replay.to < tail.end

    def sending(self, tail: TailForm, begin: int, end: int) -> None:
        """A batch is about to be sent."""
        self._note("sending", tail.file, str(begin), str(end))

    def produced(self, tail: TailForm, to: int) -> None:
        """Everything up to this offset is produced."""
        self._note("produced", tail.file, str(to))

    def refused(self, tail: TailForm) -> None:
        """What was sent last is not in the log."""
        self._note("refused", tail.file)

    def again(self, tails: Sequence[TailForm]) -> None:
        """All of these are to be produced once more; all of them, or none, is written down."""
        self._note("again", *(tail.file for tail in tails))

    def _note(self, *words: str) -> None:
        if self._out is not None:
            line = (" ".join(words) + "\n").encode()
            try:
                while line:
                    line = line[self._out.write(line) :]
                os.fsync(self._out.fileno())
            except OSError as problem:
                raise cannot("write", Path(self._out.name), problem) from problem
        self._take(*words)

    def _take(self, what: str, *words: str) -> None:
        if what == "again":
            self._rounds += 1
            for file in words:
                self._replayed[file] = (
                    *self._replayed.get(file, ()),
                    replace(_NOTHING, round=self._rounds),
                )
            return
        file, *offsets = words
        *before, last = self._replayed.get(file, (_NOTHING,))
        match what:
            case "sending":
                last = replace(last, to=int(offsets[0]), unknown_to=int(offsets[1]))
            case "produced":
                last = replace(last, to=int(offsets[0]), unknown_to=None)
            case _:
                last = replace(last, unknown_to=None)
        self._replayed[file] = (*before, last)


def read_replays(folder: Path) -> Replays:
    """What was produced again so far; raises BadFile."""
    path = folder / REPLAYED
    try:
        return _parsed(path, path.read_bytes() if path.exists() else b"")
    except OSError as problem:
        raise cannot("read", path, problem) from problem


@contextmanager
def open_replays(folder: Path) -> Iterator[Replays]:
    """The same, to go on with: one process at a time. Raises BadFile."""
    path = folder / REPLAYED
    try:
        out = path.open("a+b", buffering=0)
    except OSError as problem:
        raise cannot("write", path, problem) from problem
    with out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            out.seek(0)
            content = out.read()
            replays = _parsed(path, content, out)
            out.truncate(len(_whole(content)))
        except BlockingIOError as problem:
            raise BadFile(f"{path}: another process replays this folder") from problem
        except OSError as problem:
            raise cannot("read", path, problem) from problem
        yield replays


def _whole(content: bytes) -> bytes:
    """The lines that are whole."""
    return content[: content.rfind(b"\n") + 1]


def _parsed(path: Path, content: bytes, out: FileIO | None = None) -> Replays:
    try:
        return Replays(_whole(content).decode(), out)
    except ValueError as problem:
        raise BadFile(
            f"{path}: it is not what `replan tails replay` writes: {problem}"
        ) from problem
