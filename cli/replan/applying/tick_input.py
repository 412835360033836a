"""Everything that one tick is decided by, as one value.

What is written down is in the ledger, what is seen in `seen`; the rest is this process's alone and may be lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replan.applying.admission.disk_space import Room
from replan.applying.journal.ledger import Ledger
from replan.applying.observation.history import PartitionHistory
from replan.applying.observation.look import Observation
from replan.applying.partitions.judge import Suspect
from replan.applying.settings import Settings
from replan.applying.throttles.tick import ThrottleHistory
from replan.model.configs import ConfigScope
from replan.model.control_plane import Answer, Rejected
from replan.model.names import BrokerId, TopicPartition
from replan.planning.moves import Move
from replan.planning.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class TickInput:
    """Everything that a tick is decided by."""

    plan: Plan
    moves: Mapping[TopicPartition, Move]
    """The plan's moves by partition."""
    ledger: Ledger
    """With an open application."""
    seen: Observation
    now: float
    settings: Settings
    watch: PartitionHistory
    room: Room = field(default_factory=Room)
    candidates: tuple[TopicPartition, ...] = ()
    """AdmissionQueue moves to look at, in plan order."""
    admitted: frozenset[TopicPartition] = frozenset()
    """Moves that have slots and wait for their throttle."""
    reserving: frozenset[TopicPartition] = frozenset()
    answers: Mapping[TopicPartition, Answer] = field(default_factory=dict)
    suspicions: Mapping[TopicPartition, tuple[Suspect, float]] = field(default_factory=dict)
    """What was suspected in the tick before, and since when."""
    unknown_since: Mapping[TopicPartition, float] = field(default_factory=dict)
    limits: Mapping[BrokerId, int] = field(default_factory=dict)
    throttle_history: ThrottleHistory = field(default_factory=ThrottleHistory)
    refused_configs: Mapping[tuple[ConfigScope, str], Rejected] = field(default_factory=dict)
    more_copies_wait: bool = False
    """Whether moves that copy wait outside of `candidates`."""
    admitting: bool = True
    """False when the application is to stop: nothing new begins, what runs goes on by itself."""

    def quarantine_left(self, name: TopicPartition) -> float | None:
        """How long an earlier request of a partition may still be on its way."""
        since = self.unknown_since.get(name)
        if since is None:
            return None
        left = self.settings.quarantine_seconds - (self.now - since)
        return left if left > 0 else None
