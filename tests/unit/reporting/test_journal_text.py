"""The journal as people and scripts read it."""

import json

from tests.unit.applying.journal.records import APP, OWN, RECORDS

from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.records import PlanChunk
from replan.reporting.journal_text import render_journal, render_journal_json


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


def test_an_empty_journal() -> None:
    assert json.loads(render_journal_json(Ledger(), None, "topic:x")) == {
        "journal": "topic:x",
        "lockedBy": None,
        "applications": [],
        "recoveries": [],
        "open": [],
    }
    assert "No application is known." in render_journal(Ledger(), None, "topic:x")
