"""A partition under Kafka's controller, as small as it can be: what `next_request` is tried on.

Imitates ReplicationControlManager, PartitionReassignmentReplicas and PartitionChangeBuilder, with both rules of
completion: until 4.2, and from 4.3 on (KAFKA-19975). Not here: epochs, ELR, log directories (the simulator's).
"""

from dataclasses import dataclass, field

from tests.builders import TOPIC_ID

from replan.model.api import BrokerId, PartitionState, Replicas
from replan.planning.api import Move, Request, RequestKind


@dataclass
class Partition:
    """One partition and the brokers around it."""

    move: Move
    replicas: Replicas
    isr: Replicas
    leader: BrokerId | None
    joins_suffice: bool
    """4.3+: completes once the adding ones are in sync, where at least as many join as leave."""
    dead: set[BrokerId] = field(default_factory=set)
    adding: Replicas = ()
    removing: Replicas = ()

    def seen(self) -> PartitionState:
        """What an observer finds."""
        return PartitionState(
            self.move.partition,
            TOPIC_ID,
            self.replicas,
            self.isr,
            self.leader,
            adding=self.adding,
            removing=self.removing,
        )

    def ask(self, request: Request) -> None:
        """Take a request as the controller does."""
        if request.kind is RequestKind.ELECT:
            first = self.replicas[0]
            assert (first,) == request.replicas
            assert first in self.isr
            assert first not in self.dead
            self.leader = first
            return
        assert not set(request.replicas) & self.move.unnameable, "39: INVALID_REPLICA_ASSIGNMENT"
        removing = tuple(sorted(set(self.replicas) - set(request.replicas)))
        adding = tuple(sorted(set(request.replicas) - set(self.replicas)))
        self.replicas = request.replicas + removing
        self.removing = removing or self.removing
        self.adding = adding or self.adding
        self._change()

    def fence(self, broker: BrokerId) -> None:
        """A broker dies; the last of the ISR stays in it."""
        self.dead.add(broker)
        self.leave_isr(broker)
        self._change()

    def unfence(self, broker: BrokerId) -> None:
        """It is back."""
        if broker not in self.move.unnameable or broker in self.isr:
            self.dead.discard(broker)
        self._change()

    def leave_isr(self, broker: BrokerId) -> None:
        """A follower falls behind, or is gone."""
        if (
            broker in self.isr
            and len(self.isr) > 1
            and (broker in self.dead or broker != self.leader)
        ):
            self.isr = tuple(b for b in self.isr if b != broker)
        self._change()

    def catch_up(self, broker: BrokerId) -> None:
        """A live follower of a live leader is in sync again."""
        able = broker in self.replicas and broker not in self.dead and broker not in self.isr
        if able and self.leader is not None:
            self.isr = (*self.isr, broker)
        self._change()

    def _change(self) -> None:
        if self._complete():
            self.isr = tuple(b for b in self.isr if b not in self.removing)
            self.replicas = tuple(b for b in self.replicas if b not in self.removing)
            self.adding = self.removing = ()
        able = [b for b in self.replicas if b in self.isr and b not in self.dead]
        if self.leader not in able:
            self.leader = able[0] if able else None

    def _complete(self) -> bool:
        leaving, isr = set(self.removing), set(self.isr) - set(self.removing)
        target = set(self.replicas) - leaving
        if not (self.adding or leaving) or not isr or not target:
            return False
        if not self.joins_suffice:
            return target <= isr
        enough = len(self.adding) >= len(self.removing)
        return set(self.adding) <= isr and (enough or target <= isr)
