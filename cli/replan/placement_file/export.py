"""Write the placement file that describes a cluster as it is: a plan of it copies nothing.

Lists are written as they are, in their order, whoever leads now; while a reassignment runs, as it will
end. What cannot be observed (reasons, throttles for moves, preferences by rule) is not made up.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from replan.errors import BadUsage, ClusterRefused
from replan.model.declared.topic_patterns import is_pattern, matches
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import Snapshot, topic_codes
from replan.placement_file.scalars import yaml_word
from replan.placement_file.schemas import PLACEMENT
from replan.wording import NAMES_SHOWN, capped, listed


def export_placement(
    snapshot: Snapshot, topics: Sequence[str] = (), *, commented: bool = False, rules: bool = False
) -> str:
    """The YAML of these topics, names or patterns, or of all; internal topics only where `__` is written.

    `commented`: with what each section is for, the brokers by rack, and sections that are often added, commented out.
    `rules`: what lists have in common instead of the lists; lists only where the factor of a topic is not one.
    Raises BadUsage where a name or pattern matches no topic.
    """
    chosen = _chosen(snapshot, topics)
    lines = [
        f"# yaml-language-server: $schema={PLACEMENT}",
        "version: 1",
        "cluster:",
        f"  id: {yaml_word(snapshot.cluster_id)}",
        "assignments:" if chosen else "assignments: {}",
    ]
    first_rows = np.searchsorted(
        topic_codes(snapshot.partitions), np.arange(snapshot.topics.num_rows + 1)
    )
    tables = {
        topic: snapshot.partitions.slice(first_rows[code], first_rows[code + 1] - first_rows[code])
        for code, topic in chosen
    }
    if rules:
        lines += _rule_lines(snapshot, tables)
    else:
        lines += [line for topic, rows in tables.items() for line in _topic_lines(topic, rows)]
    if commented:
        lines[1:1] = _about(snapshot, ABOUT_RULES if rules else ABOUT_LISTS)
        lines += MORE_RULES if rules else MORE_LISTS
    return "\n".join(lines) + "\n"


def placement_text(lists: Mapping[TopicPartition, Replicas]) -> str:
    """The YAML of a placement that names these partitions and no others, in the order given."""
    lines = [f"# yaml-language-server: $schema={PLACEMENT}", "version: 1", "assignments:"]
    topic = None
    for name, replicas in lists.items():
        if name.topic != topic:
            topic = name.topic
            lines += [f"  {yaml_word(topic)}:", "    partitions:"]
        lines.append(f"      {name.partition}: {list(replicas)}")
    return "\n".join(lines) + "\n"


ABOUT_LISTS = "Lists are in order of preference: the first replica leads."
ABOUT_RULES = "Rules say what lists must have; replan chooses brokers where one does not, and moves the fewest bytes."
MORE_LISTS = """
# What else a placement may say; `replan schema placement` has every key, and editors complete them.
#
# preferredLeaders:            # who leads, where that is not the first of the list
#   orders: {0: 2}
# blacklists:
#   leaders:                   # brokers that lead nothing
#     - {broker: 7, reason: slow disk, owner: storage, reviewBy: 2027-01-31}
#   replicas:                  # brokers that hold nothing: a drain
#     - {broker: 9, reason: decommission, owner: storage, reviewBy: 2027-01-31}
# throttles:
#   moves: {rate: 50MB/s}      # of each broker, while copies run
# limits: {partitions: 500, bytes: 2TB}      # the most that one plan may change
""".rstrip().splitlines()
MORE_RULES = [
    *MORE_LISTS,
    "# balance: {replicas: 10%, leaders: 10%}    # what each broker holds, near its share: fills new brokers",
]


def _about(snapshot: Snapshot, what: str) -> Iterator[str]:
    """What the file is, and the brokers that it may name."""
    yield f"# Where the replicas belong: the cluster as it was at {snapshot.observed_at}. A plan of it copies nothing."
    yield f"# {what}"
    yield "#"
    racks: dict[str, list[str]] = {}
    for broker in sorted(snapshot.brokers, key=lambda b: b.id):
        racks.setdefault(broker.rack or "without a rack", []).append(str(broker.id))
    for rack, brokers in sorted(racks.items()):
        name = rack if rack == "without a rack" else f"in rack {_comment(rack)}"
        yield f"# Brokers {name}: {', '.join(brokers)}"


def _comment(text: str) -> str:
    """A name that cannot end its comment."""
    return text if text.isprintable() else ascii(text)


def topics_named(snapshot: Snapshot, wanted: Sequence[str]) -> frozenset[str]:
    """The topics of these names and patterns.

    Raises BadUsage where one matches no topic, and ClusterRefused where all that it matches may not be described.
    """
    names: list[str] = snapshot.topics.column("name").to_pylist()
    selected = frozenset[str]()
    for pattern in wanted:
        matching = {name for name in names if matches(pattern, name)}
        hidden = [name for name in snapshot.hidden if matches(pattern, name)]
        if hidden and not matching:
            named = listed(capped(hidden, limit=NAMES_SHOWN))
            raise ClusterRefused(
                f"Describe is not allowed on {named}; this user needs the ACL Describe on Topic"
            )
        if not matching:
            raise BadUsage(_nothing_matches(pattern, snapshot.cluster_id))
        selected |= matching
    return selected


def exported_topics(snapshot: Snapshot, wanted: Sequence[str]) -> frozenset[str]:
    """The topics that are meant: those named, or all that are not internal."""
    if wanted:
        return topics_named(snapshot, wanted)
    names: list[str] = snapshot.topics.column("name").to_pylist()
    return frozenset(name for name in names if matches("*", name))


def _chosen(snapshot: Snapshot, wanted: Sequence[str]) -> list[tuple[int, str]]:
    """The codes and names of the topics that are meant and have partitions."""
    names: list[str] = snapshot.topics.column("name").to_pylist()
    meant = exported_topics(snapshot, wanted)
    with_partitions = set(topic_codes(snapshot.partitions).tolist())
    return [
        (code, name) for code, name in enumerate(names) if code in with_partitions and name in meant
    ]


def _nothing_matches(pattern: str, cluster_id: str) -> str:
    if is_pattern(pattern):
        return (
            f"no topic of cluster {cluster_id} matches {pattern}; "
            "internal topics match only patterns that begin with __"
        )
    return f"cluster {cluster_id} has no topic {pattern}; check the name, or use a pattern such as 'pay*'"


def _topic_lines(topic: str, partitions: pa.Table) -> Iterator[str]:
    numbers: list[int] = partitions.column("partition").to_pylist()
    yield f"  {yaml_word(topic)}:"
    yield "    partitions:"
    as_list = numbers == list(range(len(numbers)))
    for number, replicas in zip(numbers, _targets(partitions), strict=True):
        yield f"      - {replicas}  # {number}" if as_list else f"      {number}: {replicas}"


def _rule_lines(snapshot: Snapshot, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    """The rule that most topics keep, as the pattern of all; then those that keep another one, and lists."""
    racks = {broker.id: broker.rack for broker in snapshot.brokers}
    rules = {topic: _rule(list(_targets(rows)), racks) for topic, rows in tables.items()}
    common = Counter(rule for t, rule in rules.items() if rule and matches("*", t)).most_common(1)
    usual = common[0][0] if common else None
    if usual is not None:
        yield f'  "*": {usual}'
    for topic, rule in rules.items():
        if rule is None:
            yield from _topic_lines(topic, tables[topic])
        elif rule != usual or not matches("*", topic):
            yield f"  {yaml_word(topic)}: {rule}"


def _rule(lists: Sequence[Sequence[int]], racks: Mapping[BrokerId, str | None]) -> str | None:
    """The rule that all lists of a topic keep; None where they have not one length."""
    if len({len(replicas) for replicas in lists}) != 1:
        return None
    factor = len(lists[0])
    spread = ", spread: rack" if all(_is_spread(of, racks) for of in lists) else ""
    return f"{{replicationFactor: {factor}{spread}}}"


def _is_spread(replicas: Sequence[int], racks: Mapping[BrokerId, str | None]) -> bool:
    """Whether each rack holds the same number of these, or one more; no where a rack is not known, or there is one."""
    named = set(racks.values())
    held = Counter(racks.get(BrokerId(broker)) for broker in replicas)
    if None in named or None in held or len(named) < 2:
        return False
    counts = [held[rack] for rack in named]
    return max(counts) - min(counts) <= 1


def _targets(partitions: pa.Table) -> Iterator[list[int]]:
    """What each partition has, or will have when its reassignment ends."""
    for replicas, removing in zip(
        partitions.column("replicas").to_pylist(),
        partitions.column("removing").to_pylist(),
        strict=True,
    ):
        yield [b for b in replicas if b not in removing]
