"""Which partitions in flight wait for what they waited for, so that they need not be judged again. Pure.

It saves time and decides nothing: without it a tick of a thousand copies takes a third more. Most that is in flight
copies, or is in sync and being confirmed, and nothing of it changes from one tick to the next. A verdict is a pure
function of `PartitionInput`. So a partition still waits, for the same reason, while all of these are the same: its
record (the order that the journal remembers of it changes only with that), its state as seen, whether it has settled,
the values of its topic that are preconditions, and all brokers; and while nothing else concerns it: no answer, no
request whose outcome is unknown or that is to be repeated, no reading that is unclear, no log that a broker does not
show. No verdict but a wait is ever kept.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from replan.applying.journal.records import MoveRecord
from replan.applying.observation import PartitionHistory, TickInput
from replan.applying.reasons.reason import HoldReason
from replan.applying.request_memory import RequestMemory
from replan.model.broker import Broker
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState

Basis = tuple[PartitionState, bool, int, bool]
"""What the verdict on a partition in flight rests on, beside its record and the brokers: its state, whether it has
settled, and configured min.insync.replicas and unclean.leader.election.enable of its topic."""


class KeptHold(Struct, frozen=True):
    """Why a partition in flight waits, and what that was concluded from."""

    reason: HoldReason
    record: MoveRecord
    basis: Basis


class KeptHolds(Struct, frozen=True):
    """The partitions in flight that wait, and the brokers as they were seen."""

    brokers: Mapping[BrokerId, Broker] = field(default_factory=dict)
    of: Mapping[TopicPartition, KeptHold] = field(default_factory=dict)


class Unchanged:
    """The waits of the tick before, and which of them still hold."""

    def __init__(
        self,
        tick: TickInput,
        before: KeptHolds,
        requests: RequestMemory[TopicPartition],
        history: PartitionHistory,
        *,
        remembers: bool,
    ) -> None:
        """`remembers`: partitions are judged by the same rules as in the tick before."""
        self._remembers = remembers
        same = remembers and before.brokers == tick.look.brokers
        self._before = before.of if same else {}
        self._look, self._settings, self._history = tick.look, tick.settings, history
        self._concerned = {
            *requests.answers,
            *requests.refused,
            *requests.repeats,
            *requests.unknown_since,
            *tick.look.unclear,
            *(name for (name, _), misses in history.misses.items() if misses),
        }
        """The partitions that something else concerns."""
        self._now: dict[TopicPartition, KeptHold] = {}

    def wait(self, name: TopicPartition, record: MoveRecord | None) -> KeptHold | None:
        """The wait of a partition in flight, if it still holds."""
        wait = self._before.get(name)
        if wait is None or wait.record is not record or self._basis(name) != wait.basis:
            return None
        self._now[name] = wait
        return wait

    def keep(self, name: TopicPartition, record: MoveRecord | None, reason: HoldReason) -> None:
        """Keep the wait of a partition for the next tick, if it is in flight."""
        basis = self._basis(name)
        if record is not None and basis is not None:
            self._now[name] = KeptHold(reason, record, basis)

    def _basis(self, name: TopicPartition) -> Basis | None:
        """What the verdict on a partition rests on beside brokers and record; None where something else concerns it."""
        state, settings = self._look.partitions.get(name), self._look.topics.get(name.topic)
        if state is None or settings is None or name in self._concerned:
            return None
        settled = self._history.settled(name, self._settings.settle_seconds)
        return state, settled, settings.min_insync_replicas, settings.unclean_election

    def waits(self) -> KeptHolds:
        """Those that hold in the next tick, if nothing of them changes."""
        return KeptHolds(self._look.brokers, self._now) if self._remembers else KeptHolds()
