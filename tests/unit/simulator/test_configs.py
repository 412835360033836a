"""IncrementalAlterConfigs: what each operation stores, reports and refuses, as real brokers of 4.3.1 and 4.4.0 did."""

from tests.unit.simulator.controllers import TOPIC, Controller

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    broker_change,
)
from replan.simulator.api import AlterConfigs, broker_configs, rate_in_force, topic_configs

SET, APPEND = ConfigOperation.SET, ConfigOperation.APPEND


def of_cluster(key: str, operation: ConfigOperation, value: str = "") -> ConfigChange:
    return ConfigChange(ConfigScope.BROKER, "", key, operation, value)


def test_a_topic_without_a_configuration_of_its_own_has_kafkas() -> None:
    assert topic_configs(Controller([1, 2]).state, TOPIC) == {
        key: ConfigValue(value, ConfigSource.KAFKA_DEFAULT)
        for key, value in (
            (MIN_INSYNC_REPLICAS, "1"),
            ("unclean.leader.election.enable", "false"),
            (LEADER_REPLICAS, ""),
            ("follower.replication.throttled.replicas", ""),
        )
    }


def test_a_brokers_own_rate_goes_before_the_clusters_and_a_files_rate_counts_for_nothing() -> None:
    controller = Controller([1, 2])
    controller.state = type(controller.state)(
        controller.state.cluster_id,
        controller.state.version,
        elr_enabled=False,
        brokers=controller.state.brokers,
        file_configs={"3": {LEADER_RATE: "7"}},
    )
    controller.ask(
        AlterConfigs(
            (
                of_cluster(FOLLOWER_RATE, SET, "10"),
                broker_change(BrokerId(1), FOLLOWER_RATE, SET, "20"),
            )
        )
    )
    told = [broker_configs(controller.state, BrokerId(b)) for b in (1, 2, 3)]
    assert told == [
        {FOLLOWER_RATE: ConfigValue("20", ConfigSource.BROKER)},
        {FOLLOWER_RATE: ConfigValue("10", ConfigSource.CLUSTER_DEFAULT)},
        {
            FOLLOWER_RATE: ConfigValue("10", ConfigSource.CLUSTER_DEFAULT),
            LEADER_RATE: ConfigValue("7", ConfigSource.BROKER_FILE),
        },
    ]
    assert rate_in_force(controller.state, BrokerId(3), LEADER_RATE) is None
    assert rate_in_force(controller.state, BrokerId(1), FOLLOWER_RATE) == 20
