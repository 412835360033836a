"""What the placement leaves to the planner: rules that many placements satisfy.

An entry by rule is for one topic or for a pattern (`topic_patterns` says which one wins). Everything that a rule
leaves out stays as it is. Not here: how a rule is satisfied (planning).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from replan.model.declared.where import Where
from replan.model.names import BrokerId


class Spread(StrEnum):
    """How the replicas of one partition lie over the racks."""

    RACK = "rack"
    """Each rack of the candidates gets the same number, or one more."""
    NONE = "none"
    """Anywhere."""
    IN_RACK = "in-rack"
    """All in one rack."""


@dataclass(frozen=True, slots=True)
class BrokerRange:
    """Brokers that a rule may use: both ends are included."""

    first: BrokerId
    last: BrokerId
    where: Where
    single: bool
    """One id, which must be registered; of a range at least one must be."""


@dataclass(frozen=True, slots=True)
class TopicRule:
    """One entry of `assignments` by rule; a part that is None leaves that aspect as it is."""

    where: Where
    pattern: str
    """A topic's name or a pattern, as it is written."""
    partition_count: int | None = None
    replication_factor: int | None = None
    spread: Spread | None = None
    """None means NONE."""
    brokers: tuple[BrokerRange, ...] | None = None
    """None: all registered brokers."""
    below_min_isr: bool = False
    """The author accepts fewer replicas than min.insync.replicas (KIP-966 asks tools to refuse that)."""
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each key is written."""

    def place(self, key: str) -> Where:
        """Where a key is written, or else the entry."""
        return self.places.get(key, self.where)


@dataclass(frozen=True, slots=True)
class LeaderRule:
    """One entry of `preferredLeaders` by rule: racks in order of preference, or balanced over the brokers."""

    where: Where
    pattern: str
    """A topic's name or a pattern, as it is written."""
    racks: tuple[str, ...] = ()
    balanced: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaBlacklist:
    """A broker that shall hold no replica of anything."""

    broker: BrokerId
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    """RFC 3339; from then on plans warn of it, and it stays in force: no date moves data."""


@dataclass(frozen=True, slots=True)
class LogDirBlacklist:
    """A log directory that shall hold no replica; they move to the other directories of its broker (KIP-113)."""

    broker: BrokerId
    path: str
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    """RFC 3339; from then on plans warn of it, and it stays in force: no date moves data."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How far brokers may differ from their share, over the topics that are placed by rule; exact ratios."""

    where: Where
    replicas: Fraction | None = None
    """Tolerance of the number of replicas: `5%` is 1/20. None: not balanced."""
    bytes: Fraction | None = None
    """Tolerance of the bytes."""
    weights: Mapping[BrokerId, Fraction] = field(default_factory=dict)
    """Shares; a broker that is not named has 1."""
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each key is written."""
    required: bool = False
    """A plan that does not reach it is refused; otherwise it comes as near as it can."""
