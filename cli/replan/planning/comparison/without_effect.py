"""What is declared and does nothing on this cluster: each with its place, so that nobody waits for it.

Names that the cluster does not know are mistakes where somebody expects something of them (`cluster_check`). What may
well be written for clusters to come, as patterns and policy are, and what is left behind when a topic or a broker is
gone, is said and stops nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from replan.model.declared.placement import Placement
from replan.model.declared.rules import BalanceMeasure
from replan.model.declared.topic_patterns import PatternEntry, is_pattern, matches, means
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.acknowledged import passed
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.balanced import without_rates
from replan.planning.plans.reasons import Facts, FactValue, PlanWarning, WarningKind, first_named
from replan.wording import NAMES_SHOWN


def without_effect(aligned: Alignment) -> Iterator[PlanWarning]:
    """All of it, by the place in the file."""
    placement, snapshot = aligned.placement, aligned.snapshot
    for section, name, where in sorted(
        _unmatched(placement, snapshot), key=lambda keyed: (keyed[2], keyed[1])
    ):
        facts: Facts = {"where": str(where), "section": section, "name": name}
        yield PlanWarning(WarningKind.MATCHES_NOTHING, facts)
    registered = snapshot.broker_ids()
    for entry in sorted(placement.replica_blacklist, key=lambda e: (e.broker, e.where)):
        if entry.broker not in registered:
            gone: Facts = {"where": str(entry.where), "broker": entry.broker}
            yield PlanWarning(WarningKind.DRAIN_UNREGISTERED, gone)
    yield from _together(aligned)
    yield from _balance(aligned)


def _together(aligned: Alignment) -> Iterator[PlanWarning]:
    """Topics that are declared apart, share brokers, and are placed by no rule."""
    ruled, snapshot = aligned.intents.rules, aligned.snapshot
    for entry in aligned.placement.apart:
        sides = entry.sides(snapshot.topics.column("name").to_pylist())
        there: dict[BrokerId, list[str]] = {}
        for topic in sorted(sides.keys() - ruled.keys()):
            states = snapshot.states(snapshot.topic_rows(topic))
            for broker in sorted({b for state in states for b in state.replicas}):
                there.setdefault(broker, []).append(topic)
        shared = {b: of for b, of in there.items() if len({sides[topic] for topic in of}) > 1}
        if shared:
            topics = sorted({topic for of in shared.values() for topic in of})
            facts: Facts = {
                "where": str(entry.where),
                "topics": tuple(topics[:NAMES_SHOWN]),
                "brokers": tuple(map(int, sorted(shared)))[:NAMES_SHOWN],
            }
            yield PlanWarning(WarningKind.STAY_TOGETHER, facts)


def _balance(aligned: Alignment) -> Iterator[PlanWarning]:
    placement, rates, balance = aligned.placement, aligned.rates, aligned.placement.balance
    if balance is None:
        return
    at: dict[str, FactValue] = {"where": str(balance.where)}
    if not balance.tolerances:
        yield PlanWarning(WarningKind.WEIGHTS_ALONE, at)
        return
    ruled = aligned.intents.rules
    if not ruled and any(t.measure is not BalanceMeasure.LOG_DIRS for t in balance.tolerances):
        yield PlanWarning(WarningKind.BALANCES_NOTHING, at)
    lacking = without_rates(placement, rates)
    if lacking:
        where = balance.places.get(lacking[0].value, balance.where)
        facts: Facts = {"where": str(where), "measures": ", ".join(lacking)}
        yield PlanWarning(WarningKind.NEEDS_RATES, facts)
    elif rates is not None and any(t.measure.needs_rates for t in balance.tolerances):
        unknown = [
            n for n in _partitions_of(ruled, aligned.snapshot) if n not in rates.bytes_per_second
        ]
        if unknown:
            yield PlanWarning(
                WarningKind.RATES_UNKNOWN, {**at, **first_named("partitions", unknown)}
            )


def _partitions_of(topics: Iterable[str], snapshot: Snapshot) -> Iterator[TopicPartition]:
    counts = snapshot.partition_counts()
    for topic in sorted(topics):
        yield from (TopicPartition(topic, number) for number in range(counts[topic]))


class _Placed(PatternEntry, Protocol):
    @property
    def where(self) -> Where: ...


def _of_entry(
    section: str, name: str, entry: _Placed, topics: Sequence[str]
) -> Iterator[tuple[str, str, Where]]:
    """An entry that means no topic, and what it excepts of topics that it does not mean anyhow."""
    matching = [topic for topic in topics if matches(name, topic)]
    if not any(means(name, entry.excepted, topic) for topic in matching) and (
        name != "*" or matching
    ):
        yield section, name, entry.where
    for one in entry.excepted:
        if not any(matches(one, topic) for topic in matching):
            yield f"{section}.except", f"{one} among {name}", entry.where


def _unmatched(placement: Placement, snapshot: Snapshot) -> Iterator[tuple[str, str, Where]]:
    """Entries that mean no topic or partition of the cluster."""
    present: list[str] = snapshot.topics.column("name").to_pylist()
    topics = [*present, *snapshot.hidden]
    standing = {} if placement.standing is None else placement.standing.topics
    sections: dict[str, Mapping[str, _Placed]] = {
        "assignments": placement.rules,
        "preferredLeaders": placement.leader_rules,
        "recovery": placement.recovery,
        "require": placement.requirements,
    }
    for section, entries in sections.items():
        for name, entry in entries.items():
            if is_pattern(name) or section == "require":
                yield from _of_entry(section, name, entry, topics)
    named = [
        ("throttles.standing.topics", name, of.where)
        for name, of in standing.items()
        if is_pattern(name)
    ]
    named += [
        ("blacklists.leaders.topics", name, entry.where)
        for entry in placement.leader_entries
        for name in entry.topics or ()
    ]
    named += [("apart", name, entry.where) for entry in placement.apart for name in entry.topics]
    for section, name, where in named:
        if name != "*" and not any(matches(name, topic) for topic in topics):
            yield section, name, where
    counts = snapshot.partition_counts()
    for acknowledgement in placement.acknowledged:
        meant = [topic for topic in present if matches(acknowledgement.topic, topic)]
        numbers = acknowledgement.partitions
        if not passed(acknowledgement.expires, snapshot) and not any(
            numbers is None or any(n < counts[topic] for n in numbers) for topic in meant
        ):
            yield "acknowledged", str(acknowledgement), acknowledgement.where
