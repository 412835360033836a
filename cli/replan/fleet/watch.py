"""`fleet watch`: drift and history kept current, as snapshots arrive in the lake.

What is followed is the log of the table `snapshots`: each of its commits appears whole and once, and says which
clusters and days it touched. On Spark that is a stream (`spark.source`), with a query whose checkpoint says
which commits it has handed over, and whose micro-batches are judged by the executors; without it, this process asks
the log from time to time. Of the days of a batch the hours that were not judged are read from the table as it is now,
judged, and replace what was written of them before, `judged` last; then the batch is done. So one that was begun and
not finished is done again, to the same rows: every snapshot has its effect exactly once, whether it comes late, twice
or in the middle of a crash. A checkpoint that is lost costs a look at the logs, and nothing else.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.errors import BadFile, BadUsage, ReplanError
from replan.fleet.do_task import DRIFT_STAGES, sorted_table
from replan.fleet.engine import Workers
from replan.fleet.fleet_file import Fleet
from replan.fleet.lake.arrivals import Touched, newest_version, touched_between
from replan.fleet.lake.delta import Hour, Lake
from replan.fleet.lake.snapshots import KeptSnapshot
from replan.fleet.lake.store import in_store
from replan.fleet.lake.tables import ERRORS, JUDGED, SNAPSHOTS
from replan.fleet.run import error_rows, hour_of, judge_kept, run_history, write_errors
from replan.fleet.tasks.todo import FleetError, of_day, unjudged
from replan.reporting.prometheus import exposition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_SECONDS = 1
"""How often it asks whether to stop; nothing else waits for that."""


class JudgedBatch(Struct, frozen=True):
    """What one batch of commits led to."""

    hours: tuple[Hour, ...]
    """The snapshots that were judged."""
    errors: pa.Table
    seconds: float = 0.0
    """How long it took."""


class WatchTotals(Struct):
    """The numbers of a watch since it began."""

    batches: int = 0
    snapshots: int = 0
    errors: int = 0
    last: JudgedBatch | None = None
    at: float = 0.0

    def add(self, batch: JudgedBatch) -> None:
        """One more."""
        self.batches += 1
        self.snapshots += len(batch.hours)
        self.errors += batch.errors.num_rows
        self.last, self.at = batch, time.time()

    def metrics(self) -> str:
        """As Prometheus reads them."""
        seconds = 0.0 if self.last is None else self.last.seconds
        values = (
            ("batches", "Batches that were judged since the watch began.", self.batches),
            ("snapshots", "Snapshots that were judged since it began.", self.snapshots),
            ("errors", "What could not be done since it began.", self.errors),
            ("batch_seconds", "How long the last batch took.", seconds),
            ("batch_timestamp_seconds", "When the last batch ended.", self.at),
        )
        return exposition(
            ((f"replan_watch_{name}", about, [({}, value)]) for name, about, value in values), {}
        )


class Watch(Struct, frozen=True):
    """What is watched, and what follows each batch."""

    fleet: Fleet
    lake: Lake
    seconds: float
    """So long from the beginning of a batch to that of the next; 0: at once."""
    on_batch: Callable[[JudgedBatch], None]
    stop: Callable[[], bool]

    def judge(self, touched: Touched, workers: Workers) -> None:
        """Judge a batch, and say so; raises ReplanError."""
        began = time.monotonic()
        done = judge_batch(touched, self.fleet, self.lake, datetime.now(UTC), workers)
        self.on_batch(replace(done, seconds=time.monotonic() - began))

    def require(self) -> None:
        """Raise BadUsage where there is no lake yet."""
        if newest_version(self.lake) < 0:
            raise BadUsage(
                f"{self.lake.address}: there are no snapshots yet; `replan fleet collect` takes some"
            )


def watch_here(workers: Workers, watch: Watch, *, once: bool = False) -> None:
    """Judge what arrives until asked to stop, or with `once` what has arrived by now; raises ReplanError."""
    watch.require()
    judged_to = -1
    while True:
        began = time.monotonic()
        newest = newest_version(watch.lake)
        if newest > judged_to:
            watch.judge(touched_between(watch.lake, judged_to, newest), workers)
            judged_to = newest
        while not (once or watch.stop()):
            left = began + max(watch.seconds, POLL_SECONDS) - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(left, POLL_SECONDS))
        else:
            return


def watch_in(
    session: "SparkSession", watch: Watch, checkpoint: Path | None, *, once: bool = False
) -> None:
    """The same as a streaming query of a session; `checkpoint` is a folder of this watch alone."""
    from replan.fleet.spark.on_spark import InSpark
    from replan.fleet.spark.source import arrivals_frame

    watch.require()
    raised: list[ReplanError] = []
    judging = Lock()  # to stop a query is to cancel its jobs

    def judge(batch: "DataFrame", _number: int) -> None:
        touched = sorted({(row["cluster"], row["day"]) for row in batch.distinct().collect()})
        try:
            with judging:
                watch.judge(touched, InSpark(session=batch.sparkSession))
        except ReplanError as problem:  # which Spark would say as text
            raised.append(problem)
            raise

    with _checkpoint(watch.lake, checkpoint) as place:
        stream = arrivals_frame(session, watch.lake).writeStream.queryName("replan fleet watch")
        stream = stream.foreachBatch(judge).option("checkpointLocation", place.as_uri())
        every = {"availableNow": True} if once else {"processingTime": f"{watch.seconds} seconds"}
        query = stream.trigger(**every).start()
        try:
            while not query.awaitTermination(POLL_SECONDS):
                if watch.stop():
                    with judging:
                        query.stop()
        except Exception:
            if raised:
                raise raised[0] from None
            raise


@contextmanager
def _checkpoint(lake: Lake, path: Path | None) -> Iterator[Path]:
    """Where Spark keeps what it has handed over: in a store it would need jars for that."""
    if path is not None or not in_store(lake.address):
        yield (path or Path(lake.address, "watch")).absolute()
        return
    with TemporaryDirectory(prefix="replan-watch-") as folder:
        yield Path(folder)


def judge_batch(
    touched_days: Touched, fleet: Fleet, lake: Lake, now: datetime, workers: Workers
) -> JudgedBatch:
    """Judge the snapshots of these days that were not judged yet, or are not those that were; raises BadFile.

    A day of which a file cannot be read is an error of its cluster, and ends nothing for the others; so is a snapshot
    that is dated after `now`.
    """
    lake.read(SNAPSHOTS, "false", ["cluster"])  # where this fails it is the table itself
    arrived, errors = _arrived(touched_days, fleet, lake, now)
    write_errors(lake, errors, map(hour_of, errors.to_pylist()), [DRIFT_STAGES[0].value], {})
    clusters = sorted({name for name, _ in touched_days if name in fleet.clusters})
    if not arrived:
        run_history(lake, clusters, workers)  # a batch that was killed may have come so far
        return JudgedBatch((), errors)
    run = judge_kept(fleet, lake, arrived, workers, Hour.at(now))
    run_history(lake, clusters, workers)
    judged = {hour_of(row) for row in run.rows[JUDGED.name].to_pylist()}
    hours = tuple(kept.at for kept in arrived if kept.at in judged)
    return JudgedBatch(hours, run.with_errors(errors).errors)


def _arrived(
    touched_days: Touched, fleet: Fleet, lake: Lake, now: datetime
) -> tuple[list[KeptSnapshot], pa.Table]:
    """What is to be judged, and the errors: of a day that cannot be read at its beginning, of a wrong date now."""
    snapshots: list[KeptSnapshot] = []
    errors: list[pa.Table] = []
    place = lake.place(SNAPSHOTS)

    def failed(cluster: str, message: str, when: Hour) -> None:
        error = FleetError(cluster, place, message)
        errors.append(error_rows([error], DRIFT_STAGES[0].value, when))

    for cluster, text in touched_days:
        if cluster not in fleet.clusters or fleet.cluster(cluster).placement is None:
            continue
        day = date.fromisoformat(text)
        try:
            files, compared = (of_day(lake.files(of), cluster, day) for of in (SNAPSHOTS, JUDGED))
            arrived = list(unjudged(lake, files, compared))
        except BadFile as problem:
            failed(cluster, str(problem), Hour(cluster, day, 0))
            continue
        for kept in arrived:
            if wrong := kept.dated_after(now):
                failed(cluster, f"{place}: {wrong}", Hour.at(now, cluster))
            else:
                snapshots.append(kept)
    return snapshots, sorted_table(ERRORS.name, errors)
