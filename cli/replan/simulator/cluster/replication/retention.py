"""How large a log that is written to becomes: retention deletes at its start what comes in at its end.

Here belongs that limit alone. Not imitated: whole segments at a time, compaction, tiered storage.
"""

import math
from collections.abc import Mapping

from replan.model.names import TopicPartition
from replan.simulator.controller.state import ClusterState

KAFKAS_MILLISECONDS = "604800000"
"""log.retention.hours, a week, unless retention.ms says otherwise; -1 keeps everything."""


def limits(
    cluster: ClusterState, produce: Mapping[TopicPartition, float]
) -> dict[TopicPartition, float]:
    """Bytes that the log of each partition that is written to grows to (UnifiedLog.deleteOldSegments).

    A log that is larger in the beginning is taken to stay as it is: what is written is deleted elsewhere in it.
    """
    of_topics: dict[str, tuple[float, float]] = {}
    found: dict[TopicPartition, float] = {}
    for name, rate in produce.items():
        if name.topic not in of_topics:
            of_topics[name.topic] = _kept(cluster, name.topic)
        most_bytes, seconds = of_topics[name.topic]
        found[name] = min(most_bytes, rate * seconds)
    return found


def _kept(cluster: ClusterState, topic: str) -> tuple[float, float]:
    """Bytes and seconds that a topic keeps."""
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
