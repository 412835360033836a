"""`require`: what may be declared, checked against the other entries of the files, without a cluster.

A pattern under `assignments` is matched as it is written; planning checks it again for each topic that it places. Which
racks an explicit list lies in, only a cluster knows: planning checks that, too.
"""

from collections.abc import Iterator

from replan.model.declared.policy import Requirement, factor_too_small, spread_too_narrow
from replan.model.declared.rules import TopicRule
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
