"""What the history adds to a report: since when something drifts, what flaps, what was put right and by whom.

Does not belong here: finding that (`stages/history`).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from replan.fleet.report import LakeRow, RowKey, key_of, named
from replan.fleet.stages.classify import ACKNOWLEDGED_CLASS

RECENT_TIME = timedelta(days=7)
"""What was put right longer ago is in the lake alone."""


def age_of(row: LakeRow, ages: Mapping[RowKey, LakeRow]) -> LakeRow:
    """Since when what drifts does so, and how often it began; what has no history yet began now."""
    age = ages.get(key_of(row), {})
    return {
        "since": age.get("since") or age.get("first_seen", row["observed_at"]),
        "spells": age.get("spells", 1),
        "flapping": bool(age.get("flapping")),
    }


def put_right(history: Iterable[LakeRow], newest: str | None) -> list[LakeRow]:
    """What is gone since a week before the newest comparison at most, what flaps first, then the latest first.

    What is acknowledged by now is not put right: it is left as it is.
    """
    rows = list(history)
    accepted = {_partition(r) for r in rows if r["open"] and r["class"] == ACKNOWLEDGED_CLASS}
    oldest = None if newest is None else datetime.fromisoformat(newest) - RECENT_TIME
    found = [
        {
            **named(row),
            **{k: row[k] for k in ("class", "kind", "owner")},
            "since": row["since"] or row["first_seen"],
            **{k: row[k] for k in ("resolved_at", "resolved_by", "spells")},
            "flapping": bool(row["flapping"]),
        }
        for row in rows
        if oldest is not None
        and row["resolved_at"] is not None
        and row["class"] != ACKNOWLEDGED_CLASS
        and _partition(row) not in accepted
        and datetime.fromisoformat(row["resolved_at"]) >= oldest
    ]
    found.sort(key=lambda r: (r["cluster"], r["item"], r["kind"]))
    found.sort(key=lambda r: datetime.fromisoformat(r["resolved_at"]), reverse=True)
    return sorted(found, key=lambda r: not r["flapping"])


def acknowledged_rows(drift: Sequence[LakeRow], ages: Mapping[RowKey, LakeRow]) -> list[LakeRow]:
    """What the placements ask to leave alone, what ends first before the others."""
    found = [
        {
            **named(row),
            "owner": row["owner"],
            "since": age_of(row, ages)["since"],
            "until": row["acknowledged_until"],
        }
        for row in drift
    ]
    return sorted(found, key=lambda r: (r["until"] or "9999", r["cluster"], r["item"]))


def _partition(row: LakeRow) -> RowKey:
    return (row["cluster"], row["topic"], row["partition"])
