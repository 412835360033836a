"""What a round plans of what is due, and what it proposes to people of what policy does not allow: pure.

The shell around it is `loop`.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.part import Scope
from replan.planning.findings.full_log_dirs import partitions_in
from replan.planning.findings.health import health_of
from replan.planning.making.planner import plan_of
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.reconciling.decision import Deviation, Judged
from replan.reconciling.deviations import (
    LOG_DIRS_KEY,
    Looked,
    changed_brokers,
    compared_without_brokers,
    facts_of,
    needs,
    replaced,
)
from replan.reconciling.status import (
    DeclaredByList,
    NoHistory,
    NotAllowed,
    Proposal,
    Refused,
    RunsElsewhere,
    WhyNot,
)


def plan_due(placement: Placement, looked: Looked, due: Sequence[Deviation]) -> Plan:
    """Plan exactly what is due, within the limits where the placement has any.

    Raises as `plan_of`.
    """
    rates = looked.comparison.aligned.rates
    comparison, full = looked.comparison, _Relief.of(looked, due)
    balanced = frozenset(n for f in due if f.key == LOG_DIRS_KEY for n in f.partitions)
    others = (f for f in due if f.kind is not DeviationKind.LOG_DIR_FULL and f.key != LOG_DIRS_KEY)
    names = frozenset(name for deviation in others for name in deviation.partitions) | full.leaving
    gives = [(broker, "down, by policy") for broker in replaced(due)] + full.gives
    if gives:
        sized = names if full.leaving else None
        comparison = compared_without_brokers(placement, looked.snapshot, gives, sized, rates)
    firsts = {c.first for c in comparison.growth.creates if set(c.partitions) & names}
    standing = frozenset(
        f.setting.setting for f in due if f.setting and f.kind is not DeviationKind.STALE_THROTTLE
    )
    scope = Scope(names | firsts, standing, full.moves, balanced)
    plan = plan_of(comparison, scope=scope, rates=rates, within_limits=bool(placement.limits))
    stale = [f.setting for f in due if f.setting and f.kind is DeviationKind.STALE_THROTTLE]
    return replace(plan, standing=(*plan.standing, *stale)) if stale else plan


def first_part(
    placement: Placement, looked: Looked, due: Sequence[Deviation]
) -> tuple[tuple[Deviation, ...], Plan, "Refusals"]:
    """The most urgent part of what is due of which a plan changes anything, and that plan; the last one, if none does.

    And what was refused on the way, or waits for brokers that are down. A broker that is to hold nothing holds nothing
    of all that one plan is about, not even by lists that name it: so these are planned apart. Raises as `plan_of`.
    """
    refusals = Refusals({})
    *urgent, last = _parts_of(due)
    for deviation in urgent:
        part, plan = _without_waiting(placement, looked, deviation, refusals)
        if plan.changes:
            return part, plan, refusals
    return *_without_waiting(placement, looked, last, refusals), refusals


def _without_waiting(
    placement: Placement, looked: Looked, part: tuple[Deviation, ...], refusals: "Refusals"
) -> tuple[tuple[Deviation, ...], Plan]:
    """A part of what is due, and its plan, without what waits for brokers that are down."""
    plan, down = plan_due(placement, looked, part), facts_of(looked.snapshot).down
    brokers_of = ((m.partition, changed_brokers(m.target, m.original)) for m in plan.moves)
    waits = {name: why for name, brokers in brokers_of if (why := needs(brokers, down))}
    if waits:
        names = ((f, tuple(n for n in f.partitions if n not in waits)) for f in part)
        part = tuple(replace(f, partitions=of) for f, of in names if of or not f.partitions)
        plan = plan_due(placement, looked, part)
    for refusal in plan.refusals:
        refusals.by_partition.setdefault(refusal.partition, Refused(refusal.rule.value))
    refusals.by_partition.update(waits)
    runs = partitions_in(looked.snapshot, looked.snapshot.moving)
    for name in {*runs} & {name for deviation in part for name in deviation.partitions}:
        refusals.by_partition.setdefault(name, RunsElsewhere())
    return part, plan


def _parts_of(due: Sequence[Deviation]) -> Iterator[tuple[Deviation, ...]]:
    alone = (DeviationKind.BROKER_DOWN, DeviationKind.LOG_DIR_FULL)
    groups = [tuple(f for f in due if f.kind is kind) for kind in alone]
    groups.append(tuple(f for f in due if f.kind not in alone))
    yield from (group for group in groups if group)


class _Relief(Struct, frozen=True):
    """What brings the log directories among what is due below their share."""

    moves: tuple[LogMove, ...] = ()
    leaving: frozenset[TopicPartition] = frozenset()
    gives: list[tuple[BrokerId, str]] = field(default_factory=list)
    """Brokers that replicas leave, and why."""

    @classmethod
    def of(cls, looked: Looked, due: Sequence[Deviation]) -> "_Relief":
        wanted = [f for f in due if f.kind is DeviationKind.LOG_DIR_FULL]
        if not wanted:
            return cls()
        full = {(directory.broker, directory.path): directory for directory in looked.full}
        moves: list[LogMove] = []
        leaving: set[TopicPartition] = set()
        gives: dict[BrokerId, str] = {}
        for deviation in wanted:
            directory = full[BrokerId(deviation.subject.broker or 0), deviation.subject.path or ""]
            by_rule = deviation.why is None
            moves += directory.moves if by_rule else ()
            leave = directory.leaving if by_rule else deviation.partitions
            leaving.update(leave)
            if leave:
                gives.setdefault(directory.broker, f"{directory.path} is full, by policy")
        return cls(tuple(moves), frozenset(leaving), list(gives.items()))


def unhealthy(snapshot: Snapshot) -> frozenset[TopicPartition]:
    """The partitions without a leader, or under their min ISR."""
    found = health_of(snapshot).unhealthy
    return frozenset(u.state.partition for u in found if u.health.stops_writes)


def heals(move: Move, live: Collection[BrokerId]) -> bool:
    """Whether enough brokers of its target serve, so that its partition is not under min ISR once it is over."""
    there = sum(broker in live for broker in move.target)
    return there >= min(move.min_insync_replicas, len(move.target))


class Refusals(Struct, frozen=True):
    """What plans leave out of what was due."""

    by_partition: dict[TopicPartition, WhyNot]

    def why(self, deviation: Deviation) -> WhyNot | None:
        """Why nothing of a deviation is planned; None where something is."""
        reasons = [self.by_partition.get(name) for name in deviation.partitions]
        return reasons[0] if reasons and all(reasons) else None


DOWN_SECONDS = 1_800.0
"""How long a broker is down, or a directory full, before a way out is proposed, where policy has no time for it: before
that it may be a restart."""


def proposable(placement: Placement, judged: Sequence[Judged], now: float) -> tuple[Deviation, ...]:
    """What of the deviations only a person may have put right, by a plan or by other lists."""
    times = {
        kind: placement.reconcile.put_right.get(kind, DOWN_SECONDS)
        for kind in (DeviationKind.BROKER_DOWN, DeviationKind.LOG_DIR_FULL)
    }
    return tuple(
        one.deviation
        for one in judged
        if one.deviation.kind is not None
        and isinstance(one.why_not, NotAllowed | NoHistory | DeclaredByList)
        and now - one.since >= times.get(one.deviation.kind, 0.0)
    )


def proposal_of(
    placement: Placement, looked: Looked, deviations: Sequence[Deviation], commit: str
) -> Proposal:
    """What to propose for these; raises as `plan_due`."""
    by_list = [one for one in deviations if isinstance(one.why, DeclaredByList)]
    others = [one for one in deviations if not isinstance(one.why, DeclaredByList)]
    plan = replace(plan_due(placement, looked, others), placement_commit=commit)
    lists: dict[str, dict[int, tuple[int, ...]]] = {}
    if by_list:
        for partition, wanted in _lists(placement, looked, by_list):
            lists.setdefault(partition.topic, {})[partition.partition] = tuple(map(int, wanted))
    return Proposal(placement, looked.snapshot, plan, lists, commit)


def _lists(
    placement: Placement, looked: Looked, deviations: Sequence[Deviation]
) -> Iterator[tuple[TopicPartition, Replicas]]:
    """The declared lists with other brokers at the places of those that are down, as a drain would choose them."""
    plan = plan_due(replace(placement, limits={}), looked, deviations)
    targets = {move.partition: move.target for move in plan.moves}
    columns = (placement.explicit[name].to_pylist() for name in ("topic", "partition", "replicas"))
    for topic, number, declared in zip(*columns, strict=True):
        partition = TopicPartition(topic, number)
        target = targets.get(partition, ())
        come = iter([broker for broker in target if broker not in declared])
        changed = tuple(b if b in target else next(come, None) for b in declared)
        wanted = tuple(b for b in changed if b is not None)
        if target and wanted != tuple(declared) and len(wanted) == len(declared):
            yield partition, wanted
