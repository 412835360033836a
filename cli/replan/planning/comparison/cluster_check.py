"""Mistakes of the placement that only show against a cluster, all at once, each with its place in the file.

Unknown brokers, topics and partitions; entries that tie; preferred leaders without a replica of what they shall lead.
What is a matter of safety rather than of a mistake is in `refusals`.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from replan.errors import WrongCluster
from replan.model.columns import PAD, list_in_row, take, to_matrix
from replan.model.declared.intents import Intents
from replan.model.declared.placement import Placement, PreferredLeader, TopicEntry
from replan.model.declared.policy import factor_too_small, spread_too_narrow
from replan.model.declared.rules import BrokerSelector, TopicRule
from replan.model.declared.topic_patterns import is_pattern
from replan.model.declared.where import Mistake, Where
from replan.model.names import BrokerId, Replicas, TopicPartition, replicas
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.chosen import BaseLists
from replan.wording import listed, ranges


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
        rule, required = intents.entries[topic], intents.required[topic]
        if isinstance(rule, TopicRule):
            texts = (
                factor_too_small(rule.replication_factor, required),
                spread_too_narrow(rule, required),
            )
            yield from (Mistake(rule.where, f"{topic}: {text}") for text in texts if text)


def _too_few_racks(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Explicit lists in fewer racks than required; a broker without a rack counts as one of its own."""
    requirements = Intents.of(placement, placement.topics).required
    least = {topic: required.racks or 1 for topic, required in requirements.items()}
    if max(least.values(), default=1) == 1:
        return
    explicit = placement.explicit
    topic = explicit.column("topic").combine_chunks()
    needed = np.array([least.get(name, 1) for name in placement.topics])[np.asarray(topic.indices)]
    racks = _racks_in_each(to_matrix(explicit.column("replicas")), snapshot)
    rows = np.flatnonzero(racks < needed)
    for at, row in zip(rows, take(explicit, rows).to_pylist(), strict=True):
        name = row["topic"]
        where = Where(placement.topics[name].where.file, row["line"], row["column"])
        required = requirements[name]
        yield Mistake(
            where,
            f"{name}-{row['partition']}: {row['replicas']} lie in {racks[at]} of {needed[at]} racks that "
            f"`require` at {required.where} wants; declare brokers of other racks",
        )


def _racks_in_each(
    lists: "np.ndarray[tuple[int, ...], np.dtype[np.int32]]", snapshot: Snapshot
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """How many racks each list lies in, or could lie in."""
    ids = np.unique(lists[lists != PAD])
    names = snapshot.racks
    codes: dict[str | tuple[int], int] = {}
    of_broker = [codes.setdefault(names.get(b) or (b,), len(codes)) for b in ids.tolist()]
    table = np.array([*of_broker, PAD])
    place = np.where(lists == PAD, len(ids), np.searchsorted(ids, lists))
    racks = np.sort(table[place], axis=1)
    first = racks[:, :1] != PAD
    others = (np.diff(racks, axis=1) != 0) & (racks[:, 1:] != PAD)
    return np.asarray(np.hstack([first, others]).sum(axis=1), dtype=np.int64)


class AbsentLeader(Struct, frozen=True):
    """A preferred leader that is no replica."""

    partition: TopicPartition
    preferred: PreferredLeader
    replicas: Replicas | None
    """The list that the partition has, or is to have; None where the cluster has no such partition."""


def absent_leaders(aligned: Alignment, made: BaseLists) -> Iterator[AbsentLeader]:
    """Find them; one that is drained is warned of instead, since the drain wins.

    A partition that is declared and is yet to be created is no mistake, whether or not it can be created now.
    """
    preferences = aligned.placement.preferred_leaders
    if not preferences:
        return
    counts = _declared_counts(aligned)
    declared = partition_rows(named_partitions(preferences), aligned.placement.explicit)
    drained = aligned.placement.drained
    refused = {at for reason in made.impossible for at in reason.partitions}
    places = zip(preferences.items(), aligned.leader_rows.tolist(), declared.tolist(), strict=True)
    for (name, preferred), at, line in places:
        if at < 0:
            if name.partition >= counts.get(name.topic, 0):
                yield AbsentLeader(name, preferred, None)
        elif preferred.broker not in drained and at not in refused:
            brokers = (
                list_in_row(made.observed, at) if line < 0 else list_in_row(made.explicit, line)
            )
            if preferred.broker not in brokers:
                yield AbsentLeader(name, preferred, replicas(*brokers))


def _declared_counts(aligned: Alignment) -> dict[str, int]:
    return {topic: count for topic, _, count in aligned.intents.partition_counts()}


def mistaken_whatever_is_chosen(aligned: Alignment) -> bool:
    """Whether a preferred leader is named for no partition, or for one that keeps its list, without that broker."""
    placement, snapshot, at = aligned.placement, aligned.snapshot, aligned.leader_rows
    names, counts = list(placement.preferred_leaders), _declared_counts(aligned)
    if not names:
        return False
    if any(names[n].partition >= counts.get(names[n].topic, 0) for n in np.flatnonzero(at < 0)):
        return True
    free = (at >= 0) & (partition_rows(named_partitions(names), placement.explicit) < 0)
    first = np.array([of.broker for of in placement.preferred_leaders.values()])[free]
    held = to_matrix(take(snapshot.partitions["replicas"], at[free]))
    absent = (held != first[:, None]).all(axis=1) & ~np.isin(first, list(placement.drained))
    moved = snapshot.remembered.keys() | snapshot.own_targets.keys()
    return any(
        state.running is None
        and state.partition not in moved
        and state.partition.topic not in aligned.intents.rules
        and placement.drained.isdisjoint(state.replicas)
        for state in snapshot.states(at[free][absent].tolist())
    )


def check_cluster(placement: Placement, snapshot: Snapshot) -> None:
    """Refuse to compare a placement with another cluster than the one it names."""
    if placement.cluster_id is not None and placement.cluster_id != snapshot.cluster_id:
        raise WrongCluster(
            f"the placement is for cluster {placement.cluster_id}"
            + (f" ({placement.cluster_name})" if placement.cluster_name else "")
            + f", but the cluster that answered is {snapshot.cluster_id}; "
            "check --bootstrap-server, or `cluster.id` in the placement file"
        )


def mistakes_of(aligned: Alignment) -> Iterator[Mistake]:
    """Every name that this cluster does not know, and every tie: what is wrong whatever is chosen."""
    placement, snapshot = aligned.placement, aligned.snapshot
    yield from _unknown_topics(placement, snapshot)
    yield from _unknown_brokers(placement, snapshot)
    yield from _unknown_rule_brokers(placement, snapshot)
    yield from _unknown_partitions(aligned)
    yield from _unknown_elsewhere(placement, snapshot)
    yield from _named_brokers(placement, snapshot)
    yield from _unknown_log_dirs(placement, snapshot)
    yield from check_policy(aligned)


def _unknown_topics(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    existing = set(snapshot.topics.column("name").to_pylist())
    exact = {name: rule for name, rule in placement.rules.items() if not is_pattern(name)}
    entries: dict[str, TopicEntry | TopicRule] = {**placement.topics, **exact}
    for name, entry in sorted(entries.items()):
        if name not in existing:
            yield _no_topic(entry.where, name, "assignments", snapshot)


def _unknown_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    registered = sorted(snapshot.broker_ids())
    lists = to_matrix(placement.explicit.column("replicas"))
    unknown = ~np.isin(lists, np.array([*registered, PAD], dtype=np.int32))
    rows = np.flatnonzero(unknown.any(axis=1))
    declared = take(placement.explicit, rows).to_pylist()
    for at, row in zip(rows, declared, strict=True):
        missing = [int(b) for b in lists[at][unknown[at]]]
        file = placement.topics[row["topic"]].where.file
        yield Mistake(
            Where(file, row["line"], row["column"]),
            f"{row['topic']}-{row['partition']}: "
            f"broker {listed(missing)} is not registered in the cluster; registered: {ranges(registered)}",
        )


def _unknown_rule_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """A single id must be registered, of a range at least one; a rack must have a broker."""
    registered = sorted(snapshot.broker_ids())
    for pattern, rule in sorted(placement.rules.items()):
        selector = rule.brokers or BrokerSelector()
        for brokers in selector.ids:
            if not any(brokers.first <= broker <= brokers.last for broker in registered):
                named = (
                    f"broker {brokers.first}"
                    if brokers.single
                    else f"{brokers.first}-{brokers.last}"
                )
                yield Mistake(
                    brokers.where,
                    f"{pattern}: {named} is not registered in the cluster; "
                    f"registered: {ranges(registered)}",
                )
        if not snapshot.brokers_of_unknown_rack():
            yield from _unknown_racks(pattern, rule, snapshot)


def _unknown_racks(pattern: str, rule: TopicRule, snapshot: Snapshot) -> Iterator[Mistake]:
    """Racks that no broker is in, and keys that leave no broker together."""
    racks = {b.rack for b in snapshot.brokers if b.rack is not None}
    named = {} if rule.brokers is None else dict(rule.brokers.places)
    if rule.in_rack is not None:
        named[rule.in_rack] = rule.place("inRack")
    named.update(dict.fromkeys(rule.replicas_per_rack, rule.place("replicasPerRack")))
    unknown = named.keys() - racks
    for rack in sorted(unknown):
        of_cluster = listed(sorted(racks)) if racks else "none"
        yield Mistake(
            named[rack],
            f"{pattern}: no broker of the cluster is in rack {rack}; racks: {of_cluster}",
        )
    if named and not unknown and not any(rule.may_use(b.id, b.rack) for b in snapshot.brokers):
        where = rule.place(
            next((key for key in ("brokers", "inRack") if key in rule.places), "replicasPerRack")
        )
        yield Mistake(
            where,
            f"{pattern}: no registered broker of these ids is in rack {' or '.join(sorted(named))}",
        )


def _unknown_partitions(aligned: Alignment) -> Iterator[Mistake]:
    placement, counts = aligned.placement, aligned.snapshot.partition_counts()
    missing = np.flatnonzero(aligned.explicit_rows < 0)
    for row in take(placement.explicit, missing).to_pylist():
        topic, partition = row["topic"], row["partition"]
        if topic not in counts or placement.topics[topic].partition_count is not None:
            continue  # the list form declares a count
        yield Mistake(
            Where(placement.topics[topic].where.file, row["line"], row["column"]),
            f"{topic}-{partition} does not "
            f"exist: the topic has {counts[topic]} partitions, counted from 0. Take it out, or add partitions "
            "(keys then map to other partitions, and it cannot be undone): declare all of them in the list form",
        )


def mistaken_leaders(aligned: Alignment, made: BaseLists) -> Iterator[Mistake]:
    """Preferred leaders that are no replica; `made`: the lists that are to be."""
    for absent in absent_leaders(aligned, made):
        where, name = absent.preferred.where, absent.partition
        if absent.replicas is None:
            yield Mistake(where, f"{name} does not exist in the cluster")
        else:
            yield Mistake(
                where,
                f"broker {absent.preferred.broker} is no replica of {name}, whose list is "
                f"{list(absent.replicas)}; name one of them, or change the list under `assignments`",
            )


def _unknown_elsewhere(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Topics that another section names one by one; it would do nothing, without a word."""
    existing = set(snapshot.topics.column("name").to_pylist())
    standing = {} if placement.standing is None else placement.standing.topics
    sections: dict[str, dict[str, Where]] = {
        "throttles.standing.topics": {name: of.where for name, of in standing.items()},
        "recovery": {name: of.where for name, of in placement.recovery.items()},
        "preferredLeaders": {rule.pattern: rule.where for rule in placement.leader_rules.values()},
    }
    for section, declared in sections.items():
        for name, where in sorted(declared.items()):
            if name not in existing and not is_pattern(name):
                yield _no_topic(where, name, section, snapshot)


def _no_topic(where: Where, name: str, section: str, snapshot: Snapshot) -> Mistake:
    if name in snapshot.hidden:
        return Mistake(
            where,
            f"topic {name}: this user may not see it; it needs the ACL Describe on Topic {name}",
        )
    return Mistake(
        where,
        f"topic {name} does not exist in the cluster; create it first, or take it out of `{section}`",
    )


def _named_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Brokers that have a weight, or a rate of their own."""
    balance, throttle = placement.balance, placement.move_throttle
    places: list[tuple[BrokerId, Where]] = []
    if balance is not None:
        places += [(broker, balance.places["weights"]) for broker in sorted(balance.weights)]
    if throttle is not None:
        places += [(b, placement.throttle_places[b]) for b in sorted(throttle.brokers)]
    registered = sorted(snapshot.broker_ids())
    for broker, where in places:
        if broker not in registered:
            yield _no_broker(where, broker, registered)


def _no_broker(where: Where, broker: BrokerId, registered: Sequence[BrokerId]) -> Mistake:
    return Mistake(
        where,
        f"broker {broker} is not registered in the cluster; registered: {ranges(registered)}",
    )


def _unknown_log_dirs(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """A directory must be one of its broker, as far as that answers, and another one must be left."""
    registered = sorted(snapshot.broker_ids())
    for entry in placement.log_dir_blacklist:
        paths = sorted(d.path for d in snapshot.dirs_of.get(entry.broker, ()))
        drained = {e.path for e in placement.log_dir_blacklist if e.broker == entry.broker}
        if entry.broker not in registered:
            yield _no_broker(entry.where, entry.broker, registered)
        elif paths and entry.path not in paths:
            yield Mistake(
                entry.where,
                f"broker {entry.broker} has no log directory {entry.path}; it has {', '.join(paths)}",
            )
        elif paths and drained.issuperset(paths):
            yield Mistake(
                entry.where,
                f"broker {entry.broker} has no other log directory than {', '.join(paths)}; "
                "drain the broker instead (`blacklists.replicas`)",
            )
