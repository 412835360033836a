"""What is not as it is declared, by what happened: a comparison, seen beside what was declared before.

placementChanged  a list, an order, a number of partitions: declared otherwise than before, and the cluster is as it
                  was declared then
changedElsewhere  the same, and the cluster is not as it was declared then
outOfBalance      lists that would change for the balance alone, all of them as one; and log directories likewise
leadershipMoved   the leader alone
brokerDown        a registered broker does not serve, and has replicas
staleThrottle     a throttle that nothing needs
logDirFull        a volume that is used above the share, by its first log directory
none              no leader, dates that have passed, too many partitions, a topic that is not there: a person acts
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from replan.model.columns import from_lists, take, to_matrix, with_column
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind
from replan.model.declared.rules import BalanceMeasure, ReplicaBlacklist
from replan.model.declared.where import Where
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import Comparison, compared
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift import Drift, drift_of
from replan.planning.findings.drift_classes import Difference, DriftRule, OtherKind
from replan.planning.findings.full_log_dirs import (
    FullLogDir,
    filled_by,
    full_log_dirs,
    partitions_in,
    placed,
    with_room_below,
)
from replan.planning.plans.reasons import WarningKind
from replan.reconciling.decision import Deviation, HoldFacts
from replan.reconciling.history import UNKNOWN, History, said
from replan.reconciling.memory import down_key
from replan.reconciling.status import (
    DeclaredByList,
    FillsLogDirs,
    FitsNowhere,
    NeedsBrokers,
    NeedsRates,
    NoHistory,
    PersonActs,
    RunsElsewhere,
    Subject,
    WhyNot,
)

RUNNING_RULES = (DriftRule.RUNS_ELSEWHERE, DriftRule.INTERRUPTED)
BY_HISTORY = frozenset(
    {DriftRule.BROKER_DOWN, DriftRule.LISTS_DIFFER, DriftRule.TOO_FEW_PARTITIONS, *RUNNING_RULES}
)
BALANCE_KEY = "outOfBalance"
LOG_DIRS_KEY = f"{BALANCE_KEY} log directories"
BY_POLICY = Where("reconcile.putRight", 1, 1)
"""Where a broker that is down, or full, is said to hold nothing: by no line of a placement."""
SEARCHES = 4
"""So often what is to leave a full volume is chosen again, where the rules ask for some of it back."""
_LEADS = {DifferenceKind.LEADER, DifferenceKind.NO_LEADER, DifferenceKind.PREFERRED_ABSENT}
"""What is about who leads, and not about the list."""


class Looked(Struct, frozen=True):
    """A cluster beside its placement, as one round sees it."""

    comparison: Comparison
    drift: Drift
    full: tuple[FullLogDir, ...] = ()
    """What is used above the share of the policy, and what brings it below."""

    @property
    def snapshot(self) -> Snapshot:
        """As it was observed."""
        return self.comparison.observed


def look_at_cluster(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Looked:
    """Compare. Raises WrongCluster, and MistakenPlacement where the author has to correct something."""
    looked = _beside(compared(without_recovery(placement), snapshot, rates).required())
    return replace(looked, full=_full_of(looked, placement.reconcile.full_above))


def without_recovery(placement: Placement) -> Placement:
    """The placement as a loop goes by it: no election that loses records is ever in a plan of it."""
    return replace(placement, recovery={})


def _beside(comparison: Comparison) -> Looked:
    return Looked(comparison, drift_of(comparison))


def facts_of(snapshot: Snapshot) -> HoldFacts:
    """Who is down."""
    down = tuple(sorted(int(b.id) for b in snapshot.brokers if not b.live))
    live = {b.rack for b in snapshot.brokers if b.live}
    racks = {b.rack for b in snapshot.brokers if b.rack is not None} - live
    return HoldFacts(len(snapshot.brokers), down, tuple(sorted(r for r in racks if r)))


def differing_lists(looked: Looked) -> list[TopicPartition]:
    """The partitions whose list is not as declared, whatever the reason; those on their way among them."""
    names = [d.name for d in looked.drift.partitions if d.name and d.kind not in _LEADS]
    lacking = [n for c in looked.comparison.growth.creates for n in c.partitions]
    return [*names, *looked.drift.converging, *lacking]


def deviations(looked: Looked, history: History) -> tuple[Deviation, ...]:
    """All that is not as it is declared."""
    by_key = {f.key: f for f in _deviations(looked, history)}
    return tuple(by_key.values())


def _deviations(looked: Looked, history: History) -> Iterator[Deviation]:
    yield from _brokers_down(looked)
    yield from _full(looked)
    balancing = for_balance(looked.comparison)
    if balancing:
        detail = f"{len(balancing)} partitions"
        yield Deviation(
            DeviationKind.OUT_OF_BALANCE,
            Subject(detail=detail),
            BALANCE_KEY,
            tuple(sorted(balancing)),
            why=_fills(looked, balancing),
        )
    yield from _log_dirs_off_balance(looked)
    for warning in looked.comparison.warnings:
        if warning.kind is WarningKind.NEEDS_RATES:
            measures = Subject(detail=str(warning.facts["measures"]))
            key = f"{BALANCE_KEY} by rates"
            yield Deviation(DeviationKind.OUT_OF_BALANCE, measures, key, why=NeedsRates())
    standing, log_dirs = said(looked.comparison)
    down = facts_of(looked.snapshot).down
    for one in looked.drift.differences:
        name = one.name
        if (
            one.rule in {DriftRule.CONVERGES, DriftRule.OUT_OF_BALANCE, DriftRule.CONTRADICTS}
            or name in balancing
        ):
            continue
        kind, why = _kind(one, name, history, (standing, log_dirs))
        if why is None and kind is not None:
            why = needs(_asks_of(one), down)
        yield _of(one, name, kind, why)


def needs(brokers: Iterable[int], down: Collection[int]) -> NeedsBrokers | None:
    """Why what asks something of these brokers waits; None where all of them serve."""
    gone = tuple(sorted({*map(int, brokers)} & {*map(int, down)}))
    return NeedsBrokers(gone) if gone else None


def _asks_of(one: Difference) -> Iterable[int]:
    """The brokers without which it cannot be put right: nobody leaves a list before all of the new one are in sync."""
    if one.rule is DriftRule.LOG_DIR_DRAINED and one.broker is not None:
        return (one.broker,)
    return changed_brokers(one.declared, one.observed)


def changed_brokers(target: Sequence[BrokerId], before: Sequence[BrokerId]) -> Sequence[BrokerId]:
    """The brokers without which a list does not become another one: all of it where members change, and whoever is to
    lead where only their order does."""
    if set(target) != set(before):
        return target
    return target[:1] if target[:1] != before[:1] else ()


def _of(
    one: Difference, name: TopicPartition | None, kind: DeviationKind | None, why: WhyNot | None
) -> Deviation:
    path = one.detail if one.kind is OtherKind.LOG_DIR else None
    subject = Subject(one.topic, one.partition, one.broker, path, "" if path else one.detail)
    where = [str(part) for part in (one.topic, one.partition, one.broker) if part is not None]
    key = " ".join([kind.value if kind else one.rule.value, *where, one.detail])
    names = () if name is None else (name,)
    return Deviation(
        kind, subject, key, names, one.declared, one.observed, one.rule.value, one.setting, why
    )


def _kind(
    one: Difference, name: TopicPartition | None, history: History, settings: tuple[str, str]
) -> tuple[DeviationKind | None, WhyNot | None]:
    match one.rule:
        case DriftRule.LEADERSHIP_MOVED:
            return DeviationKind.LEADERSHIP_MOVED, None
        case DriftRule.NOTHING_RUNS:
            return DeviationKind.STALE_THROTTLE, None
        case DriftRule.THROTTLE_DIFFERS:
            return _by_digest(history, history.standing, settings[0])
        case DriftRule.LOG_DIR_DRAINED:
            return _by_digest(history, history.log_dirs, settings[1])
        case rule if (
            rule in BY_HISTORY and name is not None and one.kind is not DifferenceKind.UNPLACEABLE
        ):
            kind, why = _by_history(one, name, history)
            return kind, RunsElsewhere() if rule in RUNNING_RULES else why
        case _:
            return None, PersonActs()


def _by_digest(history: History, before: str, now: str) -> tuple[DeviationKind, WhyNot | None]:
    if not history.is_known or not before:
        return DeviationKind.CHANGED_ELSEWHERE, NoHistory()
    same = before == now
    return DeviationKind.CHANGED_ELSEWHERE if same else DeviationKind.PLACEMENT_CHANGED, None


def _by_history(
    one: Difference, name: TopicPartition, history: History
) -> tuple[DeviationKind, WhyNot | None]:
    """Whether the placement was changed, or the cluster; both at once count as the cluster."""
    before = history.of(name)
    if not history.is_known or before == UNKNOWN:
        return DeviationKind.CHANGED_ELSEWHERE, NoHistory()
    if before is None:  # declared since
        return DeviationKind.PLACEMENT_CHANGED, None
    if not one.observed and one.kind in {DifferenceKind.MISSING, OtherKind.PARTITIONS}:
        return DeviationKind.CHANGED_ELSEWHERE, None
    as_declared = _same(before, one.declared, one)
    as_observed = _same(before, one.observed, one)
    changed = not as_declared and as_observed
    kind = DeviationKind.PLACEMENT_CHANGED if changed else DeviationKind.CHANGED_ELSEWHERE
    return kind, None


def _same(before: tuple[int, ...], now: tuple[int, ...], one: Difference) -> bool:
    """Whether two lists are alike in what differs."""
    if one.kind is DifferenceKind.ORDER:
        return tuple(before) == tuple(now)
    return set(before) == set(now)


def for_balance(comparison: Comparison) -> frozenset[TopicPartition]:
    """The partitions that keep their rule where they are, and would move for the balance alone.

    Where none is declared such a one gives room to others, and is a part of what asks for these.
    """
    if comparison.declared.balance is None:
        return frozenset()
    differences = comparison.unacknowledged.differences
    rows = comparison.wanted.rows[differences.positions]
    chosen = comparison.wanted.chosen.for_balance
    at = [i for i, row in enumerate(rows.tolist()) if row >= 0 and chosen[row]]
    chosen_rows = np.array(at, dtype=np.int64)
    names = take(differences.table.select(["topic", "partition"]), chosen_rows).to_pylist()
    return frozenset(TopicPartition(n["topic"], n["partition"]) for n in names)


def _fills(looked: Looked, names: Collection[TopicPartition]) -> FillsLogDirs | None:
    """Why lists do not change for a balance: a broker that gets replicas would be full by the policy, and lose some."""
    policy = looked.comparison.aligned.placement.reconcile
    if DeviationKind.LOG_DIR_FULL not in policy.put_right:
        return None
    comes = Counter[BrokerId]()
    for one in looked.drift.partitions:
        state = looked.snapshot.partition(one.name) if one.name in names and one.name else None
        if state is not None:
            comes.update(dict.fromkeys({*one.declared} - {*state.replicas}, max(0, state.bytes)))
    full = filled_by(looked.comparison.aligned, policy.full_above, comes)
    return FillsLogDirs(tuple(map(int, full))) if full else None


def _log_dirs_off_balance(looked: Looked) -> Iterator[Deviation]:
    """Replicas that would go to other log directories of their broker, for the balance of these; all of them as one."""
    if not any(
        reason.imbalance.measure is BalanceMeasure.LOG_DIRS for reason in looked.drift.unbalanced
    ):
        return
    moves = looked.drift.log_dir_moves
    subject = Subject(detail=f"{len(moves)} replicas to other log directories")
    names = tuple(sorted({move.partition for move in moves}))
    yield Deviation(DeviationKind.OUT_OF_BALANCE, subject, LOG_DIRS_KEY, names)


def _brokers_down(looked: Looked) -> Iterator[Deviation]:
    """Registered brokers that do not serve, with what they hold by rule; and apart from that, by list."""
    snapshot, aligned = looked.snapshot, looked.comparison.aligned
    down = [b.id for b in snapshot.brokers if not b.live]
    drained = aligned.placement.drained
    if not down:
        return
    lists = to_matrix(aligned.snapshot.partitions.column("replicas"))
    ruled, explicit = placed(aligned)
    for broker in sorted(set(down) - drained):
        holds = (lists == broker).any(axis=1)
        by_rule = partitions_in(aligned.snapshot, holds & ruled)
        by_list = partitions_in(aligned.snapshot, holds & explicit)
        if by_rule:
            subject = Subject(broker=broker, detail=f"{len(by_rule)} partitions by rule")
            yield Deviation(DeviationKind.BROKER_DOWN, subject, down_key(broker), by_rule)
        if by_list:
            subject = Subject(broker=broker, detail=f"{len(by_list)} partitions by list")
            key = f"{down_key(broker)} by list"
            yield Deviation(DeviationKind.BROKER_DOWN, subject, key, by_list, why=DeclaredByList())


def _full_of(looked: Looked, above: Fraction) -> tuple[FullLogDir, ...]:
    """What is used above a share, and what brings it below.

    A partition leaves a broker only where its rule does not ask for it back: else it would come and go for ever. First
    for each one, as if there was room everywhere; then for those that are to go, with the room that there is.
    """
    aligned = looked.comparison.aligned
    full = full_log_dirs(aligned, above)
    if not any(directory.leaving for directory in full):
        return full
    by_rule = frozenset(partitions_in(aligned.snapshot, placed(aligned)[0]))
    brokers = {directory.broker for directory in full if directory.leaving}
    stays = _wanted_back(looked, dict.fromkeys(brokers, by_rule), frozenset())
    for _ in range(SEARCHES):
        full = full_log_dirs(aligned, above, stays)
        leaving = _leaving(full)
        back = _wanted_back(looked, leaving, frozenset().union(*leaving.values()))
        if not any(back.values()):
            return full
        stays = {broker: stays[broker] | back.get(broker, frozenset()) for broker in brokers}
    return full_log_dirs(aligned, above, dict.fromkeys(brokers, by_rule))


def _leaving(full: Iterable[FullLogDir]) -> dict[BrokerId, frozenset[TopicPartition]]:
    """What is to leave each broker."""
    leaving = dict[BrokerId, frozenset[TopicPartition]]()
    for directory in full:
        if directory.leaving:
            leaving[directory.broker] = leaving.get(directory.broker, frozenset()).union(
                directory.leaving
            )
    return leaving


def _wanted_back(
    looked: Looked,
    leaving: Mapping[BrokerId, frozenset[TopicPartition]],
    sized: frozenset[TopicPartition],
) -> dict[BrokerId, frozenset[TopicPartition]]:
    """Of what is to leave each broker what cannot, or what its rule would have back once there is room.

    A balance does not count.
    """
    snapshot, placement = looked.snapshot, looked.comparison.declared
    names = frozenset[TopicPartition]().union(*leaving.values())
    if not names:
        return {}
    gives = [(broker, "full, by policy") for broker in leaving]
    given = placement if sized else replace(placement, balance=None)
    drained = compared_without_brokers(
        given, snapshot, gives, sized, looked.comparison.aligned.rates
    )
    lists = {name: wanted for name, wanted in _wanted(drained).items() if name in names}
    table = snapshot.partitions
    rows = table.select(["topic", "partition", "replicas"]).to_pylist()
    gone = [lists.get(TopicPartition(of["topic"], of["partition"]), of["replicas"]) for of in rows]
    after = replace(snapshot, partitions=with_column(table, "replicas", from_lists(gone)))
    roomy = with_room_below(after, placement.reconcile.full_above, frozenset())
    back = _wanted(compared(replace(placement, balance=None), roomy)).keys()
    return {
        broker: frozenset(n for n in of if broker in lists.get(n, (broker,)) or n in back)
        for broker, of in leaving.items()
    }


def compared_without_brokers(
    placement: Placement,
    snapshot: Snapshot,
    gives: Iterable[tuple[BrokerId, str]],
    sized: frozenset[TopicPartition] | None,
    rates: Rates | None,
) -> Comparison:
    """The comparison where brokers hold nothing, for these reasons.

    `sized`: what leaves a volume that is full, and has to stay below the share where it goes; None: nothing does.
    Raises as `required`.
    """
    drained = tuple(ReplicaBlacklist(b, BY_POLICY, reason=why) for b, why in gives)
    given = without_recovery(placement)
    given = replace(given, replica_blacklist=(*given.replica_blacklist, *drained))
    if sized is not None:
        snapshot = with_room_below(snapshot, placement.reconcile.full_above, sized)
    return compared(given, snapshot, rates).required()


def _wanted(comparison: Comparison) -> dict[TopicPartition, Replicas]:
    """The lists that are to be others than they are."""
    return {
        d.name: d.declared
        for d in _beside(comparison).drift.partitions
        if d.name is not None and d.kind not in _LEADS and d.declared
    }


def _full(looked: Looked) -> Iterator[Deviation]:
    """Volumes that are used above the share: what may go, what only a person may move, what has no room."""
    for full in looked.full:
        detail = f"{100 * full.used // full.total} % used"
        subject = Subject(broker=full.broker, path=full.path, detail=detail)
        parts: list[tuple[tuple[TopicPartition, ...], WhyNot | None]] = []
        if full.acts:
            names = {*(move.partition for move in full.moves), *full.leaving}
            parts.append((tuple(sorted(names)), None))
        if full.by_list:
            parts.append((full.by_list, DeclaredByList()))
        if full.unrelieved:
            parts.append(((), FitsNowhere(full.unrelieved)))
        for number, (names_, why) in enumerate(
            parts
        ):  # the first is as old as the directory is full
            key = " ".join(
                [DeviationKind.LOG_DIR_FULL, f"{full.broker} {full.path}", *["more"] * number]
            )
            yield Deviation(DeviationKind.LOG_DIR_FULL, subject, key, names_, why=why)


def replaced(due: Sequence[Deviation]) -> tuple[BrokerId, ...]:
    """The brokers whose replicas are to go to others."""
    return tuple(
        BrokerId(f.subject.broker)
        for f in due
        if f.kind is DeviationKind.BROKER_DOWN and f.subject.broker is not None
    )
