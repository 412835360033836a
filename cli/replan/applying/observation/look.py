"""What one tick sees of the cluster, and the reading of it.

The list of running reassignments comes from the controller and is read first; lists and ISRs come from a broker, whose
metadata may lag. Where both speak of one partition and differ, the broker has not caught up: it is `unclear`, and
nothing is concluded about it in this tick.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from replan.model.broker import Broker
from replan.model.configs import Configs, ConfigScope, TopicSettings
from replan.model.control_plane import ControlPlane
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.model.snapshot import Features


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at everything that a tick needs."""

    brokers: Mapping[BrokerId, Broker]
    running: Mapping[TopicPartition, Reassignment] = field(default_factory=dict)
    partitions: Mapping[TopicPartition, PartitionState] = field(default_factory=dict)
    unclear: frozenset[TopicPartition] = frozenset()
    topics: Mapping[str, TopicSettings] = field(default_factory=dict)
    configs: Mapping[BrokerId, Configs] = field(default_factory=dict)
    """Of the brokers that answered."""
    features: Features = field(default_factory=Features)

    def live(self, broker: BrokerId) -> bool:
        """Whether a broker is registered and not fenced."""
        found = self.brokers.get(broker)
        return found is not None and found.live


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look at."""

    partitions: Collection[TopicPartition]
    topics: Collection[str]
    rates_of: Collection[BrokerId]


def look(control_plane: ControlPlane, wanted: Wanted, features: Features) -> Observation:
    """Read what a tick needs, in the order that makes it mean something; raises ClusterUnreachable."""
    running = control_plane.running()
    shown = control_plane.partitions(wanted.partitions) if wanted.partitions else {}
    partitions: dict[TopicPartition, PartitionState] = {}
    unclear: set[TopicPartition] = set()
    for name, state in shown.items():
        reassignment = running.get(name)
        if reassignment is None:
            partitions[name] = replace(state, adding=(), removing=())
        elif reassignment.replicas == state.replicas:
            partitions[name] = replace(
                state, adding=reassignment.adding, removing=reassignment.removing
            )
        else:
            unclear.add(name)
    return Observation(
        brokers=control_plane.brokers(),
        running=running,
        partitions=partitions,
        unclear=frozenset(unclear),
        topics=control_plane.topic_settings(wanted.topics) if wanted.topics else {},
        configs=_rates(control_plane, wanted.rates_of),
        features=features,
    )


def _rates(control_plane: ControlPlane, brokers: Collection[BrokerId]) -> dict[BrokerId, Configs]:
    if not brokers:
        return {}
    found = control_plane.configs(ConfigScope.BROKER, [str(b) for b in sorted(brokers)])
    return {BrokerId(int(name)): configs for name, configs in found.items()}
