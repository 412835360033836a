"""The ControlPlane port over a simulated cluster, and the way to open one in a file (`--simulated FILE`).

The port's calls become commands of the controller, and requests may fail to reach it. A call first lets the cluster
catch up with the clock. A look has what runs as the controller has it, and the rest as brokers show it. Not here: rules
(`controller.decide`) and time (`advance`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.errors import ClusterUnreachable
from replan.model.broker import Broker, LogDir
from replan.model.configs import ConfigChange, ConfigResource, ConfigScope, TopicSettings
from replan.model.control_plane import (
    ELECTIONS_PER_REQUEST,
    Answer,
    Clock,
    ElectionType,
    Look,
    NewPartitions,
    OutcomeUnknown,
    ReplicaName,
    Wanted,
    agreeing,
)
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, Reassignment
from replan.model.replica_logs import EpochEnd, LogEnd, ProbeFailure
from replan.model.snapshot import Features, Snapshot
from replan.simulator.client_view import (
    ShownStates,
    SubjectT,
    answers_of,
    broker_answers,
    broker_configs,
    brokers_shown,
    check_cluster_permissions,
    end_of_epoch,
    hidden_topics,
    log_end,
    partition_shown,
    permission_refusals,
    readable,
    replica_sizes,
    topic_settings,
    unreachable,
    with_unread,
    without_hidden,
)
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import Lookahead, Meter, SimulationListener, advance
from replan.simulator.cluster.apply_fault import apply_fault, later, scheduled
from replan.simulator.cluster.faults import (
    BrokerQuestion,
    Fault,
    LoseRequests,
    Permission,
    RepeatRequests,
    Schedule,
    SendLogMoves,
    SendRequest,
    WriteKind,
)
from replan.simulator.cluster.future_logs import altered, log_place
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.cluster.submit import submit_command
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    ControllerResult,
    CreatePartitions,
    ElectLeaders,
)
from replan.simulator.controller.decide import decide_command
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState, Partition, Topic
from replan.simulator.persistence.from_snapshot import (
    features_of,
    log_dirs_described,
    moment_at,
    observed_snapshot,
)
from replan.simulator.persistence.state_file import StateFile, with_faults_of

EMPTY_LOOK = Look(brokers={}, running={}, partitions={}, unclear=frozenset())


class LastLook(Struct, frozen=True):
    """What a look showed: what is the same in the next one is the same value, and not made again."""

    cluster: ClusterState
    """As the controller had it, and as brokers showed it."""
    shown: ClusterState
    look: Look = EMPTY_LOOK

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
        last = self.look.partitions.get(name) if same else None
        return partition_shown(name, topic, partition) if last is None else last

    def brokers(
        self, cluster: ClusterState, named: Iterable[BrokerId], cordons_of: Collection[BrokerId]
    ) -> Mapping[BrokerId, Broker]:
        """The brokers that a client sees; cordons as of when they were last wanted, now `cordons_of`."""
        before = self.look.brokers
        same = cluster.brokers is self.cluster.brokers and cluster.rules.lists_fenced
        listed = before if same and before else brokers_shown(cluster, named)
        cordoned = {b: of.cordoned for b, of in before.items()}
        cordoned.update((b, cluster.brokers[b].cordoned) for b in cordons_of)
        if all(of.cordoned == cordoned.get(b, False) for b, of in listed.items()):
            return listed
        return {b: replace(of, cordoned=cordoned.get(b, False)) for b, of in listed.items()}

    def settings(self, cluster: ClusterState, name: str) -> TopicSettings:
        """The settings of a topic."""
        before, last = self.cluster, self.look.topics.get(name)
        places = ((ConfigScope.TOPIC, name), CLUSTER_DEFAULT)
        same = before.file_configs is cluster.file_configs and all(
            before.configs.get(place) is cluster.configs.get(place) for place in places
        )
        return last if same and last is not None else topic_settings(cluster, name)


def look_at(simulation: Simulation, shown: ClusterState, wanted: Wanted, last: LastLook) -> Look:
    """What is wanted; `shown`: the state whose partitions brokers show, which may be an older one."""
    cluster = simulation.cluster
    states = dict(last.states(shown, sorted(wanted.partitions)))
    running = {
        name: Reassignment(p.replicas, p.adding, p.removing) for name, p in cluster.reassigning()
    }
    partitions, unclear = agreeing(states, running)
    members = {broker for state in partitions.values() for broker in state.replicas}
    questions: dict[BrokerQuestion, Collection[BrokerId]] = {
        BrokerQuestion.RATES: wanted.rates_of,
        BrokerQuestion.SIZES: {*wanted.cordons_of, *wanted.sizes_of, *wanted.places_of},
    }
    answering = {
        q: {b for b in of if broker_answers(simulation, b, q)} for q, of in questions.items()
    }
    return Look(
        brokers=last.brokers(
            cluster,
            {*members, *wanted.registered},
            answering[BrokerQuestion.SIZES] & set(wanted.cordons_of),
        ),
        running=running,
        partitions=partitions,
        unclear=unclear,
        topics={t: last.settings(cluster, t) for t in wanted.topics if t in cluster.topics},
        rates={b: broker_configs(cluster, b) for b in sorted(answering[BrokerQuestion.RATES])},
        sizes={
            b: replica_sizes(simulation, b, of)
            for b, of in wanted.sizes_of.items()
            if b in answering[BrokerQuestion.SIZES]
        },
        places={
            b: {name: log_place(simulation, (name, b)) for name in sorted(of)}
            for b, of in wanted.places_of.items()
            if b in answering[BrokerQuestion.SIZES]
        },
        silent=_silent(cluster, questions, answering),
        features=features_of(cluster),
    )


def _silent(
    cluster: ClusterState,
    questions: Mapping[BrokerQuestion, Collection[BrokerId]],
    answering: Mapping[BrokerQuestion, Collection[BrokerId]],
) -> dict[BrokerId, str]:
    """Brokers that are live, as the controller knows, and do not answer."""
    return {
        b: "the broker does not answer"
        for q, of in questions.items()
        for b in sorted(of)
        if b in cluster.brokers and not cluster.brokers[b].fenced and b not in answering[q]
    }


REASSIGNMENTS_PER_REQUEST = 5_000

_T = TypeVar("_T")


class SimulatedControlPlane:
    """A cluster in memory; its time is that of the clock it was given."""

    def __init__(
        self,
        simulation: Simulation,
        clock: Clock,
        *,
        schedule: Schedule = (),
        watch: SimulationListener | None = None,
        store: StateFile | None = None,
        meter: Meter | None = None,
    ) -> None:
        """`schedule` is in seconds of the clock.

        `watch` sees every state that the controller goes through, `meter` every stretch of time between events.
        """
        self.clock = clock
        self._simulation = replace(simulation, world=scheduled(simulation.world, schedule))
        self._watch = watch
        self._store = store
        self._meter = meter
        self._lookahead = Lookahead()
        self._shown = ShownStates(clock.now(), simulation.cluster)
        self._last_look = LastLook(simulation.cluster, simulation.cluster)

    @property
    def simulation(self) -> Simulation:
        """The cluster as it is now, with what no client can see."""
        self._catch_up()
        return self._simulation

    def next_moment(self) -> float:
        """The second in which something will happen by itself, if no request comes before."""
        self._catch_up()
        return self._lookahead.next_moment(self._simulation)

    def idle(self) -> bool:
        """Whether nothing from outside is still to come: what can happen by itself happens within minutes."""
        self._catch_up()
        return not self._simulation.world.agenda

    def moment(self) -> datetime:
        """What time it is there."""
        return moment_at(self._simulation.world, self.clock.now())

    def inject(self, fault: Fault) -> None:
        """Let something happen now, from outside."""
        self._catch_up()
        self._simulation = apply_fault(self._simulation, fault)
        self._saw()

    def schedule(self, schedule: Schedule) -> None:
        """Put faults on the agenda."""
        self._catch_up()
        self._simulation = replace(
            self._simulation, world=scheduled(self._simulation.world, schedule)
        )

    def connect_again(self) -> None:
        """Read as another process: what it is shown may be older than what this one was shown."""
        self._shown.forget_what_was_shown()

    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._read().cluster.cluster_id

    def features(self) -> Features:
        """What the cluster can do."""
        return features_of(self._read().cluster)

    def observe(self) -> Snapshot:
        """Everything at this moment."""
        simulation = self._read()
        check_cluster_permissions(
            simulation.world, Permission.DESCRIBE, Permission.DESCRIBE_CONFIGS
        )
        snapshot = observed_snapshot(without_hidden(simulation), self.clock.now())
        return replace(with_unread(simulation.world, snapshot), hidden=hidden_topics(simulation))

    def look(self, wanted: Wanted) -> Look:
        """What is wanted: lists of what runs as the controller has them, partitions as brokers show them."""
        simulation = self._read()
        check_cluster_permissions(simulation.world, Permission.DESCRIBE)
        if wanted.rates_of:
            check_cluster_permissions(simulation.world, Permission.DESCRIBE_CONFIGS)
        shown = self._shown.at(simulation)
        answer = look_at(simulation, shown, wanted, self._last_look)
        self._last_look = LastLook(simulation.cluster, shown, answer)
        if simulation.world.look_seconds:
            self.clock.sleep(simulation.world.look_seconds)
        return readable(simulation.world, wanted, answer)

    def log_dirs(self) -> Sequence[LogDir]:
        """The log directories of the brokers that answer."""
        simulation = self._read()
        check_cluster_permissions(simulation.world, Permission.DESCRIBE)
        return log_dirs_described(simulation)

    def log_ends(
        self, wanted: Mapping[BrokerId, Collection[TopicPartition]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, LogEnd | ProbeFailure]]:
        """Where replicas end."""
        simulation = self._read()
        return {b: {n: log_end(simulation, b, n) for n in of} for b, of in wanted.items()}

    def epoch_ends(
        self, wanted: Mapping[BrokerId, Mapping[TopicPartition, int]]
    ) -> Mapping[BrokerId, Mapping[TopicPartition, EpochEnd | ProbeFailure]]:
        """The largest epoch up to a given one in each replica, and its end."""
        simulation = self._read()
        return {
            b: {n: end_of_epoch(simulation, b, n, epoch) for n, epoch in of.items()}
            for b, of in wanted.items()
        }

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for new lists; a version that does not know the guard goes without it."""
        self._catch_up()
        check_cluster_permissions(self._simulation.world, Permission.ALTER)
        guarded = not allow_replication_factor_change and self.features().replication_factor_guard
        answers: dict[TopicPartition, Answer] = {}
        for chunk in _chunks(list(lists), REASSIGNMENTS_PER_REQUEST):
            items = tuple((name, lists[name]) for name in chunk)
            command = AlterReassignments(items, allow_replication_factor_change=not guarded)
            answers |= self._request(WriteKind.REASSIGN, SendRequest(command), chunk)
        return answers

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections."""
        self._catch_up()
        check_cluster_permissions(self._simulation.world, Permission.ALTER)
        answers: dict[TopicPartition, Answer] = {}
        for chunk in _chunks(sorted(partitions), ELECTIONS_PER_REQUEST):
            command = ElectLeaders(tuple(chunk), kind)
            answers |= self._request(WriteKind.ELECT, SendRequest(command), chunk)
        return answers

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """Add partitions, a topic at a time."""
        self._catch_up()
        commands, answers = self._creating(added)
        for command in commands:
            answers |= self._request(WriteKind.CREATE, SendRequest(command), [command.topic])
        return answers

    def would_create(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """What that would be answered now."""
        cluster = self._read().cluster
        commands, answers = self._creating(added)
        for command in commands:
            answers |= answers_of(decide_command(cluster, command), [command.topic])
        return answers

    def _creating(
        self, added: Mapping[str, NewPartitions]
    ) -> tuple[list[CreatePartitions], dict[str, Answer]]:
        """What reaches the controller, and the answers for topics that this user may not alter."""
        world = self._simulation.world
        answers = permission_refusals(world, Permission.ALTER, ((t, t) for t in added))
        allowed = sorted((t, new) for t, new in added.items() if t not in answers)
        return [CreatePartitions(t, new.count, new.lists) for t, new in allowed], answers

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        """Copy replicas to other log directories; each broker is asked itself."""
        self._catch_up()
        check_cluster_permissions(self._simulation.world, Permission.ALTER)
        answers: dict[ReplicaName, Answer] = {
            (name, broker): OutcomeUnknown(f"broker {broker} does not answer")
            for name, broker in paths
            if not broker_answers(self._simulation, broker, BrokerQuestion.CHANGES)
        }
        reachable = {replica: path for replica, path in paths.items() if replica not in answers}
        if reachable:
            moves = SendLogMoves(reachable)
            answers |= self._request(WriteKind.MOVE_LOGS, moves, list(reachable))
        return answers

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """Change configurations; a broker's own are sent to that broker, which may be dead."""
        self._catch_up()
        command, answers = self._reaching(changes)
        if command.changes:
            resources = [(c.scope, c.name) for c in command.changes]
            answers |= self._request(WriteKind.CONFIGURE, SendRequest(command), resources)
        return answers

    def would_alter(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Answer]:
        """What that would be answered now."""
        cluster = self._read().cluster
        command, answers = self._reaching(changes)
        resources = [(c.scope, c.name) for c in command.changes]
        return answers | answers_of(decide_command(cluster, command), resources)

    def _reaching(
        self, changes: Sequence[ConfigChange]
    ) -> tuple[AlterConfigs, dict[ConfigResource, Answer]]:
        """What reaches the controller, and the other answers: of silent brokers, of missing permissions."""
        answers: dict[ConfigResource, Answer] = {
            (change.scope, change.name): reason
            for change in changes
            if change.scope is ConfigScope.BROKER
            and (reason := unreachable(self._simulation, change.name)) is not None
        }
        for scope in ConfigScope:
            names = {c.name for c in changes if c.scope is scope}
            own = ((n if scope is ConfigScope.TOPIC else None, n) for n in names)
            no = permission_refusals(self._simulation.world, Permission.ALTER_CONFIGS, own)
            answers |= {(scope, name): answer for name, answer in no.items()}
        reachable = tuple(c for c in changes if (c.scope, c.name) not in answers)
        return AlterConfigs(reachable), answers

    def close(self) -> None:
        """Store the last state, and release the store."""
        if self._store is not None:
            self._catch_up()
            self._store.release(self._simulation)

    def _request(
        self, kind: WriteKind, request: SendRequest | SendLogMoves, subjects: Sequence[SubjectT]
    ) -> dict[SubjectT, Answer]:
        """Send one request; it may be lost on the way there or on the way back."""
        self._catch_up()
        if self._store is not None and (edited := self._store.lock()) is not None:
            self._simulation = with_faults_of(self._simulation.world, edited)
        world = self._simulation.world
        if world.now < world.unreachable_until:
            return dict.fromkeys(subjects, OutcomeUnknown("the cluster does not answer"))
        trouble = self._trouble(kind)
        if isinstance(trouble, LoseRequests):
            if trouble.effect_after_seconds is not None:
                world = later(self._simulation.world, trouble.effect_after_seconds, request)
                self._simulation = replace(self._simulation, world=world)
                self._catch_up()
            return dict.fromkeys(subjects, OutcomeUnknown("the request timed out"))
        if trouble is not None:
            self._perform(request)
        return answers_of(self._perform(request), subjects)

    def _perform(self, request: SendRequest | SendLogMoves) -> ControllerResult:
        if isinstance(request, SendLogMoves):
            simulation, answers = altered(self._simulation, request.paths)
            decision, changed = ControllerResult(each=tuple(answers.items())), True
        else:
            simulation, decision = submit_command(self._simulation, request.command)
            changed = bool(decision.events)
        self._simulation = simulation
        if changed:
            self._saw()
            if self._store is not None:
                self._store.keep(self._simulation)
        return decision

    def _trouble(self, kind: WriteKind) -> LoseRequests | RepeatRequests | None:
        """Take what the next request of this kind meets on its way."""
        troubles = self._simulation.world.troubles
        at = next((i for i, trouble in enumerate(troubles) if trouble.kind is kind), None)
        if at is None:
            return None
        taken = troubles[at]
        rest = (replace(taken, times=taken.times - 1),) if taken.times > 1 else ()
        left = (*troubles[:at], *rest, *troubles[at + 1 :])
        self._simulation = replace(
            self._simulation, world=replace(self._simulation.world, troubles=left)
        )
        return taken

    def _read(self) -> Simulation:
        self._catch_up()
        world = self._simulation.world
        if world.now < world.unreachable_until:
            raise ClusterUnreachable(
                f"the simulated cluster does not answer until second {world.unreachable_until:g}"
            )
        return self._simulation

    def _catch_up(self) -> None:
        self._simulation = advance(
            self._simulation, self.clock.now(), self._witness, self._meter, self._lookahead
        )

    def _witness(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._saw()

    def _saw(self) -> None:
        self._shown.add(self._simulation)
        if self._watch is not None:
            self._watch(self._simulation)


def _chunks(items: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def open_simulated(path: Path) -> SimulatedControlPlane:
    """The cluster in a file, with a clock at the time of the file.

    Raises:
        BadFile: the file cannot be read, or describes no cluster.
    """
    kept = StateFile(path)
    simulation = kept.read()
    kept.clock = VirtualClock(simulation.world.now)
    return SimulatedControlPlane(simulation, kept.clock, store=kept)
