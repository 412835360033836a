"""Configurations as DescribeConfigs answers: effective values, each with its source.

Here belongs the look-up order of values. Not here: changing them (`configs`).
"""

from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    TopicSettings,
)
from replan.model.names import BrokerId
from replan.simulator.controller.config_keys import DEFAULTS, DESCRIBED_RATES, as_described
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState


def topic_configs(state: ClusterState, topic: str) -> Configs:
    """The keys of a topic that replan knows, whatever their source."""
    layers = (
        (ConfigSource.KAFKA_DEFAULT, dict(DEFAULTS)),
        (ConfigSource.BROKER_FILE, state.file_configs.get("", {})),
        (ConfigSource.CLUSTER_DEFAULT, state.configs.get(CLUSTER_DEFAULT, {})),
        (ConfigSource.TOPIC, state.configs.get((ConfigScope.TOPIC, topic), {})),
    )
    return {
        key: ConfigValue(as_described(key, values[key]), source)
        for source, values in layers
        for key, _ in DEFAULTS
        if key in values
    }


def broker_configs(state: ClusterState, broker: BrokerId) -> Configs:
    """A broker's throttle rates; one that is set nowhere is left out."""
    layers = (
        (ConfigSource.BROKER_FILE, state.file_configs.get(str(broker), {})),
        (ConfigSource.CLUSTER_DEFAULT, state.configs.get(CLUSTER_DEFAULT, {})),
        (ConfigSource.BROKER, state.configs.get((ConfigScope.BROKER, str(broker)), {})),
    )
    return {
        key: ConfigValue(values[key], source)
        for source, values in layers
        for key in DESCRIBED_RATES
        if key in values
    }


def topic_settings(state: ClusterState, topic: str) -> TopicSettings:
    """What safety needs to know of a topic."""
    found = topic_configs(state, topic)
    leader, follower = found[LEADER_REPLICAS], found[FOLLOWER_REPLICAS]
    return TopicSettings(
        int(found[MIN_INSYNC_REPLICAS].value),
        found[MIN_INSYNC_REPLICAS].source,
        found[UNCLEAN_ELECTION].value.strip().lower() == "true",
        leader.value if leader.source is ConfigSource.TOPIC else None,
        follower.value if follower.source is ConfigSource.TOPIC else None,
    )
