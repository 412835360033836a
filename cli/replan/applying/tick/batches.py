"""The requests of one tick, and how many travel together."""

from collections import Counter
from dataclasses import dataclass, field

from replan.applying.reasons.requests import NextBatch
from replan.applying.settings import Settings
from replan.model.control_plane import Look
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.requests import Request, RequestKind


@dataclass(slots=True)
class Batches:
    """What one tick asks for partitions; it lives for that tick."""

    resizing: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that may change the number of replicas, and cancels."""
    same_size: dict[TopicPartition, Replicas | None] = field(default_factory=dict)
    """Lists that must not (KIP-860)."""
    elections: list[TopicPartition] = field(default_factory=list)
    per_leader: Counter[BrokerId] = field(default_factory=Counter)
    """Elections in flight, and those of this tick, by who shall lead."""

    def add(
        self, name: TopicPartition, ask: Request, seen: Look, settings: Settings
    ) -> NextBatch | None:
        """Add a request, or say that this tick is full."""
        if ask.kind is RequestKind.ELECT:
            return self._add_election(name, ask.replicas[0], settings)
        if len(self.resizing) + len(self.same_size) >= settings.batch:
            return NextBatch(elections=False)
        wanted = None if ask.kind is RequestKind.CANCEL else ask.replicas
        same = ask.kind is RequestKind.ASSIGN and _is_same_size(name, ask.replicas, seen)
        (self.same_size if same else self.resizing)[name] = wanted
        return None

    def _add_election(
        self, name: TopicPartition, leader: BrokerId, settings: Settings
    ) -> NextBatch | None:
        full = len(self.elections) >= settings.elections
        if full or self.per_leader[leader] >= settings.elections_per_leader:
            return NextBatch(elections=True)
        self.per_leader[leader] += 1
        self.elections.append(name)
        return None


def _is_same_size(name: TopicPartition, wanted: Replicas, seen: Look) -> bool:
    """As Kafka judges it: against the replicas less the removing ones (KIP-860)."""
    found = seen.partitions[name]
    guarded = seen.features.replication_factor_guard
    return guarded and len(set(found.replicas) - set(found.removing)) == len(wanted)
