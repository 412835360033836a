"""A rehearsal as JSON, for programs: everything that was found, in SI units, times in seconds from the beginning."""

import math
from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from replan.applying.reasons.reason import EndReason, HoldReason
from replan.applying.views.outcome import PartitionResult
from replan.model.names import TopicPartition
from replan.rehearsal.options import Options
from replan.rehearsal.outcome import Report
from replan.reporting.application.outcome_text import result_text
from replan.reporting.json_report import json_report

REHEARSAL_KIND = "replan.rehearsal"


def render_rehearsal_json(report: Report) -> str:
    """One document; ends with a newline."""
    fields: dict[str, object] = {
        "planDigest": report.plan_digest,
        "clusterId": report.cluster_id,
        "completes": report.completes,
        "exitCode": report.exit_code,
        "refusals": [
            {"partition": str(r.partition), "rule": r.rule, "facts": dict(r.facts)}
            for r in report.refusals
        ],
        "assumed": assumed(report.options),
        "rehearsal": json_value(report.rehearsal),
        "runs": [
            {
                "seed": c.seed,
                "completed": c.rehearsal.completed,
                "seconds": c.rehearsal.seconds,
                "smallestHeadroom": json_value(c.rehearsal.smallest_headroom),
                "harm": json_value(c.rehearsal.harm),
                "without": json_value(c.rehearsal.without),
                "faults": json_value(c.rehearsal.faults),
                "stopped": [] if c.rehearsal.completed else json_value(c.rehearsal.stopped),
                "broken": json_value(c.rehearsal.broken),
            }
            for c in report.runs
        ],
    }
    if report.runs:
        fields["spread"] = {
            "completed": sum(1 for c in report.runs if c.rehearsal.completed),
            "seconds": json_value(report.seconds),
            "smallestHeadroom": [
                {"replicas": least, "runs": n} for least, n in report.headrooms.items()
            ],
            "underMinIsr": [c.seed for c in report.under],
            "worstSeed": None if report.worst is None else report.worst.seed,
        }
    return json_report(REHEARSAL_KIND, fields, ensure_ascii=False, indent=1)


def assumed(options: Options) -> Mapping[str, object]:
    """What the numbers rest on."""
    speeds = options.speeds()
    disk = speeds.disk_bytes_per_second
    return {
        "kafkaVersion": options.version,
        "networkBytesPerSecond": speeds.network_bytes_per_second,
        "diskBytesPerSecond": disk if math.isfinite(disk) else None,
        "produceBytesPerSecond": options.produce,
        "rates": {str(name): rate for name, rate in sorted(options.rates.items())},
        "slotsPerBroker": options.settings.slots_per_broker,
        "settleSeconds": options.settings.settle_seconds,
    }


def json_value(value: object) -> object:
    """A value of this package as JSON knows it; field names in camel case."""
    match value:
        case TopicPartition():
            return str(value)
        case Enum():
            return value.value
        case float():
            return round(value, 3)
        case tuple():
            return [json_value(v) for v in value]
        case Struct():
            return _object(value)
        case _:
            return value


def _object(value: Struct) -> dict[str, object]:
    """Its fields; a reason has its kind and its sentence too."""
    fields = {_camel(name): json_value(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, PartitionResult):
        return {**fields, "message": result_text(value)}
    if isinstance(value, HoldReason):
        return {"kind": value.kind, **fields, "text": str(value)}
    return {"kind": value.kind, **fields} if isinstance(value, EndReason) else fields


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
