"""What is collected of one cluster: its snapshot, where its logs end, and what replan's applications have moved.

Belongs here: that as rows of the lake. Not here: asking the cluster (`collect`), and what follows from it (`stages`).
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from msgspec import Struct, field
from msgspec.structs import asdict

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.originals import unpacked
from replan.applying.journal.records import Application, ApplicationStatus
from replan.fleet.lake.delta import Hour, Lake, is_among, table_rows
from replan.fleet.lake.files import replace_rows
from replan.fleet.lake.snapshots import keep_snapshots
from replan.fleet.lake.tables import APPLICATIONS, OFFSETS
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot

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
