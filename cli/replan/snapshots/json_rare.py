"""What few snapshots have: the open application, probed logs by partition, and offline replicas of live brokers."""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from replan.documents.json_text import INT64_MAX, Node
from replan.documents.typed import Broker, Form, Int32, ReplicaList, Text, typed
from replan.model.names import Replicas, TopicPartition
from replan.model.replica_logs import LogsFound
from replan.model.snapshot import OwnApplication
from replan.planning.recovery.log_forms import LogForm, log_form, read_log


class TargetForm(Form, frozen=True):
    """Where one partition is moved to."""

    topic: Text
    partition: Int32
    replicas: ReplicaList


class RateForm(Form, frozen=True):
    """The throttle on one broker."""

    broker: Broker
    bytes_per_second: Annotated[int, Meta(ge=1, le=INT64_MAX)]


class ApplicationForm(Form, frozen=True):
    """The application."""

    id: Text
    owner: str
    at_work: bool
    targets: tuple[TargetForm, ...]
    rates: tuple[RateForm, ...] = ()


def write_application(application: OwnApplication) -> dict[str, object]:
    """As a document has it; targets by partition."""
    rates = [
        {"broker": broker, "bytesPerSecond": rate}
        for broker, rate in sorted(application.rates.items())
    ]
    return {
        "id": application.id,
        "owner": application.owner,
        "atWork": application.at_work,
        "targets": [
            {"topic": name.topic, "partition": name.partition, "replicas": list(target)}
            for name, target in sorted(application.targets.items())
        ],
        **({"rates": rates} if rates else {}),
    }


def read_application(node: Node) -> OwnApplication:
    """What is under the key `application`; raises BadFile with the place of what is wrong."""
    form = typed(node.value, ApplicationForm, node.source, "$.application")
    return OwnApplication(
        form.id,
        form.owner,
        form.at_work,
        {TopicPartition(t.topic, t.partition): t.replicas for t in form.targets},
        {r.broker: r.bytes_per_second for r in form.rates},
    )


class PartitionLogsForm(Form, frozen=True):
    """The logs of one partition."""

    topic: Text
    partition: Int32
    replicas: tuple[LogForm, ...]


def write_logs(logs: Mapping[TopicPartition, LogsFound]) -> list[object]:
    """All that is known of logs, by partition."""
    forms = (
        PartitionLogsForm(*name, tuple(log_form(b, log) for b, log in sorted(of.items())))
        for name, of in sorted(logs.items())
    )
    return [msgspec.to_builtins(form) for form in forms]


def read_logs(node: Node) -> dict[TopicPartition, LogsFound]:
    """What is under the key `logs`; raises BadFile with the place of what is wrong."""
    forms = typed(node.value, tuple[PartitionLogsForm, ...], node.source, "$.logs")
    return {
        TopicPartition(form.topic, form.partition): {
            log.broker: read_log(log) for log in form.replicas
        }
        for form in forms
    }


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
