"""`fleet watch`: drift and history kept current by Structured Streaming, as snapshots arrive in the lake.

What is streamed is the log of the table `snapshots`: each of its commits is a file that appears whole and once, and
says which clusters and days it touched. Spark keeps in its checkpoint which commits it has handed over. For each batch
the hours that were touched are read from the table as it is now, judged, and replace what was written of them before,
`judged` last; the checkpoint advances after that. So a batch that was begun and not finished is done again, to the same
rows: every snapshot has its effect exactly once, whether it comes late, twice or in the middle of a crash.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from replan.errors import BadFile, BadUsage
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.delta import Hour, Lake, quoted
from replan.fleet.lake.snapshots import Kept, kept_in
from replan.fleet.lake.tables import ERRORS, JUDGED, SNAPSHOTS
from replan.fleet.perform import DRIFT_STAGES, in_order
from replan.fleet.run import (
    error_rows,
    hour_of,
    judge_kept,
    run_history,
    write_errors,
)
from replan.fleet.tasks.pairs import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMMIT = "add struct<partitionValues: map<string, string>>"
"""What is read of each line of a commit: the values by which the files that it adds are divided."""
POLL_SECONDS = 1
"""How often it asks whether to stop; nothing else waits for that."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one batch of commits led to."""

    number: int
    hours: tuple[Hour, ...]
    """The snapshots that were judged."""
    errors: pa.Table


def watch(
    spark: "SparkSession",
    fleet: Fleet,
    lake: Lake,
    checkpoint: str,
    on_batch: Callable[[Batch], None],
    stop: Callable[[], bool],
    *,
    once: bool = False,
) -> None:
    """Judge what arrives until `stop` says so, or with `once` what has arrived by now; a batch is always ended.

    Raises BadUsage where there is no lake yet; `checkpoint` is a folder of this watch alone.
    """
    log = log_of(lake)
    if "://" not in log and not Path(log).is_dir():
        raise BadUsage(
            f"{lake.address}: there are no snapshots yet; `replan fleet collect` takes some"
        )
    commits = spark.readStream.schema(COMMIT).option("pathGlobFilter", "*.json").json(log)

    def judge(batch: "DataFrame", number: int) -> None:
        on_batch(judge_batch(_touched(batch), fleet, lake, number, datetime.now(UTC)))

    writer = (
        touched(commits).writeStream.foreachBatch(judge).option("checkpointLocation", checkpoint)
    )
    query = (writer.trigger(availableNow=True) if once else writer).start()
    while not query.awaitTermination(POLL_SECONDS):
        if stop():
            query.stop()  # after the batch that runs


def log_of(lake: Lake) -> str:
    """The folder of the commits of the snapshots, as Spark names it."""
    return f"{lake.place(SNAPSHOTS)}/_delta_log"


def touched(commits: "DataFrame") -> "DataFrame":
    """The clusters and days that commits touched."""
    values = commits.filter("add IS NOT NULL").select("add.partitionValues")
    return values.selectExpr(
        "partitionValues['cluster'] AS cluster", "partitionValues['day'] AS day"
    )


def _touched(batch: "DataFrame") -> Sequence[tuple[str, str]]:
    """The rows of a small DataFrame, through its plan's own rows: batches are some lines each."""
    return sorted({(row["cluster"], row["day"]) for row in batch.distinct().collect()})


def judge_batch(
    touched_days: Sequence[tuple[str, str]], fleet: Fleet, lake: Lake, number: int, now: datetime
) -> Batch:
    """Judge the snapshots of these days that were not judged yet, or are not those that were; raises BadFile.

    A day of which a file cannot be read is an error of its cluster, and ends nothing for the others; so is a snapshot
    that is dated after `now`.
    """
    lake.read(SNAPSHOTS, "false", ["cluster"])  # where this fails it is the table itself
    found, errors = _arrived(touched_days, fleet, lake, now)
    write_errors(lake, errors, map(hour_of, errors.to_pylist()), [DRIFT_STAGES[0].value], {})
    clusters = sorted({name for name, _ in touched_days if name in fleet.clusters})
    if not found:
        run_history(lake, clusters)  # a batch that was killed may have come so far
        return Batch(number, (), errors)
    run = judge_kept(fleet, lake, found, Hour.of("", now.isoformat()))
    run_history(lake, clusters)
    return Batch(number, tuple(kept.at for kept in found), run.with_errors(errors).errors)


def _arrived(
    touched_days: Sequence[tuple[str, str]], fleet: Fleet, lake: Lake, now: datetime
) -> tuple[list[Kept], pa.Table]:
    """What is to be judged, and the errors: of a day that cannot be read at its beginning, of a wrong date now."""
    found: list[Kept] = []
    errors: list[pa.Table] = []
    place = lake.place(SNAPSHOTS)

    def failed(cluster: str, message: str, when: Hour) -> None:
        error = FleetError(cluster, place, message)
        errors.append(error_rows([error], DRIFT_STAGES[0].value, when))

    for cluster, day in touched_days:
        if cluster not in fleet.clusters or fleet.cluster(cluster).placement is None:
            continue
        try:
            arrived = list(_unjudged(lake, cluster, day))
        except BadFile as problem:
            failed(cluster, str(problem), Hour(cluster, date.fromisoformat(day), 0))
            continue
        for kept in arrived:
            if wrong := kept.dated_after(now):
                failed(cluster, f"{place}: {wrong}", Hour(cluster, now.date(), now.hour))
            else:
                found.append(kept)
    return found, in_order(ERRORS.name, errors)


def _unjudged(lake: Lake, cluster: str, day: str) -> Iterator[Kept]:
    where = f"cluster = {quoted(cluster)} AND day = '{day}'"
    judged: list[dict[str, Any]] = lake.read(JUDGED, where, ["hour", "observed_at"]).to_pylist()
    known = {(row["hour"], row["observed_at"]) for row in judged}
    files = [f for f in lake.files(SNAPSHOTS).get(cluster, ()) if str(f.day) == day]
    for kept in kept_in(lake, files):
        if (kept.at.hour, kept.observed_at) not in known:
            yield kept
