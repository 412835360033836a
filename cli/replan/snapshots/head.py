"""The head of a snapshot: what is said once, whatever its form, and a snapshot put together with it.

Belongs here: format, cluster, time, features, and what few snapshots have: the open application, probed logs, offline
replicas of live brokers. Brokers and topics are in `json_form`, the columns of tables in `parquet_form`.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import numpy as np
import pyarrow as pa
from msgspec import Meta, Struct, to_builtins

from replan.documents.json_text import INT64_MAX, Node, optional, shown
from replan.documents.typed import Form, Int32, ReplicaList, Text, once_each, typed
from replan.model.broker import Broker, LogDir
from replan.model.columns import list_lengths
from replan.model.configs import Configs
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.replica_logs import ProbedLogs
from replan.model.snapshot import Features, OwnApplication, RememberedOrder, Snapshot
from replan.planning.recovery.log_forms import LogForm, log_form, read_log

SNAPSHOT_KIND = "replan.snapshot"
SNAPSHOT_FORMAT_VERSION = 1
MOST_REPLICA_BYTES = 1 << 60
"""All replicas together; 1.15 EB."""

FEATURE_KEYS = ("replicationFactorGuard", "eligibleLeaderReplicas")
_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")


class Identity(Struct, frozen=True):
    """Of which cluster and which moment a snapshot is."""

    cluster_id: str
    observed_at: str


class Tables(Struct, frozen=True, kw_only=True):
    """What a snapshot has beside its head."""

    brokers: tuple[Broker, ...]
    topics: pa.Table
    partitions: pa.Table
    log_dirs: tuple[LogDir, ...]
    configs: Mapping[BrokerId, Configs]
    remembered: Mapping[TopicPartition, RememberedOrder]


def head_of(snapshot: Snapshot) -> dict[str, object]:
    """The head of a snapshot, as a document has it."""
    return {
        "formatVersion": SNAPSHOT_FORMAT_VERSION,
        "kind": SNAPSHOT_KIND,
        "clusterId": snapshot.cluster_id,
        "observedAt": snapshot.observed_at,
        "features": _write_features(snapshot.features),
        "silent": list(snapshot.silent),
        **({"hidden": list(snapshot.hidden)} if snapshot.hidden else {}),
        **({"offline": _write_offline(snapshot.offline)} if snapshot.offline else {}),
        **({"logs": _write_logs(snapshot.logs)} if snapshot.logs else {}),
        **(
            {}
            if snapshot.application is None
            else {"application": _write_application(snapshot.application)}
        ),
    }


def snapshot_of(root: Node, tables: Tables) -> Snapshot:
    """Put a snapshot together; raises BadFile where the head is not one of a snapshot."""
    identity = identity_of(root)
    silent = root.get("silent")
    _check_sizes(root, tables.partitions)
    return Snapshot(
        cluster_id=identity.cluster_id,
        observed_at=identity.observed_at,
        features=_read_features(root),
        brokers=tables.brokers,
        topics=tables.topics,
        partitions=tables.partitions,
        log_dirs=tables.log_dirs,
        broker_configs=tables.configs,
        silent=() if silent is None else tuple(sorted(silent.broker_list())),
        hidden=tuple(topic.text() for topic in root.elements("hidden")),
        remembered=tables.remembered,
        offline=optional(root.get("offline"), _read_offline, {}),
        logs=optional(root.get("logs"), _read_logs, {}),
        application=optional(root.get("application"), _read_application, None),
    )


def _check_sizes(root: Node, partitions: pa.Table) -> None:
    """Sums of bytes stay numbers of 64 bits: the largest clusters have a thousandth of what would not."""
    sizes = np.asarray(partitions.column("bytes"), dtype=np.float64)
    replicas = list_lengths(partitions.column("replicas"))
    total = float(sizes @ replicas)
    if total > MOST_REPLICA_BYTES:
        largest = partitions.slice(int(sizes.argmax()), 1).to_pylist()[0]
        raise root.wrong(
            f"all replicas together have {total:,.0f} bytes, and replan counts up to {MOST_REPLICA_BYTES:,}; "
            f"the largest is {largest['topic']}-{largest['partition']} with {largest['bytes']:,}: correct its `bytes`"
        )


def identity_of(root: Node) -> Identity:
    """The identity in a document or a header, which is checked to be a snapshot's."""
    check_head(root)
    return Identity(root.child("clusterId").text(), read_time(root.child("observedAt")))


def check_head(root: Node) -> None:
    """Check that a document is a snapshot, and not of a format newer than this program."""
    if not isinstance(root.value, dict) or "kind" not in root.value:
        raise root.wrong(f'this is not a snapshot: "kind" should say "{SNAPSHOT_KIND}"')
    kind = root.child("kind")
    if kind.value != SNAPSHOT_KIND:
        raise kind.wrong(
            f'this is not a snapshot: expected "{SNAPSHOT_KIND}", found {shown(kind.value)}'
        )
    version = root.child("formatVersion")
    if version.int32(1) > SNAPSHOT_FORMAT_VERSION:
        raise version.wrong(
            f"format version {version.value} is newer than this program reads "
            f"({SNAPSHOT_FORMAT_VERSION}); use a newer replan"
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


def _write_features(features: Features) -> dict[str, object]:
    document = {
        "replicationFactorGuard": features.replication_factor_guard,
        "eligibleLeaderReplicas": features.eligible_leader_replicas,
    }
    return {key: has for key, has in document.items() if has}


def _read_features(root: Node) -> Features:
    """The features under the head's `features`; what is not named there is not there."""
    node = root.get("features")
    if node is None:
        return Features()
    node.mapping(FEATURE_KEYS)
    return Features(
        optional(node.get("replicationFactorGuard"), Node.flag, False),
        optional(node.get("eligibleLeaderReplicas"), Node.flag, False),
    )


class TargetForm(Form, frozen=True):
    """Where one partition is moved to."""

    topic: Text
    partition: Int32
    replicas: ReplicaList

    def __post_init__(self) -> None:
        once_each(replicas=self.replicas)


class RateForm(Form, frozen=True):
    """The throttle on one broker."""

    broker: Int32
    bytes_per_second: Annotated[int, Meta(ge=1, le=INT64_MAX)]


class ApplicationForm(Form, frozen=True):
    """The application."""

    id: Text
    owner: str
    at_work: bool
    targets: tuple[TargetForm, ...]
    rates: tuple[RateForm, ...] = ()


def _write_application(application: OwnApplication) -> dict[str, object]:
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


def _read_application(node: Node) -> OwnApplication:
    """What is under the key `application`; raises BadFile with the place of what is wrong."""
    form = typed(node.value, ApplicationForm, node.source, "$.application")
    return OwnApplication(
        form.id,
        form.owner,
        form.at_work,
        {TopicPartition(t.topic, t.partition): t.replicas for t in form.targets},
        {BrokerId(r.broker): r.bytes_per_second for r in form.rates},
    )


class PartitionLogsForm(Form, frozen=True):
    """The logs of one partition."""

    topic: Text
    partition: Int32
    replicas: tuple[LogForm, ...]


def _write_logs(logs: Mapping[TopicPartition, ProbedLogs]) -> list[object]:
    """All that is known of logs, by partition."""
    forms = (
        PartitionLogsForm(*name, tuple(log_form(b, log) for b, log in sorted(of.items())))
        for name, of in sorted(logs.items())
    )
    return [to_builtins(form) for form in forms]


def _read_logs(node: Node) -> dict[TopicPartition, ProbedLogs]:
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

    def __post_init__(self) -> None:
        once_each(brokers=self.brokers)


def _write_offline(offline: Mapping[TopicPartition, Replicas]) -> list[object]:
    """By partition."""
    return [
        {"topic": name.topic, "partition": name.partition, "brokers": list(brokers)}
        for name, brokers in sorted(offline.items())
    ]


def _read_offline(node: Node) -> dict[TopicPartition, Replicas]:
    """What is under the key `offline`; raises BadFile with the place of what is wrong."""
    forms = typed(node.value, tuple[OfflineForm, ...], node.source, "$.offline")
    return {TopicPartition(form.topic, form.partition): form.brokers for form in forms}
