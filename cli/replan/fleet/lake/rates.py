"""The rates of one cluster out of the lake, as a plan takes them."""

from msgspec import Struct

from replan.errors import BadFile
from replan.fleet.lake.delta import Hour, Lake, quoted
from replan.fleet.lake.tables import RATES
from replan.model.names import TopicPartition
from replan.model.rates import Rates


class KeptRates(Struct, frozen=True):
    """Rates, and as of when."""

    observed_at: str
    rates: Rates


def newest_rates(lake: Lake, cluster_id: str) -> KeptRates:
    """The newest that are known; raises BadFile where there are none of this cluster."""
    found = rates_until(lake, cluster_id)
    if found is None:
        raise BadFile(
            f"{lake.place(RATES)}: there are no rates of cluster {cluster_id}; `replan fleet rates` finds them"
        )
    return found


def rates_until(lake: Lake, cluster_id: str, hour: Hour | None = None) -> KeptRates | None:
    """The newest of an hour or of those before it; None where there are none.

    The fastest interval counts: copies must come to an end at the busiest hour, too. A partition that shrank meanwhile
    is left out: retention or compaction is at work there, so that its rate is too low, by a factor that nobody knows.
    """
    where = f"cluster_id = {quoted(cluster_id)}"
    moments = lake.read(RATES, where, ["day", "hour", "observed_at"]).to_pylist()
    if hour is not None:
        moments = [m for m in moments if (str(m["day"]), m["hour"]) <= (str(hour.day), hour.hour)]
    if not moments:
        return None
    newest = max(moments, key=lambda m: (m["day"], m["hour"]))
    at = f"{where} AND day = '{newest['day']}' AND hour = {newest['hour']}"
    columns = ("topic", "partition", "peak_bytes_per_second")
    found = lake.read(
        RATES, f"{at} AND peak_bytes_per_second IS NOT NULL AND left_out IS NULL", columns
    ).to_pylist()
    rates = {TopicPartition(r["topic"], r["partition"]): round(r[columns[2]]) for r in found}
    return KeptRates(newest["observed_at"], Rates(rates, cluster_id))
