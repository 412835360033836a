"""Probes logs through the port: rounds of questions until the best log and all points of parting are known."""

from collections.abc import Collection, Mapping

from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import LogReader, LogsFound
from replan.planning.recovery.probing import Probing


def probe(
    reader: LogReader, wanted: Mapping[TopicPartition, Collection[BrokerId]]
) -> dict[TopicPartition, LogsFound]:
    """What the replicas of partitions on these brokers hold, or why that is not known."""
    probing = Probing(wanted)
    probing.with_ends(reader.log_ends(probing.ends_wanted()))
    while asked := probing.epochs_wanted():
        probing.with_epochs(asked, reader.epoch_ends(asked))
    return probing.found()
