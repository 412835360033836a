"""Configurations: what a topic's settings are made of, and changes that are answered without asking."""

from tests.unit.kafka.test_messages import page, topic

from replan.kafka.api import (
    PartitionColumns,
    chunks,
    observed_tables,
    refused_unasked,
    settings_from_configs,
)
from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    BrokerId,
    ConfigOperation,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    Rejected,
    TopicSettings,
    broker_change,
    topic_change,
)


def configured(minimum: str = "2", **more: ConfigValue) -> Configs:
    """Everything that a broker reports of a topic."""
    default = ConfigSource.KAFKA_DEFAULT
    return {
        MIN_INSYNC_REPLICAS: ConfigValue(minimum, ConfigSource.CLUSTER_DEFAULT),
        UNCLEAN_ELECTION: ConfigValue("false", default),
        LEADER_REPLICAS: more.get("leader", ConfigValue("", default)),
        FOLLOWER_REPLICAS: more.get("follower", ConfigValue("", default)),
    }


def test_a_throttled_list_counts_only_as_the_topics_own() -> None:
    of_topic = ConfigValue("", ConfigSource.TOPIC)

    assert settings_from_configs(configured(leader=of_topic)) == TopicSettings(
        2, ConfigSource.CLUSTER_DEFAULT, unclean_election=False, leader_throttled=""
    )


def test_a_topic_that_is_deleted_while_the_cluster_is_observed_is_in_neither_table() -> None:
    columns = PartitionColumns({})
    columns.add(page(topic("a", [1], [2]), topic("gone", [3]), topic("z", [1, 2])))

    topics, partitions = observed_tables(
        columns,
        {"a": settings_from_configs(configured()), "z": settings_from_configs(configured("1"))},
        [5, 6, 7, 8],
    )

    assert topics.column("name").to_pylist() == ["a", "z"]
    assert topics.column("min_insync_replicas").to_pylist() == [2, 1]
    assert partitions.column("topic").to_pylist() == ["a", "a", "z"]
    assert partitions.column("topic").combine_chunks().dictionary.to_pylist() == ["a", "z"]
    assert partitions.column("replicas").to_pylist() == [[1], [2], [1, 2]]
    assert partitions.column("bytes").to_pylist() == [5, 6, 8]


def test_a_cluster_without_topics_has_empty_tables() -> None:
    topics, partitions = observed_tables(PartitionColumns({}), {}, [])

    assert (len(topics), len(partitions)) == (0, 0)


def test_what_need_not_be_asked_is_answered_without_a_connection() -> None:
    answers = refused_unasked(
        [
            broker_change(BrokerId(3), LEADER_RATE, ConfigOperation.SET, "1"),
            topic_change("orders", LEADER_REPLICAS, ConfigOperation.APPEND, "0:1"),
            topic_change("orders", LEADER_REPLICAS, ConfigOperation.SUBTRACT, "0:2"),
        ],
        live=[BrokerId(1), BrokerId(2)],
    )

    assert answers == {
        (ConfigScope.BROKER, "3"): Rejected(
            42,
            "INVALID_REQUEST",
            "broker 3 is not live, and only a broker itself can change its configuration;"
            " ask again when it is back",
        ),
        (ConfigScope.TOPIC, "orders"): Rejected(
            42, "INVALID_REQUEST", "Error due to duplicate config keys"
        ),
    }


def test_requests_are_cut_at_their_size_and_keep_their_order() -> None:
    assert list(chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunks([], 2)) == []
