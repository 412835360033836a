"""Mistakes of the placement that only show against a cluster: unknown brokers, topics, partitions.

The author has to correct them: all are reported at once, each with its place in the file. What is a matter of
safety rather than of a mistake is in `refusals`.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from replan.errors import WrongCluster
from replan.model.columns import PAD, to_matrix
from replan.model.declared.placement import Placement, TopicEntry
from replan.model.declared.rules import BrokerSelector, TopicRule
from replan.model.declared.topic_patterns import is_pattern
from replan.model.declared.where import Mistake, Where
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.chosen import Chosen
from replan.planning.comparison.policy_check import check_policy
from replan.planning.comparison.preferred import absent_leaders
from replan.wording import listed, ranges


def check_cluster(placement: Placement, snapshot: Snapshot) -> None:
    """Refuse to compare a placement with another cluster than the one it names."""
    if placement.cluster_id is not None and placement.cluster_id != snapshot.cluster_id:
        raise WrongCluster(
            f"the placement is for cluster {placement.cluster_id}"
            + (f" ({placement.cluster_name})" if placement.cluster_name else "")
            + f", but the cluster that answered is {snapshot.cluster_id}; "
            "check --bootstrap-server, or `cluster.id` in the placement file"
        )


def mistakes_of(aligned: Alignment, made: Chosen) -> Iterator[Mistake]:
    """Every name that this cluster does not know, and every tie; `made`: the lists that are to be."""
    placement, snapshot = aligned.placement, aligned.snapshot
    yield from _unknown_topics(placement, snapshot)
    yield from _unknown_brokers(placement, snapshot)
    yield from _unknown_rule_brokers(placement, snapshot)
    yield from _unknown_partitions(aligned)
    yield from _preferred_leaders(aligned, made)
    yield from _unknown_elsewhere(placement, snapshot)
    yield from _named_brokers(placement, snapshot)
    yield from _unknown_log_dirs(placement, snapshot)
    yield from check_policy(aligned)


def _unknown_topics(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    known = set(snapshot.topics.column("name").to_pylist())
    exact = {name: rule for name, rule in placement.rules.items() if not is_pattern(name)}
    entries: dict[str, TopicEntry | TopicRule] = {**placement.topics, **exact}
    for name, entry in sorted(entries.items()):
        if name not in known:
            yield _no_topic(entry.where, name, "assignments", snapshot)


def _unknown_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    registered = sorted(snapshot.broker_ids())
    lists = to_matrix(placement.explicit.column("replicas"))
    unknown = ~np.isin(lists, np.array([*registered, PAD], dtype=np.int32))
    rows = np.flatnonzero(unknown.any(axis=1))
    declared = placement.explicit.take(pa.array(rows)).to_pylist()
    for at, found in zip(rows, declared, strict=True):
        missing = [int(b) for b in lists[at][unknown[at]]]
        file = placement.topics[found["topic"]].where.file
        yield Mistake(
            Where(file, found["line"], found["column"]),
            f"{found['topic']}-{found['partition']}: "
            f"broker {listed(missing)} is not registered in the cluster; registered: {ranges(registered)}",
        )


def _unknown_rule_brokers(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """A single id must be registered, of a range at least one; a rack must have a broker."""
    registered = sorted(snapshot.broker_ids())
    for pattern, rule in sorted(placement.rules.items()):
        selector = rule.brokers or BrokerSelector()
        for found in selector.ids:
            if not any(found.first <= broker <= found.last for broker in registered):
                named = f"broker {found.first}" if found.single else f"{found.first}-{found.last}"
                yield Mistake(
                    found.where,
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
        known = listed(sorted(racks)) if racks else "none"
        yield Mistake(
            named[rack],
            f"{pattern}: no broker of the cluster is in rack {rack}; racks: {known}",
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
    for found in placement.explicit.take(pa.array(missing)).to_pylist():
        topic, partition = found["topic"], found["partition"]
        if topic not in counts or placement.topics[topic].partition_count is not None:
            continue  # the list form declares a count
        yield Mistake(
            Where(placement.topics[topic].where.file, found["line"], found["column"]),
            f"{topic}-{partition} does not "
            f"exist: the topic has {counts[topic]} partitions, counted from 0. Take it out, or add partitions "
            "(keys then map to other partitions, and it cannot be undone): declare all of them in the list form",
        )


def _preferred_leaders(aligned: Alignment, made: Chosen) -> Iterator[Mistake]:
    for found in absent_leaders(aligned, made):
        where, name = found.preferred.where, found.partition
        if found.replicas is None:
            yield Mistake(where, f"{name} does not exist in the cluster")
        else:
            yield Mistake(
                where,
                f"broker {found.preferred.broker} is no replica of {name}, whose list is "
                f"{list(found.replicas)}; name one of them, or change the list under `assignments`",
            )


def _unknown_elsewhere(placement: Placement, snapshot: Snapshot) -> Iterator[Mistake]:
    """Topics that another section names one by one; it would do nothing, without a word."""
    known = set(snapshot.topics.column("name").to_pylist())
    standing = {} if placement.standing is None else placement.standing.topics
    sections: dict[str, dict[str, Where]] = {
        "throttles.standing.topics": {name: of.where for name, of in standing.items()},
        "recovery": {name: of.where for name, of in placement.recovery.items()},
        "preferredLeaders": {rule.pattern: rule.where for rule in placement.leader_rules.values()},
    }
    for section, declared in sections.items():
        for name, where in sorted(declared.items()):
            if name not in known and not is_pattern(name):
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
        paths = sorted(d.path for d in snapshot.log_dirs if d.broker == entry.broker)
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
