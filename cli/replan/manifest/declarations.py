"""What a manifest file can declare, each thing with its path of keys and its place."""

from dataclasses import dataclass

from replan.manifest.assignments import ExplicitTopic
from replan.manifest.yaml_text.problems import KeyPath
from replan.model.placement import LeaderBlacklist, PreferredLeader, Where


@dataclass(frozen=True, slots=True)
class PreferredLeaders:
    """The preferred leaders of one topic, by partition."""

    by_partition: dict[int, PreferredLeader]


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes per second; None means unlimited."""

    bytes_per_second: int | None


Declared = str | ExplicitTopic | PreferredLeaders | LeaderBlacklist | Rate


@dataclass(frozen=True, slots=True)
class Declaration:
    """One thing that may be said once; two with the same `path` are a conflict."""

    path: KeyPath
    where: Where
    declared: Declared
