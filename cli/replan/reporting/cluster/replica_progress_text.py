"""A replica that is being copied, in the words of KIP-179's table, with bytes and times; as text and JSON."""

from collections.abc import Mapping

from replan.planning.findings.replica_progress import ReplicaRow, ReplicaStatus
from replan.wording import duration, size

HEAD = ("Topic", "Partition", "Broker", "Status", "Copied", "Rate", "Left", "Whose")


def status_text(row: ReplicaRow) -> str:
    """KIP-179's words."""
    if row.status is ReplicaStatus.BEHIND and row.behind is not None:
        return f"Behind: {row.behind} messages behind"
    return row.status


def copied_text(row: ReplicaRow) -> str:
    """`20 MB of 60 MB (33 %)`; empty where it is not known."""
    if row.copied_bytes is None or row.total_bytes is None:
        return ""
    share = 100 if row.total_bytes == 0 else min(100, row.copied_bytes * 100 // row.total_bytes)
    return f"{size(row.copied_bytes)} of {size(row.total_bytes)} ({share} %)"


def left_text(row: ReplicaRow) -> str:
    """How long its copy takes yet; empty where that was not measured."""
    if row.endless:
        return "does not finish at this rate"
    return "" if row.seconds_left is None else duration(row.seconds_left)


def replica_json(row: ReplicaRow) -> Mapping[str, object]:
    """The fields of one replica."""
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "broker": row.broker,
        "status": status_text(row),
        "messagesBehind": row.behind,
        "copiedBytes": row.copied_bytes,
        "totalBytes": row.total_bytes,
        "bytesPerSecond": row.bytes_per_second,
        "secondsLeft": row.seconds_left,
        "doesNotFinish": row.endless,
    }
