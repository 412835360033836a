"""Configurations, read: DescribeConfigs as raw messages, restricted to the keys that replan knows.

Reading goes through kafka-python's messages because they can name the keys wanted: confluent-kafka always
fetches every key with its synonyms (four times as long), and importing it would cost each `plan` 50 ms.
Changing goes through confluent-kafka, in `alter`. A broker tells only its own configuration.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kafka.errors import KafkaError
from kafka.protocol.admin import DescribeConfigsRequest

from replan.kafka.failures import (
    DESCRIBE_BROKER_CONFIGS,
    DESCRIBE_TOPIC_CONFIGS,
    NOT_THERE,
    Operation,
    raise_for,
    refusal,
)
from replan.kafka.reads.patience import Reads
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    Configs,
    ConfigSource,
    ConfigValue,
    TopicSettings,
)
from replan.model.names import BrokerId

TOPIC_KEYS = (LEADER_REPLICAS, FOLLOWER_REPLICAS, MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION)
BROKER_KEYS = (LEADER_RATE, FOLLOWER_RATE)
TOPICS_PER_REQUEST = 1000
_TOPIC, _BROKER = 2, 4  # ConfigResource.Type


def of_topics(reads: Reads, topics: Collection[str]) -> dict[str, Configs]:
    """What replan knows of the named topics; those that do not exist are left out."""
    found: dict[str, Configs] = {}
    for chunk in _chunks(sorted(topics), TOPICS_PER_REQUEST):
        told = reads.ask(DESCRIBE_TOPIC_CONFIGS, partial(_request, _TOPIC, chunk, TOPIC_KEYS))
        for result in told.results:
            if result.error_code != NOT_THERE:
                found[result.resource_name] = _values(DESCRIBE_TOPIC_CONFIGS, result)
    return found


def of_brokers(
    reads: Reads, brokers: Collection[BrokerId], *, limit_seconds: float
) -> dict[BrokerId, Configs]:
    """The throttle rates of the named live brokers; those that do not answer are left out."""
    requests = {b: _request(_BROKER, [str(b)], BROKER_KEYS) for b in brokers}
    told = reads.ask_each(DESCRIBE_BROKER_CONFIGS, requests, limit_seconds=limit_seconds)
    return {
        broker: _set_somewhere(_values(DESCRIBE_BROKER_CONFIGS, answer.results[0]))
        for broker, answer in sorted(told.items())
    }


def settings(configs: Configs) -> TopicSettings:
    """What safety needs to know of a topic."""
    minimum = configs[MIN_INSYNC_REPLICAS]
    return TopicSettings(
        min_insync_replicas=int(minimum.value),
        min_insync_source=minimum.source,
        unclean_election=configs[UNCLEAN_ELECTION].value == "true",
        leader_throttled=_override(configs, LEADER_REPLICAS),
        follower_throttled=_override(configs, FOLLOWER_REPLICAS),
    )


def _set_somewhere(rates: Configs) -> Configs:
    """A rate that is not set is not told, but while a broker takes one away it may call it a default."""
    return {k: v for k, v in rates.items() if v.source is not ConfigSource.KAFKA_DEFAULT}


def _override(configs: Configs, key: str) -> str | None:
    value = configs.get(key)
    return value.value if value is not None and value.source is ConfigSource.TOPIC else None


def _request(kind: int, names: Sequence[str], keys: Sequence[str]) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=name, configuration_keys=list(keys))
            for name in names
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _values(operation: Operation, result: Any) -> Mapping[str, ConfigValue]:
    try:
        raise_for(result.error_code, result.error_message)
    except KafkaError as failure:
        raise refusal(operation, failure) from failure
    return {
        told.name: ConfigValue(told.value, _source(told.config_source))
        for told in result.configs
        if told.value is not None
    }


def _source(code: int) -> ConfigSource:
    known = ConfigSource.TOPIC <= code <= ConfigSource.KAFKA_DEFAULT
    return ConfigSource(code) if known else ConfigSource.UNKNOWN


def _chunks(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]
