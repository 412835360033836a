"""The form of probed logs in a snapshot: what replicas said of themselves, by partition. Few snapshots have any."""

from collections.abc import Mapping

import msgspec

from replan.documents.forms import Form, Int32, Text
from replan.documents.nodes import Node
from replan.documents.typed import typed
from replan.model.names import TopicPartition
from replan.model.replica_logs import LogsFound
from replan.planning.recovery.log_forms import LogForm, log_form, read_log


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
