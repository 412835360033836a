"""Configuration values that replan reads and writes, with where each value comes from."""

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum

from msgspec import Struct

from replan.model.names import BrokerId

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Of copies between the log directories of one broker (KIP-113)."""
THROTTLED_LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
"""The throttled replicas of a topic."""
THROTTLE_RATES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
"""The throttle rates of a broker, bytes per second."""
MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"


class ConfigSource(IntEnum):
    """Where an effective value comes from (DescribeConfigsResponse.ConfigSource)."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    CLUSTER_DEFAULT = 3
    BROKER_FILE = 4
    KAFKA_DEFAULT = 5


class ConfigValue(Struct, frozen=True):
    """An effective value; a throttle rate counts only from source BROKER or CLUSTER_DEFAULT (CfgH in KIP-73)."""

    value: str
    source: ConfigSource


Configs = Mapping[str, ConfigValue]


def own_value(configs: Configs, key: str) -> str | None:
    """A broker's own dynamic value of a key."""
    config = configs.get(key)
    return config.value if config is not None and config.source is ConfigSource.BROKER else None


def can_hold(key: str, value: str) -> bool:
    """Whether a key takes a value: a throttle rate is a LONG of at least 0 (KIP-73), other keys take any."""
    if key not in THROTTLE_RATES:
        return True
    return value.isascii() and value.isdecimal() and len(value) < 20 and int(value) < 2**63


class ConfigOperation(IntEnum):
    """What IncrementalAlterConfigs (KIP-339) does with one key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigScope(StrEnum):
    """Whose configuration it is."""

    TOPIC = "topic"
    BROKER = "broker"


ConfigResource = tuple[ConfigScope, str]
"""Whose configuration: a topic by name, a broker by its id in decimal, or all brokers by the empty name."""


class SettingName(Struct, frozen=True, order=True):
    """One key of one topic or broker."""

    scope: ConfigScope
    name: str
    """The topic's name, or the broker's id in decimal."""
    key: str

    def __str__(self) -> str:
        return f"{self.key} of {self.scope} {self.name}"

    @property
    def resource(self) -> ConfigResource:
        """The topic or broker that it is of."""
        return self.scope, self.name


def brokers_among(resources: Iterable[ConfigResource]) -> set[BrokerId]:
    """The brokers among topics and brokers."""
    return {BrokerId(int(name)) for scope, name in resources if scope is ConfigScope.BROKER}


def elements(override: str | None) -> tuple[str, ...]:
    """The elements of a list as brokers read them: nothing is trimmed (QuotaConfig's parser does not either)."""
    return tuple(override.split(",")) if override else ()


class ConfigChange(Struct, frozen=True):
    """One operation on one key of one topic or broker."""

    scope: ConfigScope
    name: str
    """The topic's name, or the broker's id in decimal."""
    key: str
    operation: ConfigOperation
    value: str = ""
    """A list for APPEND and SUBTRACT: elements joined by commas, no spaces, no empty element."""


def broker_change(
    broker: BrokerId, key: str, operation: ConfigOperation, value: str = ""
) -> ConfigChange:
    """Make a change of one broker's dynamic configuration."""
    return ConfigChange(ConfigScope.BROKER, str(broker), key, operation, value)


def topic_change(topic: str, key: str, operation: ConfigOperation, value: str = "") -> ConfigChange:
    """Make a change of one topic's configuration."""
    return ConfigChange(ConfigScope.TOPIC, topic, key, operation, value)


class TopicSettings(Struct, frozen=True):
    """What safety needs to know of a topic: configured values, each with its source."""

    min_insync_replicas: int = 1
    min_insync_source: ConfigSource = ConfigSource.KAFKA_DEFAULT
    unclean_election: bool = False
    leader_throttled: str | None = None
    """The topic's own override of leader.replication.throttled.replicas; None where it has none."""
    follower_throttled: str | None = None

    @property
    def is_unread(self) -> bool:
        """Whether the user may not read them, so that these are Kafka's defaults."""
        return self.min_insync_source is ConfigSource.UNKNOWN


UNREAD = TopicSettings(min_insync_replicas=1, min_insync_source=ConfigSource.UNKNOWN)
"""Of a topic whose settings this user may not read: Kafka's defaults, as nobody knows."""


def override_of(settings: TopicSettings, key: str) -> str | None:
    """The topic's own override of one of the two throttled-replicas lists."""
    return settings.leader_throttled if key == LEADER_REPLICAS else settings.follower_throttled
