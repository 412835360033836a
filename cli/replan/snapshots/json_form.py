"""A snapshot as one JSON document: what the keys mean, and what is left out because it follows.

Belongs here: the entry points `to_document` and `from_document`, and remembered orders. The head is in `head`, brokers
and topics are in `json_brokers` and `json_topics`, text and layout in `documents.json_text`, files in `files`.

People write these documents too (a cluster to simulate, a case for a test), so only what cannot be derived has to be
said. When reading: a partition's number is its position, its ISR its replicas on registered brokers, its leader the
first member of its ISR, a topic's id is made from its name. Writing leaves the same things out.
"""

from collections.abc import Mapping

from replan.documents.nodes import Node, optional
from replan.model.names import TopicId, TopicPartition
from replan.model.snapshot import RememberedOrder, Snapshot
from replan.snapshots.head import Tables, check_head, head_of, snapshot_of
from replan.snapshots.json_brokers import read_brokers, write_broker
from replan.snapshots.json_topics import read_topics, write_topics

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
    "hidden",
    "remembered",
    "offline",
    "logs",
    "application",
    "simulation",
)
REMEMBERED_KEYS = ("topic", "partition", "topicId", "order", "left", "recovered")


def to_document(snapshot: Snapshot) -> dict[str, object]:
    """The snapshot as a JSON document; what is known of an unregistered broker is left out."""
    parts: dict[str, object] = {
        **head_of(snapshot),
        "brokers": [write_broker(broker, snapshot) for broker in snapshot.brokers],
        "topics": write_topics(snapshot.topics, snapshot.partitions, snapshot.broker_ids()),
        "remembered": [_write_remembered(p, o) for p, o in sorted(snapshot.remembered.items())],
    }
    return {key: parts[key] for key in HEAD_KEYS if parts.get(key)}


def from_document(document: Mapping[str, object], source: str) -> Snapshot:
    """Read a parsed JSON document; raises BadFile naming `source` and the JSON path of what is wrong.

    A key `simulation` at the top is the simulator's and is not read.
    """
    root = Node(dict(document), source)
    check_head(root)
    root.mapping(HEAD_KEYS)
    brokers, log_dirs, configs = read_brokers(root)
    topics, partitions = read_topics(root, {broker.id for broker in brokers})
    return snapshot_of(
        root,
        Tables(
            brokers=brokers,
            topics=topics,
            partitions=partitions,
            log_dirs=log_dirs,
            configs=configs,
            remembered=_read_remembered(root),
        ),
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
            optional(node.get("recovered"), Node.flag, False),
        )
    return dict(sorted(remembered.items()))


def _write_remembered(name: TopicPartition, remembered: RememberedOrder) -> dict[str, object]:
    return {
        "topic": name.topic,
        "partition": name.partition,
        "topicId": remembered.topic_id,
        "order": list(remembered.order),
        **({"left": list(remembered.left)} if remembered.left else {}),
        **({"recovered": True} if remembered.recovered else {}),
    }
