"""The logs of replicas that differ: which epoch wrote what, where they part, and what a new leader makes of the others.

The log of a partition's leader, or of its last one, is the one that sizes and lags are about: `World.sizes`, and
`World.epochs` for who wrote it. A replica that is not in `World.parted` has a beginning of it. One that is in there has
a log of its own: it was down when another log became the leader's, and is truncated when it meets that leader. What was
there in the beginning counts as written in epoch 0. Not imitated: records lost in a crash before they were on disk, and
offsets of what retention has deleted: logs begin at 0.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import NO_EPOCH, EpochEnd


class EpochStart(NamedTuple):
    """The place in a log, in bytes, from which on it was written in an epoch."""

    epoch: int
    bytes: float


BEGINNING = (EpochStart(0, 0.0),)


@dataclass(frozen=True, slots=True)
class Log:
    """The log of one replica."""

    epochs: tuple[EpochStart, ...]
    bytes: float

    def cut(self, size: float) -> "Log":
        """Its beginning of this size; an epoch that begins there is gone (LeaderEpochFileCache.truncateFromEnd)."""
        size = min(size, self.bytes)
        return Log(tuple(e for e in self.epochs if e.bytes < size), size)

    def led(self, epoch: int) -> "Log":
        """The same, whose replica leads from now on in an epoch (LeaderEpochFileCache.assign)."""
        if self.epochs and self.epochs[-1].epoch >= epoch:
            return self
        kept = tuple(e for e in self.epochs if e.bytes < self.bytes)
        return Log((*kept, EpochStart(epoch, self.bytes)), self.bytes)

    def ends(self) -> dict[int, float]:
        """Where each epoch ends, in bytes."""
        after = (*(e.bytes for e in self.epochs[1:]), self.bytes)
        return {e.epoch: end for e, end in zip(self.epochs, after, strict=False)}

    def common(self, other: "Log") -> float:
        """How many bytes two logs have in common: the records of one epoch were written by one leader."""
        mine, theirs = self.ends(), other.ends()
        shared = max(mine.keys() & theirs.keys(), default=None)
        return 0.0 if shared is None else min(mine[shared], theirs[shared])


def epoch_end(log: Log, epoch: int, record_bytes: float) -> EpochEnd:
    """The answer of a broker for an epoch (LeaderEpochFileCache.endOffsetFor)."""
    if not log.epochs or epoch > log.epochs[-1].epoch:
        return EpochEnd(NO_EPOCH)
    ends = log.ends()
    upto = [e for e in ends if e <= epoch]
    last = offset(log.bytes, record_bytes)
    if not upto:
        return EpochEnd(epoch, offset(log.epochs[0].bytes, record_bytes), 0, last)
    return EpochEnd(max(upto), offset(ends[max(upto)], record_bytes), 0, last)


def offset(size: float, record_bytes: float) -> int:
    """How many whole records there are in so many bytes."""
    return int((size + 0.5) // record_bytes)


class PartitionLogs:
    """The logs of one partition, while its leader changes."""

    def __init__(
        self,
        main: Log,
        lacking: Mapping[BrokerId, float],
        parted: Mapping[BrokerId, Log],
    ) -> None:
        """`lacking`: what replicas lack of the main log, in bytes."""
        self.main = main
        self.lacking = dict(lacking)
        self.parted = dict(parted)

    def log(self, broker: BrokerId) -> Log:
        """The log of one replica."""
        own = self.parted.get(broker)
        return (
            self.main.cut(self.main.bytes - self.lacking.get(broker, 0.0)) if own is None else own
        )

    def led_by(self, leader: BrokerId, epoch: int, replicas: Iterable[BrokerId]) -> None:
        """Make the log of a new leader the main one."""
        logs = {b: self.log(b) for b in replicas}
        own = logs[leader]
        self.main = own.led(epoch)
        self.parted = {}
        self.lacking = {}
        for broker, log in logs.items():
            common = log.common(own)
            if broker == leader:
                continue
            self.lacking[broker] = own.bytes - common
            if log.bytes > common:
                self.parted[broker] = log


def of_partition(
    name: TopicPartition,
    size: float,
    epochs: Mapping[TopicPartition, tuple[EpochStart, ...]],
    lags: Mapping[tuple[TopicPartition, BrokerId], tuple[float, float]],
    parted: Mapping[tuple[TopicPartition, BrokerId], Log],
    replicas: Iterable[BrokerId],
) -> PartitionLogs:
    """The logs of a partition out of what a world keeps."""
    members = tuple(replicas)
    main = Log(epochs.get(name, BEGINNING), size)
    lacking = {b: lags[name, b][0] for b in members if (name, b) in lags}
    return PartitionLogs(
        main, lacking, {b: parted[name, b] for b in members if (name, b) in parted}
    )
