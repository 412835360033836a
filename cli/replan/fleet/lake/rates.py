"""The rates of one cluster out of the lake, as a plan takes them."""

from dataclasses import dataclass

from replan.errors import BadFile
from replan.fleet.lake.delta import Lake, quoted
from replan.fleet.lake.tables import RATES
from replan.model.names import TopicPartition
from replan.model.rates import Rates


@dataclass(frozen=True, slots=True)
class KeptRates:
    """Rates, and as of when."""

    observed_at: str
    rates: Rates


def newest_rates(lake: Lake, cluster_id: str) -> KeptRates:
    """The newest that are known; raises BadFile where there are none of this cluster.

    The fastest interval counts: copies must come to an end at the busiest hour, too. A partition that shrank meanwhile
    is left out: retention or compaction is at work there, so that its rate is too low, by a factor that nobody knows.
    """
    where = f"cluster_id = {quoted(cluster_id)}"
    moments = lake.read(RATES, where, ["day", "hour", "observed_at"]).to_pylist()
    if not moments:
        raise BadFile(
            f"{lake.place(RATES)}: there are no rates of cluster {cluster_id}; `replan fleet rates` finds them"
        )
    newest = max(moments, key=lambda m: (m["day"], m["hour"]))
    at = f"{where} AND day = '{newest['day']}' AND hour = {newest['hour']}"
    columns = ("topic", "partition", "peak_bytes_per_second")
    found = lake.read(
        RATES, f"{at} AND peak_bytes_per_second IS NOT NULL AND left_out IS NULL", columns
    ).to_pylist()
    rates = {TopicPartition(r["topic"], r["partition"]): round(r[columns[2]]) for r in found}
    return KeptRates(newest["observed_at"], Rates(rates, cluster_id))
