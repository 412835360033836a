"""Which partitions in flight need not be judged again, as nothing that they are judged by has changed.

Most that is in flight copies, or is in sync and being confirmed, and nothing of it changes from one tick to the next. A
verdict is a pure function of `PartitionInput`. So a partition still waits, for the same reason, while all of these are
the same: its record (the order that the journal remembers of it changes only with that), its state as seen, whether it
has settled, the values of its topic that are preconditions, and all brokers; and while nothing else concerns it: no
answer, no request whose outcome is unknown or that is to be repeated, no reading that is unclear, no log that a broker
does not show. No verdict but a wait is ever kept. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replan.applying.journal.steps import MoveRecord
from replan.applying.reasons.waits import HoldReason
from replan.model.broker import Broker
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState

Sight = tuple[PartitionState, bool, int, bool]
"""What the verdict on a partition in flight rests on, beside its record and the brokers: its state, whether it has
settled, and configured min.insync.replicas and unclean.leader.election.enable of its topic."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a partition in flight waits, and what that was concluded from."""

    reason: HoldReason
    record: MoveRecord
    sight: Sight


@dataclass(frozen=True, slots=True)
class Waits:
    """The partitions in flight that wait, and the brokers as they were seen."""

    brokers: Mapping[BrokerId, Broker] = field(default_factory=dict)
    of: Mapping[TopicPartition, Wait] = field(default_factory=dict)
