"""What the plans of all elections have in common: the placement that they keep to, and how the plan is put together."""

from collections.abc import Mapping, Sequence

from replan.model.declared.placement import Placement
from replan.model.declared.policy import Measure
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.blacklist import with_brokers_of_racks, without_ended
from replan.planning.comparison.cluster_check import check_cluster
from replan.planning.making.limits import check_limits, raised
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import PlanWarning, Refusal, WarningKind, first_named
from replan.planning.recovery.recovery import Recovery
from replan.planning.safety.plan_laws import require_lawful


def kept_placement(placement: Placement | None, snapshot: Snapshot) -> Placement | None:
    """The placement with those entries of its leader blacklist that hold on this cluster. Raises WrongCluster."""
    if placement is None:
        return None
    check_cluster(placement, snapshot)
    return without_ended(with_brokers_of_racks(placement, snapshot), snapshot)


def election_plan(
    snapshot: Snapshot,
    placement: Placement | None,
    allowed: Mapping[Measure, int],
    *,
    digest: str,
    moves: Sequence[Move],
    refusals: Sequence[Refusal],
    not_needed: Sequence[TopicPartition],
    recoveries: tuple[Recovery, ...] = (),
) -> Plan:
    """The plan of elections; `digest`: of what was asked for. Raises LimitExceeded, and UnsafePlan."""
    limits = {} if placement is None else placement.limits
    check_limits([*moves, *recoveries], raised(limits, allowed))
    warnings: tuple[PlanWarning, ...] = ()
    if not_needed:
        named = first_named("partitions", not_needed)
        warnings = (PlanWarning(WarningKind.ELECTION_NOT_NEEDED, named),)
    plan = Plan(
        cluster_id=snapshot.cluster_id,
        cluster_name=None if placement is None else placement.cluster_name,
        placement_digest=digest,
        racks=snapshot.racks,
        moves=tuple(moves),
        recoveries=recoveries,
        refusals=tuple(refusals),
        warnings=warnings,
        allowed=dict(allowed),
    )
    return require_lawful(plan, "the plan of these elections")
