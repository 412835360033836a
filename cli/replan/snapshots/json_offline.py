"""The form of offline replicas in a snapshot: those on live brokers, whose log directory has failed. Few have any."""

from collections.abc import Mapping

from replan.documents.forms import Form, Int32, ReplicaList, Text
from replan.documents.nodes import Node
from replan.documents.typed import typed
from replan.model.names import Replicas, TopicPartition


class OfflineForm(Form, frozen=True):
    """One partition."""

    topic: Text
    partition: Int32
    brokers: ReplicaList


def write_offline(offline: Mapping[TopicPartition, Replicas]) -> list[object]:
    """By partition."""
    return [
        {"topic": name.topic, "partition": name.partition, "brokers": list(brokers)}
        for name, brokers in sorted(offline.items())
    ]


def read_offline(node: Node) -> dict[TopicPartition, Replicas]:
    """What is under the key `offline`; raises BadFile with the place of what is wrong."""
    forms = typed(node.value, tuple[OfflineForm, ...], node.source, "$.offline")
    return {TopicPartition(form.topic, form.partition): form.brokers for form in forms}
