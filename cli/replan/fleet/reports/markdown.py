"""A report as Markdown: the whole fleet in few lines, for a comment or a chat."""

from collections.abc import Callable, Mapping, Sequence

from replan.fleet.lake.tables import LakeRow
from replan.fleet.reports.facts import ClusterFacts, FleetFacts
from replan.fleet.run_text import share_text
from replan.reporting.markdown import code, escape, table_head, table_row
from replan.wording import capped, count, left_out, size

SHOWN_ROWS = 30


def render_markdown(facts: FleetFacts) -> str:
    """Ends with a newline."""
    failed = [c for c in facts.clusters if c.errors]
    lines = ["# Fleet", "", fleet_verdict(facts), ""]
    if facts.classes:
        lines += [table_head("class", "differences")]
        lines += [table_row([name, f"{number:,}"]) for name, number in facts.classes.items()] + [""]
    shown = [c for c in facts.clusters if c.drifted or c.errors][:SHOWN_ROWS]
    if shown:
        lines += [table_head("cluster", "drifted", "partitions", "since", "to copy", "as of")]
        lines += [_cluster(c) for c in shown]
        rest = sum(1 for c in facts.clusters if c.drifted or c.errors) - len(shown)
        lines += ["", *(f"{line}\n" for line in left_out(rest, way_out="index.html has them all"))]
    flapping = [r for r in (*facts.drift, *facts.resolved) if r["flapping"]]
    lines += _section("Flapping", flapping, _flapping)
    lines += _section("Put right in the last week", facts.resolved, _resolved)
    lines += _section("Acknowledged", facts.acknowledged, _acknowledged)
    if failed:
        lines += ["## Not done", ""]
        errors = [(c.name, e) for c in failed for e in c.errors]
        lines += [
            f"* {line}"
            for line in capped(
                errors,
                lambda e: f"{code(e[0])}, {e[1]['stage']}: {code(e[1]['message'].splitlines()[0])}",
                limit=SHOWN_ROWS,
                way_out="index.html has them all",
            )
        ]
    return "\n".join(lines).rstrip() + "\n"


def fleet_verdict(facts: FleetFacts) -> str:
    """The sentence that says whether anything drifted, and how much was not done."""
    judged = sum(1 for c in facts.clusters if c.judged is not None)
    failed = sum(1 for c in facts.clusters if c.errors)
    clusters = len({r["cluster"] for r in facts.drift}) or judged
    said = f"{count(len(facts.drift), 'difference')} in {share_text(clusters, judged)}"
    ends = f"; {count(failed, 'cluster')} with errors." if failed else "."
    return (said if judged else "No cluster was compared") + ends


def _section(
    title: str, rows: Sequence[LakeRow], cells: Callable[[LakeRow], Mapping[str, str]]
) -> list[str]:
    """A table under its own title, its columns by their heads; nothing where there are no rows."""
    if not rows:
        return []
    more = left_out(len(rows) - SHOWN_ROWS, way_out="index.html has them all")
    shown = [
        {"cluster": code(r["cluster"]), "what": code(r["item"]), **cells(r)}
        | {"owner": escape(r["owner"] or "")}
        for r in rows[:SHOWN_ROWS]
    ]
    lines = [table_row([*cells.values()]) for cells in shown]
    return [f"## {title}", "", table_head(*shown[0]), *lines, "", *(f"{line}\n" for line in more)]


def _flapping(r: LakeRow) -> Mapping[str, str]:
    now = f"drifts since {r['since']}" if r.get("resolved_at") is None else "in its place"
    return {"kind": r["kind"], "began": f"{r['spells']:,} times", "now": now}


def _resolved(r: LakeRow) -> Mapping[str, str]:
    by = "" if r["resolved_by"] is None else code(r["resolved_by"])
    between = {"since": r["since"], "until": r["resolved_at"]}
    return {"kind": r["kind"], **between, "by application": by}


def _acknowledged(r: LakeRow) -> Mapping[str, str]:
    return {"since": r["since"], "until": r["until"] or ""}


def _cluster(c: ClusterFacts) -> str:
    of = c.judged
    if of is None:
        return table_row([code(c.name), "not judged", "", "", "", ""])
    numbers = (f"{of.drifted:,}", f"{of.partitions:,}")
    return table_row([code(c.name), *numbers, of.oldest or "", size(of.copy_bytes), of.observed_at])
