"""Reads what `planning.findings.replica_progress` judges: what runs on partitions, sizes, and where logs end."""

from collections.abc import Collection
from typing import Protocol

from replan.model.control_plane import ClusterReader, Wanted, by_broker
from replan.model.names import TopicPartition
from replan.model.replica_logs import LogReader
from replan.planning.findings.replica_progress import Reading


class ProgressReader(ClusterReader, LogReader, Protocol):
    """A cluster that shows what runs and where logs end."""


def read_progress(
    reader: ProgressReader, names: Collection[TopicPartition], seconds: float = 0.0
) -> Reading:
    """Partitions with what runs on them, the sizes of their replicas, and where the logs of these end."""
    topics = {n.topic for n in names}
    listed = reader.look(Wanted(partitions=names)).partitions if names else {}
    of = by_broker({n: state.replicas for n, state in listed.items()})
    look = reader.look(Wanted(partitions=names, topics=topics, sizes_of=of))
    live = {b: held for b, held in of.items() if look.live(b)}
    ends = reader.log_ends(live) if live else {}
    return Reading(seconds=seconds, look=look, ends=ends)
