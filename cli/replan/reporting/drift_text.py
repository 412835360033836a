"""Drift as text, markdown and json: by class, every partition named, a cap where nobody reads on."""

import json
from collections.abc import Iterator, Sequence

from replan.planning.drift import Drift, Drifted
from replan.reporting.plan_markdown import LIMIT, fitted
from replan.reporting.quantities import brokers, count

SHOWN = 500
CLASSES = {
    "missing": "declared, but not in the cluster",
    "replicas": "other replicas",
    "order": "other order",
    "leader": "another leader",
}


def render_drift(drift: Drift, *, everything: bool = False) -> str:
    """Plain text; ends with a newline. The worst class first, the summary last."""
    lines: list[str] = []
    for kind, meaning in CLASSES.items():
        members = [d for d in drift.partitions if d.kind == kind]
        if members:
            limit = len(members) if everything else SHOWN
            lines += [f"{_capital(meaning)} ({len(members):,}):", *_aligned(members[:limit])]
            more = len(members) - limit
            lines += [f"  and {more:,} more: --all lists them", ""] if more > 0 else [""]
    if drift.counts:
        lines += [f"More partitions than declared ({len(drift.counts):,}):"]
        lines += [f"  {c.topic}  declared {c.declared}, has {c.observed}" for c in drift.counts]
        lines += [""]
    lines += _heading(drift)
    lines.append(_summary(drift))
    return "\n".join(lines) + "\n"


def _aligned(members: Sequence[Drifted]) -> Iterator[str]:
    """One line a partition, in columns."""
    rows = [(str(d.partition), *_columns(d)) for d in members]
    wide = [max(len(r[i]) for r in rows) for i in (0, 1)]
    for name, declared, found in rows:
        yield f"  {name:{wide[0]}}  {declared:{wide[1]}}  {found}".rstrip()


def _columns(drifted: Drifted) -> tuple[str, str]:
    if drifted.kind == "missing":
        return f"declared {brokers(drifted.declared)}", ""
    if drifted.kind == "leader":
        return (
            f"declared {drifted.declared[0]} of {brokers(drifted.declared)}",
            f"led by {drifted.leader}",
        )
    return f"declared {brokers(drifted.declared)}", f"has {brokers(drifted.observed)}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _heading(drift: Drift) -> list[str]:
    if not drift.converging:
        return []
    return [f"{count(len(drift.converging), 'partition')} on the way to the declared list."]


def _summary(drift: Drift) -> str:
    if drift.none:
        return f"No drift, as of {drift.observed_at}."
    total = count(len(drift.partitions) + len(drift.counts), "difference")
    return f"Drift: {total}, as of {drift.observed_at}."


def render_drift_markdown(drift: Drift) -> str:
    """Markdown for an issue or a pull request, of at most LIMIT characters and a few lines."""
    text = "\n".join(["## replan drift", "", _summary(drift), *_heading(drift), ""])
    if drift.counts:
        rows = (f"| `{c.topic}` | {c.declared} | {c.observed} |" for c in drift.counts)
        text += "\n| topic | partitions declared | has |\n| --- | --- | --- |\n"
        text += fitted(rows, len(drift.counts), LIMIT // 4, "more topic")
    if drift.partitions:
        rank = {kind: i for i, kind in enumerate(CLASSES)}
        worst_first = sorted(drift.partitions, key=lambda d: (rank[d.kind], d.partition))
        text += (
            "\n| partition | what | declared | has | leader |\n| --- | --- | --- | --- | --- |\n"
        )
        rows = (_row(d) for d in worst_first)
        text += fitted(rows, len(worst_first), LIMIT - len(text), "more partition")
    return text


def _row(drifted: Drifted) -> str:
    found = f"`{brokers(drifted.observed)}`" if drifted.observed else "–"
    leader = "–" if drifted.leader is None else str(drifted.leader)
    what = CLASSES[drifted.kind]
    return (
        f"| `{drifted.partition}` | {what} | `{brokers(drifted.declared)}` | {found} | {leader} |"
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
        "converging": [{"topic": tp.topic, "partition": tp.partition} for tp in drift.converging],
    }
    return json.dumps(document, indent=2) + "\n"
