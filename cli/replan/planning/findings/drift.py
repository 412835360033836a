"""What is not as it is declared, and by which rule somebody must act; without a word on what to do about it.

A reassignment that already converges to the declared list is no drift; it is counted apart. A partition that
is declared, or that `recovery` is to give a leader, and has none is drift, whatever its list: nobody can use it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import starmap
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import Flags, take, topics_of
from replan.model.configs import SettingName
from replan.model.declared.placement import Placement
from replan.model.declared.where import Mistake
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.available import BrokerDown
from replan.planning.compared import Comparison
from replan.planning.comparison.acknowledged import review_due
from replan.planning.comparison.alignment import (
    Alignment,
    PartitionCount,
    named_partitions,
    partition_counts,
    partition_rows,
)
from replan.planning.comparison.cluster_check import absent_leaders
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.comparison.overlays import managed
from replan.planning.findings.drift_classes import (
    PERHAPS_OWN,
    Difference,
    DriftRule,
    OtherKind,
)
from replan.planning.findings.health import brokers_down, health_of, unclean_topics
from replan.planning.findings.left_throttles import left_throttles
from replan.planning.plans.log_dirs import (
    LogDrains,
    LogMove,
    NoRoomLeft,
    log_dir_balance,
    log_drains,
)
from replan.planning.plans.reasons import PlanWarning, WarningKind, first_named
from replan.planning.plans.standing_throttles import ThrottleSetting, standing_differences
from replan.planning.safety.placing_refusals import OutOfBalance


class Drift(Struct, frozen=True):
    """What differs on one cluster, and what else its reader should know."""

    cluster_id: str
    observed_at: str
    differences: tuple[Difference, ...]
    """What is on the way included, by topic and partition; what is no partition's comes last."""
    counts: tuple[PartitionCount, ...]
    acknowledged: tuple[TopicPartition, ...] = ()
    """Partitions that differ, which the placement asks to leave alone until a date."""

    unbalanced: tuple[OutOfBalance, ...] = ()
    """The balance, where a plan brings it nearer and not as near as is asked for, or where it is required."""
    log_dir_moves: tuple[LogMove, ...] = ()
    """What the balance of log directories would move, with the lists as they are."""
    unclean: tuple[str, ...] = ()
    """Topics where unclean election is on; a warning, no difference."""
    elr_gone: tuple[TopicPartition, ...] = ()
    """Partitions whose ELR has been cleared while they are under their minimum; a warning, no difference."""
    down: tuple[BrokerDown, ...] = ()
    """Brokers that do not serve, whether or not anything differs."""
    unjudged: int = 0
    """Partitions kept as they are, since the rack of a broker that is down is not known."""
    warnings: tuple[PlanWarning, ...] = ()
    """What is declared and does nothing here, and what goes on without being declared."""
    mistakes: tuple[Mistake, ...] = ()
    """What the author of the placement has to correct before anything can be planned."""

    @property
    def drifted(self) -> tuple[Difference, ...]:
        """What drifted; what is on its way has not."""
        return tuple(d for d in self.differences if d.is_drift)

    @property
    def none(self) -> bool:
        """Whether nothing drifted."""
        return not any(d.is_drift for d in self.differences)

    @property
    def partitions(self) -> tuple[Difference, ...]:
        """Differences of the list or the leader of partitions, but for what is on the way."""
        return tuple(d for d in self.drifted if isinstance(d.kind, DifferenceKind))

    @property
    def standing(self) -> tuple[ThrottleSetting, ...]:
        """Throttle settings that are not as they are declared to stay."""
        settings = (d.setting for d in self.differences if d.kind is OtherKind.STANDING)
        return tuple(setting for setting in settings if setting is not None)

    @property
    def converging(self) -> tuple[TopicPartition, ...]:
        """Partitions whose running reassignment, or replan's own running application, leads to the declared list."""
        on_the_way = (d.name for d in self.differences if not d.is_drift)
        return tuple(name for name in on_the_way if name is not None)


class _List(NamedTuple):
    """A partition whose list or leader differs."""

    name: TopicPartition
    kind: DifferenceKind
    declared: Replicas
    observed: Replicas
    leader: BrokerId | None


def drift_of(comparison: Comparison, *, journal_unread: bool = False) -> Drift:
    """What differs by a comparison; while the open application is at work, what goes to the declared list converges.

    `journal_unread`: nobody knows whether an application of replan's is open, nor what it moves.
    """
    placement, snapshot = comparison.aligned.placement, comparison.observed
    lists, converging = _lists(comparison)
    lists += _absent_leaders(comparison)
    lost, undeclared = _leaderless(comparison, {difference.name for difference in lists})
    counts = partition_counts(placement, comparison.aligned.intents, snapshot)
    standing = standing_differences(placement, comparison.aligned.intents, snapshot)
    drains = log_drains(placement, snapshot, {})
    dirs = log_dir_balance(placement, snapshot, {}, drains)
    dirs_unbalanced = tuple(
        replace(reason, log_moves=len(dirs.moves))
        for reason in comparison.log_dirs_off_balance(dirs.now)
    )
    unbalanced = (*_unbalanced(comparison), *(dirs_unbalanced if dirs.moves else ()))
    differences = _differences(
        comparison, converging, [*lists, *lost], counts, drains, standing, unbalanced
    )
    if journal_unread:
        differences = [
            replace(d, rule=DriftRule.JOURNAL_UNREAD) if d.rule in PERHAPS_OWN else d
            for d in differences
        ]
    missed = [
        PlanWarning(WarningKind.BALANCE, reason.facts)
        for reason in (*comparison.off_balance, *dirs_unbalanced)
        if reason not in unbalanced
    ]
    return Drift(
        snapshot.cluster_id,
        snapshot.observed_at,
        tuple(differences),
        tuple(counts),
        tuple(
            sorted(name for _, names in comparison.unacknowledged.acknowledged for name in names)
        ),
        unbalanced,
        dirs.moves,
        unclean_topics(snapshot),
        tuple(sorted(u.state.partition for u in health_of(snapshot).unhealthy if u.elr_gone)),
        brokers_down(snapshot),
        len(comparison.wanted.chosen.unjudged),
        (*undeclared, *comparison.warnings, *missed),
        comparison.mistakes,
    )


def _differences(
    comparison: Comparison,
    converging: Iterable[TopicPartition],
    lists: Sequence[_List],
    counts: Iterable[PartitionCount],
    drains: LogDrains,
    standing: Iterable[ThrottleSetting],
    unbalanced: Iterable[OutOfBalance],
) -> list[Difference]:
    """All of them, in the order of a report."""
    placement, snapshot = comparison.aligned.placement, comparison.observed
    throttles = left_throttles(snapshot, placement.standing)
    lying: tuple[LogMove | NoRoomLeft, ...] = (*drains.moves, *drains.no_room)
    of_partitions = [
        *(Difference(DriftRule.CONVERGES, DifferenceKind.RUNNING, *name) for name in converging),
        *_of_lists(lists, snapshot),
        *map(_count, counts),
        *map(_in_drained_dir, lying),
    ]
    return [
        *sorted(of_partitions, key=_by_name),
        *map(_standing, standing),
        *(starmap(_left_throttle, throttles) if snapshot.application is None else ()),
        *_review_due(comparison.declared, snapshot),
        *(
            Difference(
                DriftRule.OUT_OF_BALANCE, OtherKind.BALANCE, detail=of.imbalance.measure.value
            )
            for of in unbalanced
        ),
        *(
            Difference(DriftRule.CONTRADICTS, OtherKind.PLACEMENT, detail=str(mistake))
            for mistake in comparison.mistakes
        ),
    ]


def _unbalanced(comparison: Comparison) -> tuple[OutOfBalance, ...]:
    """What a plan would do about it, and could not do in full; what nothing can change is a warning."""
    chosen, balance = comparison.wanted.chosen, comparison.aligned.placement.balance
    if balance is None or not (balance.required or chosen.for_balance.any()):
        return ()
    return comparison.off_balance


def _lists(comparison: Comparison) -> tuple[list[_List], list[TopicPartition]]:
    """The partitions whose lists differ, and those that are on the way to what is declared."""
    snapshot = comparison.observed
    at_work = snapshot.application is not None and snapshot.application.at_work
    lacking = {name for create in comparison.growth.creates for name in create.partitions}
    differing = [*_different(comparison, lacking), *_to_be_created(comparison)]
    on_the_way = [
        difference.name
        for difference in differing
        if difference.kind is DifferenceKind.RUNNING
        or (at_work and snapshot.own_targets.get(difference.name) == difference.declared)
    ]
    converging = set(on_the_way)
    lists = [difference for difference in differing if difference.name not in converging]
    mistaken = _mistaken(comparison)
    lists += [
        _List(p.partition, DifferenceKind.UNPLACEABLE, (), p.replicas, p.leader)
        for p in comparison.aligned.snapshot.states(sorted(comparison.unacknowledged.unplaceable))
        if p.partition not in lacking and p.partition.topic not in mistaken
    ]
    return lists, on_the_way


def _mistaken(comparison: Comparison) -> Set[str]:
    """Topics whose rule cannot be kept since it contradicts the cluster: that is a difference of its own."""
    at = {mistake.where for mistake in comparison.mistakes}
    rules = comparison.aligned.intents.rules.items() if at else ()
    return {topic for topic, rule in rules if not at.isdisjoint(rule.all_places())}


def _different(comparison: Comparison, lacking: Collection[TopicPartition]) -> Iterator[_List]:
    """What differs of the partitions that there are, and of those that cannot be created now."""
    for row in comparison.unacknowledged.differences.table.to_pylist():
        name = TopicPartition(row["topic"], row["partition"])
        if name not in lacking:
            leader = BrokerId(row["leader"]) if row["leader"] >= 0 else None
            declared, observed = tuple(row["wanted"]), tuple(row["observed"])
            yield _List(name, DifferenceKind(row["kind"]), declared, observed, leader)


def _to_be_created(comparison: Comparison) -> Iterator[_List]:
    """Partitions that a list declares and the cluster lacks; those of a `partitionCount` are counted by topic."""
    explicit = comparison.aligned.placement.topics
    names = [n for c in comparison.growth.creates if c.topic in explicit for n in c.partitions]
    table = comparison.wanted.table
    rows = partition_rows(named_partitions(names), table)
    for name, declared in zip(names, take(table.column("replicas"), rows), strict=True):
        yield _List(name, DifferenceKind.MISSING, tuple(declared.as_py()), (), None)


def _leaderless(
    comparison: Comparison, differing: Collection[TopicPartition]
) -> tuple[list[_List], list[PlanWarning]]:
    """Partitions without a leader, of those that are declared, differ or are to be recovered; a warning of others."""
    snapshot, kind = comparison.aligned.snapshot, DifferenceKind.NO_LEADER
    without = snapshot.without_leader
    if not without.any():
        return [], []
    declared = managed(comparison.aligned)
    rows = comparison.aligned.observed.rows(named_partitions(differing))
    declared[rows[rows >= 0]] = True
    declared |= _to_recover(comparison.aligned)
    lost = [
        _List(p.partition, kind, p.replicas, p.replicas, None)
        for p in snapshot.states(np.flatnonzero(without & declared).tolist())
    ]
    others = snapshot.states(np.flatnonzero(without & ~declared).tolist())
    named = first_named("partitions", [p.partition for p in others])
    return lost, [PlanWarning(WarningKind.LEADERLESS, named)] if named["count"] else []


def _to_recover(aligned: Alignment) -> Flags:
    """Which observed partitions `recovery` gives a leader, if they have none."""
    names, codes = topics_of(aligned.snapshot.partitions)
    rules = aligned.intents.recovery
    recovers = [name in rules and rules[name].recovers for name in names.to_pylist()]
    return np.array([*recovers, False], dtype=bool)[codes]


def _absent_leaders(comparison: Comparison) -> Iterator[_List]:
    kind = DifferenceKind.PREFERRED_ABSENT
    for absent in absent_leaders(comparison.aligned, comparison.wanted.chosen):
        state = comparison.aligned.snapshot.partition(absent.partition)
        leader = None if state is None else state.leader
        wanted, has = (absent.preferred.broker,), absent.replicas or ()
        yield _List(absent.partition, kind, wanted, has, leader)


def _of_lists(lists: Sequence[_List], snapshot: Snapshot) -> Iterator[Difference]:
    states = snapshot.states_of(difference.name for difference in lists)
    live = snapshot.live_brokers()
    for difference in lists:
        rule = _rule(difference, states.get(difference.name), live, snapshot)
        declared, observed = difference.declared, difference.observed
        yield Difference(
            rule,
            difference.kind,
            *difference.name,
            declared=declared,
            observed=observed,
            leader=difference.leader,
        )


def _rule(
    difference: _List, state: PartitionState | None, live: Set[BrokerId], snapshot: Snapshot
) -> DriftRule:
    if state is None:
        there = snapshot.topic_row(difference.name.topic) is not None
        return DriftRule.TOO_FEW_PARTITIONS if there else DriftRule.TOPIC_ABSENT
    if difference.kind is DifferenceKind.NO_LEADER:
        return DriftRule.NO_LEADER
    if state.adding or state.removing:
        return (
            DriftRule.INTERRUPTED
            if difference.name in snapshot.own_targets
            else DriftRule.RUNS_ELSEWHERE
        )
    if difference.kind is DifferenceKind.LEADER:
        return DriftRule.LEADERSHIP_MOVED
    declared, observed = frozenset(difference.declared), frozenset(difference.observed)
    concerned = declared ^ observed if declared else observed
    usable = live - (observed - frozenset(state.isr))
    if not (concerned or observed) <= usable:
        return DriftRule.BROKER_DOWN
    return DriftRule.LISTS_DIFFER


def _in_drained_dir(of: LogMove | NoRoomLeft) -> Difference:
    rule, kind = DriftRule.LOG_DIR_DRAINED, OtherKind.LOG_DIR
    return Difference(rule, kind, *of.partition, of.broker, detail=of.source)


def _by_name(difference: Difference) -> tuple[str, int, str, int]:
    return (
        difference.topic or "",
        -1 if difference.partition is None else difference.partition,
        difference.kind,
        -1 if difference.broker is None else difference.broker,
    )


def _count(counted: PartitionCount) -> Difference:
    """Of the first partition that is missing, or that is one too many."""
    fewer = counted.observed < counted.declared
    rule = DriftRule.TOO_FEW_PARTITIONS if fewer else DriftRule.TOO_MANY_PARTITIONS
    first = min(counted.observed, counted.declared)
    detail = f"declared {counted.declared}, has {counted.observed}"
    return Difference(rule, OtherKind.PARTITIONS, counted.topic, first, detail=detail)


def _standing(setting: ThrottleSetting) -> Difference:
    detail = f"{setting.key}={setting.before or ''}, declared {setting.after or 'none'}"
    return _throttle(DriftRule.THROTTLE_DIFFERS, OtherKind.STANDING, setting, detail)


def _left_throttle(setting: SettingName, value: str) -> Difference:
    of = ThrottleSetting.of(setting, value, None)
    return _throttle(DriftRule.NOTHING_RUNS, OtherKind.THROTTLE, of, f"{setting.key}={value}")


def _throttle(
    rule: DriftRule, kind: OtherKind, setting: ThrottleSetting, detail: str
) -> Difference:
    broker = next(iter(setting.brokers), None)
    return Difference(rule, kind, setting.topic, broker=broker, detail=detail, setting=setting)


def _review_due(placement: Placement, snapshot: Snapshot) -> Iterator[Difference]:
    for kind, entries in (
        (OtherKind.LEADER_BLACKLIST, placement.leader_entries),
        (OtherKind.REPLICA_BLACKLIST, placement.replica_blacklist),
        (OtherKind.LOG_DIR_BLACKLIST, placement.log_dir_blacklist),
    ):
        for entry in entries:
            if review_due(entry, snapshot):
                yield Difference(
                    DriftRule.DATE_PASSED, kind, broker=entry.broker, detail=str(entry.where)
                )
