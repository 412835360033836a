"""Log directories that are to be empty (`blacklists.logDirs`): which replicas go to other directories of their broker.

Nothing crosses the network, and no replica list changes (AlterReplicaLogDirs, KIP-113). A replica that a move takes off
the broker anyway is left alone. Each goes where the most room is left, the largest first, so that a tenth of every
volume stays free.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from replan.documents.typed import Broker, Form, Int32, Int64, Text
from replan.model.broker import LogDir
from replan.model.declared.placement import Placement
from replan.model.declared.rules import LogDirBlacklist
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.snapshot import Snapshot

HEADROOM = 0.10
"""Of a volume, to stay free after a copy."""


class LogMove(Form, frozen=True):
    """A replica that is to lie in another log directory of its broker."""

    topic: Text
    topic_id: TopicId
    number: Int32 = msgspec.field(name="partition")
    broker: Broker
    source: Text
    target: Text
    bytes: Int64

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise ValueError(": it lies there already")

    @property
    def partition(self) -> TopicPartition:
        """Of which partition."""
        return TopicPartition(self.topic, self.number)

    @property
    def replica(self) -> tuple[TopicPartition, BrokerId]:
        """Which one."""
        return self.partition, self.broker


@dataclass(frozen=True, slots=True)
class NoRoomLeft:
    """A replica that fits into no other directory of its broker."""

    partition: TopicPartition
    broker: BrokerId
    source: str
    bytes: int
    largest: int
    """The most that any of the others can take, keeping a tenth free."""


@dataclass(frozen=True, slots=True)
class LogDrains:
    """What becomes of the directories that are to be empty."""

    moves: tuple[LogMove, ...] = ()
    no_room: tuple[NoRoomLeft, ...] = ()
    unread: tuple[LogDirBlacklist, ...] = ()
    """Entries of brokers that do not say what lies where, or whose directory is offline."""
    uncordoned: tuple[LogDirBlacklist, ...] = ()
    """Entries with replicas to move, in a directory that takes new ones: it has the fewest logs before long."""


@dataclass(slots=True)
class _Room:
    """Directories that may take replicas, with what they can take yet; None: not known."""

    left: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, dirs: list[LogDir], drained: set[str]) -> "_Room":
        open_dirs = (
            d for d in dirs if d.error is None and not d.cordoned and d.path not in drained
        )
        return cls({d.path: takes(d) for d in sorted(open_dirs, key=lambda d: d.path)})

    def taken(self, size: int) -> str | None:
        """Where so many bytes go; None where they do not fit."""
        for path, room in sorted(self.left.items(), key=lambda item: -(item[1] or 0)):
            if room is None:
                return path
            if room >= size:
                self.left[path] = room - size
                return path
        return None


def takes(found: LogDir) -> int | None:
    """How many more bytes a directory takes, with a tenth of its volume free; None: not known."""
    if found.usable_bytes is None or found.total_bytes is None:
        return None
    return max(0, found.usable_bytes - int(found.total_bytes * HEADROOM))


def log_drains(
    placement: Placement, snapshot: Snapshot, targets: Mapping[TopicPartition, Replicas]
) -> LogDrains:
    """Where the replicas in these directories go; `targets`: the lists that partitions get by the same plan."""
    entries = sorted(placement.log_dir_blacklist, key=lambda e: (e.broker, e.path))
    dirs: dict[BrokerId, list[LogDir]] = {}
    for found in snapshot.log_dirs if entries else ():
        dirs.setdefault(found.broker, []).append(found)
    drained: dict[BrokerId, set[str]] = {}
    for entry in entries:
        drained.setdefault(entry.broker, set()).add(entry.path)
    rooms = {b: _Room.of(dirs.get(b, []), paths) for b, paths in drained.items()}
    moves: list[LogMove] = []
    no_room: list[NoRoomLeft] = []
    unread: list[LogDirBlacklist] = []
    uncordoned: list[LogDirBlacklist] = []
    for entry in entries:
        source = next((d for d in dirs.get(entry.broker, []) if d.path == entry.path), None)
        if source is None or source.error is not None:
            unread.append(entry)
            continue
        before, room = len(moves), rooms[entry.broker]
        for name, topic_id, size in lying(source, snapshot, targets):
            path = room.taken(size)
            if path is None:
                largest = max((r or 0 for r in room.left.values()), default=0)
                no_room.append(NoRoomLeft(name, entry.broker, entry.path, size, largest))
            else:
                at = (entry.broker, entry.path, path)
                moves.append(LogMove(name.topic, topic_id, name.partition, *at, size))
        if len(moves) > before and not source.cordoned:
            uncordoned.append(entry)
    return LogDrains(tuple(moves), tuple(no_room), tuple(unread), tuple(uncordoned))


def lying(
    source: LogDir, snapshot: Snapshot, targets: Mapping[TopicPartition, Replicas]
) -> Iterator[tuple[TopicPartition, TopicId, int]]:
    """What lies in a directory and stays on its broker, the largest first."""
    found = []
    for topic, numbers in source.replicas.items():
        rows, wanted = snapshot.topic_rows(topic), set(numbers)
        for state in snapshot.states(rows):
            name = state.partition
            lists = targets.get(name, state.replicas)
            if name.partition in wanted and source.broker in lists:
                found.append((name, state.topic_id, state.bytes))
    yield from sorted(found, key=lambda f: (-f[2], f[0]))
