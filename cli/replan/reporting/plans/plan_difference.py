"""What differs between two plans: their headers, throttles and settings key by key, their moves partition by partition.

Replica lists are compared as lists: `[1,2,3] -> [1,3,2]` is one change of order and
not two changes of index.
"""

from collections.abc import Mapping

from msgspec import Struct

from replan.model.names import TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.reporting.json_report import json_report
from replan.reporting.markdown import LIMIT, code, fitted, table_head, table_row
from replan.reporting.plans.plan_words import broker_rate
from replan.reporting.plans.settings_difference import (
    ChangedSettings,
    changed_settings,
    settings_fields,
    settings_lines,
    settings_rows,
)
from replan.wording import LINES_LISTED, brokers, capped, exact_rate


class PlanDifference(Struct, frozen=True):
    """From one plan to another; None on a side where there is no such setting or move."""

    settings: ChangedSettings
    moves: Mapping[TopicPartition, tuple[Move | None, Move | None]]


def compare_plans(before: Plan, after: Plan) -> PlanDifference:
    """Compare two plans."""
    was, now = _by_name(before), _by_name(after)
    return PlanDifference(
        settings=changed_settings(_settings(before), _settings(after)),
        moves={
            name: (was.get(name), now.get(name))
            for name in sorted({*was, *now})
            if _lists(was.get(name)) != _lists(now.get(name))
        },
    )


def render_difference(difference: PlanDifference, *, everything: bool = False) -> str:
    """Plain text, from the earlier plan to the later one; ends with a newline."""
    lines = settings_lines(_shown(difference.settings))
    lines += capped(
        list(difference.moves.items()),
        lambda m: f"{m[0]}: {_change(m[1][0])} => {_change(m[1][1])}",
        limit=None if everything else LINES_LISTED,
        noun="move",
        way_out="--all lists them",
    )
    return "\n".join(lines or ["The two plans are the same."]) + "\n"


def render_difference_markdown(difference: PlanDifference) -> str:
    """One table, as much of it as a comment holds; ends with a newline."""
    if not difference.settings and not difference.moves:
        return "## replan show --against\n\nThe two plans are the same.\n"
    rows = settings_rows(_shown(difference.settings))
    rows += [
        table_row((code(str(name)), *(code(_change(m)) for m in pair)))
        for name, pair in difference.moves.items()
    ]
    table = fitted(iter(rows), len(rows), LIMIT, "more row")
    return f"## replan show --against\n\n{table_head('what', 'before', 'after')}\n{table}"


def render_difference_json(difference: PlanDifference) -> str:
    """One JSON document, format version 1."""
    fields: dict[str, object] = {
        "settings": settings_fields(difference.settings),
        "moves": [
            {
                **name._asdict(),
                "before": _both(old),
                "after": _both(new),
            }
            for name, (old, new) in difference.moves.items()
        ],
    }
    return json_report("replan.planDifference", fields)


def _shown(settings: ChangedSettings) -> ChangedSettings:
    """With digests as short as people compare them."""
    return {
        key: (old and old[:16], new and new[:16]) if key == "placement" else (old, new)
        for key, (old, new) in settings.items()
    }


def _settings(plan: Plan) -> dict[str, str]:
    settings = {"cluster": plan.cluster_id, "placement": plan.placement_digest}
    settings |= {f"rack of broker {b}": rack for b, rack in plan.racks.items() if rack is not None}
    if plan.throttle is not None:
        settings["throttle.rate"] = exact_rate(plan.throttle.rate)
        settings |= {
            f"throttle.brokers.{b}": broker_rate(r, exact_rate)
            for b, r in plan.throttle.brokers.items()
        }
        settings |= {"throttle.keep": "true"} if plan.throttle.keep else {}
    for step in plan.all_changes:
        settings |= step.compared
    return settings


def _by_name(plan: Plan) -> dict[TopicPartition, Move]:
    return {m.partition: m for m in plan.moves}


def _lists(move: Move | None) -> object:
    return None if move is None else (move.original, move.target)


def _both(move: Move | None) -> dict[str, list[int]] | None:
    if move is None:
        return None
    return {"original": list(move.original), "target": list(move.target)}


def _change(move: Move | None) -> str:
    return "no move" if move is None else f"{brokers(move.original)} -> {brokers(move.target)}"
