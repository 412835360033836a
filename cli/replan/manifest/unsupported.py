"""What the placement file knows and this release does not do yet.

It is refused rather than skipped: whoever writes a drain expects a drain.
"""

from collections.abc import Iterator
from typing import NamedTuple

from replan.manifest.yaml_text.problems import KeyPath, Problems
from replan.manifest.yaml_text.sources import Source
from replan.manifest.yaml_text.values import Value, YamlMapping, key_place_of
from replan.model.topic_patterns import is_pattern

_WHOLE: dict[tuple[str, ...], str] = {
    ("balance",): "balancing topics that are placed by rule",
    ("blacklists", "replicas"): "draining brokers",
    ("blacklists", "logDirs"): "draining log directories",
    ("throttles", "standing"): "standing throttles",
    ("recovery",): "recovery of partitions without a leader",
}


class _ByTopic(NamedTuple):
    pattern: str
    rule_keys: frozenset[str]
    rule: str
    instead: str


_BY_TOPIC = {
    "assignments": _ByTopic(
        "an assignment by pattern",
        frozenset({"partitionCount", "replicationFactor", "spread", "brokers"}),
        "placing a topic by rule",
        "list its replicas under partitions",
    ),
    "preferredLeaders": _ByTopic(
        "a preferred leader by pattern",
        frozenset({"racks", "balanced"}),
        "choosing preferred leaders by rule",
        "name a broker for each partition, e.g. {0: 2}",
    ),
}


def unsupported_keys() -> dict[tuple[str, ...], str]:
    """Every key that is refused, as a path in which `*` is any topic, with what it is for."""
    by_topic: dict[tuple[str, ...], str] = {
        (section, "*", key): found.rule
        for section, found in _BY_TOPIC.items()
        for key in sorted(found.rule_keys)
    }
    return {**_WHOLE, **by_topic}


def note_unsupported(root: YamlMapping, source: Source, problems: Problems) -> frozenset[KeyPath]:
    """Note every key that is not supported yet; returns their paths."""
    found = list(_unsupported(root))
    for path, what, instead in found:
        problems.add(
            source.where(key_place_of(root, path)),
            path,
            f"not supported yet ({what}); {instead}",
        )
    return frozenset(path for path, _, _ in found)


def _unsupported(root: YamlMapping) -> Iterator[tuple[KeyPath, str, str]]:
    for path, what in _WHOLE.items():
        if _holds(root, path):
            yield path, what, "remove this key"
    for section, by_topic in _BY_TOPIC.items():
        entries = root.get(section)
        if isinstance(entries, YamlMapping):
            for topic, entry in entries.items():
                yield from _unsupported_in(section, topic, entry, by_topic)


def _unsupported_in(
    section: str, topic: str, entry: Value, by_topic: _ByTopic
) -> Iterator[tuple[KeyPath, str, str]]:
    if is_pattern(topic):
        yield (section, topic), by_topic.pattern, "name each topic"
    elif isinstance(entry, YamlMapping):
        for key in by_topic.rule_keys & entry.keys():
            yield (section, topic, key), by_topic.rule, by_topic.instead


def _holds(root: YamlMapping, path: KeyPath) -> bool:
    here: object = root
    for key in path:
        if not isinstance(here, YamlMapping) or key not in here:
            return False
        here = here[str(key)]
    return True
