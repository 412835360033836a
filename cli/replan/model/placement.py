"""What the manifest asks of a cluster, checked in itself but not yet against a cluster.

Explicit lists are columns, since there may be a hundred thousand; the rest is small.
Where a thing was written travels along, so that a refusal can point at a line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replan.model.names import BrokerId, TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a manifest, printed as `file:line:column`."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """One topic under `assignments`."""

    where: Where
    partition_count: int | None
    """Declared by the list form (index = partition); None for the map form, which names only some."""
    below_min_isr: bool = False
    """The author accepts lists shorter than min.insync.replicas (KIP-966 asks tools to refuse them)."""


@dataclass(frozen=True, slots=True)
class PreferredLeader:
    """This replica first; the rest keeps its order."""

    broker: BrokerId
    where: Where


@dataclass(frozen=True, slots=True)
class LeaderBlacklist:
    """A broker that shall lead nothing (KIP-491), everywhere or on some topics."""

    broker: BrokerId
    where: Where
    reason: str | None = None
    owner: str | None = None
    expires: str | None = None
    """RFC 3339 date; an expired entry stays in force, with a warning."""
    topics: tuple[str, ...] | None = None
    """Names or globs; None means every topic."""


@dataclass(frozen=True, slots=True)
class MoveThrottle:
    """Rates for the copies that moves cause, bytes per second; None means written as `unlimited`."""

    rate: int | None
    brokers: Mapping[BrokerId, int | None] = field(default_factory=dict)

    def rate_of(self, broker: BrokerId) -> int | None:
        """The rate of one broker, on both sides."""
        return self.brokers.get(broker, self.rate)


@dataclass(frozen=True, slots=True)
class Placement:
    """A whole manifest, merged from its files."""

    explicit: "pa.Table"
    """EXPLICIT_SCHEMA, sorted by (topic, partition); the dictionary of `topic` is sorted, and is `list(topics)`."""
    topics: Mapping[str, TopicEntry] = field(default_factory=dict)
    cluster_name: str | None = None
    cluster_id: str | None = None
    preferred_leaders: Mapping[TopicPartition, PreferredLeader] = field(default_factory=dict)
    leader_blacklist: tuple[LeaderBlacklist, ...] = ()
    move_throttle: MoveThrottle | None = None
    throttle_places: Mapping[BrokerId, Where] = field(default_factory=dict)
    """Where each broker's own rate is written."""
    digest: str = ""
    """sha256 of what the manifest means, whatever its layout and the order of its files."""
