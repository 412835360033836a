"""Room on log directories: whether a new replica fits where Kafka will put it. Pure values.

Kafka places a new replica in the directory with the fewest logs (LogManager.nextLogDirs), whatever their sizes: it
must fit there. Room counts only when a reading showed it, so what was admitted since the last reading stays reserved
until the next one, also where a copy has ended or a replica was dropped meanwhile (file.delete.delay.ms).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replan.applying.reasons.gates import NoRoom
from replan.model.broker import LogDir
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.log_dirs import HEADROOM


@dataclass(frozen=True, slots=True)
class Room:
    """Log directories as of the last reading, less what was promised since."""

    dirs: tuple[LogDir, ...] = ()
    promised: Mapping[BrokerId, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Bytes by broker and partition."""

    def reserve(self, partition: TopicPartition, brokers: Iterable[BrokerId], size: int) -> "Room":
        """The room after a copy of so many bytes to each broker was admitted; once more makes no difference."""
        promised = {b: {**self.promised.get(b, {}), partition: size} for b in brokers}
        return Room(self.dirs, {**self.promised, **promised})

    def why_not(self, partition: TopicPartition, broker: BrokerId, size: int) -> NoRoom | None:
        """Why a replica of so many bytes does not fit on a broker; None where it fits or the room is not known."""
        chosen = self._next_dir(broker)
        if chosen is None or chosen.usable_bytes is None or chosen.total_bytes is None or not size:
            return None
        others = self.promised.get(broker, {})
        promised = sum(others.values()) - others.get(partition, 0)
        kept_free = int(chosen.total_bytes * HEADROOM)
        if chosen.usable_bytes - promised - size >= kept_free:
            return None
        return NoRoom(broker, chosen.path, size, chosen.usable_bytes, promised, kept_free)

    def _next_dir(self, broker: BrokerId) -> LogDir | None:
        """Where Kafka puts the next replica; among equals the one with the least room."""
        usable = [d for d in self.dirs if d.broker == broker and d.error is None and not d.cordoned]
        return min(usable, key=lambda d: (d.logs, d.usable_bytes or 0, d.path), default=None)
