"""A rehearsal as plain text for a terminal."""

from collections.abc import Iterator

from replan.rehearsal.report import Report
from replan.rehearsal.result import BrokerLoad, Rehearsal
from replan.rehearsal.sentences import (
    assumptions,
    harm,
    margin,
    spreads,
    stopped,
    verdict,
    waits,
)
from replan.reporting.quantities import duration, rate, size

HEAD = ("broker", "peak out", "peak in", "sent", "received", "disk peak", "disk at end")


def render_rehearsal(report: Report) -> str:
    """The whole report; ends with a newline."""
    rehearsal = report.rehearsal
    lines = [verdict(rehearsal), *(f"  {line}" for line in stopped(rehearsal))]
    if rehearsal.lowest is not None:
        lines.append(margin(rehearsal.lowest))
    lines += _faults(rehearsal)
    lines += _section("Loads:", load_table(rehearsal))
    lines += _section("Waited longest for:", waits(rehearsal))
    lines += _section("Notes:", rehearsal.notes)
    lines += _section(
        "BROKEN LAWS (a bug of replan or of its simulator; please report it):",
        (f"{b.message}  [{b.law}]" for b in rehearsal.broken),
    )
    lines += _section("By chance:", spreads(report))
    lines += ["", assumptions(report.options)]
    lines.append(f"Plan digest {report.plan_digest[:16]}, for cluster {report.cluster_id}.")
    return "\n".join(lines) + "\n"


def _faults(rehearsal: Rehearsal) -> Iterator[str]:
    if not rehearsal.faults:
        return
    yield "Faults:"
    for fault in rehearsal.faults:
        yield f"  {duration(fault.at_seconds):>8}  {fault.what}"
    yield f"  {harm(rehearsal)}"


def _section(title: str, lines: Iterator[str] | tuple[str, ...]) -> list[str]:
    found = [f"  {line}" for line in lines]
    return ["", title, *found] if found else []


def load_table(rehearsal: Rehearsal) -> Iterator[str]:
    """The loads of the brokers in columns."""
    rows = [HEAD, *(load_row(b) for b in rehearsal.brokers)]
    if len(rows) == 1:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for row in rows:
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def load_row(load: BrokerLoad) -> tuple[str, ...]:
    """One broker's numbers as people read them."""
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


def signed(amount: int) -> str:
    """Bytes more or less: `+1.2 GB`, `-300 MB`, `0 B`."""
    return f"{'-' if amount < 0 else '+' if amount else ''}{size(abs(amount))}"
