"""What a fleet run found, as text: the clusters, what drifted with a cap, what could not be read, one last line."""

from typing import Any

from replan.fleet.result import FleetDrift
from replan.planning.comparison.diff import DifferenceKind
from replan.reporting.quantities import brokers
from replan.reporting.table import columns
from replan.wording import capped, count, left_out

SHOWN = 50
CLUSTER_HEAD = ("CLUSTER", "PARTITIONS", "DRIFTED", "ON THE WAY", "AS OF")
DRIFT_HEAD = ("CLUSTER", "PARTITION", "CLASS", "DECLARED", "IS", "LEADER")
BEYOND = "--output writes them all"


def render_fleet_drift(found: FleetDrift, *, everything: bool = False) -> str:
    """Plain text; ends with a newline."""
    parts: list[list[str]] = []
    if found.clusters.num_rows:
        parts.append(_clusters(found))
    if found.rows.num_rows:
        parts.append(_drift(found, found.rows.num_rows if everything else SHOWN))
    if found.errors.num_rows:
        parts.append(_errors(found, found.errors.num_rows if everything else SHOWN))
    parts.append([*_asides(found), _summary(found)])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _clusters(found: FleetDrift) -> list[str]:
    rows = [_cluster(row) for row in found.clusters.to_pylist()]
    return columns([CLUSTER_HEAD, *rows], right=range(1, 4))


def _cluster(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = (f"{row[name]:,}" for name in ("partitions", "drifted", "converging"))
    return (row["cluster_name"], *numbers, row["observed_at"])


def _drift(found: FleetDrift, most: int) -> list[str]:
    rows = found.rows.slice(0, most).to_pylist()
    lines = columns([DRIFT_HEAD, *map(_drifted, rows)], right=(DRIFT_HEAD.index("LEADER"),))
    return lines + left_out(found.rows.num_rows - len(rows), way_out=BEYOND)


def _drifted(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["cluster_name"],
        f"{row['topic']}-{row['partition']}",
        row["kind"],
        "-" if row["kind"] == "partitions" else brokers(row["declared"]),
        "-" if row["kind"] == DifferenceKind.MISSING else brokers(row["observed"]),
        "-" if row["leader"] < 0 else str(row["leader"]),
    )


def _errors(found: FleetDrift, most: int) -> list[str]:
    lines = capped(found.errors.to_pylist(), _error, limit=most, way_out=BEYOND)
    return ["Not compared:", *(f"  {line}" for line in lines)]


def _error(row: dict[str, str]) -> str:
    """The first line of a message, with its file in front unless it says so itself."""
    first, *more = row["message"].splitlines()
    place = "" if first.startswith(row["file"]) else f"{row['file']}: "
    rest = f" (and {count(len(more), 'line')} more)" if more else ""
    return f"{row['cluster']}: {place}{first}{rest}"


def _asides(found: FleetDrift) -> list[str]:
    lines = []
    if found.undeclared:
        lines.append(f"Without a placement: {', '.join(found.undeclared)}.")
    if found.older:
        lines.append(f"{count(found.older, 'older snapshot')} not looked at.")
    return lines


def _summary(found: FleetDrift) -> str:
    clusters = count(found.clusters.num_rows, "cluster")
    drifted = count(found.rows.num_rows, "partition")
    text = f"Drift: {drifted} in {clusters}" if found.rows.num_rows else f"No drift in {clusters}"
    errors = f"; {count(found.errors.num_rows, 'error')}" if found.errors.num_rows else ""
    return f"{text}{errors}."
