"""A partition as it is observed, and what runs on it.

While a reassignment runs, Kafka's `replicas` is the target followed by the removing ones; nothing else
is stored (PartitionReassignmentReplicas): the target is only implied, the original order is lost.
"""

from collections.abc import Callable

from msgspec import Struct

from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition


class Reassignment(Struct, frozen=True):
    """A running reassignment as ListPartitionReassignments shows it."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas

    @property
    def target(self) -> Replicas:
        """The list it will end with."""
        return tuple(b for b in self.replicas if b not in self.removing)

    @property
    def original(self) -> Replicas:
        """The members before it began; their order is not known any more."""
        return tuple(b for b in self.replicas if b not in self.adding)


def effective_min_isr(min_insync_replicas: int, assigned: int) -> int:
    """How many replicas writes with acks=all need in sync: never more than are assigned.

    So since Kafka 3.7 (Partition.effectiveMinIsr, KAFKA-15583).
    """
    return min(min_insync_replicas, assigned)


def under_min_isr(min_insync_replicas: int, isr: Replicas, replicas: Replicas) -> bool:
    """Whether writes with acks=all to a partition fail for want of replicas in sync."""
    return len(isr) < effective_min_isr(min_insync_replicas, len(replicas))


def may_add_empty_replica(live_isr: Replicas) -> bool:
    """Whether an empty replica may be added although unclean election is on: one is in sync while a broker restarts.

    Where none is, Kafka may let any live replica lead, also one that has hardly begun to copy.
    """
    return len(live_isr) >= 2


class PartitionState(Struct, frozen=True):
    """One partition at one moment; `leader` is None when it has none."""

    partition: TopicPartition
    topic_id: TopicId
    replicas: Replicas
    isr: Replicas
    leader: BrokerId | None
    leader_epoch: int = 0
    adding: Replicas = ()
    removing: Replicas = ()
    elr: Replicas = ()
    last_known_elr: Replicas = ()
    bytes: int = 0
    """Size of its largest replica on disk; 0 where it was not asked for."""

    @property
    def eligible(self) -> Replicas:
        """The eligible leader replicas (KIP-966) that are replicas, in list order: Kafka keeps others, too."""
        return tuple(b for b in self.replicas if b in self.elr)

    @property
    def electable(self) -> int:
        """How many replicas could lead without a loss: |ISR ∪ ELR|."""
        return len({*self.isr, *self.eligible})

    def live_isr(self, live: Callable[[BrokerId], bool]) -> Replicas:
        """The ISR as far as its brokers live: one that was fenced a moment ago may still be listed."""
        return tuple(b for b in self.isr if live(b))

    @property
    def running(self) -> Reassignment | None:
        """The reassignment that runs on it, if any."""
        if not self.adding and not self.removing:
            return None
        return Reassignment(self.replicas, self.adding, self.removing)
