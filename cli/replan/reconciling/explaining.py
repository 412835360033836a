"""What policy does with the deviations of one partition, and when: for those who only ask. Pure; nothing is planned."""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from replan.model.declared.placement import Placement
from replan.model.names import TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.reconciling.decision import (
    Act,
    Deviation,
    Holds,
    Judged,
    decide_loop,
    holds,
    judged_by_policy,
)
from replan.reconciling.deviations import deviations, facts_of, look_at_cluster
from replan.reconciling.history import History
from replan.reconciling.memory import Memory
from replan.reconciling.status import LoopHolds, LoopReason


class ByPolicy(Struct, frozen=True):
    """One deviation, as policy sees it; times are seconds since 1970."""

    judged: Judged
    after_seconds: int | None
    """For how long it must have lasted; None: it is never put right."""
    seen_by_loop: bool
    """Whether a loop has seen it: else it counts from now."""
    holds: tuple[LoopReason, ...] = ()
    """Why the loop begins nothing, where it is due."""


def by_policy(
    placement: Placement,
    snapshot: Snapshot,
    name: TopicPartition,
    kept: tuple[Memory, History],
    rates: Rates | None = None,
) -> tuple[ByPolicy, ...]:
    """What differs of a partition and of its topic, at the time of the snapshot; `kept`: what a loop remembers.

    Raises as `look_at_cluster`.
    """
    memory, history = kept
    policy, now = placement.reconcile, datetime.fromisoformat(snapshot.observed_at).timestamp()
    looked = look_at_cluster(placement, snapshot, rates)
    differing = deviations(looked, history)
    judged = judged_by_policy(policy, tuple(_of(differing, name)), memory, now)
    decision = decide_loop(policy, differing, memory, facts_of(looked.snapshot), now)
    acts = (
        {deviation.key for deviation in decision.due} if isinstance(decision, Act) else set[str]()
    )
    # while it goes on with what it stopped for, what it stopped for keeps the others back
    reasons = decision.reasons if isinstance(decision, Holds) else tuple(holds(memory, now))
    return tuple(
        ByPolicy(
            replace(one, why_not=LoopHolds(), acts_at=None) if kept_back else one,
            None if one.deviation.kind is None else policy.put_right.get(one.deviation.kind),
            one.deviation.key in memory.since,
            kept_back,
        )
        for one in judged
        for kept_back in [reasons if one.why_not is None and one.deviation.key not in acts else ()]
    )


def _of(every: tuple[Deviation, ...], name: TopicPartition) -> Iterator[Deviation]:
    for one in every:
        of_topic = one.subject.topic == name.topic and one.subject.partition is None
        if name in one.partitions or of_topic:
            yield one
