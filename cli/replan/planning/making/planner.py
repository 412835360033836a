"""(placement, snapshot) -> plan: a pure function; the same input gives the same plan, whatever its order.

The way: find what differs (`compared`), make a move of each difference or a refusal (`refusals`), put the moves in
order (`admission_order`), say what else a person should know (`plan_warnings`), and hold all of it to the laws
(`plan_invariants`).
Only partitions that differ become objects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from replan.errors import UnsafePlan
from replan.model.columns import take, topics_of
from replan.model.configs import ConfigScope, SettingName
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import Comparison, compared
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.balanced import without_rates
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.comparison.diff import MOVABLE, DifferenceKind, Differences
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.comparison.overlays import WantedLists
from replan.planning.comparison.part import PartitionFilter, Scope, chosen_part, differences_in
from replan.planning.feasibility.conflicts import conflicts
from replan.planning.growth import fewer_partitions
from replan.planning.making.admission_order import admission_order
from replan.planning.making.convergence import check_convergence
from replan.planning.making.limits import check_limits, raised
from replan.planning.making.plan_warnings import ended_entries, log_dir_warnings, plan_warnings
from replan.planning.making.recoveries import Recoveries, declared_wishes, recoveries
from replan.planning.making.required_racks import RequiredRacks
from replan.planning.making.room import NoRoomFor, coming, in_room_order
from replan.planning.making.stages import Changes, PlanStage, Together, require_limits, staged
from replan.planning.making.why_moved import Lookups, MoveWanted, reason_of
from replan.planning.plans.log_dirs import (
    NOTHING_COMES,
    NoRoomLeft,
    concerns_log_dirs,
    log_dir_balance,
    log_drains,
)
from replan.planning.plans.moves import Move, ObservedMove, move_of
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Facts, PlanWarning, Refusal, RefusalRule, WarningKind
from replan.planning.plans.standing_throttles import standing_differences
from replan.planning.safety.placing_refusals import BalanceUnreachable, placing_refusals
from replan.planning.safety.plan_invariants import require_invariants
from replan.planning.safety.refusals import Judge

NOTHING_ALLOWED: Mapping[Measure, int] = {}


def make_plan(
    placement: Placement,
    snapshot: Snapshot,
    allowed: Mapping[Measure, int] = NOTHING_ALLOWED,
    *,
    only: Sequence[str] = (),
    rates: Rates | None = None,
    within_limits: bool = False,
    unmade: str | None = None,
) -> Plan:
    """Plan what brings the cluster from the snapshot to the placement.

    The arguments are those of `plan_of`, which says what it raises; also WrongCluster, where the placement names
    another cluster.
    """
    comparison = compared(placement, snapshot, rates)
    return plan_of(
        comparison, allowed, only=only, rates=rates, within_limits=within_limits, unmade=unmade
    )


@garbage_collection_paused()  # it makes values by the hundred thousand, and no cycles
def plan_of(
    comparison: Comparison,
    allowed: Mapping[Measure, int] = NOTHING_ALLOWED,
    *,
    only: Sequence[str] = (),
    scope: Scope | None = None,
    rates: Rates | None = None,
    within_limits: bool = False,
    unmade: str | None = None,
) -> Plan:
    """Plan what a comparison found.

    `allowed`: limits of the placement that are raised for this plan alone. `only`: the topics, patterns and partitions
    to plan; all without any. `scope`: the same, chosen by a policy. `rates`: what producers write; without them nobody
    judges whether the copies end. `within_limits`: plan the part that the limits allow, as `limits.stage` of the
    placement does. `unmade`: a topic that is yet to be made, so that moving it changes nothing: no limit counts it.

    Raises BadPlacement where the placement contradicts the cluster, LimitExceeded where the plan would change
    more than the placement allows and is not made in stages, NeverConverges where copies would never end at their
    throttle, BadUsage where `allowed` raises no limit, `within_limits` finds none, or `only` names nothing; everything
    that safety refuses is in `Plan.refusals`, and the other partitions are planned all the same. Raises UnsafePlan
    where a bug of replan made a plan that breaks a law.
    """
    comparison.required()
    if within_limits:
        require_limits(comparison.aligned.placement.limits)
    growth, aligned, asked, left = (
        comparison.growth,
        comparison.aligned,
        comparison.wanted,
        comparison.left,
    )
    placement, snapshot = aligned.placement, aligned.snapshot
    within = chosen_part(only, snapshot) if scope is None else scope.partitions.__contains__
    partial = bool(only) or scope is not None
    differs = differences_in(left.differences, within) if partial else left.differences
    judge = Judge.of(snapshot)
    known = _lookups(aligned, differs.table, judge.nameable)
    creates = tuple(c for c in growth.creates if within(c.first))
    refused = [refusal for refusal in _not_placed(comparison) if within(refusal.partition)]
    off_balance = comparison.off_balance
    if off_balance and placement.balance is not None and placement.balance.required:
        raise BalanceUnreachable(off_balance)
    _check_rates(placement, aligned.rates)
    judged, unsafe, remember = _moves(_differences(differs, asked, snapshot), judge, known)
    refused += unsafe
    ordered, lacking = in_room_order(admission_order(judged), volumes := snapshot.volumes())
    refused += map(_lacks_room, lacking)
    states = {move.partition: state for move, state in judged}
    targets = {move.partition: move.target for move in ordered}
    recovered = _recoveries(placement, snapshot, within)
    refused = [
        *(r for r in refused if r.partition not in recovered.about or not r.of_the_list),
        *recovered.refused,
    ]
    standing = tuple(
        s
        for s in standing_differences(placement, aligned.intents, snapshot)
        if not partial
        or _within(s.setting, within)
        or (scope is not None and s.setting in scope.settings)
    )
    comes = coming(ordered, volumes) if concerns_log_dirs(placement) else NOTHING_COMES
    drains = log_drains(placement, snapshot, targets, comes)
    dirs = log_dir_balance(placement, snapshot, targets, drains, comes)
    dirs_off_balance = comparison.log_dirs_off_balance(dirs.then)
    if dirs_off_balance and placement.balance is not None and placement.balance.required:
        raise BalanceUnreachable(dirs_off_balance)
    within_brokers = () if scope is None else scope.log_moves
    balances = within if scope is None else scope.balanced.__contains__
    asked_for = {move.replica for move in within_brokers}
    balance = [m for m in dirs.moves if balances(m.partition) and m.replica not in asked_for]
    free = [(move, states[move.partition]) for move in ordered if move.topic == unmade]
    changes = Changes(
        judged=[(move, states[move.partition]) for move in ordered if move.topic != unmade],
        creates=creates,
        standing=standing,
        recoveries=recovered.chosen,
        log_moves=(
            *within_brokers,
            *(m for m in drains.moves if within(m.partition)),
            *balance,
        ),
        log_balance=balance,
    )
    stage, limits = PlanStage(changes), raised(placement.limits, allowed)
    if within_limits or placement.in_stages:
        stage = staged(changes, limits, volumes, Together(aligned))
        changes = stage.changes
    else:
        check_limits(changes, limits, in_stages=True)
    refused += stage.refusals
    refused += [r for r in map(_no_room, drains.no_room) if within(r.partition)]
    judged_by = None
    if rates is not None:
        judged_by = check_convergence(
            changes.moves, placement.move_throttle, rates, snapshot.cluster_id
        )
    plan = Plan(
        cluster_id=snapshot.cluster_id,
        cluster_name=placement.cluster_name,
        placement_digest=placement.digest,
        racks={b.id: b.rack for b in sorted(snapshot.brokers, key=lambda b: b.id)},
        silent=tuple(sorted(snapshot.silent)),
        moves=(*changes.moves, *(move for move, _ in free)),
        **changes.by_kind,
        judged_by=judged_by,
        throttle=placement.move_throttle,
        refusals=tuple(refused),
        conflicts=conflicts(aligned, refused, [move for move, _ in judged], asked.chosen),
        warnings=(
            *(
                PlanWarning(WarningKind.BALANCE, far.facts)
                for far in (*off_balance, *dirs_off_balance)
            ),
            *plan_warnings(
                comparison,
                differs,
                changes.moves,
                recovered.about | {r.partition for r in refused if r.rule is RefusalRule.NO_LEADER},
                {r.partition for r in refused if r.of_the_list},
            ),
            *ended_entries(comparison.declared, snapshot),
            *log_dir_warnings(drains),
            *stage.warnings,
        ),
        remember=frozenset(remember.intersection(m.partition for m, _ in (*changes.judged, *free))),
        allowed=dict(allowed),
    )
    return require_invariants(
        placement, snapshot, plan, [*changes.judged, *free], asked.chosen.findings
    )


def _not_placed(comparison: Comparison) -> Iterator[Refusal]:
    """Why partitions are not where they are declared, and no move is asked for."""
    cannot_move = {refusal.partition: refusal for refusal in comparison.without}
    yield from comparison.growth.refusals
    yield from fewer_partitions(comparison.aligned)
    for refusal in placing_refusals(
        comparison.wanted.chosen.impossible,
        comparison.left.unplaceable,
        comparison.aligned.intents.rules,
        comparison.aligned.snapshot,
    ):
        crowds = refusal.rule is RefusalRule.TOPIC_CROWDS_BROKERS
        yield cannot_move.get(refusal.partition, refusal) if crowds else refusal


def _moves(
    differences: Iterable[tuple[MoveWanted, PartitionState]],
    judge: Judge,
    known: Lookups,
) -> tuple[list[ObservedMove], list[Refusal], set[TopicPartition]]:
    """A move of each difference that safety lets be removed, why not of the others, and whose order is remembered."""
    judged: list[ObservedMove] = []
    refused: list[Refusal] = []
    remember: set[TopicPartition] = set()
    racks = RequiredRacks.of(known.aligned)
    for difference, state in differences:
        move = _move(difference, state, known)
        unsafe = [*judge.refusals(move, state), *racks.refusals(move)]
        refused.extend(unsafe)
        if not unsafe:
            judged.append((move, state))
            if difference.remember:
                remember.add(move.partition)
    return judged, refused, remember


def _check_rates(placement: Placement, rates: Rates | None) -> None:
    """Raise UnsafePlan where a balance is required that nobody can judge."""
    lacking, balance = without_rates(placement, rates), placement.balance
    if lacking and balance is not None and balance.required:
        where = balance.places.get(lacking[0].value, balance.where)
        raise UnsafePlan(
            f"{where}: the balance is required, and nobody has said what producers write, by which "
            f"{', '.join(lacking)} goes; give --rates FILE or LAKE, or --measure 60s, or take `required` out"
        )


def _recoveries(placement: Placement, snapshot: Snapshot, within: PartitionFilter) -> Recoveries:
    """What becomes of partitions without a leader, where `recovery` has a strategy for them."""
    wishes = declared_wishes(placement, snapshot)
    return recoveries(snapshot, {n: wish for n, wish in wishes.items() if within(n)})


def _lacks_room(lack: NoRoomFor) -> Refusal:
    facts: dict[str, int | str] = {
        "broker": lack.broker,
        "path": lack.path,
        "bytes": lack.move.bytes,
        "usable": lack.usable,
    }
    if lack.aside is None:
        return Refusal(*lack.move.partition, RefusalRule.NO_ROOM, facts)
    facts["aside"] = str(lack.aside)
    return Refusal(*lack.move.partition, RefusalRule.NO_ROOM_BEFORE, facts)


def _no_room(lack: NoRoomLeft) -> Refusal:
    facts: Facts = {
        "broker": lack.broker,
        "path": lack.source,
        "bytes": lack.bytes,
        "largest": lack.largest,
    }
    return Refusal(*lack.partition, RefusalRule.NO_ROOM_IN_LOG_DIRS, facts)


def _within(name: SettingName, within: PartitionFilter) -> bool:
    """Whether a setting is of a part: one of a topic, if the whole topic is; never one of a broker."""
    return name.scope is ConfigScope.TOPIC and within(TopicPartition(name.name, -1))


def _lookups(aligned: Alignment, differs: pa.Table, nameable: frozenset[BrokerId]) -> Lookups:
    placement, snapshot = aligned.placement, aligned.snapshot
    topics = topics_of(differs)[0].to_pylist()
    entries = sorted(in_force(placement, snapshot), key=lambda e: (e.broker, e.where), reverse=True)
    return Lookups(
        aligned,
        snapshot.all_settings(),
        nameable,
        {t: {e.broker: e for e in entries if blacklist_reaches(e, t)} for t in topics},
        {e.broker: e for e in placement.replica_blacklist},
        last_leaders(placement, snapshot),
        {b.id: b.rack for b in snapshot.brokers},
    )


def _differences(
    differs: Differences, asked: WantedLists, snapshot: Snapshot
) -> Iterator[tuple[MoveWanted, PartitionState]]:
    """What a move can remove, with what is observed, by topic and partition."""
    planned = np.flatnonzero(np.isin(differs.table.column("kind"), MOVABLE))
    table = take(differs.table, planned)
    at = differs.positions[planned]
    rows = asked.rows[at]
    marks = (
        asked.explicit[at],
        asked.demoted[at],
        asked.remember[at],
        asked.ordered[at],
        asked.led[at],
        asked.chosen.for_balance[rows],
    )
    states = snapshot.states(rows.tolist())
    for row, state, *of in zip(table.to_pylist(), states, *marks, strict=True):
        kind, declared = DifferenceKind(row["kind"]), tuple(row["declared"])
        yield MoveWanted(kind, declared, *map(bool, of)), state


def _move(difference: MoveWanted, state: PartitionState, known: Lookups) -> Move:
    topic = state.partition.topic
    settings = known.settings[topic]
    entry = known.aligned.placement.topics.get(topic) or known.aligned.intents.rules.get(topic)
    return move_of(
        state,
        difference.declared,
        settings,
        reason_of(difference, state, known),
        known.nameable,
        elect=difference.led
        and (difference.ordered or difference.kind is not DifferenceKind.REPLICAS),
        below_min_isr=entry is not None and entry.below_min_isr,
    )
