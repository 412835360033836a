"""A report as Markdown: the whole fleet in few lines, for a comment or a chat."""

from collections.abc import Callable, Sequence

from replan.fleet.report import Row, part_of
from replan.fleet.reports.facts import ClusterFacts, FleetFacts
from replan.reporting.markdown import code, escape, head, row
from replan.wording import capped, count, left_out, size

SHOWN = 30
FLAPPING = ("kind", "began", "now", "owner")
RESOLVED = ("kind", "since", "until", "by application", "owner")
ACKNOWLEDGED = ("since", "until", "owner")


def render_markdown(facts: FleetFacts) -> str:
    """Ends with a newline."""
    failed = [c for c in facts.clusters if c.errors]
    lines = ["# Fleet", "", verdict(facts), ""]
    if facts.classes:
        lines += [head("class", "differences")]
        lines += [row([name, f"{number:,}"]) for name, number in facts.classes.items()] + [""]
    shown = [c for c in facts.clusters if c.drifted or c.errors][:SHOWN]
    if shown:
        lines += [head("cluster", "drifted", "of", "since", "to copy", "as of")]
        lines += [_cluster(c) for c in shown]
        rest = sum(1 for c in facts.clusters if c.drifted or c.errors) - len(shown)
        lines += ["", *left_out(rest, way_out="index.html has them all"), ""]
    flapping = [r for r in (*facts.drift, *facts.resolved) if r["flapping"]]
    lines += _section("Flapping", FLAPPING, flapping, _flapping)
    lines += _section("Put right in the last week", RESOLVED, facts.resolved, _resolved)
    lines += _section("Acknowledged", ACKNOWLEDGED, facts.acknowledged, _acknowledged)
    if failed:
        lines += ["## Not done", ""]
        errors = [(c.name, e) for c in failed for e in c.errors]
        lines += [
            f"* {line}"
            for line in capped(
                errors,
                lambda e: f"{code(e[0])}, {e[1]['stage']}: {code(e[1]['message'].splitlines()[0])}",
                limit=SHOWN,
                way_out="index.html has them all",
            )
        ]
    return "\n".join(lines).rstrip() + "\n"


def verdict(facts: FleetFacts) -> str:
    """The sentence that says whether anything drifted, and how much was not done."""
    judged = sum(1 for c in facts.clusters if c.observed_at is not None)
    failed = sum(1 for c in facts.clusters if c.errors)
    clusters = len({r["cluster"] for r in facts.drift}) or judged
    said = f"{count(len(facts.drift), 'difference')} in {part_of(clusters, judged)}"
    ends = f"; {count(failed, 'cluster')} with errors." if failed else "."
    return (said if judged else "No cluster was compared") + ends


def _section(
    title: str, columns: Sequence[str], rows: Sequence[Row], cells: Callable[[Row], Sequence[str]]
) -> list[str]:
    """A table under its own title; nothing where there are no rows."""
    if not rows:
        return []
    more = left_out(len(rows) - SHOWN, way_out="index.html has them all")
    shown = (row([code(r["cluster"]), code(r["item"]), *cells(r)]) for r in rows[:SHOWN])
    return [
        f"## {title}",
        "",
        head("cluster", "what", *columns),
        *shown,
        "",
        *(f"{line}\n" for line in more),
    ]


def _flapping(r: Row) -> Sequence[str]:
    now = f"drifts since {r['since']}" if r.get("resolved_at") is None else "in its place"
    return (r["kind"], f"{r['spells']:,} times", now, escape(r["owner"] or ""))


def _resolved(r: Row) -> Sequence[str]:
    by = "" if r["resolved_by"] is None else code(r["resolved_by"])
    return (r["kind"], r["since"], r["resolved_at"], by, escape(r["owner"] or ""))


def _acknowledged(r: Row) -> Sequence[str]:
    return (r["since"], r["until"] or "", escape(r["owner"] or ""))


def _cluster(c: ClusterFacts) -> str:
    if c.observed_at is None:
        return row([code(c.name), "not judged", "", "", "", ""])
    return row(
        [
            code(c.name),
            f"{c.drifted:,}",
            f"{c.partitions:,}",
            c.oldest or "",
            size(c.copy_bytes),
            c.observed_at,
        ]
    )
