"""A report as Markdown: the whole fleet in few lines, for a comment or a chat."""

from replan.fleet.reports.facts import ClusterFacts, FleetFacts
from replan.reporting.markdown import code, head, row
from replan.reporting.quantities import size
from replan.wording import capped, count, left_out

SHOWN = 30


def render_markdown(facts: FleetFacts) -> str:
    """Ends with a newline."""
    judged = [c for c in facts.clusters if c.observed_at is not None]
    drifted, failed = len(facts.drift), [c for c in facts.clusters if c.errors]
    lines = [
        "# Fleet",
        "",
        f"{count(drifted, 'difference')} in {count(len(judged), 'cluster')}"
        + (f"; {count(len(failed), 'cluster')} with errors." if failed else "."),
        "",
    ]
    if facts.classes:
        lines += [head("class", "differences")]
        lines += [row([name, f"{number:,}"]) for name, number in facts.classes.items()] + [""]
    shown = [c for c in facts.clusters if c.drifted or c.errors][:SHOWN]
    if shown:
        lines += [head("cluster", "drifted", "of", "since", "to copy", "as of")]
        lines += [_cluster(c) for c in shown]
        rest = sum(1 for c in facts.clusters if c.drifted or c.errors) - len(shown)
        lines += ["", *left_out(rest, way_out="index.html has them all"), ""]
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
