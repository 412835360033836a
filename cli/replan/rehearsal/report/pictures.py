"""The pictures of a rehearsal, as inline SVG whose colours come from the style sheet of the page.

Time goes from left to right: one band per broker with a bar for each copy that it receives, copies at a time, and how
long the runs with random faults took.
"""

from collections import defaultdict
from collections.abc import Iterator
from html import escape as escape_html

from replan.model.names import BrokerId
from replan.rehearsal.loop_outcome import LoopRehearsal
from replan.rehearsal.outcome import Report
from replan.rehearsal.result import Copied, Rehearsal
from replan.reporting.blocks import Block, Chart, Heading
from replan.reporting.charts import (
    ACROSS,
    CHART_LEFT,
    CHART_WIDTH,
    Mark,
    across_axis,
    axis,
    column_chart,
    steps,
)
from replan.wording import duration, size

LANE = 14.0
GAP = 3.0
BAND_GAP = 12.0
TOP = 54.0
MARK = 32.0
"""Where the faults are marked, between the time axis and the bands."""
COPIES_SHOWN = 2_000
LABEL_PIXELS = 70.0
"""A bar that is narrower has no label, only its title."""
TICKS = 6
NICE_SECONDS = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    7_200,
    14_400,
    43_200,
    *(days * 86_400 for days in (1, 2, 5, 7, 10, 30, 60)),
)


def gantt(rehearsal: Rehearsal) -> str:
    """The picture as one SVG element."""
    return _Drawing(rehearsal).svg()


def tick_seconds(total: float) -> float:
    """How far apart the marks of the time axis are: a round time, some six of them."""
    least = total / TICKS
    return next((float(s) for s in NICE_SECONDS if s >= least), least)


def _marks(total: float) -> list[Mark]:
    """The round times of the axis."""
    step = tick_seconds(total)
    whole = range(int(total / step) + 1)
    return [Mark(across_axis(i * step / total), duration(i * step) if i else "0") for i in whole]


def lanes(copies: list[Copied], ended: float) -> list[list[Copied]]:
    """Copies so that none overlaps another of its lane, each in the first lane that is free."""
    taken: list[list[Copied]] = []
    for copy in sorted(copies, key=lambda c: (c.began, c.partition)):
        free = (lane for lane in taken if _end(lane[-1], ended) <= copy.began)
        lane = next(free, None)
        if lane is None:
            taken.append([copy])
        else:
            lane.append(copy)
    return taken


def _end(copy: Copied, ended: float) -> float:
    return ended if copy.in_sync is None else copy.in_sync


class _Drawing:
    def __init__(self, rehearsal: Rehearsal) -> None:
        self._rehearsal = rehearsal
        self._total = max(rehearsal.seconds, 1.0)
        self._copies: dict[BrokerId, list[Copied]] = defaultdict(list)
        for copy in rehearsal.copies[:COPIES_SHOWN]:
            self._copies[copy.broker].append(copy)
        self._brokers = sorted({*self._copies, *(a.broker for a in rehearsal.absent)})

    def svg(self) -> str:
        bands: list[str] = []
        top = TOP
        for broker in self._brokers:
            band, height = self._band(broker, top)
            bands.append(band)
            top += height + BAND_GAP
        height = top + 8
        parts = [*self._axis(height), *bands, *self._faults(height)]
        return (
            f'<svg viewBox="0 0 {CHART_WIDTH:.0f} {height:.0f}" role="img" '
            f'aria-label="Copies by broker over {escape_html(duration(self._total))}">'
            + "".join(parts)
            + "</svg>"
        )

    def _x(self, seconds: float) -> float:
        return across_axis(seconds / self._total)

    def _axis(self, height: float) -> Iterator[str]:
        for x, _ in _marks(self._total):
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8:.0f}" y2="{height - 6:.0f}"/>'
        yield axis(_marks(self._total), 14)

    def _band(self, broker: BrokerId, top: float) -> tuple[str, float]:
        of_broker = lanes(self._copies.get(broker, []), self._rehearsal.seconds)
        height = max(1, len(of_broker)) * (LANE + GAP) + GAP
        parts = [
            f'<rect class="band" x="{CHART_LEFT}" y="{top:.0f}" width="{ACROSS:.0f}" height="{height:.0f}"/>',
            f'<text class="broker" x="{CHART_LEFT - 10}" y="{top + height / 2 + 4:.0f}">broker {broker}</text>',
        ]
        for number, lane in enumerate(of_broker):
            y = top + GAP + number * (LANE + GAP)
            parts += [self._bar(copy, y) for copy in lane]
        parts += self._absences(broker, top, height)
        return "".join(parts), height

    def _absences(self, broker: BrokerId, top: float, height: float) -> Iterator[str]:
        for absent in self._rehearsal.absent:
            if absent.broker != broker:
                continue
            x, end = self._x(absent.began), self._x(absent.ended or self._total)
            until = "the end" if absent.ended is None else duration(absent.ended)
            title = f"broker {broker} away from {duration(absent.began)} to {until}"
            yield (
                f'<rect class="away" x="{x:.1f}" y="{top:.0f}" width="{max(2.0, end - x):.1f}" '
                f'height="{height:.0f}"><title>{escape_html(title)}</title></rect>'
            )

    def _bar(self, copy: Copied, y: float) -> str:
        x, end = self._x(copy.began), self._x(_end(copy, self._total))
        width = max(2.0, end - x)
        kind = "copy" if copy.in_sync is not None else "copy unfinished"
        source = "" if copy.source is None else f" from broker {copy.source}"
        took = (
            "never in sync"
            if copy.in_sync is None
            else f"in sync after {duration(copy.in_sync - copy.began)}"
        )
        title = (
            f"{copy.partition}{source}: {size(copy.bytes)}, begun at {duration(copy.began)}, {took}"
        )
        bar = (
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{LANE}" rx="2">'
            f"<title>{escape_html(title)}</title></rect>"
        )
        letters = len(str(copy.partition)) * 6.8 + 8
        if width < max(letters, LABEL_PIXELS / 2):
            return bar
        name = escape_html(str(copy.partition))
        return bar + f'<text class="name" x="{x + 4:.1f}" y="{y + LANE - 3.5:.1f}">{name}</text>'

    def _faults(self, height: float) -> Iterator[str]:
        """A line at each fault, with its number on top; a bar there while it lasts."""
        for number, fault in enumerate(self._rehearsal.faults, 1):
            if fault.at_seconds > self._total:
                continue
            x, title = self._x(fault.at_seconds), f"<title>{escape_html(fault.what)}</title>"
            if fault.until_seconds is not None:
                end, y = self._x(fault.until_seconds), MARK + 4 + 4 * ((number - 1) % 3)
                yield f'<line class="lasts" x1="{x:.1f}" x2="{end:.1f}" y1="{y}" y2="{y}">{title}</line>'
            yield f'<line class="fault" x1="{x:.1f}" x2="{x:.1f}" y1="{MARK}" y2="{height - 6:.0f}">{title}</line>'
            yield f'<text class="fault-number" x="{x + 3:.1f}" y="{MARK}">{number}{title}</text>'


BINS = 20


def copies_chart(rehearsal: Rehearsal) -> Iterator[Block]:
    """Each copy as a bar, and how much runs at a time; nothing where nothing is copied and nobody is away."""
    if not rehearsal.copies and not rehearsal.absent:
        return
    unfinished = any(copy.in_sync is None for copy in rehearsal.copies)
    more = len(rehearsal.copies) - COPIES_SHOWN
    legend = ["A bar is one copy, from its request to in sync."]
    legend += ["Dashed: not in sync when the rehearsal ended."] if unfinished else []
    legend += ["Framed in red: the broker is away."] if rehearsal.absent else []
    legend += ["Red lines: the faults, by their numbers below."] if rehearsal.faults else []
    legend += [f"The first {COPIES_SHOWN:,} are drawn, {more:,} are not."] if more > 0 else []
    yield Heading("Copies, by the broker that receives them")
    yield Chart(gantt(rehearsal), " ".join(legend))
    if rehearsal.copies:
        yield Heading("Copies at a time")
        yield Chart(copies_over_time(rehearsal), "How many copies run at each moment.")
    if len(rehearsal.headroom) > 1:
        yield Heading("ISR headroom")
        yield Chart(
            headroom_over_time(rehearsal),
            "In-sync replicas above min ISR: the least of all partitions of the plan at each moment. "
            "At 0 one more broker that fails makes a partition refuse writes; below 0, in red, it does.",
        )


def copies_over_time(rehearsal: Rehearsal) -> str:
    """How many copies run at each moment, as one SVG element."""
    total = max(rehearsal.seconds, 1.0)
    changes: dict[float, int] = defaultdict(int)
    for copy in rehearsal.copies:
        changes[copy.began] += 1
        changes[_end(copy, rehearsal.seconds)] -= 1
    points, running = [(0.0, 0.0)], 0
    for at in sorted(changes):
        running += changes[at]
        points.append((at / total, running))
    most = max(number for _, number in points)
    return steps(points, _marks(total), f"Copies at a time, {most:.0f} at most")


def headroom_over_time(rehearsal: Rehearsal) -> str:
    """The least ISR headroom at each moment, as one SVG element."""
    total = max(rehearsal.seconds, 1.0)
    points = [(sample.at_seconds / total, float(sample.replicas)) for sample in rehearsal.headroom]
    least = min(sample.replicas for sample in rehearsal.headroom)
    return steps(points, _marks(total), f"ISR headroom over time, {least} at the least")


def runs_chart(report: Report) -> Iterator[Block]:
    """How long the runs with random faults took, as a histogram; nothing where all took equally long."""
    took = sorted(run.rehearsal.seconds for run in report.runs)
    if len(took) < 2 or took[0] == took[-1]:
        return
    least, width = took[0], (took[-1] - took[0]) / BINS
    counts = [0] * BINS
    for seconds in took:
        counts[min(BINS - 1, int((seconds - least) / width))] += 1
    marks = [
        Mark(across_axis(part), duration(least + part * (took[-1] - least)))
        for part in (0.0, 0.5, 1.0)
    ]
    titles = [
        f"{number} of {len(took)} runs: {duration(least + at * width)} to {duration(least + (at + 1) * width)}"
        for at, number in enumerate(counts)
    ]
    yield Heading("How long the runs took")
    yield Chart(
        column_chart(counts, titles, marks, f"How long {len(took)} runs took"),
        "Runs with random faults, by how long they took.",
    )


def weeks_chart(rehearsal: LoopRehearsal) -> Iterator[Block]:
    """Under-replicated partitions over rehearsed weeks, and with doing nothing; nothing where none ever is."""
    acting, idle = rehearsal.acting, rehearsal.idle
    most = max((*acting.peaks, *idle.peaks))
    if not most:
        return
    yield Heading("Under-replicated partitions")
    marks = _marks(min(acting.seconds, idle.seconds))
    part = f"The most in each {duration(acting.seconds / len(acting.peaks))}"
    for weeks, how in ((acting, "with the loop"), (idle, "with doing nothing")):
        points = [(at / len(weeks.peaks), peak) for at, peak in enumerate(weeks.peaks)]
        label = f"Under-replicated partitions {how}, {max(weeks.peaks):,.0f} at most"
        drawn = steps(points, marks, label, most=most)
        yield Chart(drawn, f"{part}, {how}.")
