"""A report as one page: what stands is blocks, and what is filtered is data that a script lists (`fleet.js`)."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from replan.fleet.lake.tables import LakeRow
from replan.fleet.reports.facts import ClusterFacts, FleetFacts, JudgedCluster
from replan.fleet.reports.markdown import fleet_verdict
from replan.reporting.blocks import Block, Chart, Column, Heading, Item, Items, Table, Title
from replan.reporting.charts import Mark, across_axis, steps
from replan.reporting.lines import Cell, Span, Tone, line
from replan.reporting.page import asset, html_of, page
from replan.wording import count, duration, listed, size

MOST_ROWS = 20_000
"""More rows of drift than a browser filters at once; the CSV files have them all."""
FILTERED = ("drift", "resolved", "acknowledged")
SAID_BY_ITEM = ("topic", "partition", "broker")
"""What `item` says in one word."""
DRAWN = 450
"""Points of the line over time: of several that fall on one, the highest."""
LAST = 1 / 30
"""How long the newest comparison holds in the picture, as a part of the time before it."""
MOST_MARKS = 6
HOUR = timedelta(hours=1)
MARK_STEPS = tuple(
    HOUR * hours for hours in (1, 2, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24, 91 * 24)
)
_FILTERED = """<h2 id="what">What drifted</h2>
<div class="filters screen"><input id="text" type="search" placeholder="topic, broker or owner" \
aria-label="filter by topic, broker or owner"> <select id="cluster" aria-label="cluster"></select>
<select id="class" aria-label="class"></select>
<label><input id="flapping" type="checkbox"> flapping only</label> <button id="reset" type="button">all</button></div>
<p id="drift-count" class="soft" role="status"></p>
<div class="wide"><table id="drift" class="listing"></table></div>
<section id="past"><h2>Put right in the last week</h2><p class="soft" id="resolved-count"></p>
<div class="wide"><table id="resolved" class="listing"></table></div></section>
<section id="accepted"><h2>Acknowledged</h2><p class="soft" id="acknowledged-count"></p>
<div class="wide"><table id="acknowledged" class="listing"></table></div></section>
<noscript><p>What drifted is listed by a script; report.md and drift.csv have it, too.</p></noscript>"""


def render_page(facts: FleetFacts) -> str:
    """HTML; ends with a newline."""
    rows: dict[str, Sequence[LakeRow]] = {name: getattr(facts, name) for name in FILTERED}
    left = {name: max(len(of_table) - MOST_ROWS, 0) for name, of_table in rows.items()}
    shown = {
        name: [
            {k: v for k, v in row.items() if k not in SAID_BY_ITEM} for row in of_table[:MOST_ROWS]
        ]
        for name, of_table in rows.items()
    }
    data = json.dumps({**shown, "left": left}).replace("<", "\\u003c")
    body = [
        *html_of(_blocks(facts)),
        _FILTERED,
        f'<script type="application/json" id="data">{data}</script>',
    ]
    return page("replan fleet report", body, style=asset("fleet.css"), script=asset("fleet.js"))


def _blocks(facts: FleetFacts) -> Iterator[Block]:
    judged = [c.judged for c in facts.clusters if c.judged is not None]
    errors = [
        (f"{c.name}, {e['stage']}", e["message"].partition("\n")[0])
        for c in facts.clusters
        for e in c.errors
    ]
    well = judged and not errors and not facts.drift
    yield Title("replan fleet report", count(len(facts.clusters), "cluster"))
    yield line(Span(fleet_verdict(facts), Tone.COMES if well else Tone.GOES))
    if judged:
        yield from map(line, _sums(judged))
    if errors:
        yield Heading("Not done")
        yield Items([Item(line(Span(of, Tone.GOES), f": {why}")) for of, why in errors], "error")
    yield Heading("Clusters")
    yield _clusters(facts.clusters)
    yield Heading("Over time")
    yield from _trend(facts.trend)


def _sums(judged: Sequence[JudgedCluster]) -> Iterator[str]:
    def total(name: str) -> int:
        return sum(getattr(c, name) for c in judged)

    newest = max(c.observed_at for c in judged)
    yield f"As of {_minute(newest)} UTC, the newest snapshot."
    yield (
        f"{count(total('partitions'), 'partition')}; {total('converging'):,} on the way, "
        f"{total('flapping'):,} flapping, {total('acknowledged'):,} acknowledged."
    )
    yield f"To copy: {size(total('copy_bytes'))}, {size(total('cross_rack_bytes'))} of it between racks."


def _clusters(clusters: Sequence[ClusterFacts]) -> Table:
    numbers = (
        "drifted",
        "partitions",
        "flapping",
        "to copy",
        "between racks",
        "cost",
        "changes",
        "takes",
    )
    heads = [*numbers[:2], "since", "classes", *numbers[2:], "as of"]
    columns = [
        Column("cluster", pick="cluster"),
        *(Column(h, right=h in numbers, prose=h == "classes") for h in heads),
    ]
    newest = max((c.judged.observed_at for c in clusters if c.judged is not None), default="")
    return Table(columns, [_cluster(c, newest) for c in clusters], "cluster", name="clusters")


def _cluster(cluster: ClusterFacts, newest: str) -> Sequence[Cell]:
    of = cluster.judged
    if of is None:
        return (cluster.name, Span("not judged", Tone.GOES), *([""] * 10))
    return (
        cluster.name,
        f"{of.drifted:,}",
        f"{of.partitions:,}",
        _minute(of.oldest),
        listed(f"{number:,} {name}" for name, number in of.classes.items()),
        f"{of.flapping:,}" if of.flapping else "",
        size(of.copy_bytes) if of.copy_bytes else "",
        size(of.cross_rack_bytes) if of.cross_rack_bytes else "",
        of.cost if of.copy_bytes else "",
        f"{of.changes:,}" if of.changes else "",
        duration(of.plan_seconds) if of.plan_seconds else "",
        _minute(of.observed_at) if _minute(of.observed_at) != _minute(newest) else "",
    )


def _minute(moment: str | None) -> str:
    """A moment of RFC 3339, to the minute."""
    return (moment or "")[:16].replace("T", " ")


def _trend(points: Sequence[LakeRow]) -> Iterator[Block]:
    if len(points) < 2:
        yield line("One comparison so far; a second one makes a picture.")
        return
    moments = [datetime.fromisoformat(point["at"]) for point in points]
    first, whole = moments[0], (moments[-1] - moments[0]) * (1 + LAST)
    highest: dict[int, int] = {}
    for moment, point in zip(moments, points, strict=True):
        at = round(DRAWN * ((moment - first) / whole))
        highest[at] = max(highest.get(at, 0), point["drifted"])
    drawn = [(at / DRAWN, float(number)) for at, number in highest.items()]
    most = max(highest.values())
    svg = steps(drawn, _marks(first, whole), f"Differences over time, {most:,} at most")
    clusters = count(points[-1]["clusters"], "cluster")
    since = f"from {_minute(points[0]['at'])} to {_minute(points[-1]['at'])} UTC"
    yield Chart(
        svg,
        f"Differences in all clusters that had been compared by then, {since}; {clusters} at the end.",
    )


def _marks(first: datetime, whole: timedelta) -> Iterator[Mark]:
    """Round hours or days, some six of them, where there are such."""
    step = next(
        (s for s in MARK_STEPS if s * MOST_MARKS >= whole), max(MARK_STEPS[-1], whole / MOST_MARKS)
    )
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    form = "%b %d %H:%M" if step < 24 * HOUR else "%b %d" if whole < 300 * 24 * HOUR else "%Y %b %d"
    at = start + step * -(-(first - start) // step)
    while at <= first + whole:
        yield Mark(across_axis((at - first) / whole), at.strftime(form))
        at += step
