"""IncrementalAlterConfigs through the port: throttle lists, rates, and what is refused.

The table of lists is what real brokers of 4.3.1 and 4.4.0 were seen to do (KIP-73, KIP-339).
"""

import pytest
from tests.conformance.lab import Lab, until_reads
from tests.readings import rates_of

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    Accepted,
    Answer,
    BrokerId,
    ConfigOperation,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    Rejected,
    TopicPartition,
    Wanted,
    broker_change,
    topic_change,
)

SET, DELETE, APPEND, SUBTRACT = ConfigOperation


def alter(lab: Lab, topic: str, operation: ConfigOperation, value: str = "") -> Answer:
    """The answer to one change of the topic's leader-side list."""
    change = topic_change(topic, LEADER_REPLICAS, operation, value)
    return lab.control_plane.alter_configs([change])[ConfigScope.TOPIC, topic]


def stored(lab: Lab, topic: str) -> str | None:
    """The topic's own leader-side list; None where it has none of its own."""
    return lab.control_plane.look(Wanted(topics=[topic])).topics[topic].leader_throttled


Steps = list[tuple[ConfigOperation, str]]
LISTS: list[tuple[Steps, str | None]] = [
    ([], None),
    ([(APPEND, "0:1,0:2")], "0:1,0:2"),
    ([(APPEND, "0:1,0:2"), (APPEND, "0:2,0:3")], "0:1,0:2,0:3"),
    ([(APPEND, "0:1"), (APPEND, "0:1")], "0:1"),
    ([(APPEND, "0:1"), (APPEND, "0:9,0:9")], "0:1,0:9"),
    ([(APPEND, "0:1,0:2"), (SUBTRACT, "0:2")], "0:1"),
    ([(APPEND, "0:1"), (SUBTRACT, "9:9")], "0:1"),
    ([(APPEND, "0:1"), (SUBTRACT, "0:1")], ""),
    ([(SUBTRACT, "0:1")], ""),
    ([(SUBTRACT, "0:1"), (APPEND, "0:2")], "0:2"),
    ([(APPEND, "0:1"), (DELETE, "")], None),
    ([(DELETE, "")], None),
    ([(SET, "*"), (SUBTRACT, "0:1")], "*"),
    ([(SET, "*"), (SUBTRACT, "*")], ""),
    ([(SET, "0:1, 0:2")], "0:1,0:2"),
    ([(SET, "0:1, 0:2"), (SUBTRACT, "0:2")], "0:1,0:2"),
    ([(SET, "7:8"), (APPEND, "")], "7:8,"),
]


@pytest.mark.parametrize(
    ("steps", "expected"),
    LISTS,
    ids=["; ".join(f"{o.name} {v}" for o, v in steps) or "untouched" for steps, _ in LISTS],
)
def test_operations_on_a_throttled_list(lab: Lab, steps: Steps, expected: str | None) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    answers = [alter(lab, topic, operation, given) for operation, given in steps]

    assert answers == [Accepted()] * len(steps)
    until_reads(lab, lambda: stored(lab, topic), expected)


@pytest.mark.parametrize(
    ("before", "operation", "value"),
    [("*", APPEND, "0:1"), ("0:1", APPEND, "*"), ("0:1", SET, "0:x")],
)
def test_a_list_that_mixes_everything_with_something_is_refused(
    lab: Lab, before: str, operation: ConfigOperation, value: str
) -> None:
    topic = lab.create_topic([[1, 2, 3]])
    alter(lab, topic, SET, before)
    until_reads(lab, lambda: stored(lab, topic), before)

    refused = alter(lab, topic, operation, value)

    assert isinstance(refused, Rejected)
    assert (refused.code, refused.name) == (40, "INVALID_CONFIG")
    assert (
        f"for configuration {LEADER_REPLICAS}: {LEADER_REPLICAS} must be the literal '*' or a list of"
        " replicas" in refused.message
    )
    assert stored(lab, topic) == before


def test_one_key_twice_is_refused_and_nothing_of_that_topic_is_changed(lab: Lab) -> None:
    topic, other = lab.create_topic([[1, 2, 3]]), lab.create_topic([[1, 2, 3]])

    answers = lab.control_plane.alter_configs(
        [
            topic_change(topic, LEADER_REPLICAS, APPEND, "0:1"),
            topic_change(topic, LEADER_REPLICAS, APPEND, "0:2"),
            topic_change(other, LEADER_REPLICAS, APPEND, "0:3"),
        ]
    )

    assert answers == {
        (ConfigScope.TOPIC, topic): Rejected(
            42, "INVALID_REQUEST", "Error due to duplicate config keys"
        ),
        (ConfigScope.TOPIC, other): Accepted(),
    }
    assert stored(lab, topic) is None


def test_what_would_be_answered_is_what_is_answered_and_nothing_is_changed(lab: Lab) -> None:
    """`would_alter` is how a plan asks whether Kafka takes its throttle."""
    good, bad = lab.create_topic([[1, 2, 3]]), lab.create_topic([[1, 2, 3]])
    rate = broker_change(BrokerId(2), FOLLOWER_RATE, SET, "123456")
    changes = [
        topic_change(good, LEADER_REPLICAS, APPEND, "0:1"),
        topic_change(bad, LEADER_REPLICAS, SET, "0:x"),
        topic_change("nowhere", LEADER_REPLICAS, APPEND, "0:1"),
        rate,
        broker_change(BrokerId(3), FOLLOWER_RATE, SET, "fast"),
    ]

    said = lab.control_plane.would_alter(changes)

    seen = lab.control_plane.look(Wanted(topics=[good, bad], rates_of=[BrokerId(2)]))
    assert {seen.topics[name].leader_throttled for name in (good, bad)} == {None}
    assert FOLLOWER_RATE not in seen.rates[BrokerId(2)]
    assert lab.control_plane.alter_configs(changes) == said
    assert {type(answer) for answer in said.values()} == {Accepted, Rejected}
    until_reads(lab, lambda: stored(lab, good), "0:1")
    lab.control_plane.alter_configs([broker_change(BrokerId(2), FOLLOWER_RATE, DELETE)])


def test_a_topic_that_does_not_exist_is_no_topic_that_is_forbidden(lab: Lab) -> None:
    """Both are missing in what is read; only the one that this user may not read is named."""
    topic = lab.create_topic([[1, 2, 3]])
    names = [TopicPartition(topic, 0), TopicPartition("nowhere", 0)]

    seen = lab.control_plane.look(Wanted(partitions=names, topics=[topic, "nowhere"]))

    assert (list(seen.partitions), list(seen.topics), dict(seen.forbidden)) == (
        names[:1],
        [topic],
        {},
    )


def test_a_topic_that_does_not_exist_is_refused(lab: Lab) -> None:
    assert alter(lab, "nowhere", APPEND, "0:1") == Rejected(
        3, "UNKNOWN_TOPIC_OR_PARTITION", "The topic 'nowhere' does not exist."
    )


def test_several_keys_of_a_topic_change_together(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    answers = lab.control_plane.alter_configs(
        [
            topic_change(topic, MIN_INSYNC_REPLICAS, SET, "3"),
            topic_change(topic, LEADER_REPLICAS, SET, "0:x"),
        ]
    )

    refused = answers[ConfigScope.TOPIC, topic]
    assert isinstance(refused, Rejected)
    assert refused.code == 40
    assert lab.control_plane.look(Wanted(topics=[topic])).topics[topic].min_insync_replicas == 2


def test_a_rate_that_is_not_set_is_not_told(lab: Lab) -> None:
    assert rates(lab, 2) == {2: {}}
    assert lab.control_plane.observe().broker_configs == {}


def test_a_rate_is_set_on_one_broker_and_taken_away_again(lab: Lab) -> None:
    key = (ConfigScope.BROKER, "2")
    changes = [
        broker_change(BrokerId(2), LEADER_RATE, SET, "1000000"),
        broker_change(BrokerId(2), FOLLOWER_RATE, SET, "2000000"),
    ]
    expected = {
        LEADER_RATE: ConfigValue("1000000", ConfigSource.BROKER),
        FOLLOWER_RATE: ConfigValue("2000000", ConfigSource.BROKER),
    }

    assert lab.control_plane.alter_configs(changes) == {key: Accepted()}
    until_reads(lab, lambda: rates(lab, 1, 2), {1: {}, 2: expected})
    assert lab.control_plane.observe().broker_configs == {2: expected}

    away = broker_change(BrokerId(2), LEADER_RATE, DELETE)
    assert lab.control_plane.alter_configs([away]) == {key: Accepted()}
    until_reads(lab, lambda: rates(lab, 2), {2: {FOLLOWER_RATE: expected[FOLLOWER_RATE]}})


def rates(lab: Lab, *brokers: int) -> dict[BrokerId, Configs]:
    """The rates of some brokers."""
    return dict(rates_of(lab.control_plane, *brokers))


def test_taking_away_a_rate_that_is_not_set_is_accepted(lab: Lab) -> None:
    away = broker_change(BrokerId(3), LEADER_RATE, DELETE)

    assert lab.control_plane.alter_configs([away]) == {(ConfigScope.BROKER, "3"): Accepted()}


def test_a_rate_below_nothing_is_refused(lab: Lab) -> None:
    change = broker_change(BrokerId(3), LEADER_RATE, SET, "-5")

    refused = lab.control_plane.alter_configs([change])[ConfigScope.BROKER, "3"]

    assert isinstance(refused, Rejected)
    assert refused.code == 42
    assert f"-5 for configuration {LEADER_RATE}: Value must be at least 0" in refused.message


def test_a_broker_that_is_not_there_is_refused(lab: Lab) -> None:
    change = broker_change(BrokerId(99), LEADER_RATE, SET, "1000000")

    assert lab.control_plane.alter_configs([change]) == {
        (ConfigScope.BROKER, "99"): Rejected(
            42,
            "INVALID_REQUEST",
            "broker 99 is not live, and only a broker itself can change its configuration;"
            " ask again when it is back",
        )
    }


def test_topics_and_brokers_change_in_one_call(lab: Lab) -> None:
    topic = lab.create_topic([[1, 2, 3]])

    answers = lab.control_plane.alter_configs(
        [
            broker_change(BrokerId(1), LEADER_RATE, SET, "1000000"),
            topic_change(topic, LEADER_REPLICAS, APPEND, "0:1"),
            broker_change(BrokerId(2), FOLLOWER_RATE, SET, "1000000"),
        ]
    )

    assert answers == {
        (ConfigScope.BROKER, "1"): Accepted(),
        (ConfigScope.TOPIC, topic): Accepted(),
        (ConfigScope.BROKER, "2"): Accepted(),
    }
