"""Entries for names and patterns against the topics of a cluster: which one counts, and what `require` asks."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from replan.model.columns import PAD, to_matrix
from replan.model.declared.placement import Placement
from replan.model.declared.policy import factor_too_small, spread_too_narrow
from replan.model.declared.topic_patterns import Patterns, patterns_of, ties, winners
from replan.model.declared.where import Mistake, Where
from replan.model.snapshot import Snapshot


def check_policy(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Every topic for which two entries tie, and every topic that is declared with less than `require` asks for."""
    topics: list[str] = snapshot.topics.column("name").to_pylist()
    leaders = {name.topic: p.where for name, p in placement.preferred_leaders.items()}
    standing = placement.standing.topics if placement.standing else {}
    known = {e.topic: e.where for e in placement.acknowledged}
    sections: dict[str, tuple[dict[str, Where], Patterns]] = {
        "assignments": (
            _places(placement.rules) | _places(placement.topics),
            patterns_of(placement.rules, placement.topics),
        ),
        "preferredLeaders": (
            _places(placement.leader_rules) | leaders,
            patterns_of(placement.leader_rules, leaders),
        ),
        "require": (_places(placement.requirements), patterns_of(placement.requirements)),
        "throttles.standing.topics": (_places(standing), patterns_of({}, standing)),
        "recovery": (_places(placement.recovery), patterns_of(placement.recovery)),
        "acknowledged": (known, patterns_of({}, known)),
    }
    for section, (places, patterns) in sections.items():
        yield from _ties(section, places, patterns, topics)
    if placement.requirements:
        yield from _unmet_rules(placement, topics)
        yield from _too_few_racks(placement, snapshot)


class _Placed(Protocol):
    @property
    def where(self) -> Where: ...


def _places(entries: Mapping[str, _Placed]) -> dict[str, Where]:
    return {name: entry.where for name, entry in entries.items()}


def _ties(
    section: str, places: Mapping[str, Where], patterns: Patterns, topics: list[str]
) -> Iterator[Mistake]:
    for topic, found in ties(patterns, topics).items():
        others = " and ".join(f"{name} at {places[name]}" for name in found[:-1])
        yield Mistake(
            places[found[-1]],
            f"{section}: topic {topic} matches {found[-1]} as well as {others}; "
            "name the topic, give one of the patterns a longer prefix, or let it except the topic",
        )


def _unmet_rules(placement: Placement, topics: list[str]) -> Iterator[Mistake]:
    """Topics that a pattern places, where the requirement of the topic is another than that of the pattern."""
    required = winners(patterns_of(placement.requirements), topics)
    placed = placement.entries_of(topics)
    for topic in sorted(required.keys() & placed.keys()):
        rule, asked = placement.rules.get(placed[topic]), placement.requirements[required[topic]]
        if rule is None:
            continue
        texts = factor_too_small(rule.replication_factor, asked), spread_too_narrow(rule, asked)
        yield from (Mistake(rule.where, f"{topic}: {text}") for text in texts if text)


def _too_few_racks(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Explicit lists in fewer racks than required; a broker without a rack counts as one of its own."""
    named = winners(patterns_of(placement.requirements), placement.topics)
    least = {topic: placement.requirements[name].racks or 1 for topic, name in named.items()}
    if max(least.values(), default=1) == 1:
        return
    explicit = placement.explicit
    topic = explicit.column("topic").combine_chunks()
    asked = np.array([least.get(name, 1) for name in placement.topics])[np.asarray(topic.indices)]
    racks = _racks_in_each(to_matrix(explicit.column("replicas")), snapshot)
    rows = np.flatnonzero(racks < asked)
    for at, found in zip(rows, explicit.take(pa.array(rows)).to_pylist(), strict=True):
        name = found["topic"]
        where = Where(placement.topics[name].where.file, found["line"], found["column"])
        required = placement.requirements[named[name]]
        yield Mistake(
            where,
            f"{name}-{found['partition']}: {found['replicas']} lie in {racks[at]} of {asked[at]} racks that "
            f"`require` at {required.where} wants; declare brokers of other racks",
        )


def _racks_in_each(
    lists: "np.ndarray[tuple[int, ...], np.dtype[np.int32]]", snapshot: Snapshot
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """How many racks each list lies in, or could lie in."""
    ids = np.unique(lists[lists != PAD])
    names = {b.id: b.rack for b in snapshot.brokers}
    codes: dict[str | tuple[int], int] = {}
    of_broker = [codes.setdefault(names.get(b) or (b,), len(codes)) for b in ids.tolist()]
    table = np.array([*of_broker, PAD])
    place = np.where(lists == PAD, len(ids), np.searchsorted(ids, lists))
    racks = np.sort(table[place], axis=1)
    first = racks[:, :1] != PAD
    others = (np.diff(racks, axis=1) != 0) & (racks[:, 1:] != PAD)
    return np.asarray(np.hstack([first, others]).sum(axis=1), dtype=np.int64)
