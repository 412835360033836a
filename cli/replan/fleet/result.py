"""What a fleet run found, as a value: three tables, what was left out, and the exit code.

Belongs here: order, publishing, the exit code. Does not belong here: how it is shown (`report`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from replan.documents.atomic import publish_folder
from replan.errors import Exit
from replan.fleet.tables import CLUSTERS, DRIFT, ERRORS

FILES = ("drift.parquet", "clusters.parquet", "errors.parquet")


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """All that drifted in a fleet."""

    rows: pa.Table
    """Schema DRIFT, sorted by cluster name, cluster id, topic, partition, kind."""
    clusters: pa.Table
    """Schema CLUSTERS: those that were compared, sorted by name."""
    errors: pa.Table
    """Schema ERRORS, sorted by cluster and file."""
    undeclared: tuple[str, ...] = ()
    """Clusters with a snapshot that no placement is about."""
    older: int = 0
    """Snapshots that were not looked at, because there is a newer one of their cluster."""

    @property
    def exit_code(self) -> Exit:
        """1 with any error, since the answer is not whole; else 2 with drift; else 0."""
        if self.errors.num_rows:
            return Exit.ERROR
        return Exit.CHANGES if self.rows.num_rows else Exit.OK


def in_order(
    rows: pa.Table, clusters: pa.Table, errors: pa.Table, undeclared: Iterable[str], older: int
) -> FleetDrift:
    """The value of these tables, in the declared schemas and order: the same bytes whatever Spark's order."""
    by_cluster = ("cluster_name", "cluster_id")
    return FleetDrift(
        _sorted(rows, DRIFT, (*by_cluster, "topic", "partition", "kind")),
        _sorted(clusters, CLUSTERS, by_cluster),
        _sorted(errors, ERRORS, ("cluster", "file", "message")),
        tuple(sorted(undeclared)),
        older,
    )


def _sorted(table: pa.Table, schema: pa.Schema, keys: Iterable[str]) -> pa.Table:
    found = table.select(schema.names).cast(schema)
    return found.sort_by([(key, "ascending") for key in keys]).combine_chunks()


def publish(found: FleetDrift, output: Path) -> None:
    """Write the tables as a folder, at once, in place of an earlier one; raises BadFile."""
    tables = dict(zip(FILES, (found.rows, found.clusters, found.errors), strict=True))

    def fill(folder: Path) -> None:
        for name, table in tables.items():
            pq.write_table(table, folder / name, compression="zstd")

    publish_folder(output, fill, _is_earlier)


def _is_earlier(folder: Path) -> bool:
    """Whether a folder holds what an earlier run published, and nothing else."""
    return sorted(child.name for child in folder.iterdir()) == sorted(FILES)
