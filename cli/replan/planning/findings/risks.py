"""What a reviewer should look at first in a plan that keeps every rule: what cannot be undone, and what leaves less.

Each risk is derived from the plan alone. What is refused is in `Plan.refusals`, what the cluster suffers already in
`Plan.warnings`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import Replicas, TopicPartition, is_internal
from replan.model.snapshot import OwnApplication
from replan.planning.plans.moves import Move, ReasonKind
from replan.planning.plans.plan import Plan
from replan.planning.plans.reasons import PlanWarning, WarningKind
from replan.wording import CountedName, count


class RiskKind(CountedName):
    """The kinds, the most dangerous first."""

    RECORDS_LOST = (
        "records-lost",
        "Unclean elections lose records for good, and need --unclean on the command line",
        "partition",
    )
    """Led again by an unclean election: records are lost for good."""
    WITHOUT_LEADER = ("without-leader", "Without a leader: nobody can read or write", "partition")
    """They have no leader, and the plan does not recover them."""
    BELOW_MIN_ISR = (
        "below-min-isr",
        "Shorter than min.insync.replicas afterwards, as `belowMinIsr: true` accepts",
        "partition",
    )
    """The target is shorter than min.insync.replicas, as `belowMinIsr: true` accepts."""
    FEWER_REPLICAS = (
        "fewer-replicas",
        "Fewer copies of the data afterwards; getting one back means to copy it again",
        "partition",
    )
    MORE_REPLICAS = (
        "more-replicas",
        "More replicas than now: the replication factor grows",
        "partition",
    )
    """The replication factor grows, which a list with one broker too many does by mistake."""
    ALL_REPLACED = ("all-replaced", "No replica stays where it is", "partition")
    """No replica of the original list stays."""
    NEW_PARTITIONS = (
        "new-partitions",
        "New partitions cannot be taken away again, and keys map to other partitions from then on",
        "topic",
    )
    """They cannot be taken away again."""
    BLACKLIST_LIFTED = (
        "blacklist-lifted",
        "No longer on the leader blacklist, so the orders from before it come back",
        "broker",
    )
    """Orders from before the leader blacklist come back."""
    INTERNAL_TOPICS = (
        "internal-topics",
        "Internal topics change: what depends on them, as consumer groups do, pauses where a leader moves",
        "topic",
    )
    UNTHROTTLED = (
        "unthrottled",
        "Copies run as fast as the brokers can (throttles.moves has no rate for them)",
        "partition",
    )
    LIMIT_RAISED = ("limit-raised", "Raised for this plan alone, with --allow", "limit")


class Risk(Struct, frozen=True):
    """One kind, and all that it concerns: partitions, topics, brokers, or limits with their values."""

    kind: RiskKind
    names: tuple[str, ...]
    more: int = 0
    """How many it concerns that are not named."""


def risks(plan: Plan, own: OwnApplication | None = None) -> tuple[Risk, ...]:
    """All kinds that the plan has, the most dangerous first.

    `own`: an application of replan's that is open. Replicas that it has added, and that leave again, are no loss.
    """
    added = {} if own is None else own.targets
    by_kind = ((kind, tuple(_names(plan, kind, added))) for kind in RiskKind)
    return tuple(Risk(kind, names, _more(plan, kind)) for kind, names in by_kind if names)


def _more(plan: Plan, kind: RiskKind) -> int:
    if kind is not RiskKind.WITHOUT_LEADER:
        return 0
    warnings = _without_leader(plan)
    return sum(int(str(w.facts["count"])) for w in warnings) - len(list(_names(plan, kind, {})))


def _without_leader(plan: Plan) -> list[PlanWarning]:
    return [w for w in plan.warnings if w.kind is WarningKind.LEADERLESS]


def _names(plan: Plan, kind: RiskKind, added: Mapping[TopicPartition, Replicas]) -> Iterator[str]:
    """What it concerns; `added`: the lists that an open application of replan's leads to."""
    match kind:
        case RiskKind.RECORDS_LOST:
            yield from (str(r.partition) for r in plan.unclean)
        case RiskKind.BELOW_MIN_ISR | RiskKind.MORE_REPLICAS | RiskKind.ALL_REPLACED:
            yield from _partitions([m for m in plan.moves if OF_MOVES[kind](m)])
        case RiskKind.FEWER_REPLICAS:
            had = {m.partition: len(m.original) for m in plan.moves}
            had |= {n: min(had[n], len(to)) for n, to in added.items() if n in had}
            yield from _partitions([m for m in plan.moves if len(m.target) < had[m.partition]])
        case RiskKind.WITHOUT_LEADER:
            named = (w.facts["partitions"] for w in _without_leader(plan))
            yield from (str(name) for of in named if isinstance(of, tuple) for name in of)
        case RiskKind.NEW_PARTITIONS:
            yield from sorted(create.topic for create in plan.creates)
        case RiskKind.BLACKLIST_LIFTED:
            yield from _lifted(plan)
        case RiskKind.INTERNAL_TOPICS:
            topics = {m.partition.topic for m in plan.moves}
            yield from sorted(t for t in topics if is_internal(t))
        case RiskKind.UNTHROTTLED:
            yield from map(str, sorted(_unthrottled(plan)))
        case RiskKind.LIMIT_RAISED:
            yield from (f"{name}={most}" for name, most in sorted(plan.allowed.items()))


def _lifted(plan: Plan) -> Iterator[str]:
    reasons = [m.reason for m in plan.moves if m.reason.kind is ReasonKind.BLACKLIST_LIFTED]
    for broker in sorted({r.broker for r in reasons if r.broker is not None}):
        times = sum(r.broker == broker for r in reasons)
        yield f"{broker} in {count(times, 'partition')}"


def _unthrottled(plan: Plan) -> set[TopicPartition]:
    """Whose copies no rate holds back: neither that of who sends nor that of who receives, as applying sets them."""
    throttle = plan.throttle or MoveThrottle(None)
    free = {
        m.partition for m in plan.log_moves if throttle.rate_of(m.broker, Side.FOLLOWER) is None
    }
    for move in plan.moves:
        rates = (throttle.rate_of(b, Side.FOLLOWER) for b in move.new)
        if None in rates and throttle.rate_of(move.source, Side.LEADER) is None:
            free.add(move.partition)
    return free


def _below(move: Move) -> bool:
    shrinks = len(move.target) < len(move.original)
    return move.below_min_isr and shrinks and len(move.target) < move.min_insync_replicas


OF_MOVES: Mapping[RiskKind, Callable[[Move], bool]] = {
    RiskKind.BELOW_MIN_ISR: _below,
    RiskKind.MORE_REPLICAS: lambda move: len(move.target) > len(move.original),
    RiskKind.ALL_REPLACED: lambda move: not move.kept,
}
"""Which moves each is about."""


def _partitions(moves: Sequence[Move]) -> Iterator[str]:
    return (str(name) for name in sorted(m.partition for m in moves))
