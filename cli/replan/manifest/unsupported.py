"""What the placement file knows and this release does not do yet.

It is refused rather than skipped: whoever writes a drain expects a drain.
"""

from collections.abc import Iterator

from replan.manifest.yaml_text.problems import KeyPath, Problems
from replan.manifest.yaml_text.sources import Source
from replan.manifest.yaml_text.values import YamlMapping, key_place_of

_WHOLE: dict[tuple[str, ...], str] = {
    ("blacklists", "logDirs"): "draining log directories",
    ("throttles", "standing"): "standing throttles",
    ("recovery",): "recovery of partitions without a leader",
}


_BY_TOPIC: dict[tuple[str, str], tuple[str, str]] = {
    ("assignments", "partitionCount"): (
        "adding partitions",
        "add them with `kafka-topics.sh --alter --partitions`, and remove this key",
    ),
}
"""By section and key of an entry: what the key is for, and what to do instead."""


def unsupported_keys() -> dict[tuple[str, ...], str]:
    """Every key that is refused, as a path in which `*` is any topic, with what it is for."""
    by_topic: dict[tuple[str, ...], str] = {
        (section, "*", key): what for (section, key), (what, _) in _BY_TOPIC.items()
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
    for (section, key), (what, instead) in _BY_TOPIC.items():
        entries = root.get(section)
        if isinstance(entries, YamlMapping):
            for topic, entry in entries.items():
                if isinstance(entry, YamlMapping) and key in entry:
                    yield (section, topic, key), what, instead


def _holds(root: YamlMapping, path: KeyPath) -> bool:
    here: object = root
    for key in path:
        if not isinstance(here, YamlMapping) or key not in here:
            return False
        here = here[str(key)]
    return True
