"""Explicit assignments: the rows of `partitions`, checked.

A hundred thousand rows would take JSON Schema seconds, so their shape is checked here.
The schema describes the same shape for editors, and `tests/schema` holds both to the same answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from replan.model.declared.where import Where
from replan.placement_file.yaml_text.plain_rows import LARGEST_ID
from replan.placement_file.yaml_text.sources import KeyPath, Problems, Source, show
from replan.placement_file.yaml_text.values import Value, YamlList, YamlMapping

OWN_KEYS = frozenset({"partitions", "belowMinIsr"})

_BOUND = f"a whole number from 0 to {LARGEST_ID}"
_ROW = "write the brokers in order of preference, e.g. [1, 2, 3]"


@dataclass(frozen=True, slots=True)
class ExplicitTopic:
    """The rows of one topic as they are written, in the order of the file."""

    source: Source
    where: Where
    path: KeyPath
    numbers: Sequence[int]
    rows: Sequence[Value]
    places: Sequence[int]
    partition_count: int | None
    below_min_isr: bool = False

    @property
    def name(self) -> str:
        """The topic's name."""
        return str(self.path[-1])

    def path_of(self, row: int) -> KeyPath:
        """The path of keys to one row."""
        number = self.numbers[row]
        key = number if self.partition_count is not None else str(number)
        return (*self.path, "partitions", key)


def read_explicit(
    source: Source, topic: str, entry: YamlMapping, where: Where, problems: Problems
) -> ExplicitTopic | None:
    """Read one entry of `assignments` that has only `partitions` and `belowMinIsr`; rows are not yet checked."""
    path: KeyPath = ("assignments", topic)
    below = entry.get("belowMinIsr", False)
    if not isinstance(below, bool):
        at = entry.value_at[list(entry).index("belowMinIsr")]
        problems.add(
            source.where(at),
            (*path, "belowMinIsr"),
            f"{show(below)} must be true or false, unquoted",
        )
        below = False
    if "partitions" not in entry:
        problems.add(
            where, path, f"`partitions` is missing; {_how_to_list(topic)}, or remove the topic"
        )
        return None
    partitions = entry["partitions"]
    at = entry.value_at[list(entry).index("partitions")]
    if not isinstance(partitions, YamlList | YamlMapping) or not partitions:
        told = (
            "is empty"
            if isinstance(partitions, YamlList | YamlMapping)
            else f"is {show(partitions)}"
        )
        problems.add(
            source.where(at), (*path, "partitions"), f"`partitions` {told}; {_how_to_list(topic)}"
        )
        return None
    if isinstance(partitions, YamlList):
        numbers: list[int] = list(range(len(partitions)))
        return ExplicitTopic(
            source, where, path, numbers, partitions, partitions.at, len(partitions), below
        )
    return _read_map(
        source, partitions, ExplicitTopic(source, where, path, (), (), (), None, below), problems
    )


def check_rows(topics: Sequence[ExplicitTopic], problems: Problems) -> None:
    """Note every row that is not a list of different broker ids."""
    for topic in topics:
        for row, value in enumerate(topic.rows):
            if not _is_right(value):
                _note_row(topic, row, value, problems)


def partition_number(key: str) -> int | None:
    """The number that a key of `partitions` means; None where it is not one."""
    if key.isascii() and key.isdecimal() and len(key) <= 10 and (key == "0" or key[0] != "0"):
        number = int(key)
        return number if number <= LARGEST_ID else None
    return None


def _how_to_list(topic: str) -> str:
    return f"list the replicas of {topic}, e.g. partitions: {{0: [1, 2, 3]}}"


def _read_map(
    source: Source, partitions: YamlMapping, empty: ExplicitTopic, problems: Problems
) -> ExplicitTopic:
    numbers: list[int] = []
    rows: list[Value] = []
    places: list[int] = []
    for (key, row), key_at, at in zip(
        partitions.items(), partitions.key_at, partitions.value_at, strict=True
    ):
        number = partition_number(key)
        if number is None:
            problems.add(
                source.where(key_at),
                (*empty.path, "partitions", key),
                f"{show(key)} is not a partition number; write {_BOUND}",
            )
            continue
        numbers.append(number)
        rows.append(row)
        places.append(at)
    return ExplicitTopic(
        source, empty.where, empty.path, numbers, rows, places, None, empty.below_min_isr
    )


def _is_right(row: Value) -> bool:
    """Whether there is nothing to explain; `plain_rows` has looked at those that are no YamlList."""
    if type(row) is list:
        return True
    if type(row) is not YamlList or {*map(type, row)} != {int}:
        return False
    brokers = cast("list[int]", row)
    return len({*brokers}) == len(brokers) and min(brokers) >= 0 and max(brokers) <= LARGEST_ID


def _note_row(topic: ExplicitTopic, row: int, value: Value, problems: Problems) -> None:
    path = topic.path_of(row)
    for item, text in _explain(value):
        if item is None or not isinstance(value, YamlList):
            problems.add(topic.source.where(topic.places[row]), path, text)
        else:
            problems.add(topic.source.where(value.at[item]), (*path, item), text)


def _explain(row: Value) -> Iterator[tuple[int | None, str]]:
    """What is wrong with one row: the number of the item, or None for the whole, and a sentence."""
    if row is None:
        yield (
            None,
            f"nothing is written here; {_ROW}; to leave partitions out, use the form {{0: [1, 2, 3]}}",
        )
        return
    if not isinstance(row, YamlList):
        yield None, f"{show(row)} is not a list of brokers; {_ROW}"
        return
    if not row:
        yield None, f"an empty list leaves the partition without a replica; {_ROW}"
    seen: set[int] = set()
    for i, broker in enumerate(row):
        if isinstance(broker, bool) or not isinstance(broker, int):
            yield i, f"{show(broker)} is not a broker id; write {_BOUND}, unquoted"
        elif not 0 <= broker <= LARGEST_ID:
            yield i, f"{broker} is not a broker id; write {_BOUND}"
        elif broker in seen:
            yield i, f"broker {broker} is listed twice in {show(row)}; name each broker once"
        else:
            seen.add(broker)
