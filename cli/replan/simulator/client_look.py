"""One look of a client at a simulated cluster: what runs as the controller has it, the rest as brokers show it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from replan.model.broker import Broker
from replan.model.configs import ConfigScope, TopicSettings
from replan.model.control_plane import Look, Wanted, agreeing
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.simulator.client_view import (
    answers,
    broker_configs,
    brokers_shown,
    replica_sizes,
    seen,
    topic_settings,
)
from replan.simulator.cluster.faults import Question
from replan.simulator.cluster.future_logs import log_place
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Partition, Topic
from replan.simulator.persistence.from_snapshot import features_of

NOTHING = Look(brokers={}, running={}, partitions={}, unclear=frozenset())


@dataclass(frozen=True, slots=True)
class LastLook:
    """What a look showed: what is the same in the next one is the same value, and not made again."""

    cluster: ClusterState
    """As the controller had it, and as brokers showed it."""
    shown: ClusterState
    look: Look = NOTHING

    def states(
        self, shown: ClusterState, names: Iterable[TopicPartition]
    ) -> Iterator[tuple[TopicPartition, PartitionState]]:
        """These partitions as brokers show them now; what runs on them may be as of the look before."""
        for name in names:
            topic = shown.topics.get(name.topic)
            partition = None if topic is None else topic.partitions.get(name.partition)
            if topic is not None and partition is not None:
                yield name, self._state(name, topic, partition)

    def _state(self, name: TopicPartition, topic: Topic, partition: Partition) -> PartitionState:
        before = self.shown.topics.get(name.topic)
        same = before is topic or (
            before is not None
            and before.id == topic.id
            and before.partitions.get(name.partition) is partition
        )
        known = self.look.partitions.get(name) if same else None
        return seen(name, topic, partition) if known is None else known

    def brokers(
        self, cluster: ClusterState, named: Iterable[BrokerId]
    ) -> Mapping[BrokerId, Broker]:
        """The brokers that a client sees."""
        same = cluster.brokers is self.cluster.brokers and cluster.rules.lists_fenced
        return self.look.brokers if same and self.look.brokers else brokers_shown(cluster, named)

    def settings(self, cluster: ClusterState, name: str) -> TopicSettings:
        """The settings of a topic."""
        before, known = self.cluster, self.look.topics.get(name)
        places = ((ConfigScope.TOPIC, name), CLUSTER_DEFAULT)
        same = before.file_configs is cluster.file_configs and all(
            before.configs.get(place) is cluster.configs.get(place) for place in places
        )
        return known if same and known is not None else topic_settings(cluster, name)


def look_at(simulation: Simulation, shown: ClusterState, wanted: Wanted, last: LastLook) -> Look:
    """What is wanted; `shown`: the state whose partitions brokers show, which may be an older one."""
    cluster = simulation.cluster
    states = dict(last.states(shown, sorted(wanted.partitions)))
    running = {
        name: Reassignment(p.replicas, p.adding, p.removing) for name, p in cluster.reassigning()
    }
    partitions, unclear = agreeing(states, running)
    members = {broker for state in partitions.values() for broker in state.replicas}
    asked: dict[Question, Collection[BrokerId]] = {
        Question.RATES: wanted.rates_of,
        Question.SIZES: {*wanted.cordons_of, *wanted.sizes_of, *wanted.places_of},
    }
    answering = {q: {b for b in of if answers(simulation, b, q)} for q, of in asked.items()}
    return Look(
        brokers=last.brokers(cluster, {*members, *wanted.registered}),
        running=running,
        partitions=partitions,
        unclear=unclear,
        topics={t: last.settings(cluster, t) for t in wanted.topics if t in cluster.topics},
        rates={b: broker_configs(cluster, b) for b in sorted(answering[Question.RATES])},
        sizes={
            b: replica_sizes(simulation, b, of)
            for b, of in wanted.sizes_of.items()
            if b in answering[Question.SIZES]
        },
        places={
            b: {name: log_place(simulation, (name, b)) for name in sorted(of)}
            for b, of in wanted.places_of.items()
            if b in answering[Question.SIZES]
        },
        silent=_silent(cluster, asked, answering),
        features=features_of(cluster),
    )


def _silent(
    cluster: ClusterState,
    asked: Mapping[Question, Collection[BrokerId]],
    answering: Mapping[Question, Collection[BrokerId]],
) -> dict[BrokerId, str]:
    """Brokers that are live, as the controller knows, and do not answer."""
    return {
        b: "the broker does not answer"
        for q, of in asked.items()
        for b in sorted(of)
        if b in cluster.brokers and not cluster.brokers[b].fenced and b not in answering[q]
    }
