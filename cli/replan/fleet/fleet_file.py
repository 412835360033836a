"""The fleet file: which clusters there are, how each is reached, and what is declared of it.

Belongs here: reading `fleet.yaml` by its schema, with the place of whatever is wrong. Not here: asking the clusters.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from replan.errors import BadUsage
from replan.model.access import TIMEOUT_SECONDS
from replan.model.declared.policy import Prices
from replan.model.declared.topic_patterns import winners
from replan.placement_file.schema import accepts
from replan.placement_file.schemas import read_schema
from replan.placement_file.sources import Problems, Source, read_source
from replan.placement_file.units import parse_seconds
from replan.placement_file.yaml_text import (
    YamlMapping,
    fastest_parser,
    key_place_of,
    read_yaml_document,
)

FLEET = "fleet.v1.json"
CLUSTER_SOURCES = ("bootstrapServers", "simulated", "snapshot")


class FleetCluster(Struct, frozen=True):
    """One cluster of the fleet; at most one of the three ways to reach it is there."""

    name: str
    bootstrap_servers: str | None = None
    command_config: Path | None = None
    simulated: Path | None = None
    snapshot: Path | str | None = None
    """A path, or the address of a store; so is the placement."""
    placement: Path | str | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    prices: Prices | None = None
    owners: Mapping[str, str] = field(default_factory=dict)
    """By topic or pattern, the most particular one counts; `*` is for all else: internal topics, and what has none."""

    @property
    def is_asked(self) -> bool:
        """Whether replan itself takes its snapshots; else its own job feeds the lake."""
        ways = (self.bootstrap_servers, self.simulated, self.snapshot)
        return any(way is not None for way in ways)

    def owner_of(self, topic: str | None) -> str | None:
        """Who must act on a topic, or on the cluster where there is none."""
        pattern = "*" if topic is None else winners(self.owners, [topic]).get(topic, "*")
        return self.owners.get(pattern)


class Fleet(Struct, frozen=True):
    """A whole fleet file."""

    clusters: Mapping[str, FleetCluster]
    lake: str | None = None
    """A URI, or an absolute path."""

    def cluster(self, name: str) -> FleetCluster:
        """One cluster; raises BadUsage where the fleet has none of that name."""
        if name not in self.clusters:
            raise BadUsage(f"the fleet has no cluster {name}; it has {', '.join(self.clusters)}")
        return self.clusters[name]


def read_fleet(path: Path) -> Fleet:
    """Read a fleet file; raises BadPlacement with everything that is wrong, each with its place."""
    source, problems = read_source(path), Problems()
    root = read_yaml_document(source, problems, fastest_parser())
    if root is not None:
        schema = read_schema(FLEET)
        if not accepts(schema, root, schema):
            from replan.placement_file.schema_messages import note_schema_problems

            note_schema_problems(dict(root), root, source, schema, problems)
        _note_contradictions(root, source, problems)
    problems.raise_if_any()
    document: Mapping[str, Any] = root or {}
    home = path.parent
    return Fleet(
        {
            name: _cluster(name, entry, document, home)
            for name, entry in document["clusters"].items()
        },
        _address(document.get("lake"), home),
    )


def check_cluster_name(name: str) -> None:
    """Raise BadUsage where no fleet file can have a cluster of this name."""
    wanted = read_schema(FLEET)["properties"]["clusters"]["propertyNames"]
    if re.fullmatch(wanted["pattern"], name) is None:
        raise BadUsage(
            f"--as {name!r}: a fleet file cannot name it; write {wanted['errorMessage']}"
        )


def _note_contradictions(root: YamlMapping, source: Source, problems: Problems) -> None:
    clusters = root.get("clusters")
    for name, entry in clusters.items() if isinstance(clusters, YamlMapping) else ():
        if not isinstance(entry, YamlMapping):
            continue
        first, *others = [key for key in CLUSTER_SOURCES if key in entry] or [""]
        text = f"{first} says already how the cluster is reached; keep one of them"
        wrong = [(key, text) for key in others]
        if "@" in str(entry.get("bootstrapServers", "")):
            text = "these are HOST:PORT with commas between them; what a client logs in with belongs in commandConfig"
            wrong.append(("bootstrapServers", text))
        if "commandConfig" in entry and "bootstrapServers" not in entry:
            text = "goes with bootstrapServers; add them, or remove this key"
            wrong.append(("commandConfig", text))
        for key, text in wrong:
            path = ("clusters", name, key)
            problems.add(source.where(key_place_of(root, path)), path, text)


def _cluster(
    name: str, entry: Mapping[str, Any], fleet: Mapping[str, Any], home: Path
) -> FleetCluster:
    def place(key: str) -> Any:
        value = entry.get(key)
        return value if value is None or "://" in value else home / value

    timeout = entry.get("timeout", fleet.get("timeout"))
    return FleetCluster(
        name,
        entry.get("bootstrapServers"),
        place("commandConfig"),
        place("simulated"),
        place("snapshot"),
        place("placement"),
        TIMEOUT_SECONDS if timeout is None else parse_seconds(timeout),
        _prices(entry.get("prices", fleet.get("prices"))),
        {**fleet.get("owners", {}), **entry.get("owners", {})},
    )


def _prices(document: Mapping[str, Any] | None) -> Prices | None:
    if document is None:
        return None
    amounts = (document.get(key) for key in ("crossRackPerGB", "perGBMonth"))
    return Prices(document["currency"], *(a if a is None else Decimal(str(a)) for a in amounts))


def _address(lake: str | None, home: Path) -> str | None:
    return lake if lake is None or "://" in lake else str((home / lake).absolute())
