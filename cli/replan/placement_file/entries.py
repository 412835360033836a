"""The two sections of one file that have an entry for each topic or pattern: `assignments`, `preferredLeaders`."""

from collections.abc import Iterator
from typing import Any, cast

from replan.model.declared.placement import PreferredLeader
from replan.model.declared.rules import BrokerRange, BrokerSelector, LeaderRule, Spread, TopicRule
from replan.model.declared.topic_patterns import is_pattern
from replan.model.declared.where import Where
from replan.model.names import LARGEST_ID, BrokerId, parse_number
from replan.placement_file.sections import (
    OWN_KEYS,
    Declaration,
    PreferredLeaders,
    read_explicit,
)
from replan.placement_file.sources import KeyPath, Problems, Source, quoted_value
from replan.placement_file.units import check_topic, parse_broker_range
from replan.placement_file.yaml_text import YamlList, YamlMapping, YamlValue


def read_rules(
    source: Source, root: YamlMapping, unsound: frozenset[str | int]
) -> Iterator[Declaration]:
    """Read what is placed by rule, less the unsound sections."""
    if "assignments" not in unsound:
        for topic, where, entry in _rule_entries(source, root, "assignments"):
            if "partitions" not in entry:
                yield Declaration(("assignments", topic), where, _rule(source, topic, where, entry))
    if "preferredLeaders" not in unsound:
        for topic, where, entry in _rule_entries(source, root, "preferredLeaders"):
            if "racks" in entry or "balanced" in entry:
                racks = tuple(entry.get("racks", ()))
                excepted = tuple(sorted(set(entry.get("except", ()))))
                rule = LeaderRule(where, topic, racks, "balanced" in entry, excepted)
                yield Declaration(("preferredLeaders", topic), where, rule)


def _rule_entries(
    source: Source, root: YamlMapping, section: str
) -> Iterator[tuple[str, Where, dict[str, Any]]]:
    topics = root.get(section)
    if isinstance(topics, YamlMapping):
        for (topic, entry), at in zip(topics.items(), topics.key_at, strict=True):
            yield topic, source.where(at), cast("dict[str, Any]", entry)


def _rule(source: Source, topic: str, where: Where, entry: dict[str, Any]) -> TopicRule:
    places = zip(entry, cast("YamlMapping", entry).key_at, strict=True)
    per_rack: dict[str, int] = dict(sorted(entry.get("replicasPerRack", {}).items()))
    spread = Spread.IN_RACK if "inRack" in entry else entry.get("spread")
    return TopicRule(
        where,
        topic,
        partition_count=entry.get("partitionCount"),
        replication_factor=sum(per_rack.values()) or entry.get("replicationFactor"),
        spread=None if spread is None else Spread(spread),
        brokers=_brokers(source, entry["brokers"]) if "brokers" in entry else None,
        in_rack=entry.get("inRack"),
        replicas_per_rack=per_rack,
        max_replicas_per_broker=entry.get("maxReplicasPerBroker"),
        below_min_isr=entry.get("belowMinIsr", False),
        excepted=tuple(sorted(set(entry.get("except", ())))),
        places={key: source.where(at) for key, at in places},
    )


def _brokers(source: Source, written: YamlList | YamlMapping) -> BrokerSelector:
    if isinstance(written, YamlList):
        return BrokerSelector(_ids(source, written))
    ids, racks = (cast("YamlList | None", written.get(key)) for key in ("ids", "racks"))
    places: dict[str, Where] = {}
    if racks is not None:
        named = zip(cast("list[str]", racks), racks.at, strict=True)
        places = {rack: source.where(at) for rack, at in named}
    return BrokerSelector(() if ids is None else _ids(source, ids), tuple(sorted(places)), places)


def _ids(source: Source, listed: YamlList) -> tuple[BrokerRange, ...]:
    """Ids and ranges, in order of their first broker."""
    ranges = [
        _range(cast("int | str", b), source.where(at))
        for b, at in zip(listed, listed.at, strict=True)
    ]
    return tuple(sorted(ranges, key=lambda r: (r.first, r.last)))


def _range(listed: int | str, where: Where) -> BrokerRange:
    if isinstance(listed, int):
        return BrokerRange(BrokerId(listed), BrokerId(listed), where, single=True)
    first, last = parse_broker_range(listed)
    return BrokerRange(first, last, where, single=False)


RestOfSection = dict[str, object]
"""A section without what was read here."""

_SOUND_PARTITIONS = {"0": [0]}
"""Stands for the `partitions` of an entry whose other keys the schema shall judge."""


def read_assignments(
    source: Source, section: YamlMapping, problems: Problems
) -> tuple[list[Declaration], RestOfSection]:
    """Read the explicit entries of `assignments`."""
    declarations: list[Declaration] = []
    rest: RestOfSection = {}
    for topic, entry, where in _entries(source, section):
        path: KeyPath = ("assignments", topic)
        if not isinstance(entry, YamlMapping) or is_pattern(topic):
            rest[topic] = entry
            if isinstance(entry, YamlMapping) and "partitions" in entry:
                problems.add(
                    where,
                    path,
                    "replica lists need a topic's name, and this is a pattern; name each topic",
                )
            continue
        beyond = entry.keys() - OWN_KEYS
        if beyond and "partitions" not in entry:
            rest[topic] = entry
            continue
        if beyond:
            rest[topic] = {"partitions": _SOUND_PARTITIONS} | {k: entry[k] for k in beyond}
        elif not _is_topic(topic, where, path, problems):
            continue
        explicit = read_explicit(source, topic, entry, where, problems)
        if explicit is not None:
            declarations.append(Declaration(path, where, explicit))
    return declarations, rest


def read_preferred_leaders(
    source: Source, section: YamlMapping, problems: Problems
) -> tuple[list[Declaration], RestOfSection]:
    """Read the entries of `preferredLeaders` that go by partition number."""
    declarations: list[Declaration] = []
    rest: RestOfSection = {}
    for topic, entry, where in _entries(source, section):
        path: KeyPath = ("preferredLeaders", topic)
        by_number = isinstance(entry, YamlMapping) and entry and all(map(str.isdecimal, entry))
        if not isinstance(entry, YamlMapping) or not by_number or is_pattern(topic):
            rest[topic] = entry
            if by_number:
                text = "leaders by partition need a topic's name, and this is a pattern; name each topic"
                problems.add(where, path, text)
        elif _is_topic(topic, where, path, problems):
            leaders = _preferred_leaders(source, path, entry, problems)
            declarations.append(Declaration(path, where, leaders))
    return declarations, rest


def _entries(source: Source, section: YamlMapping) -> Iterator[tuple[str, YamlValue, Where]]:
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
    leaders: dict[int, PreferredLeader] = {}
    for (key, broker), key_at, at in zip(entry.items(), entry.key_at, entry.value_at, strict=True):
        number = parse_number(key)
        if number is None:
            text = f"{quoted_value(key)} is not a partition number; write a whole number from 0 to {LARGEST_ID}"
            problems.add(source.where(key_at), (*path, key), text)
        elif (
            isinstance(broker, bool) or not isinstance(broker, int) or not 0 <= broker <= LARGEST_ID
        ):
            text = f"{quoted_value(broker)} is not a broker id; write a whole number from 0 to {LARGEST_ID}"
            problems.add(source.where(at), (*path, key), text)
        else:
            leaders[number] = PreferredLeader(BrokerId(broker), source.where(at))
    return PreferredLeaders(leaders)
