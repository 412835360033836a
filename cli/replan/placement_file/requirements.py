"""`require`: what may be declared, checked against the other entries of the files, without a cluster.

A pattern under `assignments` is matched as it is written; planning checks it again for each topic that it places. Which
racks an explicit list lies in, only a cluster knows: planning checks that, too.
"""

from collections.abc import Iterator

from replan.model.declared.policy import Requirement, factor_too_small, spread_too_narrow
from replan.model.declared.rules import Apart, TopicRule
from replan.model.declared.topic_patterns import patterns_of, ties, winners
from replan.model.declared.where import Where
from replan.placement_file.merge import Merged
from replan.placement_file.sections.assignments import ExplicitTopic
from replan.placement_file.yaml_text.sources import KeyPath, Problems


def note_unmet_requirements(merged: Merged, problems: Problems) -> None:
    """Note every entry that declares less than `require` asks for, and every topic for which two entries tie."""
    required = {
        str(path[-1]): d.declared
        for path, d in merged.items()
        if isinstance(d.declared, Requirement)
    }
    declared = {
        str(path[-1]): d.declared
        for path, d in merged.items()
        if isinstance(d.declared, ExplicitTopic | TopicRule)
    }
    for topic, found in ties(patterns_of(required), declared).items():
        first, second = required[found[0]], required[found[1]]
        text = f"{topic} matches this as well as {found[0]} at {first.where}; name the topic, or a longer prefix"
        problems.add(second.where, ("require", found[1]), text)
    for topic, name in winners(patterns_of(required), declared).items():
        for where, path, text in _unmet(declared[topic], required[name]):
            problems.add(where, path, text)


def note_lists_together(merged: Merged, problems: Problems) -> None:
    """Note lists of topics that are declared apart, and that share a broker: the first of each two topics."""
    listed = {
        d.declared.name: d.declared
        for d in merged.values()
        if isinstance(d.declared, ExplicitTopic)
    }
    for group in (d.declared for d in merged.values() if isinstance(d.declared, Apart)):
        sides, first = group.sides(sorted(listed)), dict[int, tuple[str, int]]()
        for topic, side in sides.items():
            noted: set[str] = set()
            for row, replicas in enumerate(listed[topic].rows):
                brokers = replicas if isinstance(replicas, list) else ()
                for broker in (b for b in brokers if isinstance(b, int)):
                    other, at = first.setdefault(broker, (topic, row))
                    if sides[other] != side and other not in noted:
                        noted.add(other)
                        there = listed[other].source.where(listed[other].places[at])
                        text = (
                            f"broker {broker} holds {other}, too ({there}), and {group.where} wants them apart; list "
                            "other brokers in one of them"
                        )
                        where = listed[topic].source.where(listed[topic].places[row])
                        problems.add(where, listed[topic].path_of(row), text)


def _unmet(
    declared: ExplicitTopic | TopicRule, required: Requirement
) -> Iterator[tuple[Where, KeyPath, str]]:
    if isinstance(declared, ExplicitTopic):
        for row, replicas in enumerate(declared.rows):
            text = factor_too_small(len(replicas) if isinstance(replicas, list) else None, required)
            if text:
                yield declared.source.where(declared.places[row]), declared.path_of(row), text
        return
    path: KeyPath = ("assignments", declared.pattern)
    per_rack = bool(declared.replicas_per_rack)
    counted, spread = ("replicasPerRack",) * 2 if per_rack else ("replicationFactor", "spread")
    text = factor_too_small(declared.replication_factor, required)
    if text:
        yield declared.place(counted), (*path, counted), text
    text = spread_too_narrow(declared, required)
    if text:
        yield declared.place(spread), (*path, spread), text
