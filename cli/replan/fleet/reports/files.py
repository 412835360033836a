"""A report as files in a folder, each whole or not at all."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from replan.documents.atomic import write_file
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Lake
from replan.fleet.reports.facts import ClusterFacts, FleetFacts, gather
from replan.fleet.reports.markdown import render_markdown
from replan.fleet.reports.page import render_page
from replan.fleet.reports.prometheus import render_prometheus
from replan.reporting.quantities import brokers


def write_reports(lake: Lake, fleet: Fleet, folder: Path) -> list[Path]:
    """Write all forms of the report; the files. Raises BadFile."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in rendered(gather(lake, fleet)).items():
        write_file(folder / name, text)
        written.append(folder / name)
    return written


def rendered(facts: FleetFacts) -> Mapping[str, str]:
    """Each form of the report, by the name of its file."""
    return {
        "index.html": render_page(facts),
        "report.md": render_markdown(facts),
        "report.json": json.dumps(facts.document(), indent=1) + "\n",
        "clusters.csv": _csv(_clusters(facts)),
        "drift.csv": _csv(_drift(facts)),
        "metrics.prom": render_prometheus(facts),
    }


def _csv(rows: Iterator[Mapping[str, object]]) -> str:
    text = io.StringIO()
    first = next(rows, None)
    if first is not None:
        writer = csv.DictWriter(text, list(first), lineterminator="\n")
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)
    return text.getvalue()


def _clusters(facts: FleetFacts) -> Iterator[Mapping[str, object]]:
    for c in facts.clusters:
        yield {
            "cluster": c.name,
            "observed_at": c.observed_at,
            "partitions": c.partitions,
            "drifted": c.drifted,
            "converging": c.converging,
            "acknowledged": c.acknowledged,
            "oldest": c.oldest,
            "copy_bytes": c.copy_bytes,
            "cross_rack_bytes": c.cross_rack_bytes,
            "cost": money(c),
            "changes": c.changes,
            "errors": len(c.errors),
        }


def money(cluster: ClusterFacts) -> str:
    """What a cluster's copies cost, in each of its currencies."""
    return " + ".join(f"{amount:.2f} {name}" for name, amount in sorted(cluster.amounts.items()))


def _drift(facts: FleetFacts) -> Iterator[Mapping[str, object]]:
    for row in facts.drift:
        lists = {k: brokers(row[k]) if row[k] else "" for k in ("declared", "observed")}
        yield {k: _harmless(v) for k, v in {**row, **lists}.items()}


def _harmless(value: object) -> object:
    """A text that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@"} else value
