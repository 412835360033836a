"""Recoveries of a plan: each partition without a leader becomes one, or a refusal that says why not. Pure.

Here belongs what joins a snapshot with its probes and the choice. Not here: the choice (`recovery.choose`), and which
partitions a person or a placement means.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement
from replan.model.declared.recovery import RecoveryStrategy
from replan.model.names import TopicPartition
from replan.model.replica_logs import ProbedLogs
from replan.model.snapshot import Snapshot
from replan.planning.plans.reasons import Refusal, RefusalRule
from replan.planning.recovery.candidates import Candidate, candidates
from replan.planning.recovery.choose import (
    RecoveryWish,
    Unrecoverable,
    chosen_recovery,
)
from replan.planning.recovery.recovery import Recovery, RecoveryMethod


class Recoveries(Struct, frozen=True):
    """What becomes of partitions without a leader."""

    chosen: tuple[Recovery, ...] = ()
    refused: tuple[Refusal, ...] = ()
    candidates: Mapping[TopicPartition, tuple[Candidate, ...]] = field(default_factory=dict)
    """Of every partition that was looked at, the refused ones too."""

    @property
    def about(self) -> frozenset[TopicPartition]:
        """All of them."""
        return frozenset(self.candidates)


STRATEGY_METHODS = {
    RecoveryStrategy.BALANCED: RecoveryMethod.BALANCED,
    RecoveryStrategy.AGGRESSIVE: RecoveryMethod.AGGRESSIVE,
}


def declared_wishes(placement: Placement, snapshot: Snapshot) -> dict[TopicPartition, RecoveryWish]:
    """The partitions without a leader for which the placement has a strategy other than none."""
    names = [state.partition for state in snapshot.leaderless()] if placement.recovery else []
    rules = Intents.of(placement, {name.topic for name in names}).recovery if names else {}
    wishes: dict[TopicPartition, RecoveryWish] = {}
    for name in names:
        rule = rules.get(name.topic)
        if rule is not None and rule.recovers:
            wishes[name] = RecoveryWish(
                STRATEGY_METHODS[rule.strategy], wait_seconds=rule.wait_seconds
            )
    return wishes


def recoveries(
    snapshot: Snapshot,
    wishes: Mapping[TopicPartition, RecoveryWish],
    earlier_logs: Mapping[TopicPartition, ProbedLogs] | None = None,
) -> Recoveries:
    """Choose a leader for each partition without one that is wished for; those with a leader are left out.

    The snapshot has the probes of their logs; `earlier_logs` has those of an earlier one.
    """
    live, registered = snapshot.live_brokers(), snapshot.broker_ids()
    chosen: list[Recovery] = []
    refused: list[Refusal] = []
    looked_at: dict[TopicPartition, tuple[Candidate, ...]] = {}
    for state in snapshot.leaderless():
        wish = wishes.get(state.partition)
        if wish is None:
            continue
        logs = snapshot.logs.get(state.partition, {})
        earlier = (earlier_logs or {}).get(state.partition)
        ranked = candidates(state, logs, live, registered, earlier)
        looked_at[state.partition] = ranked
        outcome = chosen_recovery(state, ranked, wish)
        if isinstance(outcome, Unrecoverable):
            refused.append(_refusal(state.partition, outcome))
        else:
            chosen.append(outcome)
    return Recoveries(tuple(chosen), tuple(refused), looked_at)


def _refusal(name: TopicPartition, unrecoverable: Unrecoverable) -> Refusal:
    rule = RefusalRule(unrecoverable.obstacle)
    return Refusal(
        *name, rule, {} if not unrecoverable.brokers else {"brokers": unrecoverable.brokers}
    )
