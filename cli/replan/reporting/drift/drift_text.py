"""Drift as plain text: by kind, and apart what failures and other tools do; every partition with its name."""

from collections.abc import Iterator, Sequence

from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift_classes import Difference, DriftClass, OtherKind
from replan.planning.findings.drift_report import DriftReport
from replan.planning.safety.placing_refusals import balance_text
from replan.reporting.drift.drift_words import (
    CLASSES,
    MEANINGS,
    acknowledged,
    by_class,
    electable,
    since,
    subject,
    summary,
    warnings,
)
from replan.reporting.lines import (
    EMPTY,
    Line,
    Span,
    Tone,
    drawn,
    heading,
    line,
    plain,
    table,
)
from replan.reporting.plans.plan_words import throttle_value
from replan.wording import brokers, count, left_out

SHOWN = 500
APART = (DriftClass.FAILURE, DriftClass.OTHER_TOOL)
"""Not the operator's: under a heading of their own, whatever differs."""
SETTINGS = (DriftClass.STALE_THROTTLE, DriftClass.REVIEW_DUE, DriftClass.MISTAKE)


def render_drift(report: DriftReport, *, everything: bool = False, unmanaged: bool = False) -> str:
    """Plain text; ends with a newline. The worst kind first, the summary last."""
    return drawn(drift_lines(report, everything=everything, unmanaged=unmanaged))


def drift_lines(
    report: DriftReport, *, everything: bool = False, unmanaged: bool = False
) -> list[Line]:
    """The same as lines with tones: what is declared comes, what there is goes."""
    limit = None if everything else SHOWN
    lines = [of for title, rows in _groups(report) for of in _group(title, rows, limit)]
    lines += plain(f"{_capital(balance_text(reason.facts))}." for reason in report.drift.unbalanced)
    if unmanaged:
        names = [(topic, count(n, "partition")) for topic, n in report.unmanaged.items()]
        lines += _group("Topics that no entry names", names, limit)
    if report.drift.converging:
        number = count(len(report.drift.converging), "partition")
        lines += plain([f"{number} on the way to the declared list."])
    lines += plain([*acknowledged(report), *electable(report)])
    lines += [line(Span(f"Warning: {text}", Tone.CHANGES), hang=4) for text in warnings(report)]
    tally = by_class(report)
    if "," in tally:
        lines += plain([f"By cause: {tally}."])
    lines.append(line(Span(summary(report), Tone.HEAD if report.drift.none else Tone.GOES), hang=4))
    return lines


def _group(title: str, rows: Sequence[Sequence[str]], limit: int | None) -> list[Line]:
    if not rows:
        return []
    shown = rows[:limit]
    more = left_out(len(rows) - len(shown), way_out="--all lists them")
    cells = [[_toned(cell) for cell in row] for row in shown]
    return [heading(f"{title} ({len(rows):,}):"), *table(cells, indent=2), *plain(more, 2), EMPTY]


def _toned(cell: str) -> Span:
    """What is declared in the tone of what comes, what there is in that of what goes."""
    if cell.startswith("declared "):
        return Span(cell, Tone.COMES)
    return Span(cell, Tone.GOES if cell.startswith(("has ", "led by ")) else Tone.PLAIN)


def _groups(report: DriftReport) -> Iterator[tuple[str, list[Sequence[str]]]]:
    named = [c for c in report.drift.differences if isinstance(c.kind, DifferenceKind)]
    for kind in DifferenceKind:
        of_kind = [c for c in named if c.kind == kind and not _apart(c)]
        if kind is not DifferenceKind.RUNNING:
            yield _capital(MEANINGS[kind]), [(*_columns(c), *_since(report, c)) for c in of_kind]
    for drift_class in APART:
        title, way_out = CLASSES[drift_class]
        members = [c for c in named if c.drift_class is drift_class and _apart(c)]
        yield (
            f"{title}; {way_out}",
            [(*_columns(c), MEANINGS[c.kind], *_since(report, c)) for c in members],
        )
    standing = [c for c in report.drift.differences if c.kind == OtherKind.STANDING]
    counts = report.drift.counts
    yield (
        "Another number of partitions than declared",
        [
            (c.topic, f"declared {c.declared}", f"has {c.observed}", *_since(report, of))
            for c in counts
            for of in [_first(report, DriftClass.PARTITION_COUNT, c.topic)]
        ],
    )
    yield (
        "In log directories that are to be empty",
        [
            (subject(c), f"broker {c.broker}", c.detail, *_since(report, c))
            for c in report.drift.differences
            if c.kind == OtherKind.LOG_DIR
        ],
    )
    yield (
        "Throttles that are not as declared",
        [
            (
                str(s.setting),
                f"has {throttle_value(s, s.before)}",
                f"declared {throttle_value(s, s.after)}",
                *_since(report, of),
            )
            for s, of in zip(report.drift.standing, standing, strict=True)
        ],
    )
    for drift_class in SETTINGS:
        rows = [
            (subject(c), MEANINGS[c.kind], c.detail, *_since(report, c))
            for c in report.of(drift_class)
        ]
        title, way_out = CLASSES[drift_class]
        yield f"{title}; {way_out}", list(rows)


def _since(report: DriftReport, found: Difference | None) -> tuple[str, ...]:
    """One more column, where it was asked for."""
    if report.spells is None:
        return ()
    return ("" if found is None else f"since {since(report, found)}",)


def _apart(found: Difference) -> bool:
    """A leadership that moved has a heading of its own already."""
    return found.drift_class in APART and found.kind != DifferenceKind.LEADER


def _first(report: DriftReport, of: DriftClass, topic: str) -> Difference | None:
    return next((c for c in report.of(of) if c.topic == topic), None)


def _columns(found: Difference) -> tuple[str, str, str]:
    name, declared = subject(found), brokers(found.declared)
    if found.kind == DifferenceKind.MISSING:
        return name, f"declared {declared}", ""
    if found.kind == DifferenceKind.LEADER:
        return name, f"declared {found.declared[0]} of {declared}", f"led by {found.leader}"
    if found.kind == DifferenceKind.PREFERRED_ABSENT:
        return name, f"leader {found.declared[0]}", f"list {brokers(found.observed)}"
    if found.kind == DifferenceKind.NO_LEADER:
        return name, f"replicas {brokers(found.observed)}", ""
    has = f"has {brokers(found.observed)}"
    return (name, f"declared {declared}", has) if found.declared else (name, "", has)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
