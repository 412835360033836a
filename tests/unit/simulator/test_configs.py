"""IncrementalAlterConfigs: what each operation stores, reports and refuses, as real brokers of 4.3.1 and 4.4.0 did."""

import pytest
from tests.unit.simulator.controllers import TOPIC, Controller

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    Accepted,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    Rejected,
    broker_change,
    topic_change,
)
from replan.simulator.api import AlterConfigs, broker_configs, rate_in_force, topic_configs

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT
DEFAULT = ConfigValue("", ConfigSource.KAFKA_DEFAULT)


def listed(value: str) -> ConfigValue:
    return ConfigValue(value, ConfigSource.TOPIC)


def throttled(controller: Controller) -> ConfigValue:
    return topic_configs(controller.state, TOPIC)[LEADER_REPLICAS]


def of_cluster(key: str, operation: ConfigOperation, value: str = "") -> ConfigChange:
    return ConfigChange(ConfigScope.BROKER, "", key, operation, value)


@pytest.mark.parametrize(
    ("operations", "told"),
    [
        ([(APPEND, "0:1,0:2")], listed("0:1,0:2")),
        ([(APPEND, "0:1,0:2"), (APPEND, "0:2,0:3"), (APPEND, "0:1")], listed("0:1,0:2,0:3")),
        ([(SET, "0:1"), (APPEND, "0:9,0:9")], listed("0:1,0:9")),
        ([(SET, "0:1,0:2"), (SUBTRACT, "0:2"), (SUBTRACT, "9:9")], listed("0:1")),
        ([(SET, "0:1"), (SUBTRACT, "0:1")], listed("")),
        ([(SUBTRACT, "0:1")], listed("")),
        ([(SUBTRACT, "0:1"), (APPEND, "0:2")], listed("0:2")),
        ([(SET, "0:1"), (DELETE, "")], DEFAULT),
        ([(SET, "*"), (SUBTRACT, "0:1")], listed("*")),
        ([(SET, "*"), (SUBTRACT, "*")], listed("")),
        ([(SET, "0:1, 0:2")], listed("0:1,0:2")),
        ([(SET, "0:1, 0:2"), (SUBTRACT, "0:2")], listed("0:1,0:2")),
        ([(SET, "7:8"), (APPEND, "")], listed("7:8,")),
    ],
)
def test_a_throttle_list_is_stored_and_told_as_kafka_does(
    operations: list[tuple[ConfigOperation, str]], told: ConfigValue
) -> None:
    controller = Controller([1, 2])
    for operation, value in operations:
        change = topic_change(TOPIC, LEADER_REPLICAS, operation, value)
        assert controller.answer(AlterConfigs((change,))) == Accepted()
    assert throttled(controller) == told


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


LIST_WORDS = (
    f"{LEADER_REPLICAS} must be the literal '*' or a list of replicas in the following format: "
    "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            topic_change(TOPIC, LEADER_REPLICAS, SET, "0:1,0:x"),
            Rejected(
                40,
                "INVALID_CONFIG",
                f"Invalid value [0:1, 0:x] for configuration {LEADER_REPLICAS}: {LIST_WORDS}",
            ),
        ),
        (
            topic_change(TOPIC, MIN_INSYNC_REPLICAS, SET, "0"),
            Rejected(
                40,
                "INVALID_CONFIG",
                "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
            ),
        ),
        (
            topic_change(TOPIC, MIN_INSYNC_REPLICAS, APPEND, "1"),
            Rejected(
                40,
                "INVALID_CONFIG",
                "Can't APPEND to key min.insync.replicas because its type is not LIST.",
            ),
        ),
        (
            topic_change(TOPIC, "unclean.leader.election.enable", SET, "maybe"),
            Rejected(
                40,
                "INVALID_CONFIG",
                "Invalid value maybe for configuration unclean.leader.election.enable: "
                "Expected value to be either true or false",
            ),
        ),
        (
            topic_change(TOPIC, "foo", SET, "bar"),
            Rejected(40, "INVALID_CONFIG", "Unknown topic config name: foo"),
        ),
        (
            topic_change("clicks", LEADER_REPLICAS, SET, "0:1"),
            Rejected(3, "UNKNOWN_TOPIC_OR_PARTITION", "The topic 'clicks' does not exist."),
        ),
        (
            broker_change(BrokerId(1), LEADER_RATE, SET, "-5"),
            Rejected(
                42,
                "INVALID_REQUEST",
                f"Invalid value -5 for configuration {LEADER_RATE}: Value must be at least 0",
            ),
        ),
        (
            broker_change(BrokerId(1), LEADER_RATE, SET, "fast"),
            Rejected(
                42,
                "INVALID_REQUEST",
                f"Invalid value fast for configuration {LEADER_RATE}: Not a number of type LONG",
            ),
        ),
        (
            broker_change(BrokerId(9), LEADER_RATE, SET, "5"),
            Rejected(102, "BROKER_ID_NOT_REGISTERED", "No node with id 9 found."),
        ),
        (
            broker_change(BrokerId(1), MIN_INSYNC_REPLICAS, SET, "2"),
            Rejected(
                40,
                "INVALID_CONFIG",
                "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
            ),
        ),
        (
            of_cluster(MIN_INSYNC_REPLICAS, DELETE),
            Rejected(
                40,
                "INVALID_CONFIG",
                "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
            ),
        ),
    ],
)
def test_a_refused_change_has_kafkas_code_and_words_and_stores_nothing(
    change: ConfigChange, expected: Rejected
) -> None:
    controller = Controller([1, 2], elr=True)
    before = controller.state
    assert controller.answer(AlterConfigs((change,))) == expected
    assert controller.state is before


def test_the_largest_numbers_are_taken() -> None:
    controller = Controller([1, 2])
    for key, largest in ((MIN_INSYNC_REPLICAS, 2**31 - 1), (LEADER_RATE, 2**63 - 1)):
        change = broker_change(BrokerId(1), key, SET, str(largest))
        assert controller.answer(AlterConfigs((change,))) == Accepted()


def test_a_value_of_all_brokers_is_written_again_and_clears_the_elr_though_it_stays() -> None:
    controller = Controller([1, 2, 3], elr=True)
    controller.ask(AlterConfigs((of_cluster(MIN_INSYNC_REPLICAS, SET, "3"),)))
    controller.fence(3)
    assert controller.partition().elr == (3,)
    controller.ask(AlterConfigs((of_cluster(MIN_INSYNC_REPLICAS, SET, "3"),)))
    assert controller.partition().elr == ()


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (MIN_INSYNC_REPLICAS, "0", "Value must be at least 1"),
        (MIN_INSYNC_REPLICAS, "2147483648", "Not a number of type INT"),
        (MIN_INSYNC_REPLICAS, "1e3", "Not a number of type INT"),
        (FOLLOWER_RATE, "-1", "Value must be at least 0"),
        (FOLLOWER_RATE, "9223372036854775808", "Not a number of type LONG"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "-1", "Value must be at least 0"),
    ],
)
def test_a_broker_judges_its_own_numbers(key: str, value: str, problem: str) -> None:
    controller = Controller([1, 2])
    answer = controller.answer(AlterConfigs((broker_change(BrokerId(1), key, SET, value),)))
    assert answer == Rejected(
        42, "INVALID_REQUEST", f"Invalid value {value} for configuration {key}: {problem}"
    )


def test_a_star_takes_no_company() -> None:
    controller = Controller([1, 2], configs={LEADER_REPLICAS: "*"})
    change = topic_change(TOPIC, LEADER_REPLICAS, APPEND, "0:1")
    answer = controller.answer(AlterConfigs((change,)))
    assert isinstance(answer, Rejected)
    assert answer.code == 40
    assert throttled(controller) == listed("*")


def test_the_same_key_twice_is_refused() -> None:
    controller = Controller([1, 2])
    changes = tuple(topic_change(TOPIC, LEADER_REPLICAS, APPEND, v) for v in ("0:1", "0:2"))
    assert controller.answer(AlterConfigs(changes)) == Rejected(
        42, "INVALID_REQUEST", "Error due to duplicate config keys"
    )


def test_a_resource_fails_as_a_whole_and_alone() -> None:
    controller = Controller([1, 2])
    decision = controller.ask(
        AlterConfigs(
            (
                topic_change(TOPIC, LEADER_REPLICAS, APPEND, "0:1"),
                broker_change(BrokerId(1), LEADER_RATE, SET, "5"),
                broker_change(BrokerId(1), FOLLOWER_RATE, SET, "-5"),
            )
        )
    )
    assert [type(answer) for _, answer in decision.each] == [Accepted, Rejected]
    assert throttled(controller) == listed("0:1")
    assert broker_configs(controller.state, BrokerId(1)) == {}


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


@pytest.mark.parametrize("of_topic", [True, False])
def test_writing_min_isr_clears_the_elr(of_topic: bool) -> None:
    controller = Controller([1, 2, 3], elr=True, configs={MIN_INSYNC_REPLICAS: "3"})
    controller.fence(3)
    assert controller.partition().elr == (3,)
    epoch = controller.partition().partition_epoch
    change = (
        topic_change(TOPIC, MIN_INSYNC_REPLICAS, SET, "2")
        if of_topic
        else of_cluster(MIN_INSYNC_REPLICAS, SET, "2")
    )
    controller.ask(AlterConfigs((change,)))
    assert controller.partition().elr == ()
    assert controller.partition().partition_epoch == epoch + 1
