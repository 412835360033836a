"""What the placement asks of a cluster, checked in itself but not yet against a cluster.

Explicit lists are columns, since there may be a hundred thousand; the rest is small.
Where a thing was written travels along, so that a refusal can point at a line.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from msgspec import NODEFAULT, Struct, field
from msgspec.structs import fields

from replan.model.declared.policy import Acknowledgement, Limits, Requirement
from replan.model.declared.reconcile import Reconcile
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import (
    Apart,
    Balance,
    LeaderRule,
    LogDirBlacklist,
    ReplicaBlacklist,
    TopicRule,
)
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition

if TYPE_CHECKING:
    from pyarrow import Table
else:  # a wrong file is refused without it
    Table = object


class TopicEntry(Struct, frozen=True):
    """One topic under `assignments` with explicit lists."""

    where: Where
    partition_count: int | None
    """Declared by the list form (index = partition); None for the map form, which names only some."""
    below_min_isr: bool = False
    """The author accepts lists shorter than min.insync.replicas (KIP-966 asks tools to refuse them)."""


class PreferredLeader(Struct, frozen=True):
    """This replica first; the rest keeps its order."""

    broker: BrokerId
    where: Where


class LeaderMove(StrEnum):
    """When the leaderships that a listed broker has go elsewhere."""

    NOW = "now"
    """An election follows the change of order."""
    LATER = "later"
    """When something else moves them: a restart, or the controller's own rebalance (KIP-491's own meaning)."""


class LeaderBlacklist(Struct, frozen=True):
    """A broker that shall lead nothing (KIP-491), everywhere or on some topics."""

    broker: BrokerId
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    """RFC 3339; from then on plans warn of it, and it stays in force: no date moves data."""
    topics: tuple[str, ...] | None = None
    """Names or globs; None means every topic."""
    move: LeaderMove = LeaderMove.NOW
    until_caught_up: bool = False
    """The entry ends once the broker is in the ISR of every partition that it reaches."""
    rack_unknown: bool = False
    """The entry is that of a rack, and whether the broker is in it is not known while it is down."""


class RackBlacklist(Struct, frozen=True):
    """A rack whose brokers are on a blacklist, those of leaders or of replicas; a snapshot says who they are."""

    rack: str
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    topics: tuple[str, ...] | None = None
    """As in an entry of a broker, and so are the next two; of leaders alone."""
    move: LeaderMove = LeaderMove.NOW
    until_caught_up: bool = False

    def leaders_on(self, broker: BrokerId, *, unknown: bool = False) -> LeaderBlacklist:
        """The entry of one of its brokers, of leaders."""
        said = self.where, self.reason, self.owner, self.review_by
        return LeaderBlacklist(broker, *said, self.topics, self.move, self.until_caught_up, unknown)

    def drain_of(self, broker: BrokerId) -> ReplicaBlacklist:
        """The entry of one of its brokers, of replicas."""
        return ReplicaBlacklist(broker, self.where, self.reason, self.owner, self.review_by)


class LastLeaders(Struct, frozen=True):
    """Brokers that stand last in every list, and lead only where nobody else can: the last one behind all others."""

    where: Where
    entries: tuple[BrokerId | str, ...]
    """A broker, or a rack that stands for its brokers; each once."""
    places: Mapping[BrokerId | str, Where] = field(default_factory=dict)
    """Where each entry is written."""

    def rank(self, broker: BrokerId, rack: str | None) -> int:
        """The place of a broker among the entries, from 1; by its own entry before that of its rack. 0: it has none."""
        for entry in (broker, rack):
            if entry is not None and entry in self.entries:
                return self.entries.index(entry) + 1
        return 0

    @property
    def names_racks(self) -> bool:
        """Whether the rack of a broker decides."""
        return any(isinstance(entry, str) for entry in self.entries)


class Side(StrEnum):
    """What a throttled rate counts: what a broker sends to followers, or what it fetches from leaders (KIP-73)."""

    LEADER = "leader"
    FOLLOWER = "follower"


SMALLEST_RATE = 1_000
"""Bytes per second; Kafka itself would take 0, and nothing would move any more."""
LARGEST_RATE = 2**63 - 1
"""A LONG of Kafka's."""


class SideRates(Struct, frozen=True):
    """A broker's two rates, bytes per second; None means unlimited."""

    leader: int | None
    follower: int | None


class MoveThrottle(Struct, frozen=True):
    """Rates for the copies that moves cause, bytes per second; None means written as `unlimited`."""

    rate: int | None
    brokers: Mapping[BrokerId, int | SideRates | None] = field(default_factory=dict)
    """Brokers with a rate of their own, for both sides or one for each."""
    keep: bool = False
    """Left in place at the end (Kafka's `--preserve-throttles`)."""

    def rate_of(self, broker: BrokerId, side: Side) -> int | None:
        """The rate of one side of a broker."""
        rate = self.brokers.get(broker, self.rate)
        if isinstance(rate, SideRates):
            return rate.leader if side is Side.LEADER else rate.follower
        return rate


ALL_REPLICAS = "*"
"""What Kafka's throttled-replica lists say for every replica of a topic."""


class ThrottledReplicas(Struct, frozen=True):
    """The replicas of a topic, or of the topics of a pattern, that a standing throttle slows down.

    Each side has the elements of Kafka's own list: `PARTITION:BROKER`, or ALL_REPLICAS alone.
    """

    where: Where
    leader: frozenset[str] = frozenset()
    follower: frozenset[str] = frozenset()


class StandingRate(Struct, frozen=True):
    """The rates of one broker that stay set, bytes per second; None where a side is not declared."""

    where: Where
    leader: int | None = None
    follower: int | None = None


class StandingThrottles(Struct, frozen=True):
    """Throttles that stay set, whether anything moves or not."""

    topics: Mapping[str, ThrottledReplicas] = field(default_factory=dict)
    """By name or pattern."""
    brokers: Mapping[BrokerId, StandingRate] = field(default_factory=dict)


class Placement(Struct, frozen=True):
    """A whole placement, merged from its files."""

    explicit: Table
    """EXPLICIT_SCHEMA, sorted by (topic, partition); the dictionary of `topic` is sorted, and is `list(topics)`."""
    topics: Mapping[str, TopicEntry] = field(default_factory=dict)
    """Topics with explicit lists."""
    rules: Mapping[str, TopicRule] = field(default_factory=dict)
    """Entries of `assignments` by rule: a topic's name or a pattern."""
    cluster_name: str | None = None
    cluster_id: str | None = None
    preferred_leaders: Mapping[TopicPartition, PreferredLeader] = field(default_factory=dict)
    leader_rules: Mapping[str, LeaderRule] = field(default_factory=dict)
    """Entries of `preferredLeaders` by rule: a topic's name or a pattern."""
    leader_blacklist: tuple[LeaderBlacklist, ...] | None = None
    """None where the file does not speak of it: what a blacklist has reordered stays then."""
    replica_blacklist: tuple[ReplicaBlacklist, ...] = ()
    last_leaders: LastLeaders | None = None
    """None: all stand as they are declared."""
    leader_racks: tuple[RackBlacklist, ...] = ()
    """Racks on the blacklist of leaders, which is not None then."""
    replica_racks: tuple[RackBlacklist, ...] = ()
    """Racks on the blacklist of replicas."""
    log_dir_blacklist: tuple[LogDirBlacklist, ...] = ()
    apart: tuple[Apart, ...] = ()
    """Groups of topics that share no broker."""
    balance: Balance | None = None
    move_throttle: MoveThrottle | None = None
    throttle_places: Mapping[BrokerId, Where] = field(default_factory=dict)
    """Where each broker's own rate is written."""
    standing: StandingThrottles | None = None
    recovery: Mapping[str, RecoveryRule] = field(default_factory=dict)
    """Entries of `recovery`: a topic's name or a pattern."""
    requirements: Mapping[str, Requirement] = field(default_factory=dict)
    """Entries of `require`: a topic's name or a pattern."""
    limits: Limits = field(default_factory=dict)
    in_stages: bool = False
    """A plan beyond a limit is the part of it that fits."""
    acknowledged: tuple[Acknowledgement, ...] = ()
    reconcile: Reconcile = field(default_factory=Reconcile)
    """Not in the digest: another policy makes no other application of what is open."""
    digest: str = ""
    """sha256 of what the placement means, whatever its layout and the order of its files."""

    @property
    def leader_entries(self) -> tuple[LeaderBlacklist, ...]:
        """The entries of the leader blacklist."""
        return self.leader_blacklist or ()

    @property
    def drained(self) -> frozenset[BrokerId]:
        """The brokers that are to hold nothing."""
        return frozenset(entry.broker for entry in self.replica_blacklist)


@cache
def defaults(kind: type[Struct]) -> Mapping[str, object]:
    """What the fields of a declared value are where nobody writes them; without those that must be written."""
    return {
        f.name: f.default if f.default_factory is NODEFAULT else f.default_factory()
        for f in fields(kind)
        if not f.required
    }
