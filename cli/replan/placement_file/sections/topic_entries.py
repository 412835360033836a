"""The two sections of one file that have an entry for each topic: `assignments`, `preferredLeaders`.

Their rows are many, so what is exact and explicit is read and checked here; what is left over (patterns,
rules, unknown keys) is handed back for the schema to judge.
"""

from collections.abc import Iterator

from replan.model.declared.placement import PreferredLeader
from replan.model.declared.topic_patterns import is_pattern
from replan.model.declared.where import Where
from replan.model.names import BrokerId
from replan.placement_file.sections.assignments import OWN_KEYS, partition_number, read_explicit
from replan.placement_file.sections.sections import Declaration, PreferredLeaders
from replan.placement_file.sections.topic_names import check_topic
from replan.placement_file.yaml_text.plain_rows import LARGEST_ID
from replan.placement_file.yaml_text.sources import KeyPath, Problems, Source, show
from replan.placement_file.yaml_text.values import Value, YamlMapping

LeftOver = dict[str, object]
"""A section without what was read here."""

_SOUND_PARTITIONS = {"0": [0]}
"""Stands for the `partitions` of an entry whose other keys the schema shall judge."""


def read_assignments(
    source: Source, section: YamlMapping, problems: Problems
) -> tuple[list[Declaration], LeftOver]:
    """Read the explicit entries of `assignments`."""
    declarations: list[Declaration] = []
    left: LeftOver = {}
    for topic, entry, where in _entries(source, section):
        path: KeyPath = ("assignments", topic)
        if not isinstance(entry, YamlMapping) or is_pattern(topic):
            left[topic] = entry
            if isinstance(entry, YamlMapping) and "partitions" in entry:
                problems.add(
                    where,
                    path,
                    "replica lists need a topic's name, and this is a pattern; name each topic",
                )
            continue
        beyond = entry.keys() - OWN_KEYS
        if beyond and "partitions" not in entry:
            left[topic] = entry
            continue
        if beyond:
            left[topic] = {"partitions": _SOUND_PARTITIONS} | {k: entry[k] for k in beyond}
        elif not _is_topic(topic, where, path, problems):
            continue
        explicit = read_explicit(source, topic, entry, where, problems)
        if explicit is not None:
            declarations.append(Declaration(path, where, explicit))
    return declarations, left


def read_preferred_leaders(
    source: Source, section: YamlMapping, problems: Problems
) -> tuple[list[Declaration], LeftOver]:
    """Read the entries of `preferredLeaders` that go by partition number."""
    declarations: list[Declaration] = []
    left: LeftOver = {}
    for topic, entry, where in _entries(source, section):
        path: KeyPath = ("preferredLeaders", topic)
        by_number = isinstance(entry, YamlMapping) and entry and all(map(str.isdecimal, entry))
        if not isinstance(entry, YamlMapping) or not by_number or is_pattern(topic):
            left[topic] = entry
            if by_number:
                text = "leaders by partition need a topic's name, and this is a pattern; name each topic"
                problems.add(where, path, text)
        elif _is_topic(topic, where, path, problems):
            leaders = _preferred_leaders(source, path, entry, problems)
            declarations.append(Declaration(path, where, leaders))
    return declarations, left


def _entries(source: Source, section: YamlMapping) -> Iterator[tuple[str, Value, Where]]:
    for (topic, entry), at in zip(section.items(), section.key_at, strict=True):
        yield topic, entry, source.where(at)


def _is_topic(topic: str, where: Where, path: KeyPath, problems: Problems) -> bool:
    try:
        check_topic(topic)
    except ValueError as illegal:
        problems.add(where, path, str(illegal))
        return False
    return True


def _preferred_leaders(
    source: Source, path: KeyPath, entry: YamlMapping, problems: Problems
) -> PreferredLeaders:
    found: dict[int, PreferredLeader] = {}
    for (key, broker), key_at, at in zip(entry.items(), entry.key_at, entry.value_at, strict=True):
        number = partition_number(key)
        if number is None:
            text = f"{show(key)} is not a partition number; write a whole number from 0 to {LARGEST_ID}"
            problems.add(source.where(key_at), (*path, key), text)
        elif (
            isinstance(broker, bool) or not isinstance(broker, int) or not 0 <= broker <= LARGEST_ID
        ):
            text = f"{show(broker)} is not a broker id; write a whole number from 0 to {LARGEST_ID}"
            problems.add(source.where(at), (*path, key), text)
        else:
            found[number] = PreferredLeader(BrokerId(broker), source.where(at))
    return PreferredLeaders(found)
