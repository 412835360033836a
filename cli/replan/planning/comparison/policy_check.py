"""Entries for names and patterns against the topics of a cluster: which one counts, and what `require` asks."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from replan.model.columns import PAD, to_matrix
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement
from replan.model.declared.policy import factor_too_small, spread_too_narrow
from replan.model.declared.rules import TopicRule
from replan.model.declared.where import Mistake, Where
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import Alignment


def check_policy(aligned: Alignment) -> Iterator[Mistake]:
    """Every topic for which two entries tie, and every topic that is declared with less than `require` asks for."""
    for tie in aligned.intents.ties:
        places = zip(tie.names[:-1], tie.places, strict=False)
        others = " and ".join(f"{name} at {where}" for name, where in places)
        yield Mistake(
            tie.places[-1],
            f"{tie.section}: topic {tie.topic} matches {tie.names[-1]} as well as {others}; "
            "name the topic, give one of the patterns a longer prefix, or let it except the topic",
        )
    if aligned.placement.requirements:
        yield from _unmet_rules(aligned.intents)
        yield from _too_few_racks(aligned.placement, aligned.snapshot)


def _unmet_rules(intents: Intents) -> Iterator[Mistake]:
    """Topics that a pattern places, where the requirement of the topic is another than that of the pattern."""
    for topic in sorted(intents.required.keys() & intents.entries.keys()):
        rule, asked = intents.entries[topic], intents.required[topic]
        if isinstance(rule, TopicRule):
            texts = factor_too_small(rule.replication_factor, asked), spread_too_narrow(rule, asked)
            yield from (Mistake(rule.where, f"{topic}: {text}") for text in texts if text)


def _too_few_racks(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Explicit lists in fewer racks than required; a broker without a rack counts as one of its own."""
    requirements = Intents.of(placement, placement.topics).required
    least = {topic: required.racks or 1 for topic, required in requirements.items()}
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
        required = requirements[name]
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
