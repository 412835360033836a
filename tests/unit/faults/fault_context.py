"""A small cluster that faults are read against."""

from tests.builders import brokers, snapshot, state

from replan.faults.api import FaultContext
from replan.model.api import BrokerId, LogDir, TopicId
from replan.rehearsal.api import cluster_of

CONTEXT = FaultContext(
    cluster_of(
        snapshot(
            [state([1, 2, 3]), state([2, 3, 1], partition=1)],
            registered=brokers(5),
            log_dirs=(LogDir(BrokerId(1), "a"), LogDir(BrokerId(1), "b")),
        )
    ).cluster,
    lambda topic: TopicId(f"another-{topic}"),
)
