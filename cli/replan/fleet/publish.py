"""The rows of a run as a folder of Parquet files, for those who have no lake."""

from pathlib import Path

import pyarrow.parquet as pq

from replan.documents.files import publish_folder
from replan.fleet.lake.tables import TABLES
from replan.fleet.run import FleetRun


def publish(found: FleetRun, output: Path) -> None:
    """Write the tables as a folder, at once, in place of an earlier one; raises BadFile."""

    def fill(folder: Path) -> None:
        for name, table in found.rows.items():
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")

    mine = {f"{name}.parquet" for name in TABLES}
    publish_folder(output, fill, lambda folder: mine.issuperset(c.name for c in folder.iterdir()))
