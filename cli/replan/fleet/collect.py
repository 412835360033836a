"""Collect: every cluster of the fleet is asked at the same time, each with a time limit of its own.

A cluster that does not answer, or not in time, is an error of its own; the others are kept, whoever is waited for: the
snapshot, where its logs end, and what replan's applications have moved, as rows of the lake.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread

import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import asdict

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.originals import unpacked
from replan.applying.journal.records import Application, ApplicationStatus
from replan.errors import ReplanError, unexpected
from replan.fleet.fleet_file import FleetCluster
from replan.fleet.lake.delta import Hour, Lake, is_among, table_rows
from replan.fleet.lake.files import replace_rows
from replan.fleet.lake.snapshots import keep_snapshots
from replan.fleet.lake.tables import APPLICATIONS, OFFSETS
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot

CLUSTERS_AT_ONCE = 16
"""So many clusters are asked at the same time: answers are decoded on one core."""
OF_APPLICATION = ("cluster_id", "owner", "plan_digest", "opened_at", "ended_at")


class EndedApplication(Struct, frozen=True):
    """An application that has ended, with the partitions that it has brought to where they were to go."""

    application: Application
    moved: tuple[TopicPartition, ...]


class CollectedCluster(Struct, frozen=True):
    """One cluster, as it was observed once."""

    snapshot: Snapshot
    log_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    ended: Sequence[EndedApplication] = ()


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


def ended_applications(ledger: Ledger) -> Iterator[EndedApplication]:
    """Those of which the journal still has the partitions, and which say when they ended; raises BadFile."""
    for record in ledger.records.values():
        if (
            not isinstance(record, Application)
            or record.status is ApplicationStatus.OPEN
            or not record.ended_at
        ):
            continue
        kept = unpacked(ledger, record)
        if kept is not None:
            grown = (
                TopicPartition(g.topic, n) for g in kept.grown for n in range(g.before, g.count)
            )
            yield EndedApplication(
                record, (*(o.partition for o in kept.origins() if o.done), *grown)
            )


def keep_collected(lake: Lake, clusters: Mapping[str, CollectedCluster]) -> Mapping[str, Hour]:
    """Write clusters under their names, each in the place of what was collected in the same hour; raises BadFile.

    The snapshots come last: whoever waits for them finds the rest.
    """
    hours = {name: Hour.of(name, one.snapshot.observed_at) for name, one in clusters.items()}
    ends = {name: _offsets(one, hours[name]) for name, one in clusters.items() if one.log_ends}
    if ends:
        replace_rows(lake, OFFSETS, pa.concat_tables(ends.values()), [hours[name] for name in ends])
    _keep_applications(lake, {name: one.ended for name, one in clusters.items() if one.ended})
    keep_snapshots(lake, ((name, one.snapshot) for name, one in clusters.items()))
    return hours


def _offsets(cluster: CollectedCluster, hour: Hour) -> pa.Table:
    names, snapshot = list(cluster.log_ends), cluster.snapshot
    columns = {
        "topic": [name.topic for name in names],
        "partition": [name.partition for name in names],
        "log_end": list(cluster.log_ends.values()),
    }
    return table_rows(OFFSETS, columns, hour, snapshot.cluster_id, snapshot.observed_at)


def _keep_applications(lake: Lake, by_cluster: Mapping[str, Sequence[EndedApplication]]) -> None:
    """Add those of each cluster that the table has not yet; an application that has ended changes no more."""
    if not by_cluster:
        return
    where = is_among("cluster", by_cluster)
    kept = {
        (row["cluster"], row["application"])
        for row in lake.read(APPLICATIONS, where, ["cluster", "application"]).to_pylist()
    }
    new = [
        (cluster, one)
        for cluster, ended in by_cluster.items()
        for one in ended
        if (cluster, one.application.id) not in kept and one.moved
    ]
    rows = [row for cluster, one in new for row in _rows(one, cluster)]
    replace_rows(
        lake,
        APPLICATIONS,
        pa.Table.from_pylist(rows, schema=APPLICATIONS.schema),
        [Hour.of(cluster, one.application.ended_at) for cluster, one in new],
        only=("application", [one.application.id for _, one in new]),
    )


def _rows(ended: EndedApplication, cluster: str) -> Iterator[dict[str, object]]:
    application = ended.application
    said = {name: getattr(application, name) for name in OF_APPLICATION}
    same = {**asdict(Hour.of(cluster, application.ended_at)), "application": application.id, **said}
    return ({**same, "topic": name.topic, "partition": name.partition} for name in ended.moved)
