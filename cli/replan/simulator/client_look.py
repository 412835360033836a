"""One look of a client at a simulated cluster: what runs as the controller has it, the rest as brokers show it."""

from collections.abc import Collection, Mapping

from replan.model.control_plane import Look, Wanted, agreeing
from replan.model.names import BrokerId
from replan.model.partition import Reassignment
from replan.simulator.client_view import answers, brokers_shown, replica_sizes, seen
from replan.simulator.cluster.faults import Question
from replan.simulator.cluster.future_logs import log_place
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.config_view import broker_configs, topic_settings
from replan.simulator.controller.state import ClusterState
from replan.simulator.persistence.to_snapshot import features_of


def look_at(simulation: Simulation, shown: ClusterState, wanted: Wanted) -> Look:
    """What is wanted; `shown`: the state whose partitions brokers show, which may be an older one."""
    cluster = simulation.cluster
    states = {
        name: seen(name, shown.topics[name.topic], partition)
        for name in sorted(wanted.partitions)
        if (partition := shown.partition(name)) is not None
    }
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
        brokers=brokers_shown(cluster, {*members, *wanted.registered}),
        running=running,
        partitions=partitions,
        unclear=unclear,
        topics={t: topic_settings(cluster, t) for t in wanted.topics if t in cluster.topics},
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
