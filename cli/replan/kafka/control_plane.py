"""A real cluster behind the ControlPlane port; each method is a line or two over the module that does it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from replan.kafka.client_properties import client_properties, principal_of
from replan.kafka.clock import SystemClock
from replan.kafka.reads import brokers, log_dirs, logs
from replan.kafka.reads.look import observe, read_look
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.wire import Wire, connect
from replan.kafka.writes import alter, move_logs, reassign, send_create_partitions, send_elections
from replan.model.access import TIMEOUT_SECONDS, Access, ClockDifference
from replan.model.broker import LogDir
from replan.model.configs import ConfigChange, ConfigResource
from replan.model.control_plane import (
    Answer,
    ElectionType,
    Look,
    NewPartitions,
    ReplicaName,
    Wanted,
)
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.replica_logs import EpochEnd, LogEnd, ProbeFailure
from replan.model.snapshot import Features, Snapshot

if TYPE_CHECKING:
    from replan.kafka.journal.topic import JournalTopic
    from replan.kafka.tails import Tails

BOOTSTRAP_SECONDS = 10.0


class KafkaControlPlane:
    """One cluster, over one connection to each of its brokers.

    Readings are asked again within the patience; writes are sent once. Threads may share it, and take turns.
    """

    def __init__(
        self,
        wire: Wire,
        reads: Reads,
        journal: Callable[[str], "JournalTopic"],
        *,
        wall_clock: Callable[[], datetime],
        principal: Callable[[], str],
    ) -> None:
        self._wire, self._reads, self._wall_clock = wire, reads, wall_clock
        self._principal = principal
        self.journal = journal
        """The journal topic of a name."""

    def cluster_id(self) -> str:
        """The cluster's id."""
        return str(brokers.ask_brokers(self._reads).cluster_id)

    def features(self) -> Features:
        """What the cluster can do."""
        return brokers.features(self._wire)

    def access(
        self, journals: Collection[str] = (), topics: Collection[str] | None = None
    ) -> Access:
        """What this user may do: with these topics or with all, and with those of the journal."""
        from replan.kafka.journal.lock import TRANSACTIONAL_ID
        from replan.kafka.reads.access import access

        return access(self._reads, journals, TRANSACTIONAL_ID, self._principal(), topics)

    def clock_difference(self) -> ClockDifference | None:
        """How this machine's clock compares with the active controller's; None where the cluster does not say."""
        from replan.kafka.reads.access import clock_difference

        return clock_difference(self._reads, self._wall_clock)

    def observe(self, *, lenient: bool = False) -> Snapshot:
        """Everything at one moment; brokers that do not answer are named in it, not raised.

        What this user may not read of topics is marked; `lenient`: rates of brokers that it may not read are left out.
        """
        moment = self._wall_clock().astimezone(UTC).replace(microsecond=0)
        at = moment.isoformat().replace("+00:00", "Z")
        return observe(self._reads, observed_at=at, lenient=lenient)

    def look(self, wanted: Wanted) -> Look:
        """What is wanted, in one round of requests."""
        return read_look(self._reads, wanted)

    def log_dirs(self) -> Sequence[LogDir]:
        """The log directories of the live brokers that answer."""
        brokers.ask_brokers(self._reads)
        by_broker = log_dirs.directories_of(self._reads, self._wire.addresses.keys())
        self._reads.earlier.cordoned |= {
            b: log_dirs.all_cordoned(of) for b, of in by_broker.items()
        }
        return tuple(log_dirs.log_dirs_in(by_broker))

    def log_ends(
        self, wanted: Mapping[BrokerId, Collection[TopicPartition]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, LogEnd | ProbeFailure]]:
        """Where replicas end, as their own brokers say."""
        return logs.log_ends(self._wire, wanted)

    def epoch_ends(
        self, wanted: Mapping[BrokerId, Mapping[TopicPartition, int]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, EpochEnd | ProbeFailure]]:
        """The largest epoch up to a given one in each replica, and its end."""
        return logs.epoch_ends(self._wire, wanted)

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for new replica lists; None cancels what runs."""
        return reassign(
            self._wire, lists, allow_replication_factor_change=allow_replication_factor_change
        )

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections."""
        return send_elections(self._wire, partitions, kind)

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """Add partitions to topics."""
        return send_create_partitions(self._wire, added)

    def would_create(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """What that would be answered now."""
        return send_create_partitions(self._wire, added, validate_only=True)

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        """Copy replicas to other log directories of their brokers."""
        return move_logs(self._wire, paths)

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """Change configurations; a broker that is not live is answered with 42 at once."""
        return alter(self._wire, changes)

    def would_alter(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """What that would be answered now."""
        return alter(self._wire, changes, validate_only=True)

    def tails(self) -> "Tails":
        """The records at the ends of its logs; few commands look at any."""
        from replan.kafka.tails import Tails

        return Tails(self._wire)

    def close(self) -> None:
        """Close all connections."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def open_cluster(
    bootstrap: str,
    command_config: Path | None,
    *,
    clock: SystemClock | None = None,
    wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    timeout_seconds: float = TIMEOUT_SECONDS,
    spent_seconds: float = 0.0,
) -> KafkaControlPlane:
    """Connect to the cluster behind `--bootstrap-server` and `--command-config`.

    `timeout_seconds` bounds connecting, and each reading with all its attempts. `clock.interrupt` cuts both short.
    `spent_seconds`: what of that had passed before, for connecting (`connecting_seconds`).

    Raises:
        BadUsage: an address is not HOST:PORT.
        BadFile: the properties cannot be used.
        ClusterUnreachable: no address answers in time.
        ClusterRefused: the credentials are not accepted.
    """
    clock = SystemClock() if clock is None else clock
    properties = client_properties(bootstrap, command_config)
    limit_seconds = connecting_seconds(timeout_seconds, spent_seconds)
    wire = connect(properties, clock.interrupt, limit_seconds=limit_seconds)
    reads = Reads(wire, clock, patience_seconds=timeout_seconds)

    def journal(topic: str) -> "JournalTopic":
        from replan.kafka.journal.topic import JournalTopic

        return JournalTopic(reads, properties, topic)

    return KafkaControlPlane(
        wire, reads, journal, wall_clock=wall_clock, principal=partial(principal_of, properties)
    )


def connecting_seconds(timeout_seconds: float, spent_seconds: float) -> float:
    """How long connecting may take: what was spent before leaves it that much less time, at least a third."""
    limit = min(BOOTSTRAP_SECONDS, timeout_seconds)
    return max(limit / 3, limit - spent_seconds)
