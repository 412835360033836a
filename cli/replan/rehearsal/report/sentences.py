"""The sentences of a rehearsal, which all forms of its report share."""

import math
from collections.abc import Iterator

from replan.rehearsal.options import Options
from replan.rehearsal.outcome import Chanced, Report
from replan.rehearsal.result import Happened, Harm, Lowest, Rehearsal, Waited
from replan.reporting.quantities import duration, rate, size
from replan.wording import capped, count, left_out

STOPPED_SHOWN = 50
WAITS_SHOWN = 20
MISSING_SHOWN = 10
SEEDS_SHOWN = 20
NEVER = "never under min ISR, never without a leader"


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


def summary_lines(rehearsal: Rehearsal, assumed: str) -> tuple[str, ...]:
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
    yield from capped(rehearsal.stopped, lambda s: f"{s.result}: {s.message}", limit=STOPPED_SHOWN)
    yield from rehearsal.text.splitlines()[1:]


def happened(rehearsal: Rehearsal, fault: Happened) -> str:
    """A fault as it was asked for; one that is refused or comes after the end has befallen nobody."""
    late = fault.at_seconds > rehearsal.seconds
    refused = "".join(f" (Kafka refuses it: {text})" for text in fault.refused)
    return f"{fault.what}{' (after the end)' if late else ''}{refused}"


def harm(rehearsal: Rehearsal) -> str:
    """What the partitions of the plan suffer; under faults, beside what these do without the plan."""
    found = _suffered(rehearsal.harm)
    if not rehearsal.faults:
        return f"{found[:1].upper()}{found[1:]}."
    without = _suffered(rehearsal.without)
    if found == without == NEVER:
        return f"{found[:1].upper()}{found[1:]}, neither with the plan nor without it."
    return f"With the plan {found}; without it {without} (summed over the partitions of the plan)."


def _suffered(found: Harm) -> str:
    lost = f", {size(found.lost_bytes)} lost" if found.lost_bytes else ""
    under, leaderless = found.under_min_isr_seconds, found.leaderless_seconds
    return f"{_long(under)} under min ISR, {_long(leaderless)} without a leader{lost}"


def _long(seconds: float) -> str:
    return duration(seconds) if seconds else "never"


def waiter(found: Waited) -> str:
    """Who waited for one reason."""
    if found.partitions == 1:
        return str(found.longest)
    return f"{found.longest} and {count(found.partitions - 1, 'more partition')}"


def waits(rehearsal: Rehearsal) -> Iterator[tuple[str, str, str]]:
    """How long at most, who, for what; the longest first."""
    for found in rehearsal.waits[:WAITS_SHOWN]:
        yield duration(found.longest_seconds), waiter(found), found.reason
    for more in left_out(len(rehearsal.waits) - WAITS_SHOWN, "reason"):
        yield "", "", f"{more} to wait"


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


SPREAD_HEAD = ("", "least", "median", "p90", "most")


def chances(report: Report) -> Iterator[str]:
    """What the runs with faults by chance came to, beside how long they took."""
    if not report.runs:
        return
    seeds = f"seeds {report.runs[0].seed} to {report.runs[-1].seed}"
    arrived = sum(1 for c in report.runs if c.rehearsal.arrived)
    yield f"{count(len(report.runs), 'run')} with faults by chance ({seeds}): {arrived} arrive."
    found = ", ".join(f"{margin} in {count(n, 'run')}" for margin, n in report.margins.items())
    if found:
        yield f"Lowest margin over min ISR: {found}."
    yield _under(report)
    missing = [c for c in report.runs if not c.rehearsal.arrived]
    for chanced in missing[:MISSING_SHOWN]:
        first = next(stopped(chanced.rehearsal), chanced.rehearsal.text)
        yield f"Seed {chanced.seed} does not arrive ({_faults(chanced)}): {first}"
    if len(missing) > MISSING_SHOWN:
        yield f"{len(missing) - MISSING_SHOWN:,} more do not arrive."
    if report.worst is not None:
        worst, lowest = report.worst.rehearsal, report.worst.rehearsal.lowest
        standing = "" if lowest is None else f", margin {lowest.margin}"
        yield (
            f"The worst is seed {report.worst.seed} ({duration(worst.seconds)}{standing}: "
            f"{_faults(report.worst)}); the same command with --seed {report.worst.seed} and without --runs tells it."
        )


def spread_row(report: Report) -> tuple[str, ...]:
    """How long the runs took, under SPREAD_HEAD."""
    took = report.seconds
    return ("duration", *map(duration, (took.least, took.median, took.p90, took.most)))


def _under(report: Report) -> str:
    if not report.under:
        return "No run takes a partition of the plan under its min ISR."
    seeds = ", ".join(str(c.seed) for c in report.under[:SEEDS_SHOWN])
    seeds += ", …" if len(report.under) > SEEDS_SHOWN else ""
    also = sum(1 for c in report.under if c.rehearsal.without.under_min_isr_seconds > 0)
    return (
        f"Under min ISR come partitions of the plan in {count(len(report.under), 'run')} "
        f"({'seed' if len(report.under) == 1 else 'seeds'} {seeds}); without the plan in {also or 'none'} of them."
    )


def _faults(chanced: Chanced) -> str:
    return ", ".join(f.what for f in chanced.rehearsal.faults) or "no fault"
