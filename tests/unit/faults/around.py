"""A small cluster that faults are read against."""

from tests.builders import brokers, snapshot, state

from replan.faults.kinds import Surroundings
from replan.model.names import TopicId
from replan.rehearsal.stage import cluster_of

AROUND = Surroundings(
    cluster_of(
        snapshot([state([1, 2, 3]), state([2, 3, 1], partition=1)], registered=brokers(5))
    ).cluster,
    lambda topic: TopicId(f"another-{topic}"),
)
