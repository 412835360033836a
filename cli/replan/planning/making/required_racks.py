"""Moves into fewer racks than `require` wants, where a drain leaves no others.

What is declared outright is checked before (`comparison.cluster_check`). Where a drain takes a live replica's rack
away, its move is refused: racks that are there count more than an empty broker. Where they were lost before (the
broker is dead or gone, or the list lay in fewer already), the move makes nothing worse, and is warned of.
"""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from replan.model.declared.policy import Requirement
from replan.model.names import BrokerId
from replan.planning.comparison.alignment import Alignment
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import Refusal, RefusalRule


class RequiredRacks(Struct, frozen=True):
    """How many racks each topic of a plan needs, and which brokers lie in which."""

    required: Mapping[str, Requirement]
    """By topic."""
    racks: dict[BrokerId, str | BrokerId]
    """Of registered brokers; a broker whose rack is not known is one of its own."""
    live: frozenset[BrokerId]

    @classmethod
    def of(cls, aligned: Alignment) -> "RequiredRacks":
        """What `require` says on a cluster."""
        snapshot = aligned.snapshot
        return cls(
            aligned.intents.required,
            {b.id: b.rack or b.id for b in snapshot.brokers},
            frozenset(snapshot.live_brokers()),
        )

    def narrow(self, move: Move) -> Requirement | None:
        """What `require` wants of a move that copies into fewer racks."""
        required = self.required.get(move.partition.topic)
        if required is None or not move.new or self._number(move.target) >= (required.racks or 0):
            return None
        return required

    def refusals(self, move: Move) -> Iterator[Refusal]:
        """A move that takes racks away from the live replicas."""
        required, racks = self.narrow(move), self._number(move.target)
        if required is None or racks >= self._number(self.live.intersection(move.original)):
            return
        yield Refusal(
            *move.partition,
            RefusalRule.RACKS_LOST,
            {
                "where": str(required.where),
                "needed": required.racks or 0,
                "available": racks,
                "target": move.target,
            },
        )

    def _number(self, brokers: Collection[BrokerId]) -> int:
        return len({self.racks.get(b, b) for b in brokers})
