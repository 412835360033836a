"""Records as JSON values, and back; the form is schema/journal.v1.json.

Both journals write the same values: lines of a file, or records of a compacted topic. A value is None for a tombstone.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from replan.applying.journal.records import (
    Application,
    ApplicationStatus,
    Asked,
    Forget,
    MoveRecord,
    Order,
    PlanChunk,
    Reached,
    Record,
    SavedRate,
    SavedReplicaList,
    Status,
)
from replan.model.names import BrokerId, TopicId, TopicPartition, replicas
from replan.planning.requests import RequestKind

Value = Mapping[str, Any]


def encode(record: Record) -> tuple[str, Value | None]:
    """A record as key and JSON value."""
    return record.key, _value(record)


def _value(record: Record) -> Value | None:
    match record:
        case Forget():
            return None
        case Application():
            return _application(record)
        case MoveRecord():
            return _own(record)
        case SavedReplicaList() | SavedRate():
            return _prior(record)
        case PlanChunk():
            return {"application": record.application, "index": record.index, "text": record.text}
        case Order():
            return {
                **_partition(record.partition, record.topic_id),
                "replicas": list(record.replicas),
            }
        case _:
            assert_never(record)


def _application(record: Application) -> Value:
    return {
        "id": record.id,
        "status": str(record.status),
        "planDigest": record.plan_digest,
        "manifestDigest": record.manifest_digest,
        "clusterId": record.cluster_id,
        "owner": record.owner,
        "summary": record.summary,
    }


def _prior(record: SavedReplicaList | SavedRate) -> Value:
    ours = list(record.ours)
    match record:
        case SavedReplicaList(topic, config, overridden):
            return {"topic": topic, "config": config, "overridden": overridden, "ours": ours}
        case SavedRate(broker, config, before):
            return {"broker": broker, "config": config, "before": before, "ours": ours}


def _own(record: MoveRecord) -> Value:
    asked = record.asked
    return {
        "application": record.application,
        **_partition(record.partition, record.topic_id),
        "original": list(record.original),
        "target": list(record.target),
        "status": str(record.status),
        "asked": None
        if asked is None
        else {
            "kind": str(asked.kind),
            "replicas": list(asked.replicas),
            "confirmed": asked.confirmed,
        },
        "past": [list(asked_for) for asked_for in record.past],
        "reached": record.reached.name.lower(),
        "message": record.message,
    }


def _partition(partition: TopicPartition, topic_id: TopicId) -> Value:
    return {"topic": partition.topic, "partition": partition.partition, "topicId": topic_id}


def decode(key: str, value: Value | None) -> Record:
    """A record out of key and JSON value; raises ValueError where they are no record or do not belong together."""
    if value is None:
        return Forget(key)
    try:
        record = _decoded(key.split("/", 1)[0], key, value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"record {key}: {error!r}") from error
    if record.key != key:
        raise ValueError(f"record {key} holds the value of {record.key}")
    return record


def _decoded(kind: str, key: str, value: Value) -> Record:
    match kind:
        case "app":
            return Application(
                value["id"],
                ApplicationStatus(value["status"]),
                value["planDigest"],
                value["manifestDigest"],
                value["clusterId"],
                value["owner"],
                value["summary"],
            )
        case "plan":
            return PlanChunk(value["application"], value["index"], value["text"])
        case "own":
            return _decoded_own(value)
        case "prior":
            return _decoded_prior(key, value)
        case "order":
            return Order(*_named(value), replicas(*value["replicas"]))
        case _:
            raise ValueError(f"record {key}: no record begins with {kind!r}")


def _decoded_own(value: Value) -> MoveRecord:
    asked = value["asked"]
    partition, topic_id = _named(value)
    return MoveRecord(
        application=value["application"],
        partition=partition,
        topic_id=topic_id,
        original=replicas(*value["original"]),
        target=replicas(*value["target"]),
        status=Status(value["status"]),
        asked=None
        if asked is None
        else Asked(RequestKind(asked["kind"]), replicas(*asked["replicas"]), asked["confirmed"]),
        past=tuple(replicas(*listed) for listed in value["past"]),
        reached=Reached[value["reached"].upper()],
        message=value["message"],
    )


def _decoded_prior(key: str, value: Value) -> SavedReplicaList | SavedRate:
    if key.startswith("prior/topic/"):
        return SavedReplicaList(
            value["topic"], value["config"], value["overridden"], tuple(value["ours"])
        )
    return SavedRate(
        BrokerId(value["broker"]), value["config"], value["before"], tuple(value["ours"])
    )


def _named(value: Value) -> tuple[TopicPartition, TopicId]:
    return TopicPartition(value["topic"], value["partition"]), TopicId(value["topicId"])
