"""What a run found, on a terminal: the clusters, what drifted with a cap, what could not be done, one last line.

What `fleet report` writes of all runs is in `reports`.
"""

from collections.abc import Mapping, Sequence

from replan.fleet.lake.tables import LakeRow, RowKey, key_of
from replan.fleet.run import FleetRun
from replan.planning.comparison.diff import DifferenceKind
from replan.reporting.lines import aligned_lines
from replan.wording import brokers, capped, count, left_out, subject

SHOWN_LINES = 50
CLUSTER_HEAD = ("CLUSTER", "PARTITIONS", "DRIFTED", "ON THE WAY", "AS OF")
NUMBERS = ("partitions", "drifted", "converging")
DRIFT_HEAD = ("CLUSTER", "WHAT", "CLASS", "KIND", "DECLARED", "IS", "LEADER", "OWNER")
DIFF_HEAD = ("CLUSTER", "WHAT", "KIND", "DECLARED", "IS", "LEADER")
ALL_ELSEWHERE = "--output and the lake have them all"


def render_fleet_drift(run: FleetRun, ages: Mapping[RowKey, LakeRow] | None = None) -> str:
    """Plain text; ends with a newline. `ages`: the rows of `history` that are open, to say since when."""
    parts: list[list[str]] = []
    judged, drifted = run.rows["judged"], run.drifted
    if judged.num_rows:
        parts.append(_clusters(run))
    if drifted.num_rows:
        parts.append(_drift(run, ages))
    return _text(run, parts, _summary(run))


def render_fleet_diff(run: FleetRun) -> str:
    """The partitions that differ, by kind, without a word on why; ends with a newline."""
    differing = run.differing
    parts: list[list[str]] = []
    if differing.num_rows:
        rows = [
            (r["cluster"], subject(r["topic"], r["partition"], None), r["kind"], *_lists(r))
            for r in differing.slice(0, SHOWN_LINES).to_pylist()
        ]
        more = left_out(differing.num_rows - len(rows), way_out=ALL_ELSEWHERE)
        parts.append([*aligned_lines([DIFF_HEAD, *rows], right=(5,)), *more])
    running = run.rows["differences"].num_rows - differing.num_rows
    said = (
        f"{count(differing.num_rows, 'partition')} not as declared, {running:,} on the way to it."
    )
    return _text(run, parts, said)


def _text(run: FleetRun, tables: Sequence[Sequence[str]], last: str) -> str:
    """The tables, what could not be done, and one last line."""
    errors = [error_lines(run, SHOWN_LINES)] if run.errors.num_rows else []
    parts = [*tables, *errors, [*_asides(run), last]]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _clusters(run: FleetRun) -> list[str]:
    rows = [
        (r["cluster"], *(f"{r[name]:,}" for name in NUMBERS), r["observed_at"])
        for r in run.rows["judged"].to_pylist()
    ]
    return aligned_lines([CLUSTER_HEAD, *rows], right=range(1, 4))


def _drift(run: FleetRun, ages: Mapping[RowKey, LakeRow] | None) -> list[str]:
    rows = run.drifted.slice(0, SHOWN_LINES).to_pylist()
    table = [DRIFT_HEAD, *map(_drifted, rows)]
    if ages is not None:
        ends = ("SINCE", *(_since(row, ages.get(key_of(row))) for row in rows))
        table = [(*line, end) for line, end in zip(table, ends, strict=True)]
    lines = aligned_lines(table, right=(DRIFT_HEAD.index("LEADER"),))
    return lines + left_out(run.drifted.num_rows - len(rows), way_out=ALL_ELSEWHERE)


def _since(row: LakeRow, age: LakeRow | None) -> str:
    """Since when it drifts, by its newest spell, the only one that the history has; `-` of a row from before that."""
    if age is None or age["since"] > row["observed_at"]:
        return "-"
    return f"{age['since']}{', flapping' if age['flapping'] else ''}"


def _drifted(row: LakeRow) -> tuple[str, ...]:
    what = subject(row["topic"], row["partition"], row["broker"])
    return (row["cluster"], what, row["class"], row["kind"], *_lists(row), row["owner"] or "-")


def _lists(row: LakeRow) -> tuple[str, str, str]:
    """The two lists and the leader."""
    declared, observed = (brokers(row[k]) if row[k] else "-" for k in ("declared", "observed"))
    if observed == "-" and row["kind"] != DifferenceKind.MISSING:
        observed = row.get("detail") or "-"
    return declared, observed, "-" if row["leader"] is None else str(row["leader"])


def error_lines(run: FleetRun, most: int) -> list[str]:
    """What could not be done, cluster by cluster."""
    lines = capped(run.errors.to_pylist(), _error, limit=most, way_out=ALL_ELSEWHERE)
    return ["Not done:", *(f"  {line}" for line in lines)]


def _error(row: Mapping[str, str]) -> str:
    """The first line of a message, with its file in front unless it says so itself."""
    first, *more = row["message"].splitlines()
    place = "" if first.startswith(row["file"]) else f"{row['file']}: "
    rest = f" (and {count(len(more), 'line')} more)" if more else ""
    return f"{row['cluster']}, {row['stage']}: {place}{first}{rest}"


def _asides(run: FleetRun) -> list[str]:
    lines = []
    if run.undeclared:
        lines.append(f"Without a placement: {', '.join(run.undeclared)}.")
    if run.late:
        lines.append(f"{count(run.late, 'late snapshot')} judged, too.")
    if run.older:
        lines.append(f"{count(run.older, 'older snapshot')} not looked at.")
    return lines


def share_text(some: int, whole: int) -> str:
    """How many clusters of those that were compared."""
    clusters = count(whole, "cluster")
    return clusters if some == whole else f"{some:,} of {clusters}"


def _summary(run: FleetRun) -> str:
    judged, drifted = run.rows["judged"].num_rows, run.drifted
    if drifted.num_rows:
        where = len(set(drifted.column("cluster").to_pylist()))
        text = f"Drift: {count(drifted.num_rows, 'difference')} in {share_text(where, judged)}"
    else:
        text = f"No drift in {count(judged, 'cluster')}" if judged else "No cluster was compared"
    errors = f"; {count(run.errors.num_rows, 'error')}" if run.errors.num_rows else ""
    return f"{text}{errors}."
