"""Why a move is not planned: the safety rules that are judged per partition, before anything is asked for.

A refusal carries its measure and its limit, and says the way out. The applier
checks the ones that may change (safe start, unclean guard) again at admission. Mistakes of the placement against this
cluster, such as an unknown broker, are not refusals: they are in `comparison.cluster_check`.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, may_add_empty_replica
from replan.model.snapshot import RememberedOrder, Snapshot
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import Facts, Refusal, RefusalRule

RuleAndFacts = tuple[RefusalRule, Facts]


class SafetyRules(Struct, frozen=True):
    """The rules, with what they need to know of the cluster."""

    registered: frozenset[BrokerId]
    live: frozenset[BrokerId]
    cordoned: frozenset[BrokerId]
    remembered: Mapping[TopicPartition, RememberedOrder]
    own_targets: Mapping[TopicPartition, Replicas]

    @classmethod
    def of(cls, snapshot: Snapshot) -> "SafetyRules":
        """Make one that knows this cluster."""
        brokers = snapshot.brokers
        return cls(
            frozenset(b.id for b in brokers),
            frozenset(b.id for b in brokers if b.live),
            frozenset(b.id for b in brokers if b.cordoned),
            snapshot.remembered,
            snapshot.own_targets,
        )

    @property
    def nameable(self) -> frozenset[BrokerId]:
        """Whom a list may name: an unregistered broker is refused with 39, from 4.4 on a cordoned one (KAFKA-20832)."""
        return self.registered - self.cordoned

    def refusals(self, move: Move, state: PartitionState) -> list[Refusal]:
        """All the reasons for which this move must not be planned; empty when it may."""
        return [Refusal(*move.partition, rule, facts) for rule, facts in self._reasons(move, state)]

    def _reasons(self, move: Move, state: PartitionState) -> Iterator[RuleAndFacts]:
        running = state.running
        if running is not None:
            lists = {
                "target": running.target,
                "adding": running.adding,
                "removing": running.removing,
            }
            order = self.remembered.get(state.partition)
            is_given_up = order is not None and (order.topic_id, order.left) == (
                state.topic_id,
                running.target,
            )
            if state.partition in self.own_targets:
                yield RefusalRule.OWN_RUNNING, lists
            else:
                yield RefusalRule.LEFT_RUNNING if is_given_up else RefusalRule.RUNNING, lists
            return
        if state.leader is None:
            yield RefusalRule.NO_LEADER, {"inSync": state.isr, "target": move.target}
        yield from _target_below_min_isr(move)
        if move.election is None:  # `elections` says of each whether its leader is available
            yield from _unregistered(move, self.registered)
        if not move.is_leader_only:
            yield from _cordoned(move, self.cordoned)
        if move.new:
            yield from _safe_start(move)
            yield from _unclean_guard(move, state, self.live)


def _target_below_min_isr(move: Move) -> Iterator[RuleAndFacts]:
    """Kafka accepts such a target silently (ReplicationControlManager); KIP-966 asks tools to refuse it."""
    m = move.min_insync_replicas
    shrinks = len(move.target) < len(move.original)
    if shrinks and len(move.target) < m and not move.below_min_isr:
        yield RefusalRule.TARGET_BELOW_MIN_ISR, {"target": move.target, "minInsyncReplicas": m}


def _unregistered(move: Move, registered: frozenset[BrokerId]) -> Iterator[RuleAndFacts]:
    """Only where the list is not declared: ReplicationControlManager refuses a list that names such a broker (39).

    An election names no list, so there it is only about who is to lead.
    """
    named = move.target[:1] if move.is_leader_only else move.target
    gone = tuple(sorted(set(named) - registered))
    if gone:
        yield RefusalRule.UNREGISTERED, {"target": move.target, "brokers": gone}


def _cordoned(move: Move, cordoned: frozenset[BrokerId]) -> Iterator[RuleAndFacts]:
    """From 4.4 on any list that names a fully cordoned broker is refused with 39 (KAFKA-20832)."""
    named = tuple(sorted(cordoned.intersection(move.target)))
    if named:
        yield RefusalRule.CORDONED, {"target": move.target, "brokers": named}


def _safe_start(move: Move) -> Iterator[RuleAndFacts]:
    """Adding replicas enlarges the effective minimum, so that writes with acks=all would stop for the whole copy."""
    m, needed = move.min_insync_replicas, move.min_isr_with_copies
    if len(move.original) < needed:
        yield (
            RefusalRule.SAFE_START,
            {"original": move.original, "minInsyncReplicas": m, "needed": needed},
        )


def _unclean_guard(
    move: Move, state: PartitionState, live: frozenset[BrokerId]
) -> Iterator[RuleAndFacts]:
    """With unclean election on, an empty newcomer could be elected when the only in-sync replica restarts."""
    live_isr = state.live_isr(live.__contains__)
    if move.unclean_election and not may_add_empty_replica(live_isr):
        yield RefusalRule.UNCLEAN_GUARD, {"inSync": live_isr}
