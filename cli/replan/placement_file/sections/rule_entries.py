"""The entries of `assignments` and `preferredLeaders` that leave the choice to the planner, and those for patterns.

They were checked against the schema before; explicit entries are in `topic_entries`.
"""

from collections.abc import Iterator
from typing import Any, cast

from replan.model.declared.rules import BrokerRange, BrokerSelector, LeaderRule, Spread, TopicRule
from replan.model.declared.where import Where
from replan.model.names import BrokerId
from replan.placement_file.sections.sections import Declaration
from replan.placement_file.sections.units import parse_broker_range
from replan.placement_file.yaml_text.sources import Source
from replan.placement_file.yaml_text.values import YamlList, YamlMapping


def read_rules(
    source: Source, root: YamlMapping, unsound: frozenset[str | int]
) -> Iterator[Declaration]:
    """Read what is placed by rule, less the unsound sections."""
    if "assignments" not in unsound:
        for topic, where, entry in _entries(source, root, "assignments"):
            if "partitions" not in entry:
                yield Declaration(("assignments", topic), where, _rule(source, topic, where, entry))
    if "preferredLeaders" not in unsound:
        for topic, where, entry in _entries(source, root, "preferredLeaders"):
            if "racks" in entry or "balanced" in entry:
                racks = tuple(entry.get("racks", ()))
                excepted = tuple(sorted(set(entry.get("except", ()))))
                rule = LeaderRule(where, topic, racks, "balanced" in entry, excepted)
                yield Declaration(("preferredLeaders", topic), where, rule)


def _entries(
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
    found = [
        _range(cast("int | str", b), source.where(at))
        for b, at in zip(listed, listed.at, strict=True)
    ]
    return tuple(sorted(found, key=lambda r: (r.first, r.last)))


def _range(listed: int | str, where: Where) -> BrokerRange:
    if isinstance(listed, int):
        return BrokerRange(BrokerId(listed), BrokerId(listed), where, single=True)
    first, last = parse_broker_range(listed)
    return BrokerRange(first, last, where, single=False)
