"""A report as one page without network: the page is `page.html`, and gets the facts as data."""

import json
from pathlib import Path

from replan.fleet.reports.facts import FleetFacts

MOST_ROWS = 20_000
"""More rows of drift than a browser filters at once; the CSV files have them all."""
CAPPED = ("drift", "resolved", "acknowledged")
MARK = "/*DATA*/"


def render_page(facts: FleetFacts) -> str:
    """HTML."""
    document = facts.document()
    shown = {name: document[name][:MOST_ROWS] for name in CAPPED}
    left = {name: len(document[name]) - len(rows) for name, rows in shown.items()}
    data = {**document, **shown, "left": left}
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    # A text of the data ends no script: HTML looks for `</script`, and for `<!--`.
    return template.replace(MARK, json.dumps(data).replace("<", "\\u003c"))
