"""The small sections of one file: `cluster`, `blacklists`, `throttles`.

They were checked against the schema before. A section with a problem is left out, so that the rest of the
file can still be compared with the other files.
"""

from collections.abc import Iterator
from typing import cast

from replan.manifest.declarations import Declaration, Rate
from replan.manifest.units import parse_expiry, parse_rate
from replan.manifest.yaml_text.problems import KeyPath
from replan.manifest.yaml_text.sources import Source
from replan.manifest.yaml_text.values import YamlList, YamlMapping, place_of
from replan.model.names import BrokerId
from replan.model.placement import LeaderBlacklist


def read_small_sections(
    source: Source, root: YamlMapping, unsound: frozenset[str | int]
) -> Iterator[Declaration]:
    """Read them, less the unsound ones."""
    if "cluster" in root and "cluster" not in unsound:
        cluster = cast("YamlMapping", root["cluster"])
        for key, value in cluster.items():
            path: KeyPath = ("cluster", key)
            yield Declaration(path, source.where(place_of(root, path)), cast("str", value))
    if "blacklists" in root and "blacklists" not in unsound:
        yield from _blacklist(source, root)
    if "throttles" in root and "throttles" not in unsound:
        yield from _throttles(source, root)


def _blacklist(source: Source, root: YamlMapping) -> Iterator[Declaration]:
    section = cast("YamlMapping", root["blacklists"])
    for i, item in enumerate(cast("YamlList", section.get("leaders", ()))):
        entry = cast("YamlMapping", item)
        broker = BrokerId(cast("int", entry["broker"]))
        where = source.where(place_of(root, ("blacklists", "leaders", i)))
        topics = entry.get("topics")
        expires = entry.get("expires")
        yield Declaration(
            ("blacklists", "leaders", broker),
            where,
            LeaderBlacklist(
                broker,
                where,
                reason=cast("str | None", entry.get("reason")),
                owner=cast("str | None", entry.get("owner")),
                expires=parse_expiry(expires) if isinstance(expires, str) else None,
                topics=tuple(sorted(set(cast("list[str]", topics)))) if topics else None,
            ),
        )


def _throttles(source: Source, root: YamlMapping) -> Iterator[Declaration]:
    section = cast("YamlMapping", root["throttles"])
    moves = cast("YamlMapping", section.get("moves", {}))
    if "rate" in moves:
        path: KeyPath = ("throttles", "moves", "rate")
        rate = Rate(parse_rate(cast("str", moves["rate"])))
        yield Declaration(path, source.where(place_of(root, path)), rate)
    for broker, text in cast("YamlMapping", moves.get("brokers", {})).items():
        path = ("throttles", "moves", "brokers", broker)
        yield Declaration(
            path, source.where(place_of(root, path)), Rate(parse_rate(cast("str", text)))
        )
