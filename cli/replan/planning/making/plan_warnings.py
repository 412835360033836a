"""What a person should know beside the moves and the refusals: warnings, which stop nothing.

Partitions and topics are named, the first twenty of them.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from replan.model.columns import Ints, list_lengths, topics_of
from replan.model.declared.placement import LeaderBlacklist, Placement
from replan.model.declared.rules import LogDirBlacklist, ReplicaBlacklist, Spread
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.available import Awaited, awaited
from replan.planning.compared import Comparison
from replan.planning.comparison.acknowledged import Unacknowledged, passed, review_due
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.blacklist import blacklist_reaches, has_ended, in_force
from replan.planning.comparison.diff import DifferenceKind, Differences
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.comparison.overlays import WantedLists
from replan.planning.findings.health import brokers_down, unclean_topics
from replan.planning.making.required_racks import RequiredRacks
from replan.planning.plans.log_dirs import LogDrains
from replan.planning.plans.moves import Move, ReasonKind
from replan.planning.plans.reasons import Facts, PlanWarning, WarningKind, first_named
from replan.planning.plans.standing_throttles import unread_brokers, without_replicas
from replan.wording import NAMES_SHOWN

CHOSEN_BY_REPLAN = (ReasonKind.RULE, ReasonKind.DRAIN, ReasonKind.BALANCE)
"""What leaves it to replan where the replicas lie."""


def plan_warnings(
    comparison: Comparison,
    differs: Differences,
    moves: Sequence[Move],
    without_leader: Collection[TopicPartition] = (),
    refused: Collection[TopicPartition] = (),
) -> Iterator[PlanWarning]:
    """All warnings, the most pressing first.

    `differs`: what differs of the part that is planned. `without_leader`: partitions of which the plan says so already;
    `refused` ones keep the list that they have.
    """
    aligned, wanted = comparison.aligned, comparison.wanted
    placement, snapshot = aligned.placement, aligned.snapshot
    yield from _leaderless(snapshot, without_leader)
    for down in brokers_down(snapshot):
        lost: Facts = {"withoutLeader": down.leaderless, "underMinIsr": down.under_min_isr}
        about: Facts = {"registered": "yes" if down.registered else "no"}
        held: Facts = {"broker": down.broker, "replicas": down.replicas}
        yield PlanWarning(WarningKind.BROKER_DOWN, {**held, **about, **lost})
    for broker in sorted({b for m in moves for b in m.new} - snapshot.live_brokers()):
        yield PlanWarning(WarningKind.FENCED_TARGET, {"broker": broker})
    yield from _awaited(snapshot)
    yield from _unclean(snapshot)
    yield from comparison.warnings
    yield from _unknown_racks(placement, snapshot)
    if len(wanted.chosen.unjudged):
        unknown: Facts = {"brokers": tuple(sorted(snapshot.brokers_of_unknown_rack()))}
        kept = _named(snapshot, wanted.chosen.unjudged)
        yield PlanWarning(WarningKind.RACK_NOT_TOLD, {**unknown, **kept})
    racks = RequiredRacks.of(aligned)
    yield from _fewer_racks(racks, moves)
    yield from _narrowed(aligned, racks, moves)
    running = np.asarray(differs.table.column("kind")) == DifferenceKind.RUNNING
    if running.any():
        converging = wanted.rows[differs.positions[running]]
        yield PlanWarning(WarningKind.CONVERGING, _named(snapshot, converging))
    yield from _blacklist(placement, comparison.declared, snapshot)
    yield from _min_isr_above_replicas(aligned, wanted, refused)
    unread = {} if placement.standing is None else unread_brokers(placement.standing, snapshot)
    for broker, rate in unread.items():
        yield PlanWarning(WarningKind.STANDING_UNREAD, {"where": str(rate.where), "broker": broker})
    if placement.standing is not None:
        for idle, broker, side in without_replicas(placement.standing, aligned.intents, snapshot):
            at: Facts = {"where": str(idle.where), "broker": broker, "side": side}
            yield PlanWarning(WarningKind.STANDING_WITHOUT_REPLICAS, at)
    yield from _acknowledged(placement, snapshot, comparison.unacknowledged)


def _min_isr_above_replicas(
    aligned: Alignment, wanted: WantedLists, refused: Collection[TopicPartition]
) -> Iterator[PlanWarning]:
    """Topics whose min.insync.replicas no list can reach: min(m, assigned) holds (Partition.effectiveMinIsr)."""
    snapshot = aligned.snapshot
    names, codes = topics_of(wanted.table)
    wished = list_lengths(wanted.table.column("replicas"))
    lengths = wished.copy()
    if refused:
        stay = aligned.observed.rows(named_partitions(sorted(refused)))
        kept = np.isin(wanted.rows, stay[stay >= 0])
        held = list_lengths(snapshot.partitions.column("replicas"))
        lengths[kept] = held[wanted.rows[kept]]
    shortest = np.full((2, len(names)), np.iinfo(np.int64).max)
    for of, counted in zip(shortest, (wished, lengths), strict=True):
        np.minimum.at(of, codes, counted)
    configured = snapshot.all_settings()
    alike: dict[tuple[int, int], list[str]] = {}
    for topic, (wish, replicas) in sorted(zip(names.to_pylist(), shortest.T.tolist(), strict=True)):
        m = configured[topic].min_insync_replicas if topic in configured else 0
        if m > max(wish, replicas):
            alike.setdefault((m, replicas), []).append(topic)
    for (m, replicas), topics in sorted(alike.items()):
        facts: Facts = {"minInsyncReplicas": m, "replicas": replicas}
        listed = first_named("topics", topics)
        yield PlanWarning(WarningKind.MIN_ISR_ABOVE_REPLICAS, {**facts, **listed})


def _acknowledged(
    placement: Placement, snapshot: Snapshot, unacknowledged: Unacknowledged
) -> Iterator[PlanWarning]:
    for entry, names in unacknowledged.acknowledged:
        facts: Facts = {"where": str(entry.where), "reason": entry.reason, "expires": entry.expires}
        listed = first_named("partitions", names)
        yield PlanWarning(WarningKind.ACKNOWLEDGED, {**facts, **listed})
    for entry in placement.acknowledged:
        if passed(entry.expires, snapshot):
            facts = {"where": str(entry.where), "acknowledged": str(entry)}
            yield PlanWarning(
                WarningKind.ACKNOWLEDGEMENT_EXPIRED, {**facts, "expires": entry.expires}
            )


def _leaderless(snapshot: Snapshot, told: Collection[TopicPartition]) -> Iterator[PlanWarning]:
    """Partitions without a leader, declared or not."""
    lost = np.flatnonzero(snapshot.without_leader)
    if len(lost) and told:
        lost = np.setdiff1d(lost, partition_rows(named_partitions(told), snapshot.partitions))
    if len(lost):
        yield PlanWarning(WarningKind.LEADERLESS, _named(snapshot, lost))


def _named(snapshot: Snapshot, rows: Ints) -> Facts:
    shown = [s.partition for s in snapshot.states(rows[:NAMES_SHOWN].tolist())]
    return {**first_named("partitions", shown), "count": len(rows)}


def _awaited(snapshot: Snapshot) -> Iterator[PlanWarning]:
    """Whose return Kafka awaits by itself, for each partition without a leader."""
    unclean = set(unclean_topics(snapshot))
    alike: dict[Awaited, list[str]] = {}
    for state in snapshot.leaderless():
        waits_for = awaited(state, unclean_election=state.partition.topic in unclean)
        if waits_for is not None:
            alike.setdefault(waits_for, []).append(str(state.partition))
    for waits_for, names in alike.items():
        facts: Facts = {"why": str(waits_for.why), "brokers": waits_for.brokers}
        listed = first_named("partitions", names)
        yield PlanWarning(WarningKind.AWAITED, {**facts, **listed})


def _unclean(snapshot: Snapshot) -> Iterator[PlanWarning]:
    topics = unclean_topics(snapshot)
    if topics:
        yield PlanWarning(WarningKind.UNCLEAN_ELECTION, first_named("topics", topics))


def _fewer_racks(racks: RequiredRacks, moves: Sequence[Move]) -> Iterator[PlanWarning]:
    """Moves into fewer racks than `require` wants, which lose none that is left."""
    by_place: dict[tuple[str, int], list[str]] = {}
    for move in sorted(moves, key=lambda m: m.partition):
        required = racks.narrow(move)
        if required is not None:
            where = str(required.where), required.racks or 0
            by_place.setdefault(where, []).append(str(move.partition))
    for (place, least), partitions in sorted(by_place.items()):
        facts: Facts = {"where": place, "racks": least}
        listed = first_named("partitions", partitions)
        yield PlanWarning(WarningKind.FEWER_RACKS, {**facts, **listed})


def _narrowed(
    aligned: Alignment, required: RequiredRacks, moves: Sequence[Move]
) -> Iterator[PlanWarning]:
    """Moves of a rule or a drain into fewer racks than the partition lies in, other than for want of replicas.

    Those that `require` speaks of are warned of there; a rule that says how many racks asks for it.
    """
    in_rack = {
        topic
        for topic, rule in aligned.intents.rules.items()
        if rule.spread is Spread.IN_RACK or rule.replicas_per_rack
    }
    racks = {b.id: b.rack for b in aligned.snapshot.brokers if b.rack is not None}
    by_number: dict[str, list[str]] = {}
    for move in sorted(moves, key=lambda m: m.partition):
        before, after = (
            len({racks[b] for b in of if b in racks}) for of in (move.original, move.target)
        )
        narrower = after < min(before, len(move.target)) and required.narrow(move) is None
        if (
            move.reason.kind in CHOSEN_BY_REPLAN
            and narrower
            and move.partition.topic not in in_rack
        ):
            by_number.setdefault(f"{after} instead of {before}", []).append(str(move.partition))
    for number, partitions in sorted(by_number.items()):
        listed = first_named("partitions", partitions)
        yield PlanWarning(WarningKind.RACKS_LEFT, {"racks": number, **listed})


def _unknown_racks(placement: Placement, snapshot: Snapshot) -> Iterator[PlanWarning]:
    racks = {broker.rack for broker in snapshot.brokers}
    for _, rule in sorted(placement.leader_rules.items()):
        for rack in rule.racks:
            if rack not in racks:
                facts: Facts = {"where": str(rule.where), "rack": rack}
                yield PlanWarning(WarningKind.UNKNOWN_RACK, facts)


def _blacklist(
    placement: Placement, declared: Placement, snapshot: Snapshot
) -> Iterator[PlanWarning]:
    """`declared`: the placement with those entries, too, that have ended."""
    registered = snapshot.broker_ids()
    for entry in sorted(declared.leader_entries, key=lambda e: (e.broker, e.where)):
        facts: Facts = {"where": str(entry.where), "broker": entry.broker}
        if entry.broker not in registered:
            yield PlanWarning(WarningKind.ENTRY_UNREGISTERED, facts)
        elif has_ended(entry, snapshot):
            yield PlanWarning(WarningKind.BLACKLIST_CAUGHT_UP, facts)
        yield from _review_due(entry, snapshot)
    for log_dir in sorted(placement.log_dir_blacklist, key=lambda e: (e.broker, e.path)):
        yield from _review_due(log_dir, snapshot)
    for drained in sorted(placement.replica_blacklist, key=lambda e: (e.broker, e.where)):
        yield from _review_due(drained, snapshot)
    last = last_leaders(placement, snapshot)
    yield from _last_leaders(placement, snapshot)
    gone, listed = placement.drained, in_force(placement, snapshot)
    for name, preferred in sorted(placement.preferred_leaders.items()):
        at: Facts = {"where": str(preferred.where), "partition": str(name)}
        if preferred.broker in gone:
            yield PlanWarning(WarningKind.PREFERRED_DRAINED, {**at, "broker": preferred.broker})
        if preferred.broker in last:
            yield PlanWarning(WarningKind.PREFERRED_LAST, {**at, "broker": preferred.broker})
        if any(
            entry.broker == preferred.broker and blacklist_reaches(entry, name.topic)
            for entry in listed
        ):
            yield PlanWarning(WarningKind.PREFERRED_BLACKLISTED, {**at, "broker": preferred.broker})


def _last_leaders(placement: Placement, snapshot: Snapshot) -> Iterator[PlanWarning]:
    """Brokers and racks that are to stand last, and that nobody knows."""
    entries = placement.last_leaders
    registered = snapshot.broker_ids()
    racks = {b.rack for b in snapshot.brokers}
    for entry, where in entries.places.items() if entries is not None else ():
        if isinstance(entry, str):
            if entry not in racks:
                gone: Facts = {"where": str(where), "rack": entry}
                yield PlanWarning(WarningKind.UNKNOWN_RACK, gone)
        elif entry not in registered:
            facts: Facts = {"where": str(where), "broker": entry}
            yield PlanWarning(WarningKind.ENTRY_UNREGISTERED, facts)


def _review_due(
    entry: LeaderBlacklist | ReplicaBlacklist | LogDirBlacklist, snapshot: Snapshot
) -> Iterator[PlanWarning]:
    date = review_due(entry, snapshot)
    if date is not None:
        facts: Facts = {"where": str(entry.where), "broker": entry.broker}
        yield PlanWarning(WarningKind.BLACKLIST_REVIEW_DUE, {**facts, "reviewBy": date})


def log_dir_warnings(drains: LogDrains) -> Iterator[PlanWarning]:
    """Directories of which nobody knows what lies in them, and those that fill again."""
    kinds = (
        (WarningKind.LOG_DIR_UNREAD, drains.unread),
        (WarningKind.LOG_DIR_UNCORDONED, drains.uncordoned),
    )
    for kind, entries in kinds:
        for entry in entries:
            facts: Facts = {"where": str(entry.where), "broker": entry.broker, "path": entry.path}
            yield PlanWarning(kind, facts)
