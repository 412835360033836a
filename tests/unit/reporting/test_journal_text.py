"""The journal as people and scripts read it."""

import json

from msgspec.structs import replace
from tests.unit.applying.journal.records import APP, OWN, RECORDS

from replan.applying.api import ApplicationStatus, Ledger, PlanChunk, fold, originals_of, packed
from replan.reporting.api import render_journal, render_journal_json


def test_the_open_application_is_shown_with_its_records_and_without_its_plan() -> None:
    ledger = fold(RECORDS)
    shown = json.loads(render_journal_json(ledger, "ann", "topic:x"))
    assert shown["lockedBy"] == "ann"
    assert [a["id"] for a in shown["applications"]] == [APP.id]
    keys = {row["key"] for row in shown["open"]}
    assert OWN.key in keys
    assert keys.isdisjoint(r.key for r in RECORDS if isinstance(r, PlanChunk))
    text = render_journal(ledger, "ann", "topic:x")
    assert all(key in text for key in keys)
    assert APP.owner in text


def test_what_ended_applications_have_changed_is_kept_for_rollback_and_not_shown() -> None:
    kept = packed("an ended one", originals_of(fold(RECORDS), None))
    shown = render_journal(fold([*RECORDS, *kept]), "ann", "topic:x")
    assert shown == render_journal(fold(RECORDS), "ann", "topic:x")


def test_an_ended_application_is_shown_with_what_it_took() -> None:
    ended = replace(
        APP,
        status=ApplicationStatus.CLOSED,
        opened_at="2026-11-22T10:00:00Z",
        ended_at="2026-11-22T10:03:20Z",
        bytes=45_600_000_000,
        summary="3 done",
    )
    ledger = fold([ended])
    (shown,) = json.loads(render_journal_json(ledger, None, "topic:x"))["applications"]
    assert (shown["seconds"], shown["bytes"], shown["summary"]) == (200, 45_600_000_000, "3 done")
    text = render_journal(ledger, None, "topic:x")
    assert all(part in text for part in ("3 min 20 s", "45.6 GB", APP.owner, "3 done"))
    (head,) = (line for line in text.splitlines() if line.startswith("Application"))
    assert head.split()[-3:] == ["Moves", "Copied", "Steps"]  # a plan has other steps, too


def test_an_empty_journal() -> None:
    assert json.loads(render_journal_json(Ledger(), None, "topic:x")) == {
        "formatVersion": 1,
        "kind": "replan.journal",
        "journal": "topic:x",
        "lockedBy": None,
        "applications": [],
        "recoveries": [],
        "open": [],
    }
    assert "No application is known." in render_journal(Ledger(), None, "topic:x")
