"""Why one partition is where it is: what is declared for it and which entry counts, what is observed, what is planned.

A reader of the comparison and of the planner: it decides nothing by itself. Its sentences are in
`reporting.drift.explanation_text`.
"""

from collections.abc import Iterable

from msgspec import Struct

from replan.errors import BadUsage
from replan.model.configs import TopicSettings
from replan.model.declared.intents import Intents
from replan.model.declared.placement import LeaderBlacklist, Placement, PreferredLeader
from replan.model.declared.policy import Acknowledgement, Requirement
from replan.model.declared.rules import Apart, LeaderRule, ReplicaBlacklist, TopicRule
from replan.model.declared.topic_patterns import matches, means
from replan.model.declared.where import Where
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, effective_min_isr
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.available import Awaited, awaited
from replan.planning.compared import compared
from replan.planning.comparison.acknowledged import acknowledgements_of
from replan.planning.comparison.alignment import DeclaredList, PartitionCount, declared_lists
from replan.planning.comparison.blacklist import blacklist_reaches, in_force
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.comparison.leader_order import last_leaders
from replan.planning.findings.drift import drift_of
from replan.planning.findings.drift_classes import Difference, OtherKind
from replan.planning.findings.health import elr_gone
from replan.planning.making.limits import Exceeded, over_limits
from replan.planning.making.planner import plan_of
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import PlanWarning, Refusal, WarningKind

NO_LIST = (DifferenceKind.PREFERRED_ABSENT, DifferenceKind.NO_LEADER)
"""What differs, and says nothing of the list that is asked for, or less than any other difference."""


class Overruled(Struct, frozen=True):
    """An entry of `assignments` that matches the topic, too, and does not count."""

    pattern: str
    where: Where
    excepts: bool = False
    """It excepts the topic; otherwise it is less exact than another."""


class Explanation(Struct, frozen=True):
    """All that concerns one partition."""

    partition: TopicPartition
    apart: tuple[Apart, ...]
    """Groups of topics that share no broker, and that its topic is in."""
    declared: DeclaredList | TopicRule | None
    """The entry of `assignments` that counts; None where none names the partition."""
    overruled: tuple[Overruled, ...]
    preferred: PreferredLeader | LeaderRule | None
    leader_blacklist: tuple[LeaderBlacklist, ...]
    """Entries in force that reach the topic and name a replica that is declared, wanted or observed."""
    last: tuple[tuple[BrokerId, Where], ...]
    """Its brokers that stand last by `lastLeaders`."""
    drained: tuple[ReplicaBlacklist, ...]
    required: Requirement | None
    acknowledged: Acknowledgement | None
    """In force; whether it covers the partition is in `covered`."""
    covered: bool
    """It differs and is neither reported nor planned, because it is acknowledged."""
    observed: PartitionState | None
    offline: Replicas
    """Its replicas that are offline on live brokers."""
    elr_gone: bool
    """Its ELR has been cleared while it is under its minimum."""
    awaited: Awaited | None
    """Whose return Kafka awaits by itself; None where it has a leader."""
    min_insync_replicas: int
    wanted: Replicas | None
    """The list that the placement asks for, with all its parts; None where it differs in nothing, or has none."""
    kinds: tuple[DifferenceKind | OtherKind, ...]
    """How it differs; none where it does not, is on its way or is acknowledged."""
    on_the_way: bool
    """It differs, and a reassignment or the running application leads to what is declared."""
    move: Move | None
    sizes_known: bool
    """Every live broker said what its log directories hold."""
    log_moves: tuple[LogMove, ...]
    """Its replicas that are to go to other log directories of their brokers."""
    refusals: tuple[Refusal, ...]
    conflicts: tuple[Conflict, ...]
    """Constraints that leave it no placement together."""
    exceeded: tuple[Exceeded, ...]
    """Limits that refuse the whole plan."""
    unbalanced: tuple[PlanWarning, ...]
    """What a balance that is required lacks: it refuses the whole plan, too."""


def explain_partition(
    placement: Placement,
    snapshot: Snapshot,
    name: TopicPartition,
    rates: Rates | None = None,
) -> Explanation:
    """Explain one partition; raises BadUsage where it neither exists nor is declared.

    Raises BadPlacement where the placement contradicts the cluster.
    """
    intents = Intents.of(placement, [name.topic])
    state, declared = snapshot.partition(name), _declared(placement, intents, name)
    about = _created_with(name, declared, snapshot) if state is None else {name}
    if not about:
        raise BadUsage(
            f"{name}: the cluster has no such partition and no list or partitionCount declares it; write "
            "TOPIC-PARTITION, e.g. orders-7"
        )
    comparison = compared(placement, snapshot, rates).required()
    placement = comparison.declared
    drift = drift_of(comparison)
    about |= _fewer_declared(name, drift.counts)
    differs = [d for d in drift.differences if d.name in about]
    entry = _list_that_differs(name, drift.partitions)
    plan = plan_of(comparison.without_limits())
    settings = snapshot.settings(name.topic) or TopicSettings()
    configured = settings.min_insync_replicas
    minimum = effective_min_isr(configured, len(state.replicas) if state else configured)
    listed = {
        *(state.replicas if state else ()),
        *(entry.declared if entry else ()),
        *(declared.replicas if isinstance(declared, DeclaredList) else ()),
    }
    refusals = tuple(r for r in plan.refusals if r.partition in about)
    refused = {r.partition for r in refusals}
    return Explanation(
        partition=name,
        apart=tuple(e for e in placement.apart if e.sides([name.topic])),
        declared=declared,
        overruled=tuple(_overruled(placement, name.topic, declared)),
        preferred=placement.preferred_leaders.get(name) or intents.leaders.get(name.topic),
        leader_blacklist=tuple(
            e
            for e in in_force(placement, snapshot)
            if e.broker in listed and blacklist_reaches(e, name.topic)
        ),
        last=tuple(
            (broker, placement.last_leaders.where)
            for broker in last_leaders(placement, snapshot)
            if broker in listed and placement.last_leaders is not None
        ),
        drained=tuple(e for e in placement.replica_blacklist if e.broker in listed),
        required=intents.required.get(name.topic),
        acknowledged=acknowledgements_of([name], placement, snapshot)[0],
        covered=name in drift.acknowledged,
        observed=state,
        offline=snapshot.offline.get(name, ()),
        elr_gone=state is not None and elr_gone(state, minimum, snapshot),
        awaited=None
        if state is None
        else awaited(state, unclean_election=settings.unclean_election),
        min_insync_replicas=configured,
        wanted=entry.declared or None if entry else None,
        kinds=tuple(d.kind for d in differs if d.is_drift),
        on_the_way=name in drift.converging,
        move=next((m for m in plan.moves if m.partition == name), None),
        sizes_known=plan.sizes_known,
        log_moves=tuple(m for m in plan.log_moves if m.partition == name),
        refusals=refusals,
        conflicts=tuple(c for c in plan.conflicts if c.may_concern(refused)),
        exceeded=over_limits(plan.all_changes, placement.limits),
        unbalanced=tuple(w for w in plan.warnings if w.kind is WarningKind.BALANCE)
        if placement.balance is not None and placement.balance.required
        else (),
    )


def _declared(
    placement: Placement, intents: Intents, name: TopicPartition
) -> DeclaredList | TopicRule | None:
    entry = intents.entries.get(name.topic)
    return entry if isinstance(entry, TopicRule) else declared_lists(placement, [name]).get(name)


def _created_with(
    name: TopicPartition, declared: DeclaredList | TopicRule | None, snapshot: Snapshot
) -> set[TopicPartition]:
    """A partition that is to be created, and by what else plans name it: none where nothing declares it.

    Those that their topic's number declares are all named by the first of them.
    """
    if not isinstance(declared, TopicRule):
        return set() if declared is None else {name}
    present = len(snapshot.topic_rows(name.topic))
    if not 0 < present <= name.partition < (declared.partition_count or 0):
        return set()
    return {name, TopicPartition(name.topic, present)}


def _fewer_declared(name: TopicPartition, counts: Iterable[PartitionCount]) -> set[TopicPartition]:
    """What a partition is named by where its topic has more than are declared: the first that is too many."""
    return {
        TopicPartition(count.topic, count.declared)
        for count in counts
        if count.topic == name.topic and count.declared <= name.partition < count.observed
    }


def _list_that_differs(
    name: TopicPartition, differences: Iterable[Difference]
) -> Difference | None:
    """What differs of its list, before what says nothing of a list."""
    return min(
        (d for d in differences if d.name == name),
        key=lambda d: NO_LIST.index(d.kind) if d.kind in NO_LIST else -1,
        default=None,
    )


def _overruled(
    placement: Placement, topic: str, declared: DeclaredList | TopicRule | None
) -> Iterable[Overruled]:
    """Other entries that match the topic, in the order of their names."""
    for pattern, rule in sorted(placement.rules.items()):
        if rule is not declared and matches(pattern, topic):
            yield Overruled(pattern, rule.where, not means(pattern, rule.excepted, topic))
