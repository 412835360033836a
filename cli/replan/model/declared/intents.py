"""Which entry of each section of a placement counts for a topic: decided here, and asked everywhere.

Sections whose entries do not win over one another (`blacklists`, `apart`) are not here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct, field

from replan.model.declared.placement import (
    Placement,
    PreferredLeader,
    ThrottledReplicas,
    TopicEntry,
)
from replan.model.declared.policy import Requirement
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import LeaderRule, TopicRule
from replan.model.declared.topic_patterns import Patterns, most_specific_patterns, patterns_of
from replan.model.declared.where import Where


class _Placed(Protocol):
    @property
    def where(self) -> Where: ...


E = TypeVar("E", bound=_Placed)


class Tie(Struct, frozen=True):
    """Two entries or more of one section that mean a topic equally well, so that none counts."""

    section: str
    topic: str
    names: Sequence[str]
    places: Sequence[Where]


class Intents(Struct, frozen=True):
    """The entry that counts for each of some topics, by section; a topic that none means is left out."""

    entries: Mapping[str, TopicEntry | TopicRule] = field(default_factory=dict)
    """Of `assignments`."""
    leaders: Mapping[str, LeaderRule] = field(default_factory=dict)
    """Of `preferredLeaders`; leaders by id win for their topic."""
    required: Mapping[str, Requirement] = field(default_factory=dict)
    standing: Mapping[str, ThrottledReplicas] = field(default_factory=dict)
    recovery: Mapping[str, RecoveryRule] = field(default_factory=dict)
    rules: Mapping[str, TopicRule] = field(default_factory=dict)
    """The entries of `assignments` that say where replicas lie, other than by lists."""
    ties: tuple[Tie, ...] = ()

    @classmethod
    def of(cls, placement: Placement, topics: Iterable[str]) -> "Intents":
        """Decide for these topics."""
        names, ties = list(topics), list[Tie]()
        standing = {} if placement.standing is None else placement.standing.topics
        led_by_id = {name.topic: of for name, of in placement.preferred_leaders.items()}
        acknowledged = {entry.topic: entry for entry in placement.acknowledged}

        def won(section: str, entries: Mapping[str, E], patterns: Patterns) -> dict[str, E]:
            by_topic: dict[str, E] = {}
            for topic, alike in most_specific_patterns(patterns, names) if patterns else ():
                if len(alike) == 1:
                    by_topic[topic] = entries[alike[0]]
                else:
                    places = [entries[name].where for name in alike]
                    ties.append(Tie(section, topic, alike, places))
            return by_topic

        assignments: dict[str, TopicEntry | TopicRule] = {**placement.rules, **placement.topics}
        meant = patterns_of(placement.rules, placement.topics)
        assigned = won("assignments", assignments, meant)
        led: dict[str, PreferredLeader | LeaderRule] = {**led_by_id, **placement.leader_rules}
        leaders = won("preferredLeaders", led, patterns_of(placement.leader_rules, led_by_id))
        required = won("require", placement.requirements, patterns_of(placement.requirements))
        kept = won("throttles.standing.topics", standing, patterns_of({}, standing))
        recovery = won("recovery", placement.recovery, patterns_of(placement.recovery))
        won("acknowledged", acknowledged, patterns_of({}, acknowledged))
        by_rule = ((t, of) for t, of in assigned.items() if isinstance(of, TopicRule))
        return cls(
            assigned,
            {topic: of for topic, of in leaders.items() if isinstance(of, LeaderRule)},
            required,
            kept,
            recovery,
            {topic: of for topic, of in by_rule if of.places_replicas},
            tuple(ties),
        )

    def partition_counts(self) -> Iterator[tuple[str, str, int]]:
        """Each topic whose number of partitions is declared, by topic: the name of its entry, and the number."""
        for topic, entry in sorted(self.entries.items()):
            if entry.partition_count is not None:
                name = entry.pattern if isinstance(entry, TopicRule) else topic
                yield topic, name, entry.partition_count
