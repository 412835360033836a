"""The journal topic of one cluster: what commands do with it. Its writer is imported by those that write."""

from typing import TYPE_CHECKING

from replan.applying.journal.records import Command, Forget
from replan.kafka.clock import SystemClock
from replan.kafka.journal.create import create_topic
from replan.kafka.journal.lock import Lock
from replan.kafka.journal.read import TopicReader
from replan.kafka.properties.client_properties import ClientProperties
from replan.kafka.reads.patience import Reads

if TYPE_CHECKING:
    from replan.kafka.journal.takeover import Note
    from replan.kafka.journal.topic_journal import TopicJournal
    from replan.kafka.journal.transactions import Transactions


class JournalTopic:
    """One topic, read through the connections of the control plane and written by a producer of its own."""

    def __init__(
        self, reads: Reads, properties: ClientProperties, topic: str, clock: SystemClock
    ) -> None:
        self.reader = TopicReader(reads, topic)
        self._reads, self._properties, self._clock = reads, properties, clock

    def take(self, owner: str, *, lock_timeout: float, note: "Note") -> "TopicJournal":
        """Become its writer; makes the topic where there is none. Raises as `takeover.take`."""
        from replan.kafka.journal.takeover import take

        if not self.reader.refresh():
            limit = self._reads.patience_seconds
            made = create_topic(self._reads.wire, self.reader, limit_seconds=limit)
            note(
                f"created the journal topic {made.topic}: replication factor {made.replicas}, "
                f"min.insync.replicas {made.min_insync_replicas}, compacted"
                " (brokers make __transaction_state with it where there is none)"
            )
        return take(
            self.reader, self.writer, owner, self._clock, lock_timeout=lock_timeout, note=note
        )

    def send(self, record: Command | Forget) -> None:
        """Write a record of the inbox. Raises as `inbox.send`."""
        from replan.kafka.journal.inbox import send

        send(self._properties.librdkafka, self.reader.topic, record)

    def release(self, lock_id: str, reason: str, owner: str) -> Lock:
        """Take the lock away from the process that has it. Raises as `takeover.release`."""
        from replan.kafka.journal.takeover import release

        return release(self.reader, self.writer, lock_id, reason, owner)

    def writer(self) -> "Transactions":
        """A producer with the transactional id of this topic; it changes nothing until it begins."""
        from replan.kafka.journal.transactions import Transactions

        return Transactions(self._properties.librdkafka, self.reader.topic)
