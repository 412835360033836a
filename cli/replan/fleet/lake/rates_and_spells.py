"""What a lake has of one cluster: its rates, as a plan takes them, and since when each thing drifts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from replan.errors import BadFile
from replan.fleet.lake.delta import Hour, Lake, TableFile, disjoint_groups, is_among, quoted
from replan.fleet.lake.tables import HISTORY, JUDGED, RATES
from replan.model.names import TopicPartition
from replan.model.rates import Rates
from replan.planning.findings.spells import FLAPPING_DAYS, DriftKey, Spell

_PEAK = "peak_bytes_per_second"
_COUNTED = ("topic", "partition", _PEAK, "left_out")
"""What a plan takes of the table `rates`."""
_READ = ("hour", "cluster_id", "observed_at", *_COUNTED)


class KeptRates(Struct, frozen=True):
    """Rates, and as of when."""

    observed_at: str
    rates: Rates


def newest_rates(lake: Lake, cluster_id: str) -> KeptRates:
    """The newest that there are; raises BadFile where there are none of this cluster."""
    kept = rates_until(lake, cluster_id)
    if kept is None:
        raise BadFile(
            f"{lake.place(RATES)}: there are no rates of cluster {cluster_id}; `replan fleet rates` finds them"
        )
    return kept


def rates_until(lake: Lake, cluster_id: str, hour: Hour | None = None) -> KeptRates | None:
    """The newest of an hour or of those before it, whatever the fleet calls the cluster; None where there are none."""
    by_name = (_newest_in(lake, files, cluster_id, hour) for files in lake.files(RATES).values())
    kept = [rates for rates in by_name if rates is not None]
    return max(kept, key=lambda rates: rates.observed_at, default=None)


def _newest_in(
    lake: Lake, files: Sequence[TableFile], cluster_id: str, hour: Hour | None
) -> KeptRates | None:
    """The same of files of one name, oldest first; they are opened when nothing newer is left."""
    until = (date.max, 23) if hour is None else (hour.day, hour.hour)
    mine = [f for f in files if f.may_have(cluster_id) and (f.day, f.begin.hour) <= until]
    for some in reversed(disjoint_groups(mine)):
        rows = pa.concat_tables(lake.read_file(RATES, file, _READ) for file in some)
        rows = rows.filter(pc.equal(rows["cluster_id"], cluster_id))
        hours = [h for h in rows["hour"].unique().to_pylist() if (some[0].day, h) <= until]
        if hours:
            rows = rows.filter(pc.equal(rows["hour"], max(hours)))
            return KeptRates(rows["observed_at"][0].as_py(), rates_of(rows, cluster_id))
    return None


def rates_of(rows: pa.Table, cluster_id: str) -> Rates:
    """The rates of one hour as a plan takes them, by rows of `rates` with at least the columns `_COUNTED`.

    The fastest interval counts: copies must come to an end at the busiest hour, too. A partition that shrank meanwhile
    is left out: retention or compaction is at work there, so that its rate is too low, by a factor that nobody knows.
    """
    counted = rows.filter(pc.and_(rows[_PEAK].is_valid(), rows["left_out"].is_null()))
    names = map(TopicPartition, counted["topic"].to_pylist(), counted["partition"].to_pylist())
    rates = map(round, counted[_PEAK].to_pylist())
    return Rates(dict(zip(names, rates, strict=True)), cluster_id)


class KeptSpells(Struct, frozen=True):
    """The newest spell of each thing that has drifted, and when the cluster was compared last."""

    compared_at: str
    spells: Mapping[DriftKey, Spell]


def kept_spells(lake: Lake, cluster_id: str, now: str) -> KeptSpells:
    """What the table `history` has of the cluster of this id, at a moment; raises BadFile where nobody compared it."""
    judged = lake.read(JUDGED, f"cluster_id = {quoted(cluster_id)}", ["cluster", "observed_at"])
    names = {*judged.column("cluster").to_pylist()}
    if not names:
        raise BadFile(
            f"{lake.place(HISTORY)}: cluster {cluster_id} was never compared; `replan fleet run` does that"
        )
    where = f"{is_among('cluster', sorted(names))} AND cluster_id = {quoted(cluster_id)}"
    spells = {
        (r["topic"], r["partition"], r["broker"], r["kind"]): Spell(
            r["since"], r["resolved_at"], r["spells"], lately(r["began"], now)
        )
        for r in lake.read(HISTORY, where).to_pylist()
    }
    return KeptSpells(max(judged.column("observed_at").to_pylist()), spells)


def lately(began: Iterable[str], now: str) -> tuple[str, ...]:
    """The moments at which something began, of all those in the last `FLAPPING_DAYS`."""
    oldest = datetime.fromisoformat(now) - timedelta(days=FLAPPING_DAYS)
    return tuple(moment for moment in began if datetime.fromisoformat(moment) > oldest)
