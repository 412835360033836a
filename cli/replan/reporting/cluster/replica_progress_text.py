"""Running reassignments as KIP-179's table, with bytes, rates and times; as text and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replan.applying.reasons.kinds import kind_of
from replan.applying.reasons.waits import HoldReason
from replan.model.names import TopicPartition
from replan.planning.findings.replica_progress import ReplicaRow, ReplicaStatus, Standing
from replan.reporting.quantities import duration, rate, size
from replan.reporting.sentences.hold_text import hold_text
from replan.reporting.table import columns
from replan.wording import capped, count, left_out

HEAD = ("Topic", "Partition", "Broker", "Status", "Copied", "Rate", "Left", "Whose")
SHOWN = 50
"""Rows of text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProgress:
    """What `progress` shows."""

    rows: Sequence[ReplicaRow]
    standings: Mapping[TopicPartition, Standing]
    observed_at: str
    ours: frozenset[TopicPartition] = frozenset()
    """Those of the open application."""
    holds: Mapping[TopicPartition, HoldReason] = field(default_factory=dict)
    application: str = ""
    """The headline of the open application."""


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


def _left_text(row: ReplicaRow) -> str:
    if row.endless:
        return "does not finish at this rate"
    return "" if row.seconds_left is None else duration(row.seconds_left)


def render_replica_progress(shown: ShownProgress) -> str:
    """Plain text; ends with a newline."""
    lines = [shown.application] if shown.application else []
    if shown.rows:
        table: list[Sequence[str]] = [HEAD]
        table += [_cells(r, shown) for r in shown.rows[:SHOWN]]
        lines += [*columns(table), *left_out(len(shown.rows) - SHOWN)]
    else:
        lines.append("No reassignment is running.")
    named = sorted(n for n in shown.holds if shown.standings.get(n) is Standing.RUNNING)
    lines += capped(named, lambda n: f"{n}: {hold_text(shown.holds[n])}")
    stopped = sorted(n for n, s in shown.standings.items() if s is Standing.STOPPED)
    if stopped:
        where = ", ".join(capped(list(map(str, stopped)), limit=20))
        lines.append(
            f"Not as wanted, and not running: {count(len(stopped), 'partition')}: {where}."
        )
    return "\n".join([*lines, f"As of {shown.observed_at}."]) + "\n"


def _cells(row: ReplicaRow, shown: ShownProgress) -> tuple[str, ...]:
    running = shown.standings.get(row.partition) is Standing.RUNNING
    whose = ("replan" if row.partition in shown.ours else "another tool") if running else ""
    return (
        row.partition.topic,
        str(row.partition.partition),
        "-" if row.broker is None else str(row.broker),
        status_text(row),
        copied_text(row),
        "" if row.bytes_per_second is None else rate(round(row.bytes_per_second)),
        _left_text(row),
        whose,
    )


def render_replica_progress_json(shown: ShownProgress) -> str:
    """One JSON document, format version 1."""
    document = {
        "formatVersion": 1,
        "kind": "replan.progress",
        "observedAt": shown.observed_at,
        "replicas": [replica_json(r) for r in shown.rows],
        "partitions": [
            {
                "topic": name.topic,
                "partition": name.partition,
                "state": standing,
                "ours": name in shown.ours,
                "hold": _hold_json(shown.holds.get(name)),
            }
            for name, standing in sorted(shown.standings.items())
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _hold_json(hold: HoldReason | None) -> Mapping[str, str] | None:
    return None if hold is None else {"kind": kind_of(hold), "text": hold_text(hold)}


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
