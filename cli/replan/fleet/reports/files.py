"""A report as files in a folder, each whole or not at all; pages and Markdown are made beside this."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import to_builtins

from replan.documents.files import write_files
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Lake
from replan.fleet.lake.tables import LakeRow
from replan.fleet.reports.facts import ClusterFacts, FleetFacts, gather
from replan.fleet.reports.markdown import render_markdown
from replan.fleet.reports.page import render_page
from replan.reporting.json_report import json_report
from replan.reporting.prometheus import Family, exposition
from replan.wording import brokers, one_line

COPY = "copy_bytes cross_rack_bytes"
CLUSTER = f"cluster observed_at partitions drifted converging acknowledged oldest flapping {COPY} cost changes errors"
WHAT = "cluster item topic partition broker"
DRIFT_COLUMNS = (
    f"{WHAT} class kind rule declared observed leader detail owner since spells flapping {COPY}"
)
FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@]|[\t\r]")
"""What a spreadsheet takes for a formula; some leave out blanks and line feeds before it."""
RESOLVED_COLUMNS = f"{WHAT} class kind owner since resolved_at resolved_by spells flapping"
ACKNOWLEDGED_COLUMNS = f"{WHAT} owner since until"
GAUGES = {
    "partitions": "Partitions that something is declared of.",
    "converging": "Partitions on the way to what is declared.",
    "flapping": "What began to drift three times or more in a week.",
    "copy_bytes": "Bytes to copy until everything is where it is declared.",
    "cross_rack_bytes": "Those of them that cross racks.",
}
"""What `JudgedCluster` has under the same name."""


def write_reports(lake: Lake, fleet: Fleet, folder: Path) -> list[Path]:
    """Write all forms of the report; the files. Raises BadFile."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / name: text for name, text in rendered(gather(lake, fleet)).items()}
    write_files(files)
    return list(files)


def rendered(facts: FleetFacts) -> Mapping[str, str]:
    """Each form of the report, by the name of its file."""
    return {
        "index.html": render_page(facts),
        "report.md": render_markdown(facts),
        "report.json": json_report("replan.fleetReport", to_builtins(facts), indent=1),
        "clusters.csv": _csv(CLUSTER, map(_cluster, facts.clusters)),
        "drift.csv": _csv(DRIFT_COLUMNS, facts.drift),
        "resolved.csv": _csv(RESOLVED_COLUMNS, facts.resolved),
        "acknowledged.csv": _csv(ACKNOWLEDGED_COLUMNS, facts.acknowledged),
        "metrics.prom": render_prometheus(facts),
    }


def _csv(columns: str, rows: Iterable[LakeRow]) -> str:
    """A line with the names of the columns, and one for each row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns.split(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) for k, v in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """A list of brokers, yes or no, or a text that no spreadsheet takes for a formula."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return brokers(tuple(value)) if value else ""
        case str():
            text = one_line(value)
            return f"'{text}" if FORMULA.match(value) else text
        case _:
            return value


def _cluster(c: ClusterFacts) -> LakeRow:
    known = () if c.judged is None else CLUSTER.split()[1:-1]
    return {
        "cluster": c.name,
        **{name: getattr(c.judged, name) for name in known},
        "errors": len(c.errors),
    }


def render_prometheus(facts: FleetFacts) -> str:
    """For the textfile collector, in the text format 0.0.4."""
    judged = [({"cluster": c.name}, c.judged) for c in facts.clusters if c.judged is not None]
    drifted = [
        ({**named, "class": name}, number)
        for named, of in judged
        for name, number in sorted(of.classes.items())
    ]
    oldest = [(named, _seconds(of.oldest)) for named, of in judged if of.oldest is not None]
    observed = [(named, _seconds(of.observed_at)) for named, of in judged]
    errors = [({"cluster": c.name}, len(c.errors)) for c in facts.clusters]
    families: tuple[Family, ...] = (
        *(
            (n, about, [(named, getattr(of, n)) for named, of in judged])
            for n, about in GAUGES.items()
        ),
        ("drifted", "What is not where it is declared, by class.", drifted),
        ("oldest_timestamp_seconds", "Since when the oldest of what drifts does so.", oldest),
        ("observed_timestamp_seconds", "When the cluster was observed.", observed),
        ("errors", "What could not be done.", errors),
    )
    return exposition(((f"replan_fleet_{name}", about, of) for name, about, of in families), {})


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
