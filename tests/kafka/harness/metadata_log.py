"""The controller's own record of every partition and of all configurations, replayed from its log on disk.

No request shows all of a partition's state: its partition epoch and recovery state are nowhere,
and what brokers answer lags behind. The records in `__cluster_metadata-0` are what the
controller itself replays (PartitionRegistration.merge), complete and in order; an acknowledged
request's records are in the file already.
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace
from tests.kafka.harness.codec import Message, Reader, Schemas, decode

CONTROL_BATCH = 0x20
LENGTH_AT = 8
HEADER_BYTES = 12
LEADER_UNCHANGED = -2
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4


class PartitionState(Struct, frozen=True):
    """Everything the controller holds of a partition.

    The order of `isr`, `elr` and `last_known_elr` is the records'; it has no meaning.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: bool
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    directories: tuple[UUID, ...] = ()
    """Of each replica, in their order (KIP-858)."""


class MetadataLog:
    """The partitions of one controller, as of its last acknowledged request."""

    def __init__(self, directory: Path, schemas: Schemas) -> None:
        self._file = directory / "__cluster_metadata-0" / "00000000000000000000.log"
        self._schemas = schemas
        self._names = schemas.record_names()
        self._read_to = 0
        self._topics: dict[str, UUID] = {}
        self._partitions: dict[UUID, dict[int, PartitionState]] = {}
        self._configs: dict[tuple[int, str], dict[str, str]] = {}

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        """The topic's partitions now.

        Raises:
            KeyError: there is no such topic.
        """
        self._catch_up()
        return dict(self._partitions[self._topics[topic]])

    def configs(self, topic: str) -> dict[str, str]:
        """The topic's own configuration as it is stored."""
        self._catch_up()
        return dict(self._configs.get((TOPIC_RESOURCE, topic), {}))

    def broker_configs(self, broker: str) -> dict[str, str]:
        """The dynamic configuration of a broker, by its id, or of all of them, by no name."""
        self._catch_up()
        return dict(self._configs.get((BROKER_RESOURCE, broker), {}))

    def topic_id(self, topic: str) -> UUID:
        """The topic's id."""
        self._catch_up()
        return self._topics[topic]

    def _catch_up(self) -> None:
        with self._file.open("rb") as log:
            log.seek(self._read_to)
            fresh = log.read()
        while len(fresh) >= HEADER_BYTES:
            size = HEADER_BYTES + int.from_bytes(fresh[LENGTH_AT:HEADER_BYTES], "big")
            if len(fresh) < size:
                return
            for value in _values(fresh[:size]):
                self._replay(Reader(value))
            fresh = fresh[size:]
            self._read_to += size

    def _replay(self, value: Reader) -> None:
        value.unsigned_varint()  # the frame's version
        name = self._names[value.unsigned_varint()]
        version = value.unsigned_varint()
        match name:
            case "TopicRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                self._topics[record["Name"]] = record["TopicId"]
                self._partitions[record["TopicId"]] = {}
            case "RemoveTopicRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                self._remove_topic(record["TopicId"])
            case "PartitionRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                self._partitions[record["TopicId"]][record["PartitionId"]] = _created(record)
            case "PartitionChangeRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                partitions = self._partitions[record["TopicId"]]
                before = partitions[record["PartitionId"]]
                partitions[record["PartitionId"]] = _changed(before, record)
            case "ConfigRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                self._configure(record)
            case "ClearElrRecord":
                record = decode(self._schemas.schema(name, version).fields, value)
                self._clear_elr(record["TopicName"])
            case _:
                pass  # brokers, features: not a topic's state

    def _remove_topic(self, id_: UUID) -> None:
        (removed,) = (topic for topic, each in self._topics.items() if each == id_)
        del self._topics[removed], self._partitions[id_]
        self._configs.pop((TOPIC_RESOURCE, removed), None)

    def _configure(self, record: Message) -> None:
        stored = self._configs.setdefault((record["ResourceType"], record["ResourceName"]), {})
        if record["Value"] is None:
            stored.pop(record["Name"], None)
        else:
            stored[record["Name"]] = record["Value"]

    def _clear_elr(self, topic: str) -> None:
        # ReplicationControlManager.replay(ClearElrRecord): an empty name means every topic.
        for id_ in [self._topics[topic]] if topic else list(self._partitions):
            self._partitions[id_] = {
                number: _changed(before, {"EligibleLeaderReplicas": [], "LastKnownElr": []})
                if before.elr or before.last_known_elr
                else before
                for number, before in self._partitions[id_].items()
            }


def _values(batch: bytes) -> Iterator[bytes]:
    """The record values of a batch (RecordBatch v2, never compressed in this log)."""
    reader = Reader(batch)
    reader.take(21)  # offset, length, leader epoch, magic, crc
    attributes = reader.number(">h")
    reader.take(34)  # last offset delta, timestamps, producer id, epoch and sequence
    count = reader.number(">i")
    if attributes & CONTROL_BATCH:
        return
    for _ in range(count):
        reader.varint()  # the record's length
        reader.take(1)
        reader.varint()  # its timestamp
        reader.varint()  # its offset
        reader.take(max(0, reader.varint()))  # no keys here
        yield reader.take(reader.varint())
        reader.varint()  # no headers here


def _created(record: Message) -> PartitionState:
    return PartitionState(
        replicas=tuple(record["Replicas"]),
        isr=tuple(record["Isr"]),
        adding=tuple(record["AddingReplicas"]),
        removing=tuple(record["RemovingReplicas"]),
        leader=record["Leader"],
        leader_epoch=record["LeaderEpoch"],
        partition_epoch=record["PartitionEpoch"],
        recovering=record["LeaderRecoveryState"] == 1,
        elr=tuple(record.get("EligibleLeaderReplicas") or ()),
        last_known_elr=tuple(record.get("LastKnownElr") or ()),
        directories=tuple(record.get("Directories") or ()),
    )


def _changed(before: PartitionState, record: Message) -> PartitionState:
    def listed(name: str, unchanged: tuple[int, ...]) -> tuple[int, ...]:
        written = record.get(name)
        return unchanged if written is None else tuple(written)

    leader = record.get("Leader", LEADER_UNCHANGED)
    recovery = record.get("LeaderRecoveryState", -1)
    moved = leader != LEADER_UNCHANGED
    return replace(
        before,
        replicas=listed("Replicas", before.replicas),
        isr=listed("Isr", before.isr),
        adding=listed("AddingReplicas", before.adding),
        removing=listed("RemovingReplicas", before.removing),
        leader=leader if moved else before.leader,
        leader_epoch=before.leader_epoch + (1 if moved else 0),
        partition_epoch=before.partition_epoch + 1,
        recovering=before.recovering if recovery == -1 else recovery == 1,
        elr=listed("EligibleLeaderReplicas", before.elr),
        last_known_elr=listed("LastKnownElr", before.last_known_elr),
        directories=tuple(record.get("Directories") or before.directories),
    )
