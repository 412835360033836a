"""A rehearsal as plain text for a terminal."""

from collections.abc import Iterable, Iterator

from replan.rehearsal.outcome import Report
from replan.rehearsal.report.sentences import (
    SPREAD_HEAD,
    assumptions,
    chances,
    happened,
    harm,
    margin,
    spread_row,
    stopped,
    verdict,
    waits,
)
from replan.rehearsal.result import BrokerLoad, Rehearsal
from replan.reporting.quantities import duration, rate, size
from replan.reporting.table import columns

HEAD = ("broker", "peak out", "peak in", "sent", "received", "disk peak", "disk at end")


def render_rehearsal(report: Report) -> str:
    """The whole report; ends with a newline."""
    rehearsal = report.rehearsal
    lines = [verdict(rehearsal), *(f"  {line}" for line in stopped(rehearsal))]
    if rehearsal.lowest is not None:
        lines += [margin(rehearsal.lowest), harm(rehearsal)]
    lines += _section("Faults:", _faults(rehearsal))
    lines += _section("Loads:", load_table(rehearsal))
    lines += _section("Waited longest:", _waits(rehearsal))
    lines += _section("Notes:", rehearsal.notes)
    lines += _section(
        "BROKEN LAWS (a bug of replan or of its simulator; please report it):",
        (f"{b.message}  [{b.law}]" for b in rehearsal.broken),
    )
    lines += _section("By chance:", _chances(report))
    lines += ["", assumptions(report.options)]
    lines.append(f"Plan digest {report.plan_digest[:16]}, for cluster {report.cluster_id}.")
    return "\n".join(lines) + "\n"


def _faults(rehearsal: Rehearsal) -> Iterator[str]:
    for fault in rehearsal.faults:
        yield f"{duration(fault.at_seconds):>8}  {happened(rehearsal, fault)}"


def _waits(rehearsal: Rehearsal) -> Iterator[str]:
    for longest, who, reason in waits(rehearsal):
        yield f"{longest:>11}  {who}: {reason}" if who else reason


def _chances(report: Report) -> Iterator[str]:
    yield from chances(report)
    if report.runs:
        yield from columns([SPREAD_HEAD, spread_row(report)], right=range(len(SPREAD_HEAD)))


def _section(title: str, lines: Iterable[str]) -> list[str]:
    found = [f"  {line}" for line in lines]
    return ["", title, *found] if found else []


def load_table(rehearsal: Rehearsal) -> list[str]:
    """The loads of the brokers in columns."""
    if not rehearsal.brokers:
        return []
    return columns([HEAD, *map(load_row, rehearsal.brokers)], right=range(len(HEAD)))


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
