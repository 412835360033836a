"""Drift as a document: who must act first, then every difference: on a page filtered, in Markdown by class.

Two pages of the same state are the same bytes. The differences are data, which the script (`drift.js`) lists: for each
class its topics, for each topic its rows `[PARTITION, KIND, DECLARED, HAS]` with an index of `kinds`, and `SINCE` where
that was asked for; what is no topic's stands under its own name with null for the partition.
"""

from collections.abc import Iterator
from html import escape

from replan.planning.findings.drift_report import DriftReport
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.blocks import (
    Block,
    Column,
    Folded,
    Heading,
    Listing,
    OnPage,
    Small,
    Table,
    Title,
)
from replan.reporting.drift.drift_words import (
    CLASSES,
    MEANINGS,
    acknowledged,
    by_class,
    compared,
    differences,
    electable,
    since,
    subject,
    summary,
    warnings,
)
from replan.reporting.lines import Span, Tone, line
from replan.reporting.plans.plan_words import throttle_value
from replan.wording import count

HEADS = {"what": "left", "declared": "left", "has": "left", "how": "left", "why": "prose"}
OTHERWISE = "The differences are listed by a script; `replan drift` lists them as text."


def marker(cluster_id: str) -> str:
    """The line by which the issue of an earlier run for the same cluster is found."""
    return f"<!-- replan drift {escape(cluster_id[:200].replace('--', '-_'))} -->"


def drift_blocks(report: DriftReport, *, unmanaged: bool = False) -> Iterator[Block]:
    """The whole document."""
    drift = report.drift
    name = report.cluster_name or drift.cluster_id
    yield Title("replan drift", name, marker(drift.cluster_id))
    yield line(Span(summary(report), Tone.COMES if report.drift.none else Tone.GOES))
    tally = by_class(report)
    yield from (line(text) for text in ([f"By cause: {tally}."] if tally else []))
    yield from map(line, [*electable(report), *acknowledged(report)])
    yield from (line(Span(f"Warning: {text}", Tone.GOES)) for text in warnings(report))
    yield from (line(f"{balance_text(reason.facts)}.") for reason in drift.unbalanced)
    yield from _classes(report)
    if report.drift.differences:
        yield _listing(report)
    if unmanaged and report.unmanaged:
        rows = [(topic, f"{number:,}") for topic, number in report.unmanaged.items()]
        columns = [Column("topic", code=True), Column("partitions", right=True)]
        yield Folded(
            f"{count(len(rows), 'topic')} that no entry names", [Table(columns, rows, "topic")]
        )
    yield Small(f"Cluster `{drift.cluster_id[:200]}`.")


def _classes(report: DriftReport) -> Iterator[Block]:
    """One row a class that there is, with what to do; its button filters the differences."""
    rows = [
        (found, f"{len(report.of(found)):,}", title, way_out)
        for found, (title, way_out) in CLASSES.items()
        if report.of(found)
    ]
    if rows:
        columns = [
            Column("class", pick="kind"),
            Column("number", right=True),
            Column("what", prose=True),
            Column("what to do", prose=True),
        ]
        yield OnPage([Heading("Who must act"), Table(columns, rows, name="classes")])


def _listing(report: DriftReport) -> Listing:
    ages = {} if report.spells is None else {"since": "left"}
    return Listing(
        "Differences",
        "differences",
        HEADS | ages,
        lambda: _data(report),
        "drift.js",
        OTHERWISE,
        instead=(*_by_class(report), *_throttles(report)),
    )


def _by_class(report: DriftReport) -> Iterator[Block]:
    """Each class with what to do, and its differences as a table."""
    ages = () if report.spells is None else ("since",)
    columns = [
        Column("what", code=True),
        Column("how"),
        Column("declared", code=True),
        Column("has", code=True),
        *map(Column, ages),
    ]
    for drift_class, (title, way_out) in CLASSES.items():
        rows = [
            (subject(of), MEANINGS[of.kind], *compared(of), *(since(report, of) for _ in ages))
            for of in differences(report, drift_class)
        ]
        if rows:
            yield Heading(title, len(rows))
            yield line(f"What to do: {way_out}.")
            yield Table(columns, rows, "difference")


def _throttles(report: DriftReport) -> Iterator[Block]:
    """The throttles that are to stay, with both values."""
    rows = [
        (str(s.setting), throttle_value(s, s.after), throttle_value(s, s.before))
        for s in report.drift.standing
    ]
    if rows:
        yield Heading("Throttles that are not as declared", len(rows))
        columns = [Column(head, code=True) for head in ("throttle", "declared", "has")]
        yield Table(columns, rows, "throttle setting")


def _data(report: DriftReport) -> dict[str, object]:
    kinds: dict[str, int] = {}
    classes: list[object] = []
    for drift_class, (title, _) in CLASSES.items():
        topics: dict[str, list[object]] = {}
        for found in report.of(drift_class):
            kind = kinds.setdefault(MEANINGS[found.kind], len(kinds))
            row = [found.partition, kind, *compared(found)]
            row += [] if report.spells is None else [since(report, found)]
            topics.setdefault(found.topic or subject(found), []).append(row)
        if topics:
            classes.append([drift_class, title, list(topics.items())])
    return {"classes": classes, "kinds": list(kinds)}
