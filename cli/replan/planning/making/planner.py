"""(placement, snapshot) -> plan: a pure function; the same input gives the same plan, whatever its order.

The way: find what differs (`compared`), make a move of each difference or a refusal (`refusals`), put the moves in
order (`admission_order`), say what else a person should know (`plan_warnings`), and hold all of it to the laws
(`plan_invariants`).

The way of the lists, from the file to the moves. Only partitions that differ become objects:

| by | they are | |
| --- | --- | --- |
| `placement_file` | `Placement.explicit`, `.rules` | what the file says, with its places |
| `comparison.chosen` | `BaseLists` | what drains and rules make of them, by `placing.choose` |
| `comparison.overlays` | `WantedLists` | in the order that is wanted, for all partitions that an entry reaches |
| `comparison.diff` | `Differences` | those that the cluster does not have |
| `comparison.acknowledged` | `Unacknowledged` | but for those that are known |
| `making.wanted_moves` | `MoveWanted` | a move of each, with its reason |
| here, in `_moves` | `_Moves` | but for those that safety refuses, or for which disks lack room |
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from replan.errors import UnsafePlan
from replan.model.broker import Volumes
from replan.model.declared.placement import Placement
from replan.model.declared.policy import Limits, Measure
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import Comparison, compared
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.balanced import without_rates
from replan.planning.comparison.diff import Differences
from replan.planning.comparison.part import PlannedPart, Scope
from replan.planning.feasibility.conflicts import conflicts
from replan.planning.growth import fewer_partitions
from replan.planning.making.admission_order import admission_order
from replan.planning.making.convergence import check_convergence
from replan.planning.making.limits import check_limits, raised
from replan.planning.making.plan_warnings import log_dir_warnings, plan_warnings
from replan.planning.making.recoveries import Recoveries, declared_wishes, recoveries
from replan.planning.making.required_racks import RequiredRacks
from replan.planning.making.room import coming, in_room_order
from replan.planning.making.stages import Changes, PlanStage, Together, require_limits, staged
from replan.planning.making.wanted_moves import wanted_moves
from replan.planning.plans.log_dirs import (
    NOTHING_COMES,
    LogDrains,
    LogMove,
    NoRoomLeft,
    concerns_log_dirs,
    log_dir_balance,
    log_drains,
)
from replan.planning.plans.moves import Move, ObservedMove
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import Facts, PlanWarning, Refusal, RefusalRule, WarningKind
from replan.planning.plans.standing_throttles import standing_differences
from replan.planning.safety.placing_refusals import (
    BalanceUnreachable,
    OutOfBalance,
    placing_refusals,
)
from replan.planning.safety.plan_invariants import require_invariants
from replan.planning.safety.refusals import SafetyRules

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
    aligned = comparison.aligned
    placement, snapshot = aligned.placement, aligned.snapshot
    if within_limits:
        require_limits(placement.limits)
    part = PlannedPart.of(only, scope, snapshot)
    _check_balance(placement, comparison.off_balance)
    _check_rates(placement, aligned.rates)
    volumes = snapshot.volumes
    moves = _moves(comparison, part, volumes)
    log_dirs = _log_dir_changes(comparison, part, [move for move, _ in moves.ordered], volumes)
    _check_balance(placement, log_dirs.off_balance)
    wishes = declared_wishes(placement, snapshot)
    recovered = recoveries(snapshot, {n: wish for n, wish in wishes.items() if part.within(n)})
    free = [(move, state) for move, state in moves.ordered if move.topic == unmade]
    limited = [(move, state) for move, state in moves.ordered if move.topic != unmade]
    stage = _stage(
        _changes(comparison, part, limited, log_dirs, recovered),
        raised(placement.limits, allowed),
        aligned,
        volumes,
        within_limits=within_limits,
    )
    changes, judged = stage.changes, [*stage.changes.judged, *free]
    refused = [
        *(
            r  # what `recovery` is about gets a leader first, or is refused it
            for r in (
                *filter(lambda r: part.within(r.partition), _not_placed(comparison)),
                *moves.refused,
            )
            if r.partition not in recovered.about or not r.of_the_list
        ),
        *recovered.refused,
        *stage.refusals,
        *log_dirs.refused,
    ]
    convergence = None
    if rates is not None:
        convergence = check_convergence(
            changes.moves, placement.move_throttle, rates, snapshot.cluster_id
        )
    chosen = comparison.wanted.chosen
    plan = Plan(
        cluster_id=snapshot.cluster_id,
        cluster_name=placement.cluster_name,
        placement_digest=placement.digest,
        racks=snapshot.racks,
        silent=tuple(sorted(snapshot.silent)),
        moves=tuple(move for move, _ in judged),
        **changes.by_kind,
        convergence=convergence,
        throttle=placement.move_throttle,
        refusals=tuple(refused),
        conflicts=conflicts(aligned, refused, [move for move, _ in moves.safe], chosen),
        warnings=(
            *(
                PlanWarning(WarningKind.BALANCE, reason.facts)
                for reason in (*comparison.off_balance, *log_dirs.off_balance)
            ),
            *_warnings(comparison, moves.differs, changes, recovered, refused),
            *log_dir_warnings(log_dirs.drains),
            *stage.warnings,
        ),
        remember=moves.remember.intersection(m.partition for m, _ in judged),
        allowed=dict(allowed),
    )
    return require_invariants(placement, snapshot, plan, judged, chosen.findings)


def _check_balance(placement: Placement, reasons: Sequence[OutOfBalance]) -> None:
    """Raise BalanceUnreachable where a balance is required that is not reached."""
    if reasons and placement.balance is not None and placement.balance.required:
        raise BalanceUnreachable(reasons)


def _check_rates(placement: Placement, rates: Rates | None) -> None:
    """Raise UnsafePlan where a balance is required that nobody can judge."""
    lacking, balance = without_rates(placement, rates), placement.balance
    if lacking and balance is not None and balance.required:
        where = balance.places.get(lacking[0].value, balance.where)
        raise UnsafePlan(
            f"{where}: the balance is required, and nobody has said what producers write, by which "
            f"{', '.join(lacking)} goes; give --rates FILE or LAKE, or --measure 60s, or take `required` out"
        )


class _Moves(Struct, frozen=True):
    """The moves of a part, and why others are not made."""

    differs: Differences
    safe: Sequence[ObservedMove]
    """Those that no rule refuses, with and without room, by topic and partition."""
    ordered: Sequence[ObservedMove]
    """Those that have room, in the order of admission."""
    refused: Sequence[Refusal]
    remember: frozenset[TopicPartition]
    """Partitions whose order is remembered."""


def _moves(comparison: Comparison, part: PlannedPart, volumes: Volumes) -> _Moves:
    """A move of each difference that safety lets be removed, as far as the disks have room."""
    differs = part.differences(comparison.unacknowledged.differences)
    rules = SafetyRules.of(comparison.aligned.snapshot)
    racks = RequiredRacks.of(comparison.aligned)
    safe: list[ObservedMove] = []
    refused: list[Refusal] = []
    remember: set[TopicPartition] = set()
    for wanted in wanted_moves(differs, comparison.wanted, comparison.aligned, rules.nameable):
        move, state = wanted.move, wanted.state
        unsafe = [*rules.refusals(move, state), *racks.refusals(move)]
        refused += unsafe
        if not unsafe:
            safe.append((move, state))
            if wanted.remember:
                remember.add(move.partition)
    ordered, lacking = in_room_order(admission_order(safe), volumes)
    states = {move.partition: state for move, state in safe}
    return _Moves(
        differs,
        safe,
        [(move, states[move.partition]) for move in ordered],
        [*refused, *(lack.refusal for lack in lacking)],
        frozenset(remember),
    )


class _LogDirChanges(Struct, frozen=True):
    drains: LogDrains
    moves: tuple[LogMove, ...]
    """All of them, with those for the balance."""
    balance: Sequence[LogMove]
    off_balance: tuple[OutOfBalance, ...]
    refused: tuple[Refusal, ...]


def _log_dir_changes(
    comparison: Comparison, part: PlannedPart, moves: Sequence[Move], volumes: Volumes
) -> _LogDirChanges:
    """What changes there, once these moves are made."""
    placement, snapshot = comparison.aligned.placement, comparison.aligned.snapshot
    targets = {move.partition: move.target for move in moves}
    comes = coming(moves, volumes) if concerns_log_dirs(placement) else NOTHING_COMES
    drains = log_drains(placement, snapshot, targets, comes)
    balanced = log_dir_balance(placement, snapshot, targets, drains, comes)
    by_policy = {move.replica for move in part.log_moves}
    balance = [
        m for m in balanced.moves if part.balances(m.partition) and m.replica not in by_policy
    ]
    drained = (m for m in drains.moves if part.within(m.partition))
    return _LogDirChanges(
        drains,
        (*part.log_moves, *drained, *balance),
        balance,
        comparison.log_dirs_off_balance(balanced.then),
        tuple(_no_room(lack) for lack in drains.no_room if part.within(lack.partition)),
    )


def _no_room(lack: NoRoomLeft) -> Refusal:
    facts: Facts = {
        "broker": lack.broker,
        "path": lack.source,
        "bytes": lack.bytes,
        "largest": lack.largest,
    }
    return Refusal(*lack.partition, RefusalRule.NO_ROOM_IN_LOG_DIRS, facts)


def _changes(
    comparison: Comparison,
    part: PlannedPart,
    moves: Sequence[ObservedMove],
    log_dirs: "_LogDirChanges",
    recovered: Recoveries,
) -> Changes:
    """These moves, and all that a plan does beside them."""
    aligned = comparison.aligned
    standing = standing_differences(aligned.placement, aligned.intents, aligned.snapshot)
    return Changes(
        judged=moves,
        creates=tuple(c for c in comparison.growth.creates if part.within(c.first)),
        standing=tuple(s for s in standing if part.has_setting(s.setting)),
        recoveries=recovered.chosen,
        log_moves=log_dirs.moves,
        log_balance=log_dirs.balance,
    )


def _stage(
    changes: Changes,
    limits: Limits,
    aligned: Alignment,
    volumes: Volumes,
    *,
    within_limits: bool,
) -> PlanStage:
    """All changes, or those that one stage takes. Raises LimitExceeded where all are more than the limits allow."""
    if within_limits or aligned.placement.in_stages:
        return staged(changes, limits, volumes, Together(aligned))
    check_limits(changes, limits, in_stages=True)
    return PlanStage(changes)


def _not_placed(comparison: Comparison) -> Iterator[Refusal]:
    """Why partitions are not where they are declared, and no move is asked for."""
    cannot_move = {refusal.partition: refusal for refusal in comparison.without}
    yield from comparison.growth.refusals
    yield from fewer_partitions(comparison.aligned)
    for refusal in placing_refusals(
        comparison.wanted.chosen.impossible,
        comparison.unacknowledged.unplaceable,
        comparison.aligned.intents.rules,
        comparison.aligned.snapshot,
    ):
        crowds = refusal.rule is RefusalRule.TOPIC_CROWDS_BROKERS
        yield cannot_move.get(refusal.partition, refusal) if crowds else refusal


def _warnings(
    comparison: Comparison,
    differs: Differences,
    changes: Changes,
    recovered: Recoveries,
    refused: Sequence[Refusal],
) -> Iterator[PlanWarning]:
    no_leader = {r.partition for r in refused if r.rule is RefusalRule.NO_LEADER}
    return plan_warnings(
        comparison,
        differs,
        changes.moves,
        recovered.about | no_leader,
        {r.partition for r in refused if r.of_the_list},
    )
