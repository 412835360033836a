"""What a client sees of a simulated cluster: partitions as brokers show them, answers as the port has them.

What brokers show may be old: the states of a while are kept, and a client is shown one of them. Configurations are
effective values, each with its source, in Kafka's order of look-up (DescribeConfigs). Not here: sending
(`control_plane`), and changing configurations (`controller.configs`).
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa
from msgspec.structs import replace

from replan.errors import ClusterRefused
from replan.model.broker import Broker
from replan.model.configs import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    THROTTLE_RATES,
    UNCLEAN_ELECTION,
    UNREAD,
    Configs,
    ConfigScope,
    ConfigSource,
    ConfigValue,
    TopicSettings,
)
from replan.model.control_plane import (
    Accepted,
    Answer,
    Look,
    OutcomeUnknown,
    Rejected,
    TopicPermission,
    Wanted,
)
from replan.model.error_codes import UNKNOWN_OUTCOMES, ErrorCode
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.replica_logs import EpochEnd, LogEnd, ProbeFailure, ProbeProblem
from replan.model.snapshot import TOPICS_SCHEMA, Snapshot
from replan.simulator.cluster.disks import lies_on_lost_disk
from replan.simulator.cluster.faults import BrokerQuestion, Permission
from replan.simulator.cluster.physical_state import (
    Log,
    Simulation,
    World,
    epoch_end,
    of_partition,
    offset,
)
from replan.simulator.controller.commands import CommandSubject, ControllerResult, rejection
from replan.simulator.controller.configs import DEFAULTS, as_described
from replan.simulator.controller.state import (
    CLUSTER_DEFAULT,
    BrokerRegistration,
    ClusterState,
    Partition,
    Topic,
)

SubjectT = TypeVar("SubjectT", bound=CommandSubject)


def broker_shown(registration: BrokerRegistration) -> Broker:
    """A registration as the model knows it."""
    return Broker(registration.id, registration.rack, registration.fenced, registration.cordoned)


def brokers_shown(cluster: ClusterState, named: Iterable[BrokerId]) -> dict[BrokerId, Broker]:
    """The brokers that a client sees; before 4.1 (KIP-1073) of the fenced ones only those it can name, no racks."""
    registered = {b: broker_shown(r) for b, r in sorted(cluster.brokers.items())}
    if cluster.rules.lists_fenced:
        return registered
    live = {b: broker for b, broker in registered.items() if broker.live}
    unlisted = {b: Broker(b, fenced=True) for b in named if b in registered and b not in live}
    return dict(sorted({**live, **unlisted}.items()))


def broker_answers(simulation: Simulation, broker: BrokerId, question: BrokerQuestion) -> bool:
    """Whether a broker answers this about itself; one that is not registered is not known to anybody."""
    registration, world = simulation.cluster.brokers.get(broker), simulation.world
    if registration is None or registration.fenced or not world.serves(broker):
        return False
    return question not in world.unresponsive.get(broker, ())


def unreachable(simulation: Simulation, name: str) -> Answer | None:
    """The answer where a broker cannot be asked: known to be fenced, or dead and not fenced yet."""
    registered = {str(b): r for b, r in simulation.cluster.brokers.items()}
    if name not in registered or registered[name].fenced:
        return rejection(
            ErrorCode.INVALID_REQUEST,
            f"broker {name} is not live, and only a broker itself can change its configuration; "
            "ask again when it is back",
        )
    if not broker_answers(simulation, registered[name].id, BrokerQuestion.CHANGES):
        return OutcomeUnknown(f"broker {name} does not answer")
    return None


def answers_of(decision: ControllerResult, subjects: Sequence[SubjectT]) -> dict[SubjectT, Answer]:
    """The answers by subject; where the whole request failed, that answer for each."""
    if not isinstance(decision.whole, Accepted):
        return dict.fromkeys(subjects, _as_a_client_takes_it(decision.whole))
    answers: dict[CommandSubject, Answer] = dict(decision.each)
    return {subject: _as_a_client_takes_it(answers[subject]) for subject in subjects}


def _as_a_client_takes_it(answer: Answer) -> Answer:
    """What a client makes of an answer: some codes do not say what became of the request."""
    if isinstance(answer, Rejected) and answer.code in UNKNOWN_OUTCOMES:
        return OutcomeUnknown(f"{answer.name}: {answer.message}")
    return answer


def partition_shown(name: TopicPartition, topic: Topic, partition: Partition) -> PartitionState:
    """A partition as brokers show it."""
    return PartitionState(
        partition=name,
        topic_id=topic.id,
        replicas=partition.replicas,
        isr=partition.isr,
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
    )


def replica_sizes(
    simulation: Simulation, broker: BrokerId, wanted: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The sizes of the replicas that a broker has on disks that work."""
    return {
        name: simulation.world.replica_bytes(name, broker)
        for name in sorted(wanted)
        if (partition := simulation.cluster.partition(name)) is not None
        and broker in partition.replicas
        and not lies_on_lost_disk(simulation.world, (name, broker))
    }


def log_end(
    simulation: Simulation, broker: BrokerId, name: TopicPartition
) -> LogEnd | ProbeFailure:
    """Where a replica's log ends, as its broker says."""
    log = _own_log(simulation, broker, name)
    if isinstance(log, ProbeFailure):
        return log
    partition = simulation.cluster.partition(name)
    epoch = -1 if partition is None else partition.leader_epoch
    return LogEnd(offset(log.bytes, simulation.world.speeds.record_bytes), epoch, 0)


def end_of_epoch(
    simulation: Simulation, broker: BrokerId, name: TopicPartition, epoch: int
) -> EpochEnd | ProbeFailure:
    """The largest epoch of a replica's log up to a given one, as its broker says."""
    log = _own_log(simulation, broker, name)
    if isinstance(log, ProbeFailure):
        return log
    return epoch_end(log, epoch, simulation.world.speeds.record_bytes)


def _own_log(simulation: Simulation, broker: BrokerId, name: TopicPartition) -> Log | ProbeFailure:
    cluster, world = simulation.cluster, simulation.world
    if not broker_answers(simulation, broker, BrokerQuestion.SIZES):
        return ProbeFailure(ProbeProblem.SILENT, reason="the broker does not answer")
    partition = cluster.partition(name)
    if partition is None or broker not in partition.replicas:
        return ProbeFailure(ProbeProblem.NO_REPLICA, 3, "UNKNOWN_TOPIC_OR_PARTITION")
    if lies_on_lost_disk(world, (name, broker)):
        return ProbeFailure(ProbeProblem.OFFLINE, 56, "KAFKA_STORAGE_ERROR")
    size = world.sizes.get(name, 0.0)
    logs = of_partition(name, size, world.epochs, world.lags, world.parted, partition.replicas)
    return logs.log(broker)


LONGEST_LAG_SECONDS = 10.0
"""How far back brokers may show partitions at once: 3.8 to 8 s have been measured after a change of the home broker."""


class ShownStates:
    """The states that brokers may still show."""

    def __init__(self, now: float, cluster: ClusterState) -> None:
        self._states: deque[tuple[float, ClusterState]] = deque([(now, cluster)])
        self._from = float("-inf")

    def add(self, simulation: Simulation) -> None:
        """A new state; what is older than any lag so far, or than one that another home broker may have, is dropped."""
        world = simulation.world
        self._states.append((world.now, simulation.cluster))
        moment = world.now - max(world.metadata_lag_seconds, LONGEST_LAG_SECONDS)
        while len(self._states) > 1 and self._states[1][0] <= moment:
            self._states.popleft()

    def at(self, simulation: Simulation) -> ClusterState:
        """What is shown now: the last state that is old enough, and none before one that was shown already."""
        world = simulation.world
        self._from = max(self._from, world.now - world.metadata_lag_seconds)
        if not world.metadata_lag_seconds:
            return simulation.cluster
        old = (cluster for at, cluster in reversed(self._states) if at <= self._from)
        return next(old, self._states[0][1])

    def forget_what_was_shown(self) -> None:
        """Another client reads: what it is shown may be older than what the last one was shown."""
        self._from = float("-inf")


def topic_configs(state: ClusterState, topic: str) -> Configs:
    """The keys of a topic that replan knows, whatever their source."""
    layers = (
        (ConfigSource.KAFKA_DEFAULT, dict(DEFAULTS)),
        (ConfigSource.BROKER_FILE, state.file_configs.get("", {})),
        (ConfigSource.CLUSTER_DEFAULT, state.configs.get(CLUSTER_DEFAULT, {})),
        (ConfigSource.TOPIC, state.configs.get((ConfigScope.TOPIC, topic), {})),
    )
    return {
        key: ConfigValue(as_described(key, values[key]), source)
        for source, values in layers
        for key, _ in DEFAULTS
        if key in values
    }


def broker_configs(state: ClusterState, broker: BrokerId) -> Configs:
    """A broker's throttle rates; one that is set nowhere is left out."""
    layers = (
        (ConfigSource.BROKER_FILE, state.file_configs.get(str(broker), {})),
        (ConfigSource.CLUSTER_DEFAULT, state.configs.get(CLUSTER_DEFAULT, {})),
        (ConfigSource.BROKER, state.configs.get((ConfigScope.BROKER, str(broker)), {})),
    )
    return {
        key: ConfigValue(values[key], source)
        for source, values in layers
        for key in THROTTLE_RATES
        if key in values
    }


def topic_settings(state: ClusterState, topic: str) -> TopicSettings:
    """What safety needs to know of a topic."""
    configs = topic_configs(state, topic)
    leader, follower = configs[LEADER_REPLICAS], configs[FOLLOWER_REPLICAS]
    return TopicSettings(
        int(configs[MIN_INSYNC_REPLICAS].value),
        configs[MIN_INSYNC_REPLICAS].source,
        configs[UNCLEAN_ELECTION].value.strip().lower() == "true",
        leader.value if leader.source is ConfigSource.TOPIC else None,
        follower.value if follower.source is ConfigSource.TOPIC else None,
    )


# What replan's user may not do with a simulated cluster, and how requests and readings show that.
#
# What concerns one topic is answered for that topic alone; what concerns the cluster refuses the whole request, as in
# Kafka (KafkaApis, AclAuthorizer): DescribeLogDirs, ListPartitionReassignments and every list and election.

_ACLS = {
    Permission.DESCRIBE: "Describe",
    Permission.DESCRIBE_CONFIGS: "DescribeConfigs",
    Permission.ALTER: "Alter",
    Permission.ALTER_CONFIGS: "AlterConfigs",
}


def lacks_permission(world: World, permission: Permission, topic: str | None = None) -> bool:
    """Whether the user may not do this with a topic, or with the cluster."""
    return permission in world.forbidden.get(topic, ())


def check_cluster_permissions(world: World, *needed: Permission) -> None:
    """Raise ClusterRefused where the user may not do all of this with the cluster."""
    for permission in needed:
        if lacks_permission(world, permission):
            raise ClusterRefused(f"this user needs the ACL {_ACLS[permission]} on Cluster")


def permission_refusals(
    world: World, permission: Permission, resources: Iterable[tuple[str | None, str]]
) -> dict[str, Answer]:
    """The answers to what the user may not do; each resource with the topic that it is, None for a broker."""
    return {
        name: rejection(
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            if topic is None
            else ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            f"this user needs the ACL {_ACLS[permission]}",
        )
        for topic, name in resources
        if lacks_permission(world, permission, topic)
    }


def readable(world: World, wanted: Wanted, look: Look) -> Look:
    """A look without what this user may not read of topics."""
    topics = {name.topic for name in wanted.partitions}
    hidden = {t for t in topics if lacks_permission(world, Permission.DESCRIBE, t)}
    unread = {t for t in wanted.topics if lacks_permission(world, Permission.DESCRIBE_CONFIGS, t)}
    if not hidden and not unread:
        return look
    return replace(
        look,
        partitions={n: state for n, state in look.partitions.items() if n.topic not in hidden},
        unclear=frozenset(n for n in look.unclear if n.topic not in hidden),
        topics={t: settings for t, settings in look.topics.items() if t not in unread},
        forbidden=dict.fromkeys(unread, TopicPermission.DESCRIBE_CONFIGS)
        | dict.fromkeys(hidden, TopicPermission.DESCRIBE),
    )


def without_hidden(simulation: Simulation) -> Simulation:
    """The cluster with the topics that this user may describe."""
    cluster, hidden = simulation.cluster, hidden_topics(simulation)
    if not hidden:
        return simulation
    kept = {name: topic for name, topic in cluster.topics.items() if name not in hidden}
    return replace(simulation, cluster=replace(cluster, topics=kept))


def hidden_topics(simulation: Simulation) -> tuple[str, ...]:
    """The topics that this user may not describe."""
    world = simulation.world
    return tuple(
        t
        for t in sorted(simulation.cluster.topics)
        if lacks_permission(world, Permission.DESCRIBE, t)
    )


def with_unread(world: World, snapshot: Snapshot) -> Snapshot:
    """A snapshot in which the settings of topics that this user may not read are marked."""
    unread = [
        t for t in world.forbidden if t and lacks_permission(world, Permission.DESCRIBE_CONFIGS, t)
    ]
    return replace(snapshot, topics=_marked(snapshot.topics, unread)) if unread else snapshot


def _marked(topics: pa.Table, unread: Collection[str]) -> pa.Table:
    nothing = {
        "min_insync_replicas": UNREAD.min_insync_replicas,
        "min_insync_source": int(UNREAD.min_insync_source),
        "unclean_election": UNREAD.unclean_election,
        "leader_throttled": None,
        "follower_throttled": None,
    }
    rows = [row | nothing if row["name"] in unread else row for row in topics.to_pylist()]
    return pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)
