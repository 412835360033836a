"""Where `plan` takes produce rates from: a file, a lake of snapshots, or a measurement."""

from collections.abc import Mapping
from pathlib import Path

from replan.commands.frame.output import note, save
from replan.commands.shared.target import Connection, Target
from replan.documents.json_text import render_document
from replan.errors import BadUsage
from replan.model.control_plane import partitions_by_broker
from replan.model.names import BrokerId, TopicPartition
from replan.model.rates import Rates
from replan.model.replica_logs import LogEnd
from replan.model.snapshot import Snapshot
from replan.snapshots.rates_file import rates_document, rates_with_digest, read_rates


def chosen_rates(
    given: str | None, measure: float | None, keep: Path | None, cluster: Target
) -> Rates | None:
    """The rates that were asked for, if any; raises BadUsage, BadFile."""
    if given is not None and measure is not None:
        raise BadUsage("--rates and --measure: give one of them")
    if keep is not None and measure is None:
        raise BadUsage("--save-rates goes with --measure")
    if given is not None:
        return _kept_rates(given, cluster) if is_lake(given) else read_rates(Path(given))
    if measure is None:
        return None
    if cluster.snapshot is not None:
        raise BadUsage("--measure needs a cluster; a snapshot goes with --rates FILE")
    note(f"measuring what producers write for {measure:g} s")
    with cluster.connect() as connection:
        rates = measured_rates(connection, measure)
    if keep is not None:
        save(render_document(rates_document(rates)), keep)
    return rates


def is_lake(address: str) -> bool:
    """Whether rates are kept in a lake of tables there, rather than in a file."""
    return "://" in address or Path(address).is_dir()


def _kept_rates(address: str, cluster: Target) -> Rates:
    """The newest rates of the cluster in a lake."""
    from replan.fleet.lake.delta import Lake
    from replan.fleet.lake.rates_and_spells import newest_rates

    cluster_id = cluster.observe().cluster_id
    kept = newest_rates(Lake(address), cluster_id)
    note(f"produce rates: {address}, observed {kept.observed_at}")
    return rates_with_digest(kept.rates)


def measured_rates(connection: Connection, seconds: float) -> Rates:
    """What producers write, from two readings of the sizes of partitions and of the ends of their leaders' logs.

    Retention and compaction take bytes away meanwhile: then the records that were added count, at the average size of
    those that the log still has. A partition of which that is not known has no rate, rather than one that is too low.
    """
    plane, clock = connection.control_plane, connection.clock
    first, began = plane.observe(), clock.now()
    ends = leaders_log_ends(connection, first)
    clock.sleep(max(0.0, began + seconds - clock.now()))
    later, ended = plane.observe(), clock.now()
    later_ends = leaders_log_ends(connection, later)
    before, after = _sizes(first), _sizes(later)
    bytes_per_second = {
        name: round(grown / (ended - began))
        for name, size in after.items()
        if name in before
        and (grown := bytes_added(before[name], size, ends.get(name), later_ends.get(name)))
        is not None
    }
    return rates_with_digest(Rates(bytes_per_second, later.cluster_id))


def bytes_added(before: int, after: int, first: LogEnd | None, last: LogEnd | None) -> float | None:
    """Bytes that were written between two readings of a partition; None where nobody can say.

    An offset counts all that was ever written, and a size what is still there: so the average size of a record is that
    of what lies between the start of the log and its end.
    """
    if first is None or last is None or last.start is None or last.end < first.end:
        return None
    records, there = last.end - first.end, last.end - last.start
    if records and not there:
        return None
    return max(after - before, records * after / there if records else 0.0, 0.0)


def _sizes(snapshot: Snapshot) -> Mapping[TopicPartition, int]:
    columns = (
        snapshot.partitions.column(name).to_pylist() for name in ("topic", "partition", "bytes")
    )
    return {TopicPartition(t, n): size for t, n, size in zip(*columns, strict=True)}


def leaders_log_ends(connection: Connection, snapshot: Snapshot) -> Mapping[TopicPartition, LogEnd]:
    """Where the log of each partition ends, by its leader; those without a leader or an answer are left out."""
    columns = (
        snapshot.partitions.column(name).to_pylist() for name in ("topic", "partition", "leader")
    )
    led = partitions_by_broker(
        (TopicPartition(topic, number), BrokerId(leader))
        for topic, number, leader in zip(*columns, strict=True)
        if leader >= 0
    )
    answers = connection.control_plane.log_ends(led)
    return {
        name: end for of in answers.values() for name, end in of.items() if isinstance(end, LogEnd)
    }
