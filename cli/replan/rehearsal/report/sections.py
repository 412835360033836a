"""What stands in a report, in which order: the same sections for text, Markdown and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from replan.planning.plans.plan import left_out_text
from replan.rehearsal.outcome import Report
from replan.rehearsal.report.sentences import (
    assumptions,
    harm,
    headroom,
    injected,
    looks,
    random_runs,
    refused,
    stopped,
    verdict,
    waiter,
)
from replan.rehearsal.result import BrokerLoad, Rehearsal
from replan.wording import duration, left_out, rate, signed, size

WAITS_SHOWN = 20
RECOVERED_SHOWN = 50
LOADS = "Loads"
FAULTS = "Faults"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a head; the columns from `prose` on hold text, those before them numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    prose: int


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report: lines, then a table, either of which may be missing."""

    title: str
    lines: Sequence[str] = ()
    table: Table | None = None
    noun: str = field(default="row")


def heading(report: Report) -> list[str]:
    """The lines at the top."""
    rehearsal = report.rehearsal
    smallest = rehearsal.smallest_headroom
    return [
        verdict(rehearsal),
        *([] if smallest is None else [headroom(smallest), harm(rehearsal)]),
    ]


def sections(report: Report) -> list[Section]:
    """The parts that have something to say."""
    rehearsal = report.rehearsal
    broken = [f"{b.message} [{b.law}]" for b in rehearsal.broken]
    spread = Table(SPREAD_HEAD, [spread_row(report)], 5) if report.runs else None
    found = [
        Section(f"Left out ({left_out_text(report.refusals)})", refused(report)),
        Section("Not done", list(stopped(rehearsal))),
        Section("Led again", table=_recovered(rehearsal), noun="partition"),
        Section(FAULTS, table=_faults(rehearsal)),
        Section(LOADS, table=_loads(rehearsal), noun="broker"),
        Section("Waited longest", table=_waits(rehearsal)),
        Section("Notes", rehearsal.notes),
        Section("BROKEN INVARIANTS (a bug in replan or its simulator; please report it)", broken),
        Section("Random faults", list(random_runs(report)), spread),
    ]
    return [s for s in found if s.lines or (s.table is not None and s.table.rows)]


def footer(report: Report) -> list[str]:
    """The lines at the bottom."""
    return [
        assumptions(report.options),
        *looks(report),
        f"Plan {report.plan_digest[:16]}, cluster {report.cluster_id}.",
    ]


def _faults(rehearsal: Rehearsal) -> Table:
    rows = [
        (str(number), duration(fault.at_seconds), injected(rehearsal, fault))
        for number, fault in enumerate(rehearsal.faults, 1)
    ]
    return Table(("#", "at", "fault"), rows, 2)


def _recovered(rehearsal: Rehearsal) -> Table:
    found = rehearsal.recovered
    rows = [
        (
            str(r.partition),
            "nobody" if r.leader is None else str(r.leader),
            "cleanly" if r.clean else "unclean",
            f"{r.stated_loss:,}",
            "?" if r.measured_loss is None else f"{r.measured_loss:,}",
        )
        for r in found[:RECOVERED_SHOWN]
    ]
    more = left_out(len(found) - RECOVERED_SHOWN, "recovery")
    head = ("partition", "leader", "how", "lost at least", "measured")
    return Table(head, [*rows, *((text, "", "", "", "") for text in more)], 1)


def _loads(rehearsal: Rehearsal) -> Table:
    head = ("broker", "peak out", "peak in", "sent", "received", "disk peak", "disk at end")
    return Table(head, [*map(_load, rehearsal.brokers)], len(head))


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
        (duration(found.longest_seconds), waiter(found), str(found.reason))
        for found in rehearsal.waits[:WAITS_SHOWN]
    ]
    more = left_out(len(rehearsal.waits) - WAITS_SHOWN, "reason")
    return Table(("longest", "partition", "reason"), rows + [("", "", text) for text in more], 1)


SPREAD_HEAD = ("", "least", "median", "p90", "most")


def spread_row(report: Report) -> tuple[str, ...]:
    """How long the runs took, under SPREAD_HEAD."""
    took = report.seconds
    return ("duration", *map(duration, (took.least, took.median, took.p90, took.most)))
