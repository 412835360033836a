"""Reads the journal topic by Fetch, over the connections that are open anyway: what is committed, latest by key.

A cluster without the topic answers that in the metadata, and nothing more is asked. A broker gives the batches up to
the last stable offset, and names the aborted transactions among them (KIP-98). The checksums of batches are not
computed again, as that takes a second per megabyte in Python: the brokers checked them when they stored the batches,
and a plan has a digest.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from kafka.errors import KafkaError, LeaderNotAvailableError
from kafka.record.memory_records import MemoryRecords
from msgspec import Struct, field

from replan.applying.journal.record_json import decode_record
from replan.applying.journal.records import INBOX, Application, Command, Record
from replan.errors import BadFile, ClusterUnreachable, ReplanError, WrongCluster
from replan.kafka.failures import (
    METADATA,
    Operation,
    explained_refusal,
    raise_for,
    reason,
    retriable,
)
from replan.kafka.journal.lock import KEY, Lock, decode_lock
from replan.kafka.messages import Fetch, Metadata
from replan.kafka.reads.logs import local_starts_question
from replan.kafka.reads.patience import Patience, Reads
from replan.kafka.wire.frames import Question
from replan.model.error_codes import ErrorCode
from replan.model.names import JOURNAL_TOPIC, BrokerId, Replicas, TopicPartition


class TopicRecord(Struct, frozen=True):
    """One record of the topic."""

    offset: int
    key: bytes | None
    value: bytes | None
    """None is a tombstone."""


class CommittedEntries(Struct):
    """What one answer holds; iterate once, then `next_offset` says where to go on."""

    records: bytes
    aborted: Iterable[tuple[int, int]]
    """Producer id and first offset of each transaction that was aborted."""
    next_offset: int = -1
    """Behind the last whole batch; -1 where there was none."""
    _dropped: set[int] = field(default_factory=set)

    def __iter__(self) -> Iterator[TopicRecord]:
        pending = sorted(self.aborted, key=lambda of: of[1], reverse=True)
        for batch in MemoryRecords(self.records):
            while pending and pending[-1][1] <= batch.last_offset:
                self._dropped.add(pending.pop()[0])
            self.next_offset = batch.next_offset
            if batch.is_control_batch:
                self._end(batch)
            elif not (batch.is_transactional and batch.producer_id in self._dropped):
                yield from (TopicRecord(r.offset, r.key, r.value) for r in batch)

    def _end(self, batch: Any) -> None:
        if any(marker.abort for marker in batch):
            self._dropped.discard(batch.producer_id)


JOURNAL_FETCH = Operation("Fetch of the journal", "Read on Topic")
JOURNAL_FETCH_BYTES = 50_000_000
_BROKER_SECONDS = 10.0
_GLANCE_SECONDS = 1.0
_GLANCE_PAUSE_SECONDS = 10.0
"""After a glance that failed: nothing of a run waits for the journal's leader."""
_READ_COMMITTED = 1
_WITH_IDS = 12


def record_of(key: bytes, value: bytes) -> Record:
    """The record of a key and its value; raises ValueError where it is none."""
    return decode_record(key.decode(), value)


def elsewhere_text(name: str, opened: Application) -> str:
    """That an application is open in another topic than the one that was named."""
    option = "Without --journal" if name == JOURNAL_TOPIC else f"With --journal topic:{name}"
    return (
        f"application {opened.id} of {opened.owner} is open in the journal topic {name}\n"
        f"{option}, `replan resume` goes on with it, `replan cancel` takes it back, and `replan abandon` gives it up."
    )


class TopicReader:
    """What the journal topic says, as of the last `refresh`."""

    def __init__(self, reads: Reads, topic: str) -> None:
        self.topic = topic
        self.cluster_id = ""
        """Known once something was read."""
        self._reads, self.clock = reads, reads.clock
        self._glance_at = float("-inf")
        self.begin_again()

    def begin_again(self) -> None:
        """Forget what was read: the topic is another one than before, or is read from its beginning."""
        self._id: Any = None
        self._offset = self.partitions = 0
        self.replicas: Replicas = ()
        self._leader: BrokerId | None = None
        self._latest: dict[bytes, tuple[int, bytes]] = {}
        self._understood: dict[bytes, tuple[int, Record]] = {}
        self._lock_before: bytes | None = None
        self.doubtful = False
        """Whether the last glance failed: the topic may not be there any more."""

    @property
    def lock(self) -> Lock | None:
        """The lock as it was written last."""
        latest = self._latest.get(KEY)
        return None if latest is None else decode_lock(latest[1])

    @property
    def lock_before(self) -> Lock | None:
        """The lock as it was written before that; None where that is not known."""
        return None if self._lock_before is None else decode_lock(self._lock_before)

    def records(self) -> Sequence[Record]:
        """The latest record of every key; raises BadFile where one cannot be understood."""
        before, self._understood = self._understood, {}
        for key, (offset, value) in self._latest.items():
            if key != KEY:
                earlier = before.get(key)
                same = earlier is not None and earlier[0] == offset
                record = earlier[1] if earlier and same else self._record(key, offset, value)
                self._understood[key] = offset, record
        return [record for _, record in self._understood.values()]

    def refresh(self, leaderless_seconds: float = inf) -> bool:
        """Read what was committed since; False where there is no such topic.

        `leaderless_seconds`: how long to wait for a leader where it has none; the patience bounds that, too.

        Raises:
            ClusterUnreachable: it has no leader for so long, or its leader does not answer within the patience.
            ClusterRefused: it must not be read.
            BadFile: it is another topic than before.
            WrongCluster: it was copied from another cluster.
        """
        moved = self._read_to_end(leaderless_seconds)
        lock = self.lock
        if lock is not None and lock.cluster_id != self.cluster_id:
            raise WrongCluster(
                f"the journal topic {self.topic} is that of cluster {lock.cluster_id}, and this is {self.cluster_id}\n"
                "It was copied here, perhaps by mirroring. Leave it out of what is mirrored, and delete it here."
            )
        return moved

    def glance(self, now: float) -> None:
        """Read what was committed since, once and without patience: what cannot be read now is read later."""
        if now < self._glance_at:
            return
        try:
            if self._leader is None:
                self._leader = self._find(_GLANCE_SECONDS)
            if self._leader is not None:
                self._fetched(self._leader, _GLANCE_SECONDS)
        except (KafkaError, ReplanError):
            self._leader, self._glance_at = None, now + _GLANCE_PAUSE_SECONDS
            self.doubtful = True
        else:
            self.doubtful = self._leader is None

    def stands(self, limit_seconds: float) -> bool:
        """Whether the topic is still the one that was read: neither deleted nor made again.

        Raises ClusterUnreachable, ClusterRefused.
        """
        try:
            topic = self._described(limit_seconds)
        except KafkaError as failure:  # which is no word on whether it is there
            if retriable(failure):
                raise self._unreadable(failure) from failure
            raise explained_refusal(METADATA, failure) from failure
        return topic is not None and topic.topic_id == self._id

    def inbox(self) -> Sequence[Command]:
        """The commands of the inbox, as of the last reading; what cannot be understood is none."""
        commands = list[Command]()
        for key, (_, value) in self._latest.items():
            if key.startswith(INBOX.encode()):
                with suppress(ValueError):
                    record = record_of(key, value)
                    commands += [record] if isinstance(record, Command) else []
        return commands

    def _read_to_end(self, leaderless_seconds: float) -> bool:
        patience = Patience(self.clock, self._reads.patience_seconds)
        while True:
            try:
                leader = self._find()
                if leader is None:
                    return False
                if self._fetched(leader):
                    return True
                patience.restart()
            except KafkaError as failure:
                if not retriable(failure):
                    raise explained_refusal(JOURNAL_FETCH, failure) from failure
                over = (
                    isinstance(failure, LeaderNotAvailableError)
                    and patience.waited > leaderless_seconds
                )
                if over or not patience.pause():
                    raise self._unreadable(failure) from failure

    def _described(self, limit_seconds: float) -> Any | None:
        """The topic as the metadata have it; None where there is none. Raises its error as KafkaError."""
        wanted = Metadata(
            topics=[Metadata.MetadataRequestTopic(name=self.topic)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
            min_version=_WITH_IDS,
        )
        (told,), _ = self._reads.round([Question(METADATA, wanted)], {}, limit_seconds)
        self.cluster_id = told.cluster_id
        (topic,) = told.topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        raise_for(topic.error_code, None)
        return topic

    def _find(self, patience_seconds: float | None = None) -> BrokerId | None:
        """The leader of the partition that is read; None where there is no such topic."""
        limit = self._reads.patience_seconds if patience_seconds is None else patience_seconds
        topic = self._described(limit)
        if topic is None:
            if self._id is not None:
                raise self._lost()
            return None
        if self._id not in {None, topic.topic_id}:
            raise self._lost()
        self._id, self.partitions = topic.topic_id, len(topic.partitions)
        partition = next(p for p in topic.partitions if p.partition_index == 0)
        self.replicas = tuple(BrokerId(b) for b in partition.replica_nodes)
        if partition.leader_id < 0:
            raise LeaderNotAvailableError("its partition has no leader")
        return BrokerId(partition.leader_id)

    def _fetched(self, leader: BrokerId, limit_seconds: float = _BROKER_SECONDS) -> bool:
        """Read once; whether that was up to the end."""
        question = Question(JOURNAL_FETCH, self._request())
        answer = self._reads.wire.ask_broker(leader, question, limit_seconds=limit_seconds)
        (partition,) = answer.responses[0].partitions
        if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            begin = self._log_start(leader, limit_seconds)
            if self._offset < begin:
                self._offset = begin
                return False
        raise_for(partition.error_code, None)
        aborted = [(a.producer_id, a.first_offset) for a in partition.aborted_transactions or ()]
        entries = CommittedEntries(partition.records or b"", aborted)
        for entry in entries:
            self._take(entry.key or b"", entry.offset, entry.value)
        self._offset = max(self._offset, entries.next_offset)
        return self._offset >= partition.last_stable_offset or entries.next_offset < 0

    def _log_start(self, leader: BrokerId, limit_seconds: float) -> int:
        """Where its log begins, if Kafka deleted records: a fetch from before that does not say it."""
        question = local_starts_question([TopicPartition(self.topic, 0)])
        told = self._reads.wire.ask_broker(leader, question, limit_seconds=limit_seconds)
        (row,) = told.topics[0].partitions
        raise_for(row.error_code, None)
        return int(row.offset)

    def _take(self, key: bytes, offset: int, value: bytes | None) -> None:
        if key == KEY and KEY in self._latest:
            self._lock_before = self._latest[KEY][1]
        if value is None:
            self._latest.pop(key, None)
        else:
            self._latest[key] = offset, value

    def _request(self) -> Any:
        topic = Fetch.FetchTopic
        partition = topic.FetchPartition(
            partition=0,
            current_leader_epoch=-1,
            fetch_offset=self._offset,
            log_start_offset=-1,
            partition_max_bytes=JOURNAL_FETCH_BYTES,
        )
        return Fetch(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=JOURNAL_FETCH_BYTES,
            isolation_level=_READ_COMMITTED,
            session_id=0,
            session_epoch=-1,
            topics=[topic(topic=self.topic, topic_id=self._id, partitions=[partition])],
            forgotten_topics_data=[],
            rack_id="",
        )

    def _record(self, key: bytes, offset: int, value: bytes) -> Record:
        try:
            return record_of(key, value)
        except ValueError as problem:
            raise BadFile(
                f"journal topic {self.topic}, offset {offset}: {problem}\n"
                "A newer replan wrote it, or another program. Use the newest replan that has worked on this cluster."
            ) from problem

    def _unreadable(self, failure: KafkaError) -> ClusterUnreachable:
        return ClusterUnreachable(
            f"the journal topic {self.topic} cannot be read: {reason(failure)}"
        )

    def _lost(self) -> BadFile:
        return BadFile(
            f"the journal topic {self.topic} was deleted while it was in use, or deleted and made again\n"
            "What is open is not written down there any more; look at the cluster's throttles and running "
            "reassignments before the next apply."
        )
