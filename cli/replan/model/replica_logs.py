"""What a replica's own log holds, as its broker says it, whoever leads the partition.

A log is a run of records; each belongs to the epoch of the leader that wrote it. Two logs that both have records of an
epoch agree up to where that epoch ends first in one of them, since one leader wrote it once (KIP-101). So pairs of an
epoch and its end show where two logs part.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field

from replan.model.names import BrokerId, TopicPartition

NO_LEADER_EPOCH = -1
"""Of a log without any record, as Kafka writes it."""


class ProbeProblem(StrEnum):
    """Why nothing is known of a log."""

    SILENT = "silent"
    """Its broker does not answer, or is not live."""
    NO_REPLICA = "no-replica"
    """Its broker says that it has no such replica."""
    OFFLINE = "offline"
    """The log directory is offline."""
    NOT_PERMITTED = "not-permitted"
    REFUSED = "refused"
    """Anything else that Kafka answers, with its code."""


class ProbeFailure(Struct, frozen=True):
    """Nothing is known of a log: it may hold everything, and never counts as empty."""

    problem: ProbeProblem
    code: int | None = None
    """Kafka's, where it answered with one."""
    reason: str = ""
    """In Kafka's words, or those of the connection."""


class LogEnd(Struct, frozen=True):
    """Where a log ends."""

    end: int
    """The offset after its last record."""
    leader_epoch: int = NO_LEADER_EPOCH
    """The epoch of the partition as this broker knows it; it says nothing of the log."""
    start: int | None = None
    """The offset of the first record that this replica has itself; None where its broker does not say."""


class EpochEnd(Struct, frozen=True):
    """The largest epoch of a log up to the one that was asked for, and where it ends there."""

    epoch: int
    """NO_EPOCH where the one that was asked for is above all of this log, or the log has none."""
    end: int = 0
    start: int = 0
    """The first offset of the log."""
    high_watermark: int = 0
    """What this broker last knew to be on all in-sync replicas; may be old, never too large."""


class ReplicaLog(Struct, frozen=True):
    """A log, as far as it was asked about."""

    end: int
    """The offset after its last record."""
    last_epoch: int = NO_LEADER_EPOCH
    """Of its last record."""
    start: int = 0
    high_watermark: int = 0
    leader_epoch: int = NO_LEADER_EPOCH
    """The epoch of the partition as this broker knew it."""
    epochs: Mapping[int, int] = field(default_factory=dict)
    """The end of each epoch that is known to be in it."""

    @property
    def rank(self) -> tuple[int, int]:
        """Of two logs the better one ranks higher (KIP-966): by the epoch of the last record, then by length."""
        return self.last_epoch, self.end


ProbedLog = ReplicaLog | ProbeFailure
"""What a probe says of one: the log, or why nobody knows it."""
ProbedLogs = Mapping[BrokerId, ProbedLog]
"""Those of the replicas of one partition."""


class LogReader(Protocol):
    """A cluster whose replicas can be asked about their own logs; one request for each broker that is asked."""

    def log_ends(
        self, wanted: Mapping[BrokerId, Collection[TopicPartition]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, LogEnd | ProbeFailure]]:
        """Where replicas end and begin; each that is asked for is answered for."""
        ...

    def epoch_ends(
        self, wanted: Mapping[BrokerId, Mapping[TopicPartition, int]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, EpochEnd | ProbeFailure]]:
        """The largest epoch up to a given one in each replica, and its end; each that is asked for is answered for."""
        ...
