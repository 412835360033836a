"""Drift in all its forms, and the words that these share: how a partition differs, and who must act.

As text it goes by kind, apart what failures and other tools do, with the name of every partition. As a document it says
first who must act, then every difference: on a page filtered, in Markdown by class. And it is one JSON document.

Two pages of the same state are the same bytes. The differences are data, which the script (`drift.js`) lists: for each
class its topics, for each topic its rows `[PARTITION, KIND, DECLARED, HAS]` with an index of `kinds`, and `SINCE` where
that was asked for; what is no topic's stands under its own name with null for the partition.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import asdict

from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift_classes import Difference, DriftClass, OtherKind
from replan.planning.findings.drift_report import DriftReport
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
from replan.reporting.json_report import json_report
from replan.reporting.lines import EMPTY_LINE, Line, Span, Tone, drawn, heading, line, plain, table
from replan.reporting.sentences import (
    elr_gone_text,
    unclean_text,
)
from replan.wording import NAMES_SHOWN, brokers, capped, count, left_out, subject

MEANINGS: Mapping[DifferenceKind | OtherKind, str] = {
    DifferenceKind.MISSING: "declared, but not in the cluster",
    DifferenceKind.REPLICAS: "other replicas",
    DifferenceKind.ORDER: "other order",
    DifferenceKind.RUNNING: "on the way to the declared list",
    DifferenceKind.LEADER: "another leader",
    DifferenceKind.UNPLACEABLE: "no list keeps its rule or its drain; `replan plan` says why",
    DifferenceKind.NO_LEADER: "no leader: nobody can read or write it",
    DifferenceKind.PREFERRED_ABSENT: "the preferred leader is no replica",
    OtherKind.PARTITIONS: "another number of partitions",
    OtherKind.LOG_DIR: "a replica in a log directory that is to be empty",
    OtherKind.STANDING: "a throttle that is to stay",
    OtherKind.THROTTLE: "a throttle",
    OtherKind.LEADER_BLACKLIST: "an entry of the leader blacklist",
    OtherKind.REPLICA_BLACKLIST: "an entry of the replica blacklist",
    OtherKind.LOG_DIR_BLACKLIST: "an entry of the log directory blacklist",
    OtherKind.BALANCE: "the balance",
    OtherKind.PLACEMENT: "a line of the placement",
}
"""What differs, by the kind of a `Difference`, in a few words."""

CLASSES: Mapping[DriftClass, tuple[str, str]] = {
    DriftClass.MISTAKE: (
        "Mistakes in the placement",
        "correct the file; until then `replan plan` plans nothing",
    ),
    DriftClass.OPERATOR: (
        "Changed in the cluster or in the placement, and not in both",
        "apply the placement, or change it",
    ),
    DriftClass.FAILURE: (
        "Because brokers are down or out of sync",
        "bring them back; a plan replaces them where they are drained",
    ),
    DriftClass.OTHER_TOOL: (
        "Being moved elsewhere by another tool",
        "let it end, or cancel it, and plan again",
    ),
    DriftClass.PARTITION_COUNT: (
        "Another number of partitions than declared",
        "declare what there is, or plan the rest",
    ),
    DriftClass.STALE_THROTTLE: (
        "Throttles that nothing needs",
        "`replan throttle clear` removes replan's own and lists the others",
    ),
    DriftClass.REVIEW_DUE: (
        "Blacklist entries to be reviewed",
        "take them out, or give them another date",
    ),
    DriftClass.UNKNOWN: (
        "Not explained by the state of the cluster",
        "`replan explain` says more; where the journal of an open application is not read, it may be that application",
    ),
    DriftClass.IN_FLIGHT: ("On the way to what is declared", "nothing: it is no drift"),
}
"""What a class means, and what to do; the worst for its reader first."""


def _subject(difference: Difference) -> str:
    return subject(difference.topic, difference.partition, difference.broker)


def differences(report: DriftReport, drift_class: DriftClass) -> list[Difference]:
    """Those of a class, without the throttles that are to stay: they are listed apart, with both values."""
    return [c for c in report.of(drift_class) if c.kind is not OtherKind.STANDING]


def declared_and_observed(difference: Difference) -> tuple[str, str]:
    """What is declared and what is there, in words of one table."""
    declared = brokers(difference.declared) if difference.declared else ""
    observed = brokers(difference.observed) if difference.observed else ""
    if difference.kind == DifferenceKind.LEADER:
        return str(difference.declared[0]), f"{difference.leader}"
    if difference.kind == OtherKind.LOG_DIR:
        return "", f"broker {difference.broker}, {difference.detail}"
    return declared, observed or difference.detail


def since(report: DriftReport, difference: Difference) -> str:
    """Since when something drifts, and how often it began; empty where nobody asked."""
    spell = report.spell(difference)
    if spell is None:
        return ""
    often = f", {spell.spells:,} times" if spell.spells > 1 else ""
    return f"{spell.since}{often}{', flapping' if spell.flapping else ''}"


def by_class(report: DriftReport) -> str:
    """How many differences each class has: `2 operator, 1 failure`."""
    tally = Counter(difference.drift_class for difference in report.drift.drifted)
    return ", ".join(f"{tally[c]:,} {c}" for c in CLASSES if tally[c])


def total(report: DriftReport) -> int:
    """How many differences there are; what is on its way is none."""
    return len(report.drift.drifted)


def drift_summary(report: DriftReport) -> str:
    """The one line that says whether there is drift."""
    if report.drift.none:
        return f"No drift, as of {report.drift.observed_at}."
    return f"Drift: {count(total(report), 'difference')}, as of {report.drift.observed_at}."


def acknowledged(report: DriftReport) -> list[str]:
    """A line about what is acknowledged, if anything is."""
    partitions = report.drift.acknowledged
    if not partitions:
        return []
    names = ", ".join(capped(partitions, limit=NAMES_SHOWN))
    return [f"{count(len(partitions), 'partition')} acknowledged, so not counted: {names}."]


def electable(report: DriftReport) -> list[str]:
    """A line about the partitions that the next failure leaves without a clean leader, if there are any."""
    number, shown = report.electable.at_risk, report.electable.named[:5]
    if not number:
        return []
    named = ", ".join([*map(str, shown), *left_out(number - len(shown))])
    return [
        f"{count(number, 'partition')} with at most one electable replica (ISR or ELR): {named}."
    ]


def warnings(report: DriftReport) -> list[str]:
    """What is no difference by itself: brokers that are down, topics with unclean election, an ELR that is gone."""
    drift = report.drift
    texts = [str(down) for down in drift.down]
    if drift.unjudged:
        number = count(drift.unjudged, "partition")
        texts.append(
            f"{number} not judged by racks: Kafka does not tell the rack of a broker that is down"
        )
    texts += [unclean_text(drift.unclean)] if drift.unclean else []
    texts += map(str, drift.warnings)
    return texts + ([elr_gone_text(drift.elr_gone)] if drift.elr_gone else [])


DIFFERENCES_SHOWN = 500
APART = (DriftClass.FAILURE, DriftClass.OTHER_TOOL)
"""Not the operator's: under a heading of their own, whatever differs."""
LAST_CLASSES = (DriftClass.STALE_THROTTLE, DriftClass.REVIEW_DUE, DriftClass.MISTAKE)
"""What is listed last, of what has no heading by its kind."""
WITH_HEADING = {
    OtherKind.PARTITIONS,
    OtherKind.LOG_DIR,
    OtherKind.STANDING,
    OtherKind.BALANCE,
}
"""Kinds that are listed under a heading of their own; all others are listed by class."""


def render_drift(report: DriftReport, *, everything: bool = False, unmanaged: bool = False) -> str:
    """Plain text; ends with a newline. The worst kind first, the summary last."""
    return drawn(drift_lines(report, everything=everything, unmanaged=unmanaged))


def drift_lines(
    report: DriftReport, *, everything: bool = False, unmanaged: bool = False
) -> list[Line]:
    """The same as lines with tones: what is declared comes, what there is goes."""
    limit = None if everything else DIFFERENCES_SHOWN
    lines = [of for title, rows in _groups(report) for of in _group(title, rows, limit)]
    lines += plain(f"{_capital(str(reason))}." for reason in report.drift.unbalanced)
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
    lines.append(
        line(Span(drift_summary(report), Tone.HEAD if report.drift.none else Tone.GOES), hang=4)
    )
    return lines


def _group(title: str, rows: Sequence[Sequence[str]], limit: int | None) -> list[Line]:
    if not rows:
        return []
    shown = rows[:limit]
    more = left_out(len(rows) - len(shown), way_out="--all lists them")
    cells = [[_toned(cell) for cell in row] for row in shown]
    return [
        heading(f"{title} ({len(rows):,}):"),
        *table(cells, indent=2),
        *plain(more, 2),
        EMPTY_LINE,
    ]


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
            (c.topic, f"declared {c.declared}", f"has {c.observed}", *_since(report, difference))
            for c in counts
            for difference in [_first(report, DriftClass.PARTITION_COUNT, c.topic)]
        ],
    )
    yield (
        "In log directories that are to be empty",
        [
            (_subject(c), f"broker {c.broker}", c.detail, *_since(report, c))
            for c in report.drift.differences
            if c.kind == OtherKind.LOG_DIR
        ],
    )
    yield (
        "Throttles that are not as declared",
        [
            (
                str(s.setting),
                f"has {s.worded(s.before)}",
                f"declared {s.worded(s.after)}",
                *_since(report, difference),
            )
            for difference in standing
            for s in ([] if difference.setting is None else [difference.setting])
        ],
    )
    for drift_class in (*(c for c in CLASSES if c not in LAST_CLASSES), *LAST_CLASSES):
        rows = [
            (_subject(c), MEANINGS[c.kind], c.detail, *_since(report, c))
            for c in report.of(drift_class)
            if isinstance(c.kind, OtherKind) and c.kind not in WITH_HEADING
        ]
        title, way_out = CLASSES[drift_class]
        yield f"{title}; {way_out}", list(rows)


def _since(report: DriftReport, difference: Difference | None) -> tuple[str, ...]:
    """One more column, where it was asked for."""
    if report.spells is None:
        return ()
    return ("" if difference is None else f"since {since(report, difference)}",)


def _apart(difference: Difference) -> bool:
    """A leadership that moved has a heading of its own already."""
    return difference.drift_class in APART and difference.kind != DifferenceKind.LEADER


def _first(report: DriftReport, of: DriftClass, topic: str) -> Difference | None:
    return next((c for c in report.of(of) if c.topic == topic), None)


def _columns(difference: Difference) -> tuple[str, str, str]:
    name, declared = _subject(difference), brokers(difference.declared)
    if difference.kind == DifferenceKind.MISSING:
        return name, f"declared {declared}", ""
    if difference.kind == DifferenceKind.LEADER:
        return (
            name,
            f"declared {difference.declared[0]} of {declared}",
            f"led by {difference.leader}",
        )
    if difference.kind == DifferenceKind.PREFERRED_ABSENT:
        return name, f"leader {difference.declared[0]}", f"list {brokers(difference.observed)}"
    if difference.kind == DifferenceKind.NO_LEADER:
        return name, f"replicas {brokers(difference.observed)}", ""
    has = f"has {brokers(difference.observed)}"
    return (name, f"declared {declared}", has) if difference.declared else (name, "", has)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


DIFFERENCE_HEADS = {
    "what": "left",
    "declared": "left",
    "has": "left",
    "how": "left",
    "why": "prose",
}
DIFFERENCES_WITHOUT_SCRIPT = (
    "The differences are listed by a script; `replan drift` lists them as text."
)


def drift_blocks(report: DriftReport, *, unmanaged: bool = False) -> Iterator[Block]:
    """The whole document."""
    drift = report.drift
    name = report.cluster_name or drift.cluster_id
    yield Title("replan drift", name, drift.cluster_id)
    yield line(Span(drift_summary(report), Tone.COMES if report.drift.none else Tone.GOES))
    tally = by_class(report)
    yield from (line(text) for text in ([f"By cause: {tally}."] if tally else []))
    yield from map(line, [*electable(report), *acknowledged(report)])
    yield from (line(Span(f"Warning: {text}", Tone.GOES)) for text in warnings(report))
    yield from (line(f"{reason}.") for reason in drift.unbalanced)
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
        (drift_class, f"{len(report.of(drift_class)):,}", title, way_out)
        for drift_class, (title, way_out) in CLASSES.items()
        if report.of(drift_class)
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
        DIFFERENCE_HEADS | ages,
        lambda: _data(report),
        "drift.js",
        DIFFERENCES_WITHOUT_SCRIPT,
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
            (
                _subject(difference),
                MEANINGS[difference.kind],
                *declared_and_observed(difference),
                *(since(report, difference) for _ in ages),
            )
            for difference in differences(report, drift_class)
        ]
        if rows:
            yield Heading(title, len(rows))
            yield line(f"What to do: {way_out}.")
            yield Table(columns, rows, "difference")


def _throttles(report: DriftReport) -> Iterator[Block]:
    """The throttles that are to stay, with both values."""
    rows = [(str(s.setting), s.worded(s.after), s.worded(s.before)) for s in report.drift.standing]
    if rows:
        yield Heading("Throttles that are not as declared", len(rows))
        columns = [Column(head, code=True) for head in ("throttle", "declared", "has")]
        yield Table(columns, rows, "throttle setting")


def _data(report: DriftReport) -> dict[str, object]:
    kinds: dict[str, int] = {}
    classes: list[object] = []
    for drift_class, (title, _) in CLASSES.items():
        topics: dict[str, list[object]] = {}
        for difference in report.of(drift_class):
            kind = kinds.setdefault(MEANINGS[difference.kind], len(kinds))
            row = [difference.partition, kind, *declared_and_observed(difference)]
            row += [] if report.spells is None else [since(report, difference)]
            topics.setdefault(difference.topic or _subject(difference), []).append(row)
        if topics:
            classes.append([drift_class, title, list(topics.items())])
    return {"classes": classes, "kinds": list(kinds)}


def render_drift_json(report: DriftReport, *, unmanaged: bool = False) -> str:
    """The document, in a stable order; ends with a newline."""
    drift = report.drift
    fields: dict[str, object] = {
        "clusterId": drift.cluster_id,
        "clusterName": report.cluster_name,
        "observedAt": drift.observed_at,
        "drift": not report.drift.none,
        "classes": report.tally(),
        "differences": [_difference(report, difference) for difference in report.drift.differences],
        "partitionCounts": drift.counts,
        "standing": [
            {**asdict(s.setting), "declared": s.after, "observed": s.before} for s in drift.standing
        ],
        "unbalanced": [
            {
                "measure": r.imbalance.measure,
                "where": r.where,
                "asked": r.facts["asked"],
                "reached": r.facts["reached"],
                "brokers": r.imbalance.brokers,
                "message": str(r),
            }
            for r in drift.unbalanced
        ],
        "acknowledged": [tp._asdict() for tp in drift.acknowledged],
        "brokersDown": drift.down,
        "uncleanElection": report.drift.unclean,
        "elrCleared": [n._asdict() for n in report.drift.elr_gone],
        "electable": {
            "fewest": report.electable.least,
            "atRisk": report.electable.at_risk,
            "partitions": report.electable.partitions,
        },
    }
    if unmanaged:
        fields["unmanaged"] = [{"topic": t, "partitions": n} for t, n in report.unmanaged.items()]
    return json_report("replan.drift", fields)


def _difference(report: DriftReport, difference: Difference) -> Mapping[str, object]:
    """Who must act, by which rule, and what differs; fields that it does not have are null.

    Since when, how often and whether it flaps, where that was asked for.
    """
    spell = report.spell(difference)
    return {
        "class": difference.drift_class,
        "rule": difference.rule,
        "kind": difference.kind,
        "topic": difference.topic,
        "partition": difference.partition,
        "broker": difference.broker,
        "declared": difference.declared,
        "observed": difference.observed,
        "leader": difference.leader,
        "detail": difference.detail or None,
    } | (
        {}
        if spell is None
        else {"since": spell.since, "spells": spell.spells, "flapping": spell.flapping}
    )
