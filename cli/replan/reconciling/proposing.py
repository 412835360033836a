"""What a loop proposes to people: a plan of what policy does not allow, and the lists of brokers that are down. Pure.

A broker that is down is proposed to be replaced once it has been down for as long as policy says, or for half an hour:
before that it may be a restart. The same of a log directory that is full.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind
from replan.model.names import Replicas, TopicPartition
from replan.reconciling.decision import FoundDeviation, Judged
from replan.reconciling.deviations import Looked
from replan.reconciling.rounds import plan_due
from replan.reconciling.status import DeclaredByList, NoHistory, NotAllowed, Proposal

DOWN_SECONDS = 1_800.0
"""How long a broker is down, or a directory full, before a way out is proposed, where policy has no time for it."""


def proposable(
    placement: Placement, judged: Sequence[Judged], now: float
) -> tuple[FoundDeviation, ...]:
    """What of the deviations only a person may have put right, by a plan or by other lists."""
    times = {
        kind: placement.reconcile.put_right.get(kind, DOWN_SECONDS)
        for kind in (DeviationKind.BROKER_DOWN, DeviationKind.LOG_DIR_FULL)
    }
    return tuple(
        one.found
        for one in judged
        if one.found.kind is not None
        and isinstance(one.why_not, NotAllowed | NoHistory | DeclaredByList)
        and now - one.since >= times.get(one.found.kind, 0.0)
    )


def proposal_of(
    placement: Placement, looked: Looked, deviations: Sequence[FoundDeviation], commit: str
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
    placement: Placement, looked: Looked, deviations: Sequence[FoundDeviation]
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
