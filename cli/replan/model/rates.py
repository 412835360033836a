"""What producers write, as a plan takes it in: bytes per second of each partition, measured or written by hand."""

from collections.abc import Mapping

from msgspec import Struct

from replan.errors import WrongCluster
from replan.model.names import TopicPartition


class Rates(Struct, frozen=True):
    """Produce rates of one cluster."""

    bytes_per_second: Mapping[TopicPartition, int]
    """What producers add to the log; a partition that is left out is not known."""
    cluster_id: str | None = None
    """None: of any cluster."""
    digest: str = ""
    """sha256 of what they say, whatever their layout."""


def check_rates(rates: Rates, cluster_id: str) -> None:
    """Raise WrongCluster for the rates of another cluster."""
    if rates.cluster_id not in {None, cluster_id}:
        raise WrongCluster(
            f"the rates are of cluster {rates.cluster_id}, and the plan is for cluster {cluster_id}; "
            "measure them there, with --measure 30s"
        )
