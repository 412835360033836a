"""What a change of placement files means, without a cluster: replica lists by what becomes of them, the rest by key.

A replica list is compared as a list: `[1,2,3] -> [1,3,2]` is one change of order, `-> [1,2,4]` a copy to 4 that takes
the place of 3. Entries of blacklists are known by their broker, not by position.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from replan.model.declared.placement import LastLeaders, Placement, defaults
from replan.model.declared.reconcile import Window
from replan.model.declared.rules import Apart, BalanceMeasure, BrokerSelector, Tolerance, TopicRule
from replan.model.declared.where import Where
from replan.model.names import Replicas, TopicPartition
from replan.reporting.json_report import json_report
from replan.reporting.lines import aligned_lines
from replan.reporting.markdown import LIMIT, code, escape, fitted, table_head, table_row
from replan.reporting.plans.settings_difference import (
    ChangedSettings,
    changed_settings,
    settings_fields,
    settings_lines,
    settings_rows,
)
from replan.wording import (
    LINES_LISTED,
    UNLIMITED,
    brokers,
    capped,
    count,
    exact_rate,
    exact_size,
    listed,
)

NAMES = {
    "leader_blacklist": "blacklists.leaders",
    "replica_blacklist": "blacklists.replicas",
    "leader_racks": "blacklists.leaders",
    "last_leaders": "lastLeaders",
    "replica_racks": "blacklists.replicas",
    "log_dir_blacklist": "blacklists.logDirs",
    "move_throttle": "throttles.moves",
    "standing": "throttles.standing",
    "requirements": "require",
    "rules": "assignments",
    "topics": "assignments",
    "leader_rules": "preferredLeaders",
    "preferred_leaders": "preferredLeaders",
    "cluster_name": "cluster.name",
    "cluster_id": "cluster.id",
}
"""Fields of a placement as the file spells them; the others are spelt alike."""
LEFT_OUT = {"explicit", "digest", "throttle_places", "places", "where", "pattern", "measure"}


class ListChange(StrEnum):
    """What becomes of a replica list."""

    REPLICAS = "replicas"
    ORDER = "order"
    DECLARED = "declared"
    """It was not declared before: the plan makes it so."""
    NOT_DECLARED = "not-declared"
    """It is not declared any more: it stays as it is, or falls under another entry."""


class Changed(Struct, frozen=True):
    """One replica list before and after; empty where it is not declared."""

    partition: TopicPartition
    before: Replicas
    after: Replicas

    @property
    def change(self) -> ListChange:
        """What becomes of it."""
        if not self.before:
            return ListChange.DECLARED
        if not self.after:
            return ListChange.NOT_DECLARED
        same = set(self.before) == set(self.after)
        return ListChange.ORDER if same else ListChange.REPLICAS


class PlacementDifference(Struct, frozen=True):
    """From one placement to another."""

    lists: tuple[Changed, ...]
    settings: ChangedSettings

    @property
    def none(self) -> bool:
        """Whether both mean the same."""
        return not self.lists and not self.settings


def compare_placements(before: Placement, after: Placement) -> PlacementDifference:
    """Compare what two placements mean; layout, comments and the order of files do not count."""
    was, now = _lists(before), _lists(after)
    changed = tuple(
        Changed(name, was.get(name, ()), now.get(name, ()))
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    )
    settings = changed_settings(dict(_settings(before)), dict(_settings(after)))
    return PlacementDifference(changed, settings)


def _lists(placement: Placement) -> dict[TopicPartition, Replicas]:
    rows = placement.explicit.select(["topic", "partition", "replicas"]).to_pylist()
    return {TopicPartition(r["topic"], r["partition"]): tuple(r["replicas"]) for r in rows}


def _settings(placement: Placement) -> Iterator[tuple[str, str]]:
    """Every other value by its path in the file: `limits.bytes.most`."""
    left_out = LEFT_OUT | (
        {"leader_blacklist"}
        if placement.leader_blacklist == () and placement.leader_racks
        else set()
    )
    for name in placement.__struct_fields__:
        if name not in left_out:
            yield from _flat(NAMES.get(name, name), getattr(placement, name))


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case None if path.startswith("throttles.moves."):
            yield path, UNLIMITED
        case None | Where():
            return
        case () if path == NAMES["leader_blacklist"]:
            yield path, "[]"
        case Mapping():
            for key, inner in value.items():
                yield from _flat(f"{path}.{key}", inner)
        case tuple() if any(isinstance(inner, Struct) for inner in value):
            yield from _flat_entries(path, value)
        case Struct():
            yield from _flat_one(path, value)
        case _:
            yield path, _shown(path, value)


def _flat_entries(path: str, value: tuple[Any, ...]) -> Iterator[tuple[str, str]]:
    match value:
        case (Tolerance(), *_):
            yield from _tolerances(value)
        case (Window(), *_):
            yield path, "; ".join(map(str, value))
        case (Apart(), *_):
            yield path, "; ".join(sorted(", ".join(sorted(group.topics)) for group in value))
        case _:
            for inner in value:
                yield from _flat(f"{path}.{_identity(inner)}", inner)


def _flat_one(path: str, record: Any) -> Iterator[tuple[str, str]]:
    match record:
        case LastLeaders():
            written = (e if isinstance(e, int) else f"{{rack: {e}}}" for e in record.entries)
            yield path, ", ".join(map(str, written))
        case BrokerSelector():
            yield from _selected(path, record)
        case TopicRule():
            yield from _flat_record(path, _as_written(record))
        case _:
            yield from _flat_record(path, record)


def _selected(path: str, selector: BrokerSelector) -> Iterator[tuple[str, str]]:
    """Which brokers an entry means, as the file writes them."""
    ranges = [f"{r.first}" if r.first == r.last else f"{r.first}-{r.last}" for r in selector.ids]
    if ranges:
        yield f"{path}.ids" if selector.racks else path, ", ".join(ranges)
    if selector.racks:
        yield f"{path}.racks", ", ".join(sorted(selector.racks))


def _as_written(rule: TopicRule) -> TopicRule:
    """Without what follows from `inRack` and `replicasPerRack`."""
    spread = None if rule.in_rack is not None else rule.spread
    factor = None if rule.replicas_per_rack else rule.replication_factor
    return replace(rule, spread=spread, replication_factor=factor)


def _tolerances(tolerances: Sequence[Tolerance]) -> Iterator[tuple[str, str]]:
    """Each measure of a balance; and their order, where it is not the one that a mapping has."""
    for tolerance in tolerances:
        yield f"balance.{tolerance.measure}", tolerance.text
    order = [tolerance.measure for tolerance in tolerances]
    if order != [measure for measure in BalanceMeasure if measure in order]:
        yield "balance, the first counts most", ", ".join(order)


def _flat_record(path: str, record: Struct) -> Iterator[tuple[str, str]]:
    """Those of its values that are not what they are anyway: what nobody wrote is no setting."""
    names = [name for name in record.__struct_fields__ if name not in LEFT_OUT]
    usual = defaults(type(record))
    written = [n for n in names if n not in usual or getattr(record, n) != usual[n]]
    for name in written:
        inside = path if len(names) == 1 else f"{path}.{_camel(name)}"
        yield from _flat(inside, getattr(record, name))
    if not written:
        yield path, "declared"


def _shown(path: str, value: Any) -> str:
    match value:
        case tuple() | frozenset():
            in_order = path.startswith("preferredLeaders.")
            return ", ".join(map(str, value if in_order else sorted(value, key=str)))
        case bool():
            return str(value).lower()
        case Fraction():
            return f"{float(value):g}"
        case int() if path.startswith("limits.bytes"):
            return exact_size(value)
        case int() if path.startswith("throttles."):
            return exact_rate(value)
        case _:
            return f"{value}s" if path.startswith("reconcile.putRight.") else str(value)


def _identity(entry: Any) -> str:
    """What an entry of a list is known by: the broker that it names, its disk, or its partitions."""
    parts = [
        getattr(entry, name)
        for name in ("broker", "rack", "path", "topic", "partitions", "first")
        if hasattr(entry, name)
    ]
    return " ".join(map(str, parts))


def _camel(name: str) -> str:
    if name == "excepted":
        return "except"
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def meaning(changed: Changed) -> str:
    """What the change of one list asks for."""
    match changed.change:
        case ListChange.DECLARED:
            return "declared now"
        case ListChange.NOT_DECLARED:
            return "not declared any more; it stays as it is, unless another entry takes it"
        case ListChange.ORDER if changed.before[0] != changed.after[0]:
            return f"led by {changed.after[0]} instead of {changed.before[0]}"
        case ListChange.ORDER:
            return "order only"
        case ListChange.REPLICAS:
            new = [b for b in changed.after if b not in changed.before]
            gone = [b for b in changed.before if b not in changed.after]
            parts = [f"copied to {listed(new)}"] if new else []
            parts += [f"dropped from {listed(gone)}"] if gone else []
            more = len(changed.after) - len(changed.before)
            parts += (
                [f"{count(abs(more), 'copy')} {'more' if more > 0 else 'less'}"] if more else []
            )
            return ", ".join(parts)


def placement_difference_summary(difference: PlacementDifference) -> str:
    """How much changes: lists by what becomes of them, and settings."""
    if difference.none:
        return "Both mean the same."
    tally = Counter(changed.change for changed in difference.lists)
    words = {
        ListChange.REPLICAS: "list with other replicas",
        ListChange.ORDER: "list in another order",
        ListChange.DECLARED: "list declared",
        ListChange.NOT_DECLARED: "list no longer declared",
    }
    parts = [_counted(tally[change], words[change]) for change in ListChange if tally[change]]
    parts += [count(len(difference.settings), "setting")] if difference.settings else []
    return f"Changed: {', '.join(parts)}."


def _counted(number: int, words: str) -> str:
    return f"{number:,} {words if number == 1 else words.replace('list', 'lists', 1)}"


def render_placement_difference(
    difference: PlacementDifference, *, everything: bool = False
) -> str:
    """Plain text; ends with a newline."""
    rows = [
        (str(c.partition), f"{_list(c.before)} -> {_list(c.after)}", meaning(c))
        for c in difference.lists
    ]
    limit = None if everything else LINES_LISTED
    lines = capped(
        aligned_lines(rows) if rows else [], limit=limit, noun="list", way_out="--all lists them"
    )
    lines += settings_lines(difference.settings)
    return "\n".join([*lines, placement_difference_summary(difference)]) + "\n"


def _list(of: Replicas) -> str:
    return brokers(of) if of else "none"


def render_placement_difference_markdown(difference: PlacementDifference) -> str:
    """Markdown for a pull request, as much of it as a comment holds; ends with a newline."""
    text = f"## replan diff\n\n**{escape(placement_difference_summary(difference))}**\n"
    if difference.settings:
        rows = settings_rows(difference.settings)
        table = fitted(iter(rows), len(rows), LIMIT // 3, "more setting")
        text += f"\n{table_head('setting', 'before', 'after')}\n{table}"
    if difference.lists:
        rows = [
            table_row(
                (
                    code(str(c.partition)),
                    code(_list(c.before)),
                    code(_list(c.after)),
                    escape(meaning(c)),
                )
            )
            for c in difference.lists
        ]
        table = fitted(iter(rows), len(rows), LIMIT // 2, "more list")
        text += f"\n{table_head('partition', 'before', 'after', 'means')}\n{table}"
    return text


def render_placement_difference_json(difference: PlacementDifference) -> str:
    """One JSON document, format version 1."""
    fields: dict[str, object] = {
        "lists": [
            {
                **c.partition._asdict(),
                "change": c.change,
                "before": c.before,
                "after": c.after,
            }
            for c in difference.lists
        ],
        "settings": settings_fields(difference.settings),
    }
    return json_report("replan.placementDifference", fields)
