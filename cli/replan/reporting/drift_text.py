"""Drift as text, markdown and json: by class, every partition named, a cap where nobody reads on."""

import json

from replan.planning.drift import Drift, Drifted
from replan.reporting.quantities import brokers, count

SHOWN = 500
CLASSES = {
    "missing": "declared, but not in the cluster",
    "replicas": "other replicas",
    "order": "other order",
    "leader": "another leader",
}


def render_drift(drift: Drift, *, everything: bool = False) -> str:
    """Plain text; ends with a newline."""
    if drift.none:
        return "\n".join(["No drift.", *_heading(drift)]) + "\n"
    lines: list[str] = []
    for kind, meaning in CLASSES.items():
        members = [d for d in drift.partitions if d.kind == kind]
        if not members:
            continue
        shown = members if everything else members[:SHOWN]
        lines.append(f"{meaning} ({len(members):,}):")
        lines += [f"  {line(d)}" for d in shown]
        if len(members) > len(shown):
            lines.append(f"  and {len(members) - len(shown):,} more")
    lines += [
        f"{c.topic}: {c.declared} partitions declared, {c.observed} exist" for c in drift.counts
    ]
    lines += _heading(drift)
    total = count(len(drift.partitions) + len(drift.counts), "difference")
    lines.append(f"Drift: {total}, as of {drift.observed_at}.")
    return "\n".join(lines) + "\n"


def line(drifted: Drifted) -> str:
    """One partition: declared, observed, leader."""
    if drifted.kind == "missing":
        return f"{drifted.partition}  declared {brokers(drifted.declared)}"
    if drifted.kind == "leader":
        return f"{drifted.partition}  leader {drifted.leader}, declared first {drifted.declared[0]}"
    return (
        f"{drifted.partition}  declared {brokers(drifted.declared)}, is {brokers(drifted.observed)}"
    )


def _heading(drift: Drift) -> list[str]:
    if not drift.heading:
        return []
    return [f"{count(len(drift.heading), 'partition')} on the way to the declared list."]


def render_drift_markdown(drift: Drift) -> str:
    """Markdown for an issue or a pull request; capped."""
    if drift.none:
        return "## replan drift\n\nNo drift.\n"
    rows = [
        f"| `{d.partition}` | {d.kind} | `{brokers(d.declared)}` | `{brokers(d.observed)}` | {d.leader} |"
        for d in drift.partitions[:SHOWN]
    ]
    more = len(drift.partitions) - len(rows)
    return (
        "\n".join(
            [
                "## replan drift",
                "",
                f"{count(len(drift.partitions) + len(drift.counts), 'difference')}, as of {drift.observed_at}.",
                "",
                "| partition | class | declared | is | leader |",
                "| --- | --- | --- | --- | --- |",
                *rows,
                *([f"\n… and {more:,} more."] if more else []),
                *(
                    f"\n{c.topic}: {c.declared} partitions declared, {c.observed} exist."
                    for c in drift.counts
                ),
            ]
        )
        + "\n"
    )


def render_drift_json(drift: Drift) -> str:
    """One JSON document, format version 1."""
    document = {
        "formatVersion": 1,
        "kind": "replan.drift",
        "clusterId": drift.cluster_id,
        "observedAt": drift.observed_at,
        "partitions": [
            {
                "topic": d.partition.topic,
                "partition": d.partition.partition,
                "class": d.kind,
                "declared": list(d.declared),
                "observed": list(d.observed),
                "leader": d.leader,
            }
            for d in drift.partitions
        ],
        "partitionCounts": [
            {"topic": c.topic, "declared": c.declared, "observed": c.observed} for c in drift.counts
        ],
        "heading": [{"topic": tp.topic, "partition": tp.partition} for tp in drift.heading],
    }
    return json.dumps(document, indent=2) + "\n"
