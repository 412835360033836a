"""Which throttled-replicas entries should be there, and how to get there and back: pure.

Ours is what was absent from the list in the reading just before. The journal holds a superset of what is ours at every
moment: an entry is written down before it is appended, and forgotten only after the list was seen without it.
Rates of brokers are in `broker_rates`, what a whole tick does with both in `tick`.

Kafka's ways that this rests on (ConfigurationControlManager, IncrementalAlterConfigs): SUBTRACT on an absent key
makes an empty override, so only what is there is subtracted; APPEND of an empty string adds an empty element, so it is
never done; one key may appear once in a request; `*` stands alone, and appending to it is refused.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from replan.applying.journal.records import Forget, Record, SavedReplicaList
from replan.applying.reasons.notes import UnreadList
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    ConfigChange,
    ConfigOperation,
    elements,
    topic_change,
)
from replan.model.control_plane import TopicPermission
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.moves import Move

List = tuple[str, str]
"""A topic and one of its two throttled-replicas keys."""
Entries = Mapping[List, frozenset[str]]


@dataclass(frozen=True, slots=True)
class RunningCopy:
    """A reassignment of another tool: from where to where it copies."""

    partition: TopicPartition
    original: Replicas
    new: Replicas


@dataclass(frozen=True, slots=True)
class Copy:
    """A move in expand, or another tool's reassignment, as far as throttles are concerned."""

    move: Move | RunningCopy
    leader_throttle_suspended: bool = False
    """A kept replica is out of the ISR: the leader side is left free, or it would starve behind the copy."""

    @property
    def sources(self) -> Replicas:
        """Whose leader side is throttled: all original replicas, since leadership may move while it copies.

        On the follower side only new replicas are: one that is in sync is never slowed, but its bytes would be counted.
        """
        return () if self.leader_throttle_suspended else self.move.original


@dataclass(frozen=True, slots=True)
class ListStep:
    """What one tick does about one list."""

    records: tuple[Record, ...] = ()
    removals: tuple[ConfigChange, ...] = ()
    additions: tuple[ConfigChange, ...] = ()
    wiped: frozenset[str] = frozenset()
    """Entries that were in place and that another tool removed."""
    in_place: frozenset[str] = frozenset()
    """Entries set by replan, and wanted, that are there."""


def wanted_entries(copies: Iterable[Copy], throttle: MoveThrottle | None) -> Entries:
    """All entries that should be there now, by list."""
    wanted: dict[List, set[str]] = {}
    if throttle is None:
        return {}
    leaders, followers = dict[BrokerId, bool](), dict[BrokerId, bool]()
    for copy in copies:
        topic, number = copy.move.partition
        for side, known, config, brokers in (
            (Side.LEADER, leaders, LEADER_REPLICAS, copy.sources),
            (Side.FOLLOWER, followers, FOLLOWER_REPLICAS, copy.move.new),
        ):
            entries = wanted.setdefault((topic, config), set())
            for broker in brokers:
                if broker not in known:
                    known[broker] = throttle.rate_of(broker, side) is not None
                if known[broker]:
                    entries.add(f"{number}:{broker}")
    return {where: frozenset(entries) for where, entries in wanted.items() if entries}


def unread_lists(
    entries: Iterable[List], forbidden: Mapping[str, TopicPermission]
) -> tuple[UnreadList, ...]:
    """The lists that cannot be put back because this user may not read them."""
    return tuple(
        UnreadList(topic, config, forbidden[topic])
        for topic, config in sorted(entries)
        if topic in forbidden
    )


def covers(override: str | None, wanted: Collection[str]) -> bool:
    """Whether all wanted entries are in force."""
    present = elements(override)
    return "*" in present or set(wanted) <= set(present)


def list_step(
    where: List,
    wanted: frozenset[str],
    prior: SavedReplicaList | None,
    override: str | None,
    *,
    seen_in_place: frozenset[str] = frozenset(),
    may_raise: bool = True,
    may_arrive: bool = False,
) -> ListStep:
    """What to do about one list: at most one SUBTRACT or DELETE, and one APPEND.

    `seen_in_place` are entries set by replan that an earlier reading showed. Without `may_raise` nothing is
    appended. While an earlier APPEND `may_arrive` yet, what replan set stays written down although it is gone.
    """
    present = set(elements(override))
    ours = frozenset(prior.ours) if prior else frozenset()
    if wanted and wanted == ours and wanted <= present:
        return ListStep(in_place=wanted)
    missing = wanted - present if "*" not in present else frozenset()
    added = missing if may_raise else frozenset()
    surplus = (ours - wanted) & present
    kept = (ours if may_arrive else ours & (present | wanted)) | added
    step = _Draft(where, override, prior, kept)
    return ListStep(
        records=step.records(),
        removals=step.removals(surplus),
        additions=(_change(where, ConfigOperation.APPEND, added),) if added else (),
        wiped=missing & seen_in_place & ours,
        in_place=ours & present & wanted,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    """One list on its way: what is there, what was there, and what stays ours."""

    where: List
    override: str | None
    prior: SavedReplicaList | None
    ours: frozenset[str]

    def records(self) -> tuple[Record, ...]:
        if self.prior is None:
            return (self._record(overridden=self.override is not None),) if self.ours else ()
        if self.ours or self._leaves_empty_override():
            unchanged = self.ours == frozenset(self.prior.ours)
            return () if unchanged else (self._record(overridden=self.prior.overridden),)
        return (Forget(self.prior.key),)

    def removals(self, surplus: frozenset[str]) -> tuple[ConfigChange, ...]:
        if surplus:
            return (_change(self.where, ConfigOperation.SUBTRACT, surplus),)
        if self.prior is not None and not self.ours and self._leaves_empty_override():
            return (topic_change(*self.where, ConfigOperation.DELETE),)
        return ()

    def _leaves_empty_override(self) -> bool:
        """Kafka keeps an empty override after the last SUBTRACT; it was not there before us."""
        return self.prior is not None and not self.prior.overridden and self.override == ""

    def _record(self, *, overridden: bool) -> SavedReplicaList:
        return SavedReplicaList(*self.where, overridden, tuple(sorted(self.ours, key=_by_number)))


def _change(where: List, operation: ConfigOperation, entries: Iterable[str]) -> ConfigChange:
    return topic_change(*where, operation, ",".join(sorted(entries, key=_by_number)))


def _by_number(entry: str) -> tuple[int, int]:
    partition, _, broker = entry.partition(":")
    return int(partition), int(broker)
