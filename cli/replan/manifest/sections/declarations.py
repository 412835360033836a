"""What a manifest file can declare, each thing with its path of keys and its place."""

from dataclasses import dataclass

from replan.manifest.sections.assignments import ExplicitTopic
from replan.manifest.yaml_text.problems import KeyPath
from replan.model.declared.placement import (
    LeaderBlacklist,
    PreferredLeader,
    StandingRate,
    ThrottledReplicas,
)
from replan.model.declared.policy import Acknowledgement, Limit, Prices, Requirement
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import (
    Balance,
    LeaderRule,
    LogDirBlacklist,
    ReplicaBlacklist,
    TopicRule,
)
from replan.model.declared.where import Where


@dataclass(frozen=True, slots=True)
class PreferredLeaders:
    """The preferred leaders of one topic, by partition."""

    by_partition: dict[int, PreferredLeader]


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes per second; None means unlimited."""

    bytes_per_second: int | None


@dataclass(frozen=True, slots=True)
class Keep:
    """Whether the throttles of moves stay at the end."""

    keep: bool


@dataclass(frozen=True, slots=True)
class BrokerRate:
    """The rates of one broker by side, bytes per second; a side that is not written has the rate of all brokers."""

    by_side: dict[str, int | None]


@dataclass(frozen=True, slots=True)
class NoLeaderListed:
    """An empty leader blacklist, which lifts an earlier one."""


Declared = (
    str
    | (ExplicitTopic | TopicRule | Balance)
    | (PreferredLeaders | LeaderRule)
    | (LeaderBlacklist | NoLeaderListed | ReplicaBlacklist | LogDirBlacklist)
    | (Rate | Keep | BrokerRate | ThrottledReplicas | StandingRate)
    | (Requirement | Limit | Acknowledgement | Prices | RecoveryRule)
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """One thing that may be said once; two with the same `path` and `item` are a conflict."""

    path: KeyPath
    where: Where
    declared: Declared
    item: tuple[str, KeyPath] | None = None
    """Of a list, what tells an element from the others: in words, and as a key."""

    @property
    def key(self) -> KeyPath:
        """What makes it one of its kind."""
        return self.path if self.item is None else (*self.path, *self.item[1])
