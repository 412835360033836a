"""A snapshot as one JSON document: what the keys mean, and what is left out because it follows.

Belongs here: the entry points `to_document` and `from_document`, the head of the document, the brokers.
Topics and partitions are in `json_topics`, text and layout in `documents.json_text`, files in `files`.

People write these documents too (a cluster to simulate, a case for a test), so only what cannot be
derived has to be said. When reading: a partition's number is its position, its ISR its replicas, its
leader the first member of its ISR, a topic's id is made from its name. Writing leaves the same things out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from replan.documents.nodes import Node, optional, shown
from replan.model.broker import Broker, LogDir
from replan.model.configs import (
    Configs,
    ConfigSource,
    ConfigValue,
    can_hold,
)
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.replica_logs import LogsFound
from replan.model.snapshot import Features, RememberedOrder, Snapshot
from replan.snapshots.json_topics import (
    read_source,
    read_topics,
    source_word,
    write_topics,
)

KIND = "replan.snapshot"
FORMAT_VERSION = 1

HEAD_KEYS = (
    "$schema",
    "formatVersion",
    "kind",
    "clusterId",
    "observedAt",
    "features",
    "brokers",
    "topics",
    "silent",
    "remembered",
    "offline",
    "logs",
    "simulation",
)
FEATURE_KEYS = ("replicationFactorGuard", "eligibleLeaderReplicas")
BROKER_KEYS = ("id", "rack", "fenced", "cordoned", "logDirs", "configs")
LOG_DIR_KEYS = ("path", "totalBytes", "usableBytes", "logs", "cordoned", "error", "replicas")
CONFIG_KEYS = ("value", "source")
REMEMBERED_KEYS = ("topic", "partition", "topicId", "order", "left")

_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


@dataclass(frozen=True, slots=True)
class Identity:
    """Of which cluster and which moment a snapshot is."""

    cluster_id: str
    observed_at: str


def to_document(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as a JSON document; what is known of an unregistered broker is left out."""
    optional_parts: dict[str, object] = {
        "features": write_features(snapshot.features),
        "brokers": [_write_broker(broker, snapshot) for broker in snapshot.brokers],
        "topics": write_topics(snapshot.topics, snapshot.partitions),
        "silent": list(snapshot.silent),
        "remembered": [_write_remembered(p, o) for p, o in sorted(snapshot.remembered.items())],
        "offline": offline_written(snapshot),
        "logs": logs_written(snapshot),
    }
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": KIND,
        "clusterId": snapshot.cluster_id,
        "observedAt": snapshot.observed_at,
        **{key: value for key, value in optional_parts.items() if value},
    }


def from_document(document: Mapping[str, object], source: str) -> Snapshot:
    """Read a parsed JSON document; raises BadFile naming `source` and the JSON path of what is wrong.

    A key `simulation` at the top is the simulator's and is not read.
    """
    root = Node(dict(document), source)
    identity = identity_of(root)
    root.mapping(HEAD_KEYS)
    brokers, log_dirs, configs = _read_brokers(root)
    topics, partitions = read_topics(root)
    silent = root.get("silent")
    return Snapshot(
        cluster_id=identity.cluster_id,
        observed_at=identity.observed_at,
        features=read_features(root),
        brokers=brokers,
        topics=topics,
        partitions=partitions,
        log_dirs=log_dirs,
        broker_configs=configs,
        silent=() if silent is None else tuple(sorted(silent.broker_list())),
        remembered=_read_remembered(root),
        offline=offline_read(root),
        logs=logs_read(root),
    )


def offline_written(snapshot: Snapshot) -> list[object]:
    """Replicas that are offline on live brokers; few snapshots have any, so their form is read only for them."""
    if not snapshot.offline:
        return []
    from replan.snapshots.json_offline import write_offline

    return write_offline(snapshot.offline)


def offline_read(root: Node) -> dict[TopicPartition, Replicas]:
    """The same, out of a document or a header; raises BadFile."""
    node = root.get("offline")
    if node is None:
        return {}
    from replan.snapshots.json_offline import read_offline

    return read_offline(node)


def logs_written(snapshot: Snapshot) -> list[object]:
    """What replicas said of their logs; few snapshots have that, so its form is read only for them."""
    if not snapshot.logs:
        return []
    from replan.snapshots.json_logs import write_logs

    return write_logs(snapshot.logs)


def logs_read(root: Node) -> dict[TopicPartition, LogsFound]:
    """The same, out of a document or a header; raises BadFile."""
    node = root.get("logs")
    if node is None:
        return {}
    from replan.snapshots.json_logs import read_logs

    return read_logs(node)


def identity_of(root: Node) -> Identity:
    """The identity in a document or a header, which is checked to be a snapshot's."""
    check_head(root)
    return Identity(root.child("clusterId").text(), read_time(root.child("observedAt")))


def check_head(root: Node) -> None:
    """Check that a document is a snapshot, and not of a format newer than this program."""
    if not isinstance(root.value, dict) or "kind" not in root.value:
        raise root.wrong(f'this is not a snapshot: "kind" should say "{KIND}"')
    kind = root.child("kind")
    if kind.value != KIND:
        raise kind.wrong(f'this is not a snapshot: expected "{KIND}", found {shown(kind.value)}')
    version = root.child("formatVersion")
    if version.int32(1) > FORMAT_VERSION:
        raise version.wrong(
            f"format version {version.value} is newer than this program reads "
            f"({FORMAT_VERSION}); use a newer replan"
        )


def read_time(node: Node) -> str:
    """A moment in UTC as RFC 3339 writes it, kept as text."""
    text = node.text()
    if _UTC_TIME.fullmatch(text):
        try:
            datetime.fromisoformat(text[:19] + "+00:00")
        except ValueError:
            pass
        else:
            return text
    raise node.wrong(f'expected a time in UTC such as "2026-11-21T03:00:00Z", found "{text}"')


def write_features(features: Features) -> dict[str, object]:
    """The features that a cluster has."""
    return _without_defaults(
        {
            "replicationFactorGuard": (features.replication_factor_guard, False),
            "eligibleLeaderReplicas": (features.eligible_leader_replicas, False),
        }
    )


def read_features(root: Node) -> Features:
    """The features under the head's `features`; what is not named there is not there."""
    node = root.get("features")
    if node is None:
        return Features()
    node.mapping(FEATURE_KEYS)
    return Features(
        optional(node.get("replicationFactorGuard"), Node.flag, False),
        optional(node.get("eligibleLeaderReplicas"), Node.flag, False),
    )


def _read_brokers(
    root: Node,
) -> tuple[tuple[Broker, ...], tuple[LogDir, ...], dict[BrokerId, Configs]]:
    brokers: dict[BrokerId, Broker] = {}
    log_dirs: dict[BrokerId, list[LogDir]] = {}
    configs: dict[BrokerId, Configs] = {}
    for node in root.elements("brokers"):
        node.mapping(BROKER_KEYS)
        broker = BrokerId(node.child("id").int32())
        if broker in brokers:
            raise node.child("id").wrong(f"broker {broker} is listed twice; keep one")
        brokers[broker] = Broker(
            broker,
            optional(node.get("rack"), _text_or_null, None),
            optional(node.get("fenced"), Node.flag, False),
            optional(node.get("cordoned"), Node.flag, False),
        )
        log_dirs[broker] = [_read_log_dir(found, broker) for found in node.elements("logDirs")]
        found_configs = {key: _read_config(key, found) for key, found in node.members("configs")}
        if found_configs:
            configs[broker] = found_configs
    in_order = sorted(brokers)
    return (
        tuple(brokers[b] for b in in_order),
        tuple(found for b in in_order for found in log_dirs[b]),
        {b: configs[b] for b in in_order if b in configs},
    )


def _read_log_dir(node: Node, broker: BrokerId) -> LogDir:
    node.mapping(LOG_DIR_KEYS)
    return LogDir(
        broker,
        node.child("path").text(),
        optional(node.get("totalBytes"), _bytes_or_null, None),
        optional(node.get("usableBytes"), _bytes_or_null, None),
        optional(node.get("logs"), Node.int32, 0),
        optional(node.get("cordoned"), Node.flag, False),
        optional(node.get("error"), _text_or_null, None),
        {topic: _numbers(of) for topic, of in node.members("replicas")},
    )


def _numbers(node: Node) -> tuple[int, ...]:
    if not isinstance(node.value, list):
        raise node.wrong(f"expected a list of partitions, found {shown(node.value)}")
    return tuple(
        Node(number, node.source, node, position).int32()
        for position, number in enumerate(node.value)
    )


def _read_config(key: str, node: Node) -> ConfigValue:
    node.mapping(CONFIG_KEYS)
    value = node.child("value")
    text = value.any_text()
    if not can_hold(key, text):
        raise value.wrong(f"{key} is a whole number of bytes per second, found {shown(text)}")
    return ConfigValue(
        text,
        optional(node.get("source"), read_source, ConfigSource.BROKER),
    )


def _read_remembered(root: Node) -> dict[TopicPartition, RememberedOrder]:
    remembered: dict[TopicPartition, RememberedOrder] = {}
    for node in root.elements("remembered"):
        node.mapping(REMEMBERED_KEYS)
        name = TopicPartition(node.child("topic").text(), node.child("partition").int32())
        if name in remembered:
            raise node.wrong(f"{name} is remembered twice; keep one")
        remembered[name] = RememberedOrder(
            node.child("order").broker_list(),
            TopicId(node.child("topicId").text()),
            optional(node.get("left"), Node.broker_list, ()),
        )
    return dict(sorted(remembered.items()))


def _write_broker(broker: Broker, snapshot: Snapshot) -> dict[str, object]:
    configs = snapshot.broker_configs.get(broker.id, {})
    return {
        "id": broker.id,
        **_without_defaults(
            {
                "rack": (broker.rack, None),
                "fenced": (broker.fenced, False),
                "cordoned": (broker.cordoned, False),
                "logDirs": ([_write_log_dir(d) for d in _dirs_of(broker, snapshot)], []),
                "configs": ({k: _write_config(v) for k, v in sorted(configs.items())}, {}),
            }
        ),
    }


def _dirs_of(broker: Broker, snapshot: Snapshot) -> list[LogDir]:
    return [d for d in snapshot.log_dirs if d.broker == broker.id]


def _write_log_dir(found: LogDir) -> dict[str, object]:
    return {
        "path": found.path,
        **_without_defaults(
            {
                "totalBytes": (found.total_bytes, None),
                "usableBytes": (found.usable_bytes, None),
                "logs": (found.logs, 0),
                "cordoned": (found.cordoned, False),
                "error": (found.error, None),
                "replicas": ({t: list(of) for t, of in sorted(found.replicas.items())}, {}),
            }
        ),
    }


def _write_config(config: ConfigValue) -> dict[str, object]:
    source = {} if config.source is ConfigSource.BROKER else {"source": source_word(config.source)}
    return {"value": config.value, **source}


def _write_remembered(name: TopicPartition, remembered: RememberedOrder) -> dict[str, object]:
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": remembered.topic_id,
        "order": list(remembered.order),
        **({"left": list(remembered.left)} if remembered.left else {}),
    }


def _without_defaults(fields: Mapping[str, tuple[object, object]]) -> dict[str, object]:
    return {key: value for key, (value, default) in fields.items() if value != default}


def _text_or_null(node: Node) -> str | None:
    return None if node.value is None else node.text()


def _bytes_or_null(node: Node) -> int | None:
    return None if node.value is None else node.int64()
