"""Configurations, read: DescribeConfigs, restricted to the keys that replan knows. A broker tells only its own."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from replan.kafka.failures import (
    DESCRIBE_BROKER_CONFIGS,
    DESCRIBE_TOPIC_CONFIGS,
    raise_for,
    standard_text,
)
from replan.kafka.messages import RESOURCE_TYPES, RESPONSES, DescribeConfigs, chunks
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import Question
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    THROTTLE_RATES,
    THROTTLED_LISTS,
    UNCLEAN_ELECTION,
    UNREAD,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    TopicSettings,
)
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId

TOPIC_KEYS_READ = (*THROTTLED_LISTS, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION)
TOPICS_PER_REQUEST = 1000


def of_topics(reads: Reads, topics: Collection[str]) -> dict[str, TopicSettings]:
    """The settings of the named topics; what does not exist is left out, what this user may not read is `UNREAD`."""
    settings: dict[str, TopicSettings] = {}
    for question in topics_questions(reads, topics):
        settings |= reads.ask(question)
    return settings


def topic_values(reads: Reads, topic: str, keys: Sequence[str]) -> dict[str, str] | None:
    """The values of some keys of one topic; None where this user may not read them."""

    def read(body: memoryview, version: int) -> dict[str, str] | None:
        (result,) = RESPONSES[DescribeConfigs.API_KEY][version].decode(body).results
        if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return None
        return {key: value.value for key, value in _values(result).items()}

    question = Question(DESCRIBE_TOPIC_CONFIGS, _request(ConfigScope.TOPIC, [topic], keys), read)
    values: dict[str, str] | None = reads.ask(question)
    return values


def topics_questions(reads: Reads, topics: Collection[str]) -> list[Question]:
    """The questions for the settings of topics.

    An answer is a mapping of those that exist; what this user may not read is `UNREAD`, and touches no other topic.
    """

    def make(chunk: Sequence[str]) -> Question:
        request = _request(ConfigScope.TOPIC, chunk, TOPIC_KEYS_READ)
        return Question(DESCRIBE_TOPIC_CONFIGS, request, _topics, repeated=True)

    return [
        reads.kept(f"topic configs {number}", chunk, partial(make, chunk))
        for number, chunk in enumerate(chunks(sorted(topics), TOPICS_PER_REQUEST))
    ]


def rates_question(reads: Reads, broker: BrokerId) -> Question:
    """The question to a broker for its throttle rates."""

    def make() -> Question:
        request = _request(ConfigScope.BROKER, [str(broker)], THROTTLE_RATES)
        return Question(DESCRIBE_BROKER_CONFIGS, request, _rates, repeated=True)

    return reads.kept(f"configs of {broker}", broker, make)


def _topics(body: memoryview, version: int) -> dict[str, TopicSettings]:
    return {
        result.resource_name: UNREAD
        if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        else settings_from_configs(_values(result, f"topic {result.resource_name}: "))
        for result in RESPONSES[DescribeConfigs.API_KEY][version].decode(body).results
        if result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }


def _rates(body: memoryview, version: int) -> Configs:
    (result,) = RESPONSES[DescribeConfigs.API_KEY][version].decode(body).results
    values = _values(result)
    # A rate that is not set is not told, but while a broker takes one away it may call it a default.
    return {k: v for k, v in values.items() if v.source is not ConfigSource.KAFKA_DEFAULT}


def settings_from_configs(configs: Configs) -> TopicSettings:
    """What safety needs to know of a topic."""
    minimum = configs[MIN_INSYNC_REPLICAS]
    return TopicSettings(
        min_insync_replicas=int(minimum.value),
        min_insync_source=minimum.source,
        unclean_election=configs[UNCLEAN_ELECTION].value == "true",
        leader_throttled=_override(configs, LEADER_REPLICAS),
        follower_throttled=_override(configs, FOLLOWER_REPLICAS),
    )


def _override(configs: Configs, key: str) -> str | None:
    value = configs.get(key)
    return value.value if value is not None and value.source is ConfigSource.TOPIC else None


def _request(scope: ConfigScope, names: Sequence[str], keys: Sequence[str]) -> Any:
    resource = DescribeConfigs.DescribeConfigsResource
    return DescribeConfigs(
        resources=[
            resource(
                resource_type=RESOURCE_TYPES[scope],
                resource_name=name,
                configuration_keys=list(keys),
            )
            for name in names
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _values(result: Any, where: str = "") -> Mapping[str, ConfigValue]:
    raise_for(result.error_code, where + (result.error_message or standard_text(result.error_code)))
    return {
        told.name: ConfigValue(told.value, _source(told.config_source))
        for told in result.configs
        if told.value is not None
    }


def _source(code: int) -> ConfigSource:
    in_range = ConfigSource.TOPIC <= code <= ConfigSource.KAFKA_DEFAULT
    return ConfigSource(code) if in_range else ConfigSource.UNKNOWN
