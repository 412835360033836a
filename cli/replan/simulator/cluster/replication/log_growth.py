"""Sizes of logs that grow by themselves: known at one moment, worked out when asked for at a later one.

A cluster has thousands of logs that are written to and few that anybody asks for. Retention deletes at their start what
comes in at their end; of a tiered topic (KIP-405) brokers hold, and copies fetch, what local retention keeps. Not
imitated: whole segments at a time, compaction, the time until a segment is in remote storage.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from replan.model.names import TopicPartition
from replan.simulator.controller.state import ClusterState

LogSizes = Mapping[TopicPartition, float]
KAFKAS_MILLISECONDS = "604800000"
"""log.retention.hours, a week, unless retention.ms says otherwise; -1 keeps everything."""
AS_THE_TOPIC = "-2"
"""local.retention.* by default: as retention.* (LogConfig.localRetentionBytes)."""


@dataclass(frozen=True, slots=True, eq=False)
class GrowingSizes(Mapping[TopicPartition, float]):
    """Bytes of logs after some seconds of growth; a log of no leader does not grow, nor one at its limit."""

    base: LogSizes
    rates: Mapping[TopicPartition, float]
    leaderless: Collection[TopicPartition]
    limits: Mapping[TopicPartition, float]
    seconds: float

    def __getitem__(self, name: TopicPartition) -> float:
        size = self.base[name]
        if name in self.leaderless:
            return size
        larger = size + self.rates.get(name, 0.0) * self.seconds
        return min(larger, max(size, self.limits.get(name, larger)))

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.base)

    def __len__(self) -> int:
        return len(self.base)


def grown_sizes(
    sizes: LogSizes,
    rates: Mapping[TopicPartition, float],
    leaderless: Collection[TopicPartition],
    limits: Mapping[TopicPartition, float],
    seconds: float,
) -> LogSizes:
    """The sizes so much later; what was worked out for the same rates before is gone on with."""
    if not rates:
        return sizes
    if isinstance(sizes, GrowingSizes):
        if sizes.rates is rates and sizes.limits is limits and sizes.leaderless == leaderless:
            return GrowingSizes(sizes.base, rates, leaderless, limits, sizes.seconds + seconds)
        sizes = dict(sizes)
    return GrowingSizes(sizes, rates, leaderless, limits, seconds)


def limits(
    cluster: ClusterState, produce: Mapping[TopicPartition, float]
) -> dict[TopicPartition, float]:
    """Bytes that the log of each partition that is written to grows to (UnifiedLog.deleteOldSegments).

    A log that is larger in the beginning is taken to stay as it is: what is written is deleted elsewhere in it.
    """
    of_topics: dict[str, tuple[float, float]] = {}
    most: dict[TopicPartition, float] = {}
    for name, rate in produce.items():
        if name.topic not in of_topics:
            of_topics[name.topic] = _kept(cluster, name.topic)
        most_bytes, seconds = of_topics[name.topic]
        most[name] = min(most_bytes, rate * seconds)
    return most


def _kept(cluster: ClusterState, topic: str) -> tuple[float, float]:
    """Bytes and seconds that a topic keeps on its brokers."""
    most_bytes, seconds = _kept_anywhere(cluster, topic)
    if cluster.topic_config(topic, "remote.storage.enable", "false") != "true":
        return most_bytes, seconds
    local_bytes = cluster.topic_config(topic, "local.retention.bytes", AS_THE_TOPIC)
    local_milliseconds = cluster.topic_config(topic, "local.retention.ms", AS_THE_TOPIC)
    return (
        most_bytes if local_bytes == AS_THE_TOPIC else min(most_bytes, _number(local_bytes)),
        seconds
        if local_milliseconds == AS_THE_TOPIC
        else min(seconds, _number(local_milliseconds) / 1000),
    )


def _kept_anywhere(cluster: ClusterState, topic: str) -> tuple[float, float]:
    policy = cluster.topic_config(topic, "cleanup.policy", "delete")
    if "delete" not in policy:
        return math.inf, math.inf
    milliseconds = _number(cluster.topic_config(topic, "retention.ms", KAFKAS_MILLISECONDS))
    return _number(cluster.topic_config(topic, "retention.bytes", "-1")), milliseconds / 1000


def _number(text: str) -> float:
    """A value that -1, or something that is no number, makes unlimited."""
    try:
        number = int(text)
    except ValueError:
        return math.inf
    return math.inf if number < 0 else float(number)
