"""The sentences of a rehearsal, which all forms of its report share."""

import math
from collections.abc import Iterator

from replan.model.declared.placement import Side
from replan.rehearsal.coarse import Coarse
from replan.rehearsal.options import Options
from replan.rehearsal.outcome import RandomRun, Report
from replan.rehearsal.result import Harm, Headroom, InjectedFault, Rehearsal, Waited
from replan.reporting.application.outcome_text import result_text
from replan.wording import capped, count, duration, rate, size

STOPPED_SHOWN = 50
MISSING_SHOWN = 10
SEEDS_SHOWN = 20
NO_HARM = "never under min ISR, never without a leader"


def rehearsal_verdict(rehearsal: Rehearsal) -> str:
    """Whether the plan completes, how long it takes, what it copies."""
    if not rehearsal.changes:
        return "Completes: nothing to do."
    cost = f"{size(rehearsal.copied_bytes)} copied" if rehearsal.moves else "nothing copied"
    if rehearsal.throttled_seconds:
        cost += f", throttled for {duration(rehearsal.throttled_seconds)}"
    if rehearsal.completed:
        return f"Completes: {_work(rehearsal)} in {duration(rehearsal.seconds)}; {cost}."
    first = rehearsal.text.partition("\n")[0]
    return f"Does not complete: after {duration(rehearsal.seconds)}, {first}; {cost}."


def _work(rehearsal: Rehearsal) -> str:
    """What there was to do."""
    named = {"move": rehearsal.moves, "recovery": len(rehearsal.recovered)}
    parts = [count(number, noun) for noun, number in named.items() if number]
    return " and ".join(parts) or count(rehearsal.changes, "change")


def summary_lines(rehearsal: Rehearsal, assumed: str) -> tuple[str, ...]:
    """Two lines for a plan: how long and how loaded; how close to min ISR."""
    took = f"Rehearsed ({assumed}): {duration(rehearsal.seconds)}"
    if not rehearsal.completed:
        took += ", and does not complete (`replan rehearse` says why)"
    busiest = max(rehearsal.brokers, key=lambda b: max(b.peak_in, b.peak_out), default=None)
    if busiest is not None and max(busiest.peak_in, busiest.peak_out) > 0:
        sends = busiest.peak_out >= busiest.peak_in
        peak = round(max(busiest.peak_in, busiest.peak_out))
        took += f"; peak {rate(peak)} {'out of' if sends else 'into'} broker {busiest.broker}"
    smallest = rehearsal.smallest_headroom
    return (f"{took}.",) if smallest is None else (f"{took}.", headroom(smallest))


def coarse_lines(coarse: Coarse, assumed: str, why: str) -> tuple[str, ...]:
    """The same two lines from the coarser model, and why it is that one."""
    took = "does not end" if coarse.seconds is None else f"about {duration(coarse.seconds)}"
    line = f"Estimated by a coarser model, as {why} ({assumed}): {took}"
    most = coarse.bottleneck
    if most is not None and most.bytes_per_second <= 0:
        line += f"; what producers write takes all of the rate of broker {most.broker}"
    elif most is not None and most.bytes:
        goes = "out of" if most.side is Side.LEADER else "into"
        at = rate(round(most.bytes_per_second))
        line += f"; longest takes {size(most.bytes)} {goes} broker {most.broker} at {at}"
    return (f"{line}.", *([] if coarse.headroom is None else [headroom(coarse.headroom)]))


def headroom(smallest: Headroom) -> str:
    """The smallest headroom over min ISR with its place, and its time where it was larger before."""
    there, was = f"{smallest.partition}", "unchanged"
    if smallest.before != smallest.replicas:
        there += "" if smallest.at_seconds is None else f" at {duration(smallest.at_seconds)}"
        was = f"was {smallest.before}"
    in_sync = f"{smallest.in_sync} in sync, min ISR {smallest.min_in_sync}"
    return f"Smallest ISR headroom: {smallest.replicas} ({was}; {there}: {in_sync})."


def stopped_lines(rehearsal: Rehearsal) -> Iterator[str]:
    """What was not done, each complete with its reason."""
    if rehearsal.completed:
        return
    yield from capped(
        rehearsal.stopped, lambda s: f"{s.result}: {result_text(s)}", limit=STOPPED_SHOWN
    )
    yield from rehearsal.text.splitlines()[1:]


def refused_partitions(report: Report) -> list[str]:
    """The partitions that the plan leaves out, each with its reason and the way out."""
    return capped(report.refusals, lambda r: f"{r} [{r.rule}]", limit=STOPPED_SHOWN)


def injected(fault: InjectedFault, ended: float) -> str:
    """A fault as it was asked for, and whether Kafka refused it or it came after the end."""
    late = fault.at_seconds > ended
    refused = "".join(f" (Kafka refuses it: {text})" for text in fault.refused)
    return f"{fault.what}{' (after the end)' if late else ''}{refused}"


def harm(rehearsal: Rehearsal) -> str:
    """What the partitions of the plan suffer; under faults, beside what they suffer without the plan."""
    suffered = _suffered(rehearsal.harm)
    if not rehearsal.faults:
        return f"{suffered[:1].upper()}{suffered[1:]}."
    without = _suffered(rehearsal.without)
    if suffered == without == NO_HARM:
        return f"{suffered[:1].upper()}{suffered[1:]}, with the plan and without it."
    return f"With the plan: {suffered}; without it: {without} (summed over the partitions of the plan)."


def _suffered(of: Harm) -> str:
    lost = f", {size(of.lost_bytes)} lost" if of.lost_bytes else ""
    under, leaderless = of.under_min_isr_seconds, of.leaderless_seconds
    return f"{_long(under)} under min ISR, {_long(leaderless)} without a leader{lost}"


def _long(seconds: float) -> str:
    return duration(seconds) if seconds else "never"


def waiter(waited: Waited) -> str:
    """Who waited for one reason."""
    if waited.partitions == 1:
        return str(waited.longest)
    return f"{waited.longest} and {count(waited.partitions - 1, 'more partition')}"


def assumptions(options: Options) -> str:
    """What the numbers rest on."""
    kafka = "" if options.version is None else f"Kafka {options.version}; "
    if options.version_is_inferred:
        kafka = (
            f"the rules of Kafka {options.version}, the oldest with the features of this cluster "
            "(--kafka-version names another); "
        )
    speeds, disk = options.speeds(), "disks unlimited"
    if math.isfinite(speeds.disk_bytes_per_second):
        disk = f"disks {rate(round(speeds.disk_bytes_per_second))} per broker"
    produce = "produce rates as in the cluster file, if any"
    if options.produce is not None:
        produce = f"{rate(round(options.produce))} produced to each partition"
    if options.rates:
        produce += f" ({count(len(options.rates), 'partition')} with rates of their own)"
    network = f"network {rate(round(speeds.network_bytes_per_second))} per broker and direction"
    return f"Assumed: {kafka}{network}; {disk}; {produce}."


def looks(report: Report) -> Iterator[str]:
    """How much less closely a long plan is looked at, if it is."""
    seconds = report.rehearsal.longest_look_seconds
    if seconds:
        most = count(report.options.exact_steps, "step")
        yield (
            f"Looked at up to {seconds:.1f} s apart while copies ran, as the plan has more than {most}; "
            "the duration may be a twentieth too long."
        )


def random_runs(report: Report) -> Iterator[str]:
    """What the runs with random faults came to, beside how long they took."""
    if not report.runs:
        return
    seeds = f"seeds {report.runs[0].seed} to {report.runs[-1].seed}"
    missing = [run for run in report.runs if not run.rehearsal.completed]
    completed = len(report.runs) - len(missing)
    yield f"{count(len(report.runs), 'run')} with random faults ({seeds}): {completed} completed."
    by_headroom = ", ".join(
        f"{least} in {count(n, 'run')}" for least, n in report.headrooms.items()
    )
    if by_headroom:
        yield f"Smallest ISR headroom: {by_headroom}."
    yield _under(report)
    yield from capped(missing, _missing, limit=MISSING_SHOWN, noun="incomplete run")
    if report.worst is not None:
        worst = report.worst.rehearsal
        least = worst.smallest_headroom
        there = "" if least is None else f", headroom {least.replicas}"
        yield (
            f"Worst: seed {report.worst.seed} ({duration(worst.seconds)}{there}: "
            f"{_faults(report.worst)}); show it with --seed {report.worst.seed} and without --runs."
        )


def _missing(run: RandomRun) -> str:
    first = next(stopped_lines(run.rehearsal), run.rehearsal.text)
    return f"Seed {run.seed} does not complete ({_faults(run)}): {first}"


def _under(report: Report) -> str:
    if not report.under:
        return "No run takes a partition of the plan under its min ISR."
    seeds = ", ".join(str(c.seed) for c in report.under[:SEEDS_SHOWN])
    seeds += ", …" if len(report.under) > SEEDS_SHOWN else ""
    also = sum(1 for c in report.under if c.rehearsal.without.under_min_isr_seconds > 0)
    return (
        f"Partitions of the plan fall under min ISR in {count(len(report.under), 'run')} "
        f"({'seed' if len(report.under) == 1 else 'seeds'} {seeds}); without the plan in {also or 'none'} of them."
    )


def _faults(run: RandomRun) -> str:
    return ", ".join(f.what for f in run.rehearsal.faults) or "no fault"
