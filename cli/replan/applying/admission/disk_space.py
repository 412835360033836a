"""Room on log directories: whether a new replica fits where Kafka will put it. Pure values.

Kafka places a new replica in the directory with the fewest logs (LogManager.nextLogDirs), whatever their sizes: it
must fit there. What was promised and is not there yet comes before it, one in each directory in turn. Kafka takes any
of those with equally few logs, and copies begin in any order, so the replica must fit in each directory that its turn
may come to, beside the largest of the promised ones. What is there already takes more of the directory it lies in.

Room counts only when a reading showed it, so what was admitted since the last reading stays reserved until the next
one, also where a copy has ended or a replica was dropped meanwhile (file.delete.delay.ms).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

from replan.applying.reasons.gates import NoRoom
from replan.model.broker import LogDir
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.log_dirs import HEADROOM


@dataclass(frozen=True, slots=True)
class Room:
    """Log directories as of the last reading, less what was promised since."""

    dirs: tuple[LogDir, ...] = ()
    promised: Mapping[BrokerId, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Bytes by broker and partition."""

    def reserve(self, partition: TopicPartition, brokers: Iterable[BrokerId], size: int) -> "Room":
        """The room after a copy of so many bytes to each broker was admitted; once more makes no difference."""
        promised = {b: {**self.promised.get(b, {}), partition: size} for b in brokers}
        return Room(self.dirs, {**self.promised, **promised})

    def why_not(self, partition: TopicPartition, broker: BrokerId, size: int) -> NoRoom | None:
        """Why a replica of so many bytes does not fit on a broker; None where it fits or the room is not known."""
        found = [self._no_room(d, size) for d in self._turns(partition, broker)]
        lacking = [no for no in found if no is not None]
        return min(lacking, key=lambda no: (no.usable - no.promised, no.path), default=None)

    def _no_room(self, chosen: "_Turn", size: int) -> NoRoom | None:
        found = chosen.directory
        if found.usable_bytes is None or found.total_bytes is None or not size:
            return None
        kept_free = int(found.total_bytes * HEADROOM)
        if found.usable_bytes - chosen.promised - size >= kept_free:
            return None
        return NoRoom(
            found.broker, found.path, size, found.usable_bytes, chosen.promised, kept_free
        )

    def _turns(self, partition: TopicPartition, broker: BrokerId) -> Iterator["_Turn"]:
        """The directories that Kafka may put the next replica in, once all that is promised is there."""
        usable = [d for d in self.dirs if d.broker == broker and d.error is None and not d.cordoned]
        others = {p: b for p, b in self.promised.get(broker, {}).items() if p != partition}
        there = {p: d for d in usable for p in others if _lies_in(p, d)}
        coming = sorted((b for p, b in others.items() if p not in there), reverse=True)
        logs = [d.logs for d in usable]
        heapify(logs)
        for _ in coming if usable else ():
            heapreplace(logs, logs[0] + 1)
        for d in usable:
            if d.logs <= logs[0]:
                more = sum(b for p, b in others.items() if there.get(p) is d)
                yield _Turn(d, more + sum(coming[: logs[0] - d.logs]))


@dataclass(frozen=True, slots=True)
class _Turn:
    directory: LogDir
    promised: int
    """Bytes that come to lie in it before, at most."""


def _lies_in(partition: TopicPartition, directory: LogDir) -> bool:
    return partition.partition in directory.replicas.get(partition.topic, ())
