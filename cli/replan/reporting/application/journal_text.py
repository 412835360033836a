"""The journal for people and for scripts: its applications, and what the open one has written."""

import json
from typing import Any

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.record_json import encode_record
from replan.applying.journal.records import (
    Application,
    Kept,
    MoveRecord,
    Order,
    OriginalsChunk,
    PlanChunk,
    RecoveryRecord,
    seconds_of,
)
from replan.reporting.json_report import json_report
from replan.reporting.lines import aligned_lines
from replan.wording import count, duration, size

NO_LOCK = "nobody holds the lock\n"


def render_lock(lock_id: str, owner: str, since: str, application: str, at: str) -> str:
    """Who holds the lock."""
    rows = [
        ("lock", lock_id),
        ("held by", owner),
        ("since", since),
        ("application", application or "none open"),
        ("last sign of life", at),
    ]
    return "\n".join(aligned_lines(rows)) + "\n"


def _plan(application: Application) -> str:
    """Its plan, and the commit of its placement."""
    commit = application.placement_commit[:12]
    return (application.plan_digest[:12] or "-") + (f" of {commit}" if commit else "")


def render_journal(ledger: Ledger, holder: str | None, place: str) -> str:
    """All applications, the oldest first, then the records of the open one."""
    applications = _applications(ledger)
    lines = [f"journal {place}; {f'locked by {holder}' if holder else 'not locked'}", ""]
    if applications:
        head = (
            *("Application", "Status", "Opened", "Took", "By"),
            *("Plan", "Moves", "Copied", "Steps"),
        )
        rows = [
            (
                a.id,
                str(a.status),
                a.opened_at or "-",
                "-" if (took := seconds_of(a)) is None else duration(took),
                a.owner,
                _plan(a),
                f"{a.moves:,}" if a.moves else "-",
                size(a.bytes) if a.bytes else "-",
                a.summary or "-",
            )
            for a in applications
        ]
        lines += aligned_lines([head, *rows])
    else:
        lines.append("No application is known.")
    kept = [r for r in ledger.records.values() if isinstance(r, Order)]
    lines += ["", f"{count(len(kept), 'remembered order')}."]
    lines += _recoveries(ledger)
    opened = _of_open(ledger)
    if opened:
        of = "of the open application" if ledger.application else "left of ended applications"
        lines += ["", f"Records {of}:"]
        lines += [f"  {r.key}  {_short(r)}" for r in opened]
    return "\n".join(lines) + "\n"


def render_journal_json(ledger: Ledger, holder: str | None, place: str) -> str:
    """The same as JSON; records as `replan schema journal` describes them, applications with their `seconds`."""
    fields: dict[str, object] = {
        "journal": place,
        "lockedBy": holder,
        "applications": [{**_value(a), "seconds": seconds_of(a)} for a in _applications(ledger)],
        "recoveries": [
            {"key": r.key, "value": _value(r)}
            for r in ledger.records.values()
            if isinstance(r, RecoveryRecord)
        ],
        "open": [{"key": r.key, "value": _value(r)} for r in _of_open(ledger)],
    }
    return json_report("replan.journal", fields, ensure_ascii=False)


def _recoveries(ledger: Ledger) -> list[str]:
    """Who was chosen to lead partitions again, on what evidence, and what that lost; kept after their application."""
    recoveries = [r for r in ledger.records.values() if isinstance(r, RecoveryRecord)]
    if not recoveries:
        return []
    head = ("Partition", "Status", "Leader", "By", "Lost: stated", "measured", "What replicas said")
    rows = [
        (
            str(r.partition),
            str(r.status),
            str(r.order[0]),
            "clean" if r.clean else r.method,
            f"{r.lost:,}",
            "-" if r.measured is None else f"{r.measured:,}",
            r.evidence,
        )
        for r in recoveries
    ]
    return ["", "Led again:", *(f"  {line}" for line in aligned_lines([head, *rows]))]


def _applications(ledger: Ledger) -> list[Application]:
    return [r for r in ledger.records.values() if isinstance(r, Application)]


def _of_open(ledger: Ledger) -> list[Kept]:
    """What the open application wrote, and the settings from before it; no plan, and not what ended ones changed."""
    if ledger.application is None and not ledger.throttles:
        return []
    return [
        r
        for r in ledger.records.values()
        if not isinstance(r, Application | PlanChunk | OriginalsChunk | Order | RecoveryRecord)
    ]


def _short(record: Kept) -> str:
    match record:
        case MoveRecord():
            last = "" if record.asked is None else f", last asked: {record.asked.kind}"
            return f"{record.partition} {record.status}{last}"
        case _:
            return json.dumps(_value(record), ensure_ascii=False)


def _value(record: Kept) -> Any:
    return json.loads(encode_record(record)[1] or b"null")
