"""What tests ask of a cluster again and again: out of `look`, and what differs."""

from collections.abc import Collection, Mapping

from replan.model.configs import Configs
from replan.model.control_plane import ClusterReader, Wanted, by_broker
from replan.model.declared.placement import Placement
from replan.model.names import BrokerId, TopicPartition
from replan.model.rates import Rates
from replan.model.snapshot import Snapshot
from replan.planning.compared import compared
from replan.planning.findings.drift import Drift, drift_of


def find_drift(placement: Placement, snapshot: Snapshot, rates: Rates | None = None) -> Drift:
    """What differs."""
    return drift_of(compared(placement, snapshot, rates))


def rates_of(cluster: ClusterReader, *brokers: int) -> Mapping[BrokerId, Configs]:
    """The throttle rates of the brokers that answer."""
    return cluster.look(Wanted(rates_of=[BrokerId(b) for b in brokers])).rates


def sizes_of(
    cluster: ClusterReader, names: Collection[TopicPartition]
) -> dict[tuple[TopicPartition, BrokerId], int]:
    """The sizes of all replicas of these partitions, on the brokers that answer."""
    states = cluster.look(Wanted(partitions=names)).partitions
    asked = by_broker({name: state.replicas for name, state in states.items()})
    found = cluster.look(Wanted(sizes_of=asked)).sizes
    return {(name, broker): size for broker, of in found.items() for name, size in of.items()}
