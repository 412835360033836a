"""A rehearsal as a document: what stands in it, in which order, whatever its form."""

from collections.abc import Iterator, Sequence

from replan.planning.plans.reasons import left_out_text
from replan.rehearsal.outcome import Report
from replan.rehearsal.report.pictures import copies_chart, runs_chart
from replan.rehearsal.report.sentences import (
    assumptions,
    harm,
    headroom,
    injected,
    looks,
    random_runs,
    refused_partitions,
    rehearsal_verdict,
    stopped_lines,
    waiter,
)
from replan.rehearsal.result import BrokerLoad, Rehearsal
from replan.reporting.blocks import (
    Block,
    Column,
    Folded,
    Heading,
    Item,
    Items,
    OnPage,
    Table,
    Title,
)
from replan.reporting.lines import Span, Tone, line
from replan.wording import duration, left_out, rate, signed, size

WAITS_SHOWN = 20
RECOVERED_SHOWN = 50
RUNS_SHOWN = 500


def rehearsal_report(report: Report) -> Iterator[Block]:
    """The whole document."""
    rehearsal, smallest = report.rehearsal, report.rehearsal.smallest_headroom
    yield Title("replan rehearse", report.cluster_name or report.cluster_id)
    yield line(Span(rehearsal_verdict(rehearsal), Tone.COMES if rehearsal.completed else Tone.GOES))
    if smallest is not None:
        yield from map(line, [headroom(smallest), harm(rehearsal)])
    yield OnPage(list(copies_chart(rehearsal)))
    yield from _items(f"Left out ({left_out_text(report.refusals)})", refused_partitions(report))
    yield from _items("Not done", list(stopped_lines(rehearsal)))
    yield from _table("Led again", _recovered(rehearsal))
    yield from _table("Faults", _faults(rehearsal))
    yield from _table("Loads", _loads(rehearsal))
    yield from _table("Waited longest", _waits(rehearsal))
    yield from _items("Notes", rehearsal.notes)
    broken = [f"{b.message} [{b.law}]" for b in rehearsal.broken]
    yield from _items(
        "BROKEN INVARIANTS (a bug in replan or its simulator; please report it)", broken
    )
    if report.runs:
        yield from _items("Random faults", list(random_runs(report)))
        yield _numbers(SPREAD_HEAD, [spread_row(report)], 5)
        yield OnPage([*runs_chart(report), *_runs(report)])
    yield from map(line, [assumptions(report.options), *looks(report)])
    yield line(f"Plan {report.plan_digest[:16]}, cluster {report.cluster_id}.")


def _items(title: str, lines: Sequence[str]) -> Iterator[Block]:
    if lines:
        yield Heading(title)
        yield Items([Item(line(text)) for text in lines])


def _table(title: str, table: Table) -> Iterator[Block]:
    if table.rows:
        yield Heading(title)
        yield table


def _numbers(
    head: Sequence[str], rows: Sequence[Sequence[str]], prose: int, code: int = -1
) -> Table:
    """A table whose columns hold numbers, and text from `prose` on; what a person typed is in column `code`."""
    columns = [
        Column(name, right=at < prose, prose=at >= prose, code=at == code)
        for at, name in enumerate(head)
    ]
    return Table(columns, rows)


def _runs(report: Report) -> Iterator[Block]:
    rows = [
        (
            str(run.seed),
            duration(run.rehearsal.seconds) if run.rehearsal.completed else "does not complete",
            "" if (least := run.rehearsal.smallest_headroom) is None else str(least.replicas),
            ", ".join(f.what for f in run.rehearsal.faults),
        )
        for run in report.runs[:RUNS_SHOWN]
    ]
    table = _numbers(("seed", "duration", "smallest headroom", "faults"), rows, 3)
    yield Folded("Every run", [table], open=False)


def _faults(rehearsal: Rehearsal) -> Table:
    rows = [
        (str(number), duration(fault.at_seconds), injected(fault, rehearsal.seconds))
        for number, fault in enumerate(rehearsal.faults, 1)
    ]
    return _numbers(("#", "at", "fault"), rows, 2, code=2)


def _recovered(rehearsal: Rehearsal) -> Table:
    recoveries = rehearsal.recovered
    rows = [
        (
            str(r.partition),
            "nobody" if r.leader is None else str(r.leader),
            "cleanly" if r.clean else "unclean",
            f"{r.stated_loss:,}",
            "?" if r.measured_loss is None else f"{r.measured_loss:,}",
        )
        for r in recoveries[:RECOVERED_SHOWN]
    ]
    more = left_out(len(recoveries) - RECOVERED_SHOWN, "recovery")
    head = ("partition", "leader", "how", "lost at least", "measured")
    return _numbers(head, [*rows, *((text, "", "", "", "") for text in more)], 1)


def _loads(rehearsal: Rehearsal) -> Table:
    head = ("broker", "peak out", "peak in", "sent", "received", "disk peak", "disk at end")
    return _numbers(head, [*map(_load, rehearsal.brokers)], len(head))


def _load(load: BrokerLoad) -> tuple[str, ...]:
    disk = signed(load.peak_disk_bytes)
    if load.busiest_disk is not None:
        disk += f" ({load.busiest_disk:.0%} full)"
    return (
        str(load.broker),
        rate(round(load.peak_out)),
        rate(round(load.peak_in)),
        size(load.sent_bytes),
        size(load.received_bytes),
        disk,
        signed(load.final_disk_bytes),
    )


def _waits(rehearsal: Rehearsal) -> Table:
    rows = [
        (duration(wait.longest_seconds), waiter(wait), str(wait.reason))
        for wait in rehearsal.waits[:WAITS_SHOWN]
    ]
    more = left_out(len(rehearsal.waits) - WAITS_SHOWN, "reason")
    return _numbers(("longest", "partition", "reason"), rows + [("", "", text) for text in more], 1)


SPREAD_HEAD = ("", "least", "median", "p90", "most")


def spread_row(report: Report) -> tuple[str, ...]:
    """How long the runs took, under SPREAD_HEAD."""
    took = report.seconds
    return ("duration", *map(duration, (took.least, took.median, took.p90, took.most)))
