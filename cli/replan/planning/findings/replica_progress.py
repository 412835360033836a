"""How far running reassignments are, ours or not: one row for each replica, in the words of KIP-179. Pure.

A replica that is behind is so many messages behind as its leader's log is longer: log ends are exact, sizes on disk are
not (compaction, retention, preallocation). The time left is the distance by the rate at which it has shrunk between
two readings: what is produced meanwhile counts against the copy. Where the distance does not shrink although the
replica advances, the copy does not finish at this rate; where nothing advances, two readings say nothing of that, as a
throttled follower fetches in bursts (ReplicationQuotaManager's window of eleven seconds).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct, field

from replan.model.control_plane import Look
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import LogEnd, ProbeFailure


class ReplicaStatus(StrEnum):
    """KIP-179's statuses of one replica."""

    IN_SYNC = "In sync"
    BEHIND = "Behind"
    UNKNOWN_TOPIC = "Unknown topic"
    UNKNOWN_PARTITION = "Unknown partition"
    UNKNOWN_BROKER = "Unknown broker"
    NOT_HOSTED = "Broker does not host this partition"


class ReassignmentState(StrEnum):
    """How a reassignment is."""

    RUNNING = "running"
    SETTLED = "settled"
    STOPPED = "stopped"
    """It has not arrived, and does not run."""


class Reading(Struct, frozen=True, kw_only=True):
    """One reading of the cluster."""

    seconds: float
    """On some clock."""
    look: Look
    ends: Mapping[BrokerId, Mapping[TopicPartition, LogEnd | ProbeFailure]] = field(
        default_factory=dict
    )

    def end(self, name: TopicPartition, broker: BrokerId | None) -> int | None:
        """Where the log of a replica ends; None where that is not known."""
        end = None if broker is None else self.ends.get(broker, {}).get(name)
        return end.end if isinstance(end, LogEnd) else None

    def behind(self, name: TopicPartition, broker: BrokerId) -> int | None:
        """By how many messages a replica is behind its leader."""
        state = self.look.partitions.get(name)
        leader = None if state is None else self.end(name, state.leader)
        own = self.end(name, broker)
        return None if leader is None or own is None else max(0, leader - own)

    def size(self, name: TopicPartition, broker: BrokerId | None) -> int | None:
        """The bytes of a replica; None where they are not known."""
        return None if broker is None else self.look.sizes.get(broker, {}).get(name)


class ReplicaRow(Struct, frozen=True, kw_only=True):
    """One replica."""

    partition: TopicPartition
    broker: BrokerId | None
    """None for a partition that is not known, of which no replica was named."""
    status: ReplicaStatus
    behind: int | None = None
    """Messages, where it is behind and that is known."""
    copied_bytes: int | None = None
    total_bytes: int | None = None
    """Of the leader."""
    bytes_per_second: float | None = None
    """By which it has grown between two readings."""
    seconds_left: float | None = None
    endless: bool = False
    """It does not finish at this rate: as much is produced as is copied, or more."""


class AskedPartition(Struct, frozen=True):
    """A partition whose progress is asked for."""

    partition: TopicPartition
    target: Replicas | None = None
    """Where it is to go; None: to where it is being reassigned, if it is."""


def reassignment_state(wanted: AskedPartition, now: Reading) -> ReassignmentState:
    """How the reassignment of a partition is."""
    if wanted.partition in now.look.running:
        return ReassignmentState.RUNNING
    state = now.look.partitions.get(wanted.partition)
    if wanted.target is None:
        exists = state is not None or wanted.partition in now.look.unclear
        return ReassignmentState.SETTLED if exists else ReassignmentState.STOPPED
    arrived = (
        state is not None
        and state.replicas == wanted.target
        and set(state.replicas) <= set(state.isr)
    )
    return ReassignmentState.SETTLED if arrived else ReassignmentState.STOPPED


def replicas_of(wanted: AskedPartition, now: Look) -> Replicas:
    """The replicas that have a row: all of a target that was named, else those that are added, else all that stay."""
    if wanted.target is not None:
        return wanted.target
    running, state = now.running.get(wanted.partition), now.partitions.get(wanted.partition)
    if running is None:
        return () if state is None else state.replicas
    return running.adding or running.target


def replica_rows(
    partitions: Iterable[AskedPartition], now: Reading, before: Reading | None = None
) -> list[ReplicaRow]:
    """A row for each replica, by partition; with rates and times where there was a reading before."""
    return [
        _row(one.partition, broker, now, before)
        for one in sorted(partitions, key=lambda a: a.partition)
        for broker in replicas_of(one, now.look) or [None]
    ]


def _row(
    name: TopicPartition, broker: BrokerId | None, now: Reading, before: Reading | None
) -> ReplicaRow:
    state = now.look.partitions.get(name)
    status = _status(name, broker, now, state)
    if broker is None:
        return ReplicaRow(partition=name, broker=broker, status=status)
    leader = None if state is None else state.leader
    behind = now.behind(name, broker) if status is ReplicaStatus.BEHIND else None
    speed = seconds_left = None
    endless = False
    if before is not None and now.seconds > before.seconds:
        passed = now.seconds - before.seconds
        sizes = before.size(name, broker), now.size(name, broker)
        if sizes[0] is not None and sizes[1] is not None:
            speed = max(0.0, (sizes[1] - sizes[0]) / passed)
        was = before.behind(name, broker)
        if behind is not None and was is not None:
            shrinks = (was - behind) / passed
            seconds_left = behind / shrinks if shrinks > 0 else None
            ends = before.end(name, broker), now.end(name, broker)
            endless = shrinks <= 0 and ends[0] is not None and (ends[1] or 0) > ends[0]
    return ReplicaRow(
        partition=name,
        broker=broker,
        status=status,
        behind=behind,
        copied_bytes=now.size(name, broker),
        total_bytes=now.size(name, leader),
        bytes_per_second=speed,
        seconds_left=seconds_left,
        endless=endless,
    )


def _status(
    name: TopicPartition, broker: BrokerId | None, now: Reading, state: PartitionState | None
) -> ReplicaStatus:
    if state is None and name not in now.look.unclear:
        topic_exists = name.topic in now.look.topics
        return ReplicaStatus.UNKNOWN_PARTITION if topic_exists else ReplicaStatus.UNKNOWN_TOPIC
    if broker not in now.look.brokers:
        return ReplicaStatus.UNKNOWN_BROKER
    if state is not None and broker not in state.replicas:
        return ReplicaStatus.NOT_HOSTED
    in_sync = state is not None and broker in state.isr
    return ReplicaStatus.IN_SYNC if in_sync else ReplicaStatus.BEHIND


def shown_rows(running: Iterable[PartitionState]) -> list[ReplicaRow]:
    """The rows of what a snapshot shows as running: it knows neither log ends nor the sizes of single replicas."""
    return [
        ReplicaRow(
            partition=state.partition,
            broker=broker,
            status=ReplicaStatus.IN_SYNC if broker in state.isr else ReplicaStatus.BEHIND,
        )
        for state in running
        for broker in state.adding or [b for b in state.replicas if b not in state.removing]
    ]
