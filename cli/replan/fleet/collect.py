"""Collect: every cluster of the fleet is asked at the same time, each with a time limit of its own.

A cluster that does not answer, or not in time, is an error of its own; the others are kept, whoever is waited for.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from threading import Thread

from msgspec import Struct

from replan.errors import ReplanError, unexpected
from replan.fleet.collected import CollectedCluster
from replan.fleet.fleet_file import FleetCluster

CLUSTERS_AT_ONCE = 16
"""So many clusters are asked at the same time: answers are decoded on one core."""
Observe = Callable[[FleetCluster], CollectedCluster]


class ClusterAnswer(Struct, frozen=True):
    """What one cluster answered, or why there is no answer."""

    cluster: str
    outcome: CollectedCluster | str


def collect_answers(clusters: Iterable[FleetCluster], observe: Observe) -> Iterator[ClusterAnswer]:
    """The answer of each cluster, as they come."""
    waiting = list(clusters)
    answers: SimpleQueue[ClusterAnswer] = SimpleQueue()
    deadlines: dict[str, float] = {}
    limits = {cluster.name: cluster.timeout_seconds for cluster in waiting}
    while waiting or deadlines:
        while waiting and len(deadlines) < CLUSTERS_AT_ONCE:
            cluster = waiting.pop(0)
            deadlines[cluster.name] = time.monotonic() + cluster.timeout_seconds
            # Nobody waits for a thread that is late: it ends with the process at the latest.
            Thread(target=_ask, args=(cluster, observe, answers), daemon=True).start()
        try:
            left = min(deadlines.values()) - time.monotonic()
            answer = answers.get(timeout=max(left, 0))
        except Empty:
            late = min(deadlines, key=lambda name: deadlines[name])
            message = f"no answer within {limits[late]:g} s"
            answer = ClusterAnswer(late, f"{message}; raise its `timeout` if it needs longer")
        if deadlines.pop(answer.cluster, None) is not None:
            yield answer


def _ask(cluster: FleetCluster, observe: Observe, answers: SimpleQueue[ClusterAnswer]) -> None:
    try:
        answers.put(ClusterAnswer(cluster.name, observe(cluster)))
    except ReplanError as problem:
        answers.put(ClusterAnswer(cluster.name, str(problem)))
    except Exception as problem:  # noqa: BLE001 - one cluster's trouble never ends the run
        answers.put(ClusterAnswer(cluster.name, unexpected(problem)))
