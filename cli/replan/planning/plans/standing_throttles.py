"""Throttles that are declared to stay set (`throttles.standing`), compared with those that are.

An entry counts as a whole: a side that it leaves out has no throttle. What no entry names belongs to nobody here and is
left alone. A rate is judged by the broker's own dynamic value, and a list by the topic's own override: values of files
and cluster-wide defaults throttle nothing of their own accord (KIP-73, KIP-226).
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Literal, cast

from replan.documents.json_text import shown
from replan.documents.typed import Form, Text
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    THROTTLE_RATES,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    SettingName,
    can_hold,
    elements,
    override_of,
    own_value,
)
from replan.model.declared.intents import Intents
from replan.model.declared.placement import (
    ALL_REPLICAS,
    Placement,
    Side,
    StandingRate,
    StandingThrottles,
    ThrottledReplicas,
)
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.planning.change import PlannedStep, Rank
from replan.wording import exact_rate, rate

ThrottleKey = Literal[
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "replica.alter.log.dirs.io.max.bytes.per.second",
]
"""The throttles of `model.configs`; of copies between log directories none is declared, one may be taken away."""


class ThrottleSetting(Form, PlannedStep, frozen=True):
    """A throttle setting that is to have another value."""

    rank = Rank.SET
    heading = "Throttles that stay"
    column = "setting"
    noun = "throttle setting"

    scope: ConfigScope
    name: Text
    """The topic, or the broker's id."""
    key: ThrottleKey
    before: str | None
    """Its own value when planned; null where it had none."""
    after: str | None
    """The declared value; null: none."""

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise ValueError(f": {self.key} of {self.name} is where it belongs")
        if (self.key in THROTTLE_RATES) is not (self.scope is ConfigScope.BROKER):
            raise ValueError(f".key: a {self.scope} has no {self.key}")
        if self.after is not None and not can_hold(self.key, self.after):
            raise ValueError(f".after: {self.key} cannot be {shown(self.after)}")

    @classmethod
    def of(cls, setting: SettingName, before: str | None, after: str | None) -> "ThrottleSetting":
        """Of one setting, from a value to another."""
        return cls(setting.scope, setting.name, cast("ThrottleKey", setting.key), before, after)

    @property
    def topic(self) -> str | None:
        """Of which topic; None: of a broker."""
        return self.name if self.scope is ConfigScope.TOPIC else None

    @property
    def brokers(self) -> tuple[BrokerId, ...]:
        """The one that it concerns; none where it is of a topic."""
        return (BrokerId(int(self.name)),) if self.scope is ConfigScope.BROKER else ()

    @property
    def setting(self) -> SettingName:
        """Which one."""
        return SettingName(self.scope, self.name, self.key)

    @property
    def label(self) -> str:
        """The setting."""
        return str(self.setting)

    @property
    def needs(self) -> tuple[str, str | None]:
        """IncrementalAlterConfigs asks for it on the topic, or on the cluster."""
        return "AlterConfigs", self.topic

    def __str__(self) -> str:
        """What becomes of it: `not set -> 30 MB/s`."""
        return f"{self.worded(self.before)} -> {self.worded(self.after)}"

    @property
    def twice(self) -> str:
        """A setting has one."""
        return f"{self.key} of {self.name} is set twice"

    def worded(self, value: str | None) -> str:
        """A value of it in words: a rate with its unit, every byte of it where else both would read alike."""
        if value is None:
            return "not set"
        if self.scope is ConfigScope.BROKER and value.isdecimal():
            rates = [int(v) for v in (self.before, self.after) if v is not None and v.isdecimal()]
            alike = len(set(rates)) > len(set(map(rate, rates)))
            return exact_rate(int(value)) if alike else rate(int(value))
        return value or "empty"

    @property
    def change(self) -> ConfigChange:
        """What is asked of Kafka; the same once more changes nothing."""
        operation = ConfigOperation.DELETE if self.after is None else ConfigOperation.SET
        return ConfigChange(self.scope, self.name, self.key, operation, self.after or "")

    def is_after(self, value: str | None) -> bool:
        """Whether a value is the wanted one."""
        return same_value(self.setting.key, value, self.after)

    def is_before(self, value: str | None) -> bool:
        """Whether a value is the one that was there when planned."""
        return same_value(self.setting.key, value, self.before)


def same_value(key: str, one: str | None, other: str | None) -> bool:
    """Whether two values mean the same: the order of a list means nothing, and an empty one is none."""
    if key in THROTTLE_RATES:
        return one == other
    return set(elements(one)) == set(elements(other))


def standing_differences(
    placement: Placement, intents: Intents, snapshot: Snapshot
) -> list[ThrottleSetting]:
    """The declared settings that are not as declared, by topic and broker.

    `snapshot` is without what moves have set for a while. A broker whose configuration cannot be read is not judged.
    """
    declared = placement.standing
    if declared is None:
        return []
    return [*_lists(intents.standing, snapshot), *_rates(declared, snapshot)]


def value_of(setting: SettingName, snapshot: Snapshot) -> str | None:
    """The value of its own that a topic or broker has."""
    if setting.scope is ConfigScope.BROKER:
        configs = snapshot.broker_configs.get(BrokerId(int(setting.name)), {})
        return own_value(configs, setting.key)
    settings = snapshot.settings(setting.name)
    return None if settings is None else override_of(settings, setting.key)


def unread_brokers(declared: StandingThrottles, snapshot: Snapshot) -> dict[BrokerId, StandingRate]:
    """The declared brokers whose rates are not known: fenced, silent or not registered."""
    answering = snapshot.live_brokers() - set(snapshot.silent)
    return {b: rate for b, rate in sorted(declared.brokers.items()) if b not in answering}


def without_replicas(
    declared: StandingThrottles, intents: Intents, snapshot: Snapshot
) -> Iterator[tuple[StandingRate, BrokerId, Side]]:
    """The declared rates that slow nothing down: no list throttles a replica of that broker on that side (KIP-73)."""
    for side, key in ((Side.LEADER, LEADER_REPLICAS), (Side.FOLLOWER, FOLLOWER_REPLICAS)):
        rates = {b: of for b, of in sorted(declared.brokers.items()) if _rate(of, side) is not None}
        slowed = _throttled(intents.standing, snapshot, side, key) if rates else frozenset()
        yield from ((of, broker, side) for broker, of in rates.items() if broker not in slowed)


def _rate(of: StandingRate, side: Side) -> int | None:
    return of.leader if side is Side.LEADER else of.follower


def _throttled(
    standing: Mapping[str, ThrottledReplicas], snapshot: Snapshot, side: Side, key: str
) -> frozenset[int]:
    """The brokers with a throttled replica on a side, once the lists are as declared."""
    settings = snapshot.all_settings()
    brokers: set[int] = set()
    for topic, of in settings.items():
        entry = standing.get(topic)
        if entry is None:
            listed = frozenset(elements(override_of(of, key)))
        else:
            listed = entry.leader if side is Side.LEADER else entry.follower
        if ALL_REPLICAS in listed:
            rows = snapshot.topic_rows(topic)
            held = snapshot.partitions.column("replicas").slice(rows.start, len(rows))
            brokers.update(chain.from_iterable(held.to_pylist()))
        named = (one.partition(":")[2].strip() for one in listed)
        brokers.update(int(broker) for broker in named if broker.isdecimal())
    return frozenset(brokers)


def _lists(
    standing: Mapping[str, ThrottledReplicas], snapshot: Snapshot
) -> Iterator[ThrottleSetting]:
    settings = snapshot.all_settings() if standing else {}
    for topic, wanted in standing.items():
        for key, listed in ((LEADER_REPLICAS, wanted.leader), (FOLLOWER_REPLICAS, wanted.follower)):
            name = SettingName(ConfigScope.TOPIC, topic, key)
            yield from _different(name, override_of(settings[topic], key), _list(listed))


def _list(listed: frozenset[str]) -> str | None:
    if ALL_REPLICAS in listed:
        return ALL_REPLICAS
    return ",".join(sorted(listed, key=by_number)) or None


def by_number(entry: str) -> tuple[int, int]:
    """The order of entries of a list of throttled replicas, as `7:3`: by partition, then by broker."""
    partition, _, broker = entry.partition(":")
    return int(partition), int(broker)


def _rates(declared: StandingThrottles, snapshot: Snapshot) -> Iterator[ThrottleSetting]:
    unread = unread_brokers(declared, snapshot)
    for broker, rates in sorted(declared.brokers.items()):
        configs = snapshot.broker_configs.get(broker, {})
        for key, limit in ((LEADER_RATE, rates.leader), (FOLLOWER_RATE, rates.follower)):
            if broker not in unread:
                name = SettingName(ConfigScope.BROKER, str(broker), key)
                wanted = None if limit is None else str(limit)
                yield from _different(name, own_value(configs, key), wanted)


def _different(
    name: SettingName, value: str | None, wanted: str | None
) -> Iterator[ThrottleSetting]:
    if not same_value(name.key, value, wanted):
        yield ThrottleSetting.of(name, value, wanted)
