"""What the placement leaves to the planner: rules that many placements satisfy.

An entry by rule is for one topic or for a pattern (`topic_patterns` says which one wins). Everything that a rule
leaves out stays as it is. Not here: how a rule is satisfied (planning).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct, field

from replan.model.declared.topic_patterns import winners
from replan.model.declared.where import Where
from replan.model.names import BrokerId, Replicas


class Spread(StrEnum):
    """How the replicas of one partition lie over the racks."""

    RACK = "rack"
    """Each rack of the candidates gets the same number, or one more."""
    NONE = "none"
    """Anywhere."""
    IN_RACK = "in-rack"
    """All in one rack."""


class BrokerRange(Struct, frozen=True):
    """Brokers that a rule may use: both ends are included."""

    first: BrokerId
    last: BrokerId
    where: Where
    single: bool
    """One id, which must be registered; of a range at least one must be."""


class BrokerSelector(Struct, frozen=True):
    """Brokers that an entry means: of these ids and, where racks are named, in one of these racks."""

    ids: tuple[BrokerRange, ...] = ()
    """Empty: of any id."""
    racks: tuple[str, ...] = ()
    """Empty: in any rack, and without one."""
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each rack is written."""

    def means(self, broker: BrokerId, rack: str | None) -> bool:
        """Whether it means a broker that is in this rack; None is no rack, or one that is not known."""
        by_id = not self.ids or any(r.first <= broker <= r.last for r in self.ids)
        return by_id and (not self.racks or rack in self.racks)


class TopicRule(Struct, frozen=True):
    """One entry of `assignments` by rule; a part that is None leaves that aspect as it is."""

    where: Where
    pattern: str
    """A topic's name or a pattern, as it is written."""
    partition_count: int | None = None
    replication_factor: int | None = None
    spread: Spread | None = None
    """None means NONE; IN_RACK where `in_rack` names one."""
    brokers: BrokerSelector | None = None
    """None: all registered brokers."""
    in_rack: str | None = None
    """The rack in which all replicas are."""
    replicas_per_rack: Mapping[str, int] = field(default_factory=dict)
    """Replicas of each partition in each rack, and none elsewhere; `replication_factor` is then their sum."""
    max_replicas_per_broker: int | None = None
    """The most replicas of each topic on a broker; None: any number."""
    below_min_isr: bool = False
    """The author accepts fewer replicas than min.insync.replicas (KIP-966 asks tools to refuse that)."""
    excepted: tuple[str, ...] = ()
    """Names and patterns of topics that the entry, of a pattern, does not mean."""
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each key is written."""

    def place(self, key: str) -> Where:
        """Where a key is written, or else the entry."""
        return self.places.get(key, self.where)

    def all_places(self) -> Iterator[Where]:
        """Where it is written, and each of its keys, ids and racks."""
        selector = self.brokers or BrokerSelector()
        yield from (self.where, *self.places.values(), *selector.places.values())
        yield from (brokers.where for brokers in selector.ids)

    @property
    def names_racks(self) -> bool:
        """Whether the rack of a broker decides if it may be used."""
        by_brokers = self.brokers is not None and bool(self.brokers.racks)
        return self.in_rack is not None or bool(self.replicas_per_rack) or by_brokers

    @property
    def places_replicas(self) -> bool:
        """Whether it says anything of where replicas lie, and not a number of partitions alone."""
        parts = (self.replication_factor, self.spread, self.brokers, self.max_replicas_per_broker)
        return any(part is not None for part in parts)

    def may_use(self, broker: BrokerId, rack: str | None) -> bool:
        """Whether it may place a replica on a broker in this rack; None is no rack, or one that is not known."""
        meant = self.brokers is None or self.brokers.means(broker, rack)
        inside = not self.replicas_per_rack or rack in self.replicas_per_rack
        return meant and inside and self.in_rack in (None, rack)

    def key_not_kept(
        self, replicas: Replicas, registered: Mapping[BrokerId, str | None]
    ) -> str | None:
        """The key of this entry that a list does not keep; the first of several. None where one list cannot tell.

        `registered`: the rack of each broker, None where it has none or it is not known. What other lists decide,
        as how many replicas of the topic a broker holds, is not asked.
        """
        if self.replication_factor not in {None, len(replicas)}:
            return "replicasPerRack" if self.replicas_per_rack else "replicationFactor"
        racks = [registered.get(b) for b in replicas]
        if self.brokers and not all(map(self.brokers.means, replicas, racks)):
            return "brokers"
        if self.in_rack is not None and set(racks) != {self.in_rack}:
            return "inRack"
        if self.replicas_per_rack and Counter(racks) != self.replicas_per_rack:
            return "replicasPerRack"
        return None if self._is_spread(racks, registered) else "spread"

    def _is_spread(
        self, racks: Sequence[str | None], registered: Mapping[BrokerId, str | None]
    ) -> bool:
        """Whether replicas lie over the racks as `spread` asks; True where a rack is not known."""
        if None in racks or self.spread in {None, Spread.NONE}:
            return True
        if self.spread is Spread.IN_RACK:
            return len(set(racks)) == 1
        usable = {rack for broker, rack in registered.items() if self.may_use(broker, rack)}
        floor, more = divmod(len(racks), len(usable))
        counts = Counter(racks)
        return all(floor <= counts[rack] <= floor + bool(more) for rack in usable)


class Apart(Struct, frozen=True):
    """One group of `apart`: no broker holds replicas of topics of two of its sides."""

    where: Where
    topics: tuple[str, ...]
    """A name or a pattern for each side; the topics of one pattern may share brokers."""

    def sides(self, topics: Iterable[str]) -> Mapping[str, int]:
        """The side of each topic that has one, by its position; an exact name wins over a pattern."""
        won = winners(dict.fromkeys(self.topics, ()), topics)
        return {topic: self.topics.index(name) for topic, name in won.items()}


class LeaderRule(Struct, frozen=True):
    """One entry of `preferredLeaders` by rule: racks in order of preference, or balanced over the brokers."""

    where: Where
    pattern: str
    """A topic's name or a pattern, as it is written."""
    racks: tuple[str, ...] = ()
    balanced: bool = False
    excepted: tuple[str, ...] = ()
    """Names and patterns of topics that the entry, of a pattern, does not mean."""


class ReplicaBlacklist(Struct, frozen=True):
    """A broker that shall hold no replica of anything."""

    broker: BrokerId
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    """RFC 3339; from then on plans warn of it, and it stays in force: no date moves data."""


class LogDirBlacklist(Struct, frozen=True):
    """A log directory that shall hold no replica; they move to the other directories of its broker (KIP-113)."""

    broker: BrokerId
    path: str
    where: Where
    reason: str | None = None
    owner: str | None = None
    review_by: str | None = None
    """RFC 3339; from then on plans warn of it, and it stays in force: no date moves data."""


class BalanceMeasure(StrEnum):
    """What of the brokers is balanced."""

    MAX_REPLICAS = "maxReplicasPerBroker"
    """All replicas on a broker: how many it holds at most, not how far it is from a share."""
    REPLICAS = "replicas"
    BYTES = "bytes"
    BYTES_IN = "bytesIn"
    """What producers write to a broker and what it fetches as a follower, per second."""
    BYTES_OUT = "bytesOut"
    """What followers fetch from a broker, per second; what consumers read is not known."""
    LEADERS = "leaders"
    LEADERS_BY_BYTES = "leaders by bytes"
    LEADERS_BY_BYTES_IN = "leaders by bytesIn"
    """The same by what producers write."""
    LOG_DIRS = "logDirs"
    """The bytes of each log directory, among those of one broker."""

    @property
    def written(self) -> str:
        """How a placement file writes it, with `{}` for the tolerance."""
        key, _, by = self.value.partition(" by ")
        return f"{key}: {{}}" + (f", by: {by}" if by else "")

    @property
    def of_leaders(self) -> bool:
        """Whether who leads decides it, so that the order of lists changes, and no replica moves."""
        return self in _OF_LEADERS

    @property
    def needs_rates(self) -> bool:
        """Whether it goes by what producers write."""
        return self in _BY_RATES


_OF_LEADERS = frozenset(
    {
        BalanceMeasure.BYTES_OUT,
        BalanceMeasure.LEADERS,
        BalanceMeasure.LEADERS_BY_BYTES,
        BalanceMeasure.LEADERS_BY_BYTES_IN,
    }
)
_BY_RATES = frozenset(
    {BalanceMeasure.BYTES_IN, BalanceMeasure.BYTES_OUT, BalanceMeasure.LEADERS_BY_BYTES_IN}
)


class Tolerance(Struct, frozen=True):
    """How far each broker may be from its share of a measure, as a part of that share: `5%` is 1/20."""

    measure: BalanceMeasure
    within: Fraction
    """Of MAX_REPLICAS: the number itself."""

    @property
    def text(self) -> str:
        """As a placement file writes it."""
        return measure_text(self.measure, self.within)


def measure_text(measure: BalanceMeasure, value: Fraction) -> str:
    """A tolerance, asked for or reached, as a placement file writes it."""
    if measure is BalanceMeasure.MAX_REPLICAS:
        return str(int(value))
    return f"{float(value * 100):.3f}".rstrip("0").rstrip(".") + "%"


class Balance(Struct, frozen=True):
    """How far brokers may differ from their share, over the topics that are placed by rule; exact ratios."""

    where: Where
    tolerances: tuple[Tolerance, ...] = ()
    """The first counts most; each measure once."""
    weights: Mapping[BrokerId, Fraction] = field(default_factory=dict)
    """Shares; a broker that is not named has 1."""
    places: Mapping[str, Where] = field(default_factory=dict)
    """Where each measure, and each other key, is written."""
    required: bool = False
    """A plan that does not reach it is refused; otherwise it comes as near as it can."""

    def place(self, measure: BalanceMeasure) -> Where:
        """Where a measure is written."""
        return self.places.get(measure.value, self.where)

    def balances(self, measure: BalanceMeasure) -> bool:
        """Whether a measure is balanced."""
        return any(tolerance.measure is measure for tolerance in self.tolerances)
