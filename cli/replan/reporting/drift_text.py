"""Drift as text, markdown and json: by kind, every partition with its name, cut where a list gets too long to read."""

import json
from collections.abc import Mapping

from replan.planning.comparison.diff import DifferenceKind
from replan.planning.drift import Drift, Drifted
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.markdown import LIMIT, code, fitted, head, row
from replan.reporting.plan_text import throttle_value
from replan.reporting.quantities import brokers
from replan.reporting.table import columns
from replan.wording import capped, count, left_out

SHOWN = 500


def render_drift(drift: Drift, *, everything: bool = False) -> str:
    """Plain text; ends with a newline. The worst kind first, the summary last."""
    lines: list[str] = []
    for kind in DifferenceKind:
        members = [d for d in drift.partitions if d.kind == kind]
        if members:
            shown = members if everything else members[:SHOWN]
            more = left_out(len(members) - len(shown), way_out="--all lists them")
            lines += [f"{_capital(MEANINGS[kind])} ({len(members):,}):"]
            lines += [f"  {line}" for line in (*columns(list(map(_columns, shown))), *more)]
            lines += [""]
    if drift.counts:
        lines += [f"Another number of partitions than declared ({len(drift.counts):,}):"]
        lines += [f"  {c.topic}  declared {c.declared}, has {c.observed}" for c in drift.counts]
        lines += [""]
    if drift.standing:
        lines += [f"Throttles that are not as declared ({len(drift.standing):,}):"]
        rows = [
            (
                str(s.setting),
                f"has {throttle_value(s, s.before)}",
                f"declared {throttle_value(s, s.after)}",
            )
            for s in drift.standing
        ]
        shown_rows = rows if everything else rows[:SHOWN]
        more = left_out(len(rows) - len(shown_rows), way_out="--all lists them")
        lines += [*(f"  {line}" for line in (*columns(shown_rows), *more)), ""]
    lines += [*_unbalanced(drift), *_converging(drift), *_acknowledged(drift)]
    lines.append(_summary(drift))
    return "\n".join(lines) + "\n"


def _columns(drifted: Drifted) -> tuple[str, str, str]:
    name, declared = str(drifted.partition), brokers(drifted.declared)
    if drifted.kind is DifferenceKind.MISSING:
        return name, f"declared {declared}", ""
    if drifted.kind is DifferenceKind.LEADER:
        return name, f"declared {drifted.declared[0]} of {declared}", f"led by {drifted.leader}"
    if drifted.kind is DifferenceKind.PREFERRED_ABSENT:
        return name, f"leader {drifted.declared[0]}", f"list {brokers(drifted.observed)}"
    has = f"has {brokers(drifted.observed)}"
    return (name, f"declared {declared}", has) if drifted.declared else (name, "", has)


MEANINGS: Mapping[DifferenceKind, str] = {
    DifferenceKind.MISSING: "declared, but not in the cluster",
    DifferenceKind.REPLICAS: "other replicas",
    DifferenceKind.ORDER: "other order",
    DifferenceKind.RUNNING: "on the way to the declared list",
    DifferenceKind.LEADER: "another leader",
    DifferenceKind.UNPLACEABLE: "no list keeps its rule or its drain; `replan plan` says why",
    DifferenceKind.PREFERRED_ABSENT: "the preferred leader is no replica",
}
"""How a partition differs, in a few words."""


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _unbalanced(drift: Drift) -> list[str]:
    return [f"{_capital(balance_text(reason))}." for reason in drift.unbalanced]


def _converging(drift: Drift) -> list[str]:
    if not drift.converging:
        return []
    return [f"{count(len(drift.converging), 'partition')} on the way to the declared list."]


def _acknowledged(drift: Drift) -> list[str]:
    if not drift.acknowledged:
        return []
    names = capped(drift.acknowledged, limit=20)
    number = count(len(drift.acknowledged), "partition")
    return [f"{number} acknowledged, so not counted: {', '.join(names)}."]


def _summary(drift: Drift) -> str:
    if drift.none:
        return f"No drift, as of {drift.observed_at}."
    every = (drift.partitions, drift.counts, drift.unbalanced, drift.standing)
    total = count(sum(map(len, every)), "difference")
    return f"Drift: {total}, as of {drift.observed_at}."


def render_drift_markdown(drift: Drift) -> str:
    """Markdown for an issue or a pull request, of at most LIMIT characters and a few lines."""
    text = "\n".join(
        [
            "## replan drift",
            "",
            _summary(drift),
            *_unbalanced(drift),
            *_converging(drift),
            *_acknowledged(drift),
            "",
        ]
    )
    if drift.counts:
        rows = (row((code(c.topic), str(c.declared), str(c.observed))) for c in drift.counts)
        text += f"\n{head('topic', 'partitions declared', 'has')}\n"
        text += fitted(rows, len(drift.counts), LIMIT // 4, "more topic")
    if drift.standing:
        rows = (
            row((code(str(s.setting)), code(s.after or "none"), code(s.before or "none")))
            for s in drift.standing
        )
        text += f"\n{head('throttle', 'declared', 'has')}\n"
        text += fitted(rows, len(drift.standing), LIMIT // 4, "more throttle setting")
    if drift.partitions:
        rank = {kind: i for i, kind in enumerate(DifferenceKind)}
        worst_first = sorted(drift.partitions, key=lambda d: (rank[d.kind], d.partition))
        text += f"\n{head('partition', 'what', 'declared', 'has', 'leader')}\n"
        rows = (_row(d) for d in worst_first)
        text += fitted(rows, len(worst_first), LIMIT - len(text), "more partition")
    return text


def _row(drifted: Drifted) -> str:
    found = code(brokers(drifted.observed)) if drifted.observed else "–"
    leader = "–" if drifted.leader is None else str(drifted.leader)
    declared = code(brokers(drifted.declared)) if drifted.declared else "–"
    return row((code(str(drifted.partition)), MEANINGS[drifted.kind], declared, found, leader))


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
        "standing": [
            {
                "scope": s.setting.scope,
                "name": s.setting.name,
                "key": s.setting.key,
                "declared": s.after,
                "observed": s.before,
            }
            for s in drift.standing
        ],
        "unbalanced": [
            {
                "kind": r.obstacle,
                "brokers": list(r.brokers),
                "needed": r.needed,
                "available": r.available,
            }
            for r in drift.unbalanced
        ],
        "converging": [{"topic": tp.topic, "partition": tp.partition} for tp in drift.converging],
        "acknowledged": [
            {"topic": tp.topic, "partition": tp.partition} for tp in drift.acknowledged
        ],
    }
    return json.dumps(document, indent=2) + "\n"
