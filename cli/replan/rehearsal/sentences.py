"""The sentences of a rehearsal, which all forms of its report share."""

import math
from collections.abc import Iterator

from replan.rehearsal.options import Options
from replan.rehearsal.report import Report
from replan.rehearsal.result import Harm, Lowest, Rehearsal, Waited
from replan.reporting.quantities import count, duration, rate, size

STOPPED_SHOWN = 50
WAITS_SHOWN = 20


def verdict(rehearsal: Rehearsal) -> str:
    """Whether it arrives, how long it takes, what it copies."""
    total = count(rehearsal.moves, "move")
    if not rehearsal.moves:
        return "It arrives: the plan asks for nothing."
    cost = f"{size(rehearsal.copied_bytes)} copied"
    if rehearsal.throttled_seconds:
        cost += f", throttles in place for {duration(rehearsal.throttled_seconds)}"
    if rehearsal.arrived:
        return f"It arrives: {total} in {duration(rehearsal.seconds)}; {cost}."
    first = rehearsal.text.partition("\n")[0]
    return f"It does not arrive: after {duration(rehearsal.seconds)}, {first}; {cost}."


def essence(rehearsal: Rehearsal, assumed: str) -> tuple[str, ...]:
    """Two lines for a plan: how long and how loaded; how close to min ISR."""
    took = f"Rehearsed ({assumed}): {duration(rehearsal.seconds)}"
    if not rehearsal.arrived:
        took += ", and it does not arrive (`replan rehearse` says why)"
    busiest = max(rehearsal.brokers, key=lambda b: max(b.peak_in, b.peak_out), default=None)
    if busiest is not None and max(busiest.peak_in, busiest.peak_out) > 0:
        sends = busiest.peak_out >= busiest.peak_in
        peak = round(max(busiest.peak_in, busiest.peak_out))
        took += f"; peak {rate(peak)} {'out of' if sends else 'into'} broker {busiest.broker}"
    lowest = rehearsal.lowest
    return (f"{took}.",) if lowest is None else (f"{took}.", margin(lowest))


def margin(lowest: Lowest) -> str:
    """The lowest margin with its place and time."""
    standing = f"{lowest.in_sync} in sync, min ISR {lowest.min_in_sync}"
    if lowest.before == lowest.margin:
        return f"Lowest margin over min ISR: {lowest.margin}, as in the beginning ({lowest.partition}: {standing})."
    when = duration(lowest.at_seconds)
    return (
        f"Lowest margin over min ISR: {lowest.margin} ({lowest.partition} at {when}: {standing}; "
        f"{lowest.before} in the beginning)."
    )


def stopped(rehearsal: Rehearsal) -> Iterator[str]:
    """What did not arrive, each complete with its reason."""
    if rehearsal.arrived:
        return
    for found in rehearsal.stopped[:STOPPED_SHOWN]:
        yield f"{found.result}: {found.message}"
    more = len(rehearsal.stopped) - STOPPED_SHOWN
    if more > 0:
        yield f"and {more:,} more"
    yield from rehearsal.text.splitlines()[1:]


def harm(rehearsal: Rehearsal) -> str:
    """What the partitions suffered, with and without the plan."""
    found, without = _suffered(rehearsal.harm), _suffered(rehearsal.without)
    return f"With the plan: {found}. The same faults without it: {without}."


def _suffered(found: Harm) -> str:
    lost = f", {size(found.lost_bytes)} lost" if found.lost_bytes else ""
    under, leaderless = found.under_min_isr_seconds, found.leaderless_seconds
    return f"{_long(under)} under min ISR, {_long(leaderless)} without a leader{lost}"


def _long(seconds: float) -> str:
    return duration(seconds) if seconds else "never"


def waited(found: Waited) -> str:
    """One reason to wait, with how long and who."""
    whose = str(found.first)
    if found.partitions > 1:
        whose = f"{count(found.partitions, 'partition')}, longest {found.first}"
    return f"{duration(found.longest_seconds)}  {whose}: {found.reason}"


def waits(rehearsal: Rehearsal) -> Iterator[str]:
    """The waits, the longest first."""
    yield from (waited(w) for w in rehearsal.waits[:WAITS_SHOWN])
    more = len(rehearsal.waits) - WAITS_SHOWN
    if more > 0:
        yield f"and {count(more, 'more reason')} to wait"


def assumptions(options: Options) -> str:
    """What the numbers rest on."""
    disk = "disks as fast as needed"
    if math.isfinite(options.disk):
        disk = f"disk {rate(round(options.disk))} a broker"
    produce = "produce rates as in the cluster file, if any"
    if options.produce is not None:
        produce = f"{rate(round(options.produce))} written to each partition"
    if options.rates:
        produce += f" ({count(len(options.rates), 'partition')} with rates of their own)"
    return f"Assumed: network {rate(round(options.network))} a broker and direction; {disk}; {produce}."


def spreads(report: Report) -> Iterator[str]:
    """The distribution over the runs with faults by chance."""
    if not report.runs:
        return
    took, margins = report.seconds, report.margins
    seeds = f"seeds {report.runs[0].seed} to {report.runs[-1].seed}"
    arrived = sum(1 for c in report.runs if c.rehearsal.arrived)
    yield f"{count(len(report.runs), 'run')} with faults by chance ({seeds}): {arrived} arrive."
    yield f"duration: min {duration(took.least)}, median {duration(took.median)}, max {duration(took.most)}"
    yield f"lowest margin: min {margins.least:g}, median {margins.median:g}, max {margins.most:g}"
    for chanced in report.runs:
        if not chanced.rehearsal.arrived:
            faults = ", ".join(f.what for f in chanced.rehearsal.faults)
            first = next(stopped(chanced.rehearsal), chanced.rehearsal.text)
            yield f"seed {chanced.seed} does not arrive ({faults}): {first}"
