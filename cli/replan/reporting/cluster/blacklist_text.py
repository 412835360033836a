"""The leader blacklist as text, and as json."""

import json
from collections.abc import Mapping

from replan.planning.blacklist_report import BlacklistReport, EntryReport, EntryState
from replan.reporting.table import columns
from replan.wording import capped

SHOWN = 50
EMPTY = "The leader blacklist is empty."
NOT_DECLARED = (
    "The placement does not say who is on the leader blacklist (blacklists.leaders), so an earlier one goes on; an "
    "empty list ends it."
)
STATES: Mapping[EntryState, str] = {
    EntryState.IN_FORCE: "in force",
    EntryState.REVIEW_DUE: "in force; to be reviewed",
    EntryState.ENDED: "ended: its broker has caught up, take it out",
    EntryState.UNREGISTERED: "no effect: its broker is not registered",
}


def render_blacklist(found: BlacklistReport) -> str:
    """Each entry with what it does, then the remembered orders; ends with a newline."""
    titles = ("broker", "state", "replicas", "leads", "out of sync", "last in list", "entry")
    rows = [titles, *map(_row, found.entries)]
    nobody = [] if found.idle else [EMPTY if found.declared else NOT_DECLARED]
    lines = columns(rows) if found.entries else nobody
    lines += [f"No registered broker is in rack {e.rack} ({e.where})." for e in found.idle]
    if found.remembered:
        lines += ["", "Orders that are restored where no entry reaches them any more:"]
        lines += capped(
            [f"  {name}  {list(order)}" for name, order in found.remembered], str, limit=SHOWN
        )
    return "\n".join(lines) + "\n"


def _row(of: EntryReport) -> tuple[str, ...]:
    numbers = (of.replicas, of.leads, of.behind, of.last)
    return (str(of.entry.broker), STATES[of.state], *(f"{n:,}" for n in numbers), _entry(of))


def _entry(of: EntryReport) -> str:
    entry = of.entry
    parts = [
        entry.reason,
        entry.owner,
        f"review by {entry.review_by}" if entry.review_by else None,
        f"topics {', '.join(entry.topics)}" if entry.topics else None,
        f"move {entry.move}",
        "until caught up" if entry.until_caught_up else None,
    ]
    return f"{'; '.join(p for p in parts if p)} ({entry.where})"


def render_blacklist_json(found: BlacklistReport) -> str:
    """The same as json; ends with a newline."""
    document = {
        "formatVersion": 1,
        "kind": "replan.blacklist",
        "declared": found.declared,
        "entries": [_json(e) for e in found.entries],
        "racksWithoutBrokers": [{"rack": e.rack, "where": str(e.where)} for e in found.idle],
        "remembered": [
            {"topic": name.topic, "partition": name.partition, "replicas": list(order)}
            for name, order in found.remembered
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _json(of: EntryReport) -> dict[str, object]:
    entry = of.entry
    found = {
        "broker": entry.broker,
        "where": str(entry.where),
        "state": str(of.state),
        "reason": entry.reason,
        "owner": entry.owner,
        "reviewBy": entry.review_by,
        "topics": None if entry.topics is None else list(entry.topics),
        "move": str(entry.move),
        "until": "caught-up" if entry.until_caught_up else None,
        "replicas": of.replicas,
        "leads": of.leads,
        "outOfSync": of.behind,
        "lastInList": of.last,
    }
    return {key: value for key, value in found.items() if value is not None}
