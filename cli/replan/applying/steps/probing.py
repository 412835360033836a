"""Probes logs through the port: rounds of questions until the best log and all points of parting are known."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import LogReader, LogsFound
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import named_partitions, rows_of
from replan.planning.recovery.probing import Probing

NOTHING_EARLIER: Mapping[TopicPartition, LogsFound] = {}


def with_logs(
    reader: LogReader,
    snapshot: Snapshot,
    names: Iterable[TopicPartition],
    formerly: Mapping[TopicPartition, LogsFound] = NOTHING_EARLIER,
) -> Snapshot:
    """The snapshot with what the live replicas of these partitions say of their logs.

    They also say where they part from those of `formerly`, which an earlier snapshot knew.
    """
    live, named = snapshot.live_brokers(), named_partitions(sorted(names))
    rows = rows_of(named, snapshot.partitions).tolist()
    wanted = {
        state.partition: tuple(b for b in state.replicas if b in live)
        for state in snapshot.states(row for row in rows if row >= 0)
    }
    return replace(snapshot, logs={**snapshot.logs, **probe(reader, wanted, formerly)})


def probe(
    reader: LogReader,
    wanted: Mapping[TopicPartition, Collection[BrokerId]],
    formerly: Mapping[TopicPartition, LogsFound] = NOTHING_EARLIER,
) -> dict[TopicPartition, LogsFound]:
    """What the replicas of partitions on these brokers hold, or why that is not known."""
    probing = Probing(wanted, formerly)
    probing.with_ends(reader.log_ends(probing.ends_wanted()))
    while asked := probing.epochs_wanted():
        probing.with_epochs(asked, reader.epoch_ends(asked))
    return probing.found()
