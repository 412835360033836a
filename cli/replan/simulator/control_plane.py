"""The ControlPlane port over a simulated cluster.

Here belong the translation of the port's calls into commands, and how requests fail to reach the controller. A call
first lets the cluster catch up with the clock. Not here: rules (`decide`) and time (`advance`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from replan.errors import ClusterUnreachable
from replan.model.broker import LogDir
from replan.model.configs import ConfigChange, ConfigScope
from replan.model.control_plane import (
    Answer,
    Clock,
    ElectionType,
    Look,
    NewPartitions,
    OutcomeUnknown,
    ReplicaName,
    Wanted,
)
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.replica_logs import EpochEnd, LogEnd, ProbeFailure
from replan.model.snapshot import Features, Snapshot
from replan.simulator.client_look import LastLook, look_at
from replan.simulator.client_view import (
    Shown,
    SubjectT,
    answers,
    answers_of,
    check_cluster,
    end_of_epoch,
    hidden_topics,
    log_end,
    readable,
    refused,
    unreachable,
    with_unread,
    without_hidden,
)
from replan.simulator.cluster.advance import Lookahead, Meter, advance
from replan.simulator.cluster.apply_fault import apply_fault, later, scheduled
from replan.simulator.cluster.faults import (
    Ask,
    Fault,
    LoseRequests,
    Permission,
    Question,
    RepeatRequests,
    RequestKind,
    Schedule,
)
from replan.simulator.cluster.future_logs import altered
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.cluster.submit import ask
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    Command,
    CreatePartitions,
    Decision,
    ElectLeaders,
)
from replan.simulator.controller.decide import decide
from replan.simulator.persistence.from_snapshot import (
    features_of,
    log_dirs_described,
    to_snapshot,
)
from replan.simulator.persistence.state_file import StateStore

REASSIGNMENTS_PER_REQUEST = 5_000
ELECTIONS_PER_REQUEST = 1_000

T = TypeVar("T")
Watch = Callable[[Simulation], None]


class SimulatedControlPlane:
    """A cluster in memory; its time is that of the clock it was given."""

    def __init__(
        self,
        simulation: Simulation,
        clock: Clock,
        *,
        schedule: Schedule = (),
        watch: Watch | None = None,
        store: StateStore | None = None,
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
        self._shown = Shown(clock.now(), simulation.cluster)
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

    def inject(self, fault: Fault) -> None:
        """Let something happen now, from outside."""
        self._catch_up()
        self._become(apply_fault(self._simulation, fault))
        self._saw()

    def schedule(self, schedule: Schedule) -> None:
        """Put faults on the agenda."""
        self._catch_up()
        self._become(replace(self._simulation, world=scheduled(self._simulation.world, schedule)))

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
        check_cluster(simulation.world, Permission.DESCRIBE, Permission.DESCRIBE_CONFIGS)
        seen = to_snapshot(without_hidden(simulation), self.clock.now())
        return replace(with_unread(simulation.world, seen), hidden=hidden_topics(simulation))

    def look(self, wanted: Wanted) -> Look:
        """What is wanted: lists of what runs as the controller has them, partitions as brokers show them."""
        simulation = self._read()
        check_cluster(simulation.world, Permission.DESCRIBE)
        if wanted.rates_of:
            check_cluster(simulation.world, Permission.DESCRIBE_CONFIGS)
        shown = self._shown.at(simulation)
        seen = look_at(simulation, shown, wanted, self._last_look)
        self._last_look = LastLook(simulation.cluster, shown, seen)
        if simulation.world.look_seconds:
            self.clock.sleep(simulation.world.look_seconds)
        return readable(simulation.world, wanted, seen)

    def log_dirs(self) -> Sequence[LogDir]:
        """The log directories of the brokers that answer."""
        simulation = self._read()
        check_cluster(simulation.world, Permission.DESCRIBE)
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
        check_cluster(self._simulation.world, Permission.ALTER)
        guarded = not allow_replication_factor_change and self.features().replication_factor_guard
        found: dict[TopicPartition, Answer] = {}
        for chunk in _chunks(list(lists), REASSIGNMENTS_PER_REQUEST):
            items = tuple((name, lists[name]) for name in chunk)
            command = AlterReassignments(items, allow_replication_factor_change=not guarded)
            found |= self._request(RequestKind.REASSIGN, command, chunk)
        return found

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        """Ask for elections."""
        self._catch_up()
        check_cluster(self._simulation.world, Permission.ALTER)
        found: dict[TopicPartition, Answer] = {}
        for chunk in _chunks(sorted(partitions), ELECTIONS_PER_REQUEST):
            command = ElectLeaders(tuple(chunk), kind)
            found |= self._request(RequestKind.ELECT, command, chunk)
        return found

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """Add partitions, a topic at a time."""
        self._catch_up()
        found = refused(self._simulation.world, Permission.ALTER, ((t, t) for t in added))
        for topic, new in sorted((t, new) for t, new in added.items() if t not in found):
            command = CreatePartitions(topic, new.count, new.lists)
            found |= self._request(RequestKind.CREATE, command, [topic])
        return found

    def would_create(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        """What that would be answered now."""
        cluster, found = self._read().cluster, dict[str, Answer]()
        for topic, new in sorted(added.items()):
            decision = decide(cluster, CreatePartitions(topic, new.count, new.lists))
            found |= answers_of(decision, [topic])
        return found

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        """Copy replicas to other log directories; each broker is asked itself."""
        self._catch_up()
        check_cluster(self._simulation.world, Permission.ALTER)
        if self._store is not None:
            self._become(self._store.lock() or self._simulation)
        world = self._simulation.world
        if world.now < world.unreachable_until:
            return dict.fromkeys(paths, OutcomeUnknown("the cluster does not answer"))
        found: dict[ReplicaName, Answer] = {
            (name, broker): OutcomeUnknown(f"broker {broker} does not answer")
            for name, broker in paths
            if not answers(self._simulation, broker, Question.CHANGES)
        }
        reachable = {replica: path for replica, path in paths.items() if replica not in found}
        trouble = self._trouble(RequestKind.MOVE_LOGS) if reachable else None
        lost = isinstance(trouble, LoseRequests)
        if not isinstance(trouble, LoseRequests) or trouble.effect_after_seconds is not None:
            simulation, answers_to = altered(self._simulation, reachable)
            self._become(simulation)
            found |= answers_to
            if self._store is not None:
                self._store.keep(self._simulation)
        if lost:
            found |= dict.fromkeys(reachable, OutcomeUnknown("the request timed out"))
        return found

    def alter_configs(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        """Change configurations; a broker's own are sent to that broker, which may be dead."""
        self._catch_up()
        found = self._unasked(changes)
        reachable = [c for c in changes if (c.scope, c.name) not in found]
        if reachable:
            resources = list(dict.fromkeys((c.scope, c.name) for c in reachable))
            command = AlterConfigs(tuple(reachable))
            found |= self._request(RequestKind.CONFIGURE, command, resources)
        return found

    def would_alter(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        """What that would be answered now."""
        cluster, found = self._read().cluster, self._unasked(changes)
        reachable = [c for c in changes if (c.scope, c.name) not in found]
        resources = list(dict.fromkeys((c.scope, c.name) for c in reachable))
        return found | answers_of(decide(cluster, AlterConfigs(tuple(reachable))), resources)

    def _unasked(self, changes: Sequence[ConfigChange]) -> dict[tuple[ConfigScope, str], Answer]:
        """The answers that do not come from the controller: of brokers that are not reached, of missing permissions."""
        found: dict[tuple[ConfigScope, str], Answer] = {
            (change.scope, change.name): reason
            for change in changes
            if change.scope is ConfigScope.BROKER
            and (reason := unreachable(self._simulation, change.name)) is not None
        }
        for scope in ConfigScope:
            names = {c.name for c in changes if c.scope is scope}
            own = ((n if scope is ConfigScope.TOPIC else None, n) for n in names)
            no = refused(self._simulation.world, Permission.ALTER_CONFIGS, own)
            found |= {(scope, name): answer for name, answer in no.items()}
        return found

    def close(self) -> None:
        """Store the last state, and release the store."""
        if self._store is not None:
            self._catch_up()
            self._store.release(self._simulation)

    def _request(
        self, kind: RequestKind, command: Command, subjects: Sequence[SubjectT]
    ) -> dict[SubjectT, Answer]:
        """Send one request; it may be lost on the way there or on the way back."""
        self._catch_up()
        if self._store is not None:
            self._become(self._store.lock() or self._simulation)
        world = self._simulation.world
        if world.now < world.unreachable_until:
            return dict.fromkeys(subjects, OutcomeUnknown("the cluster does not answer"))
        trouble = self._trouble(kind)
        if isinstance(trouble, LoseRequests):
            if trouble.effect_after_seconds is not None:
                world = later(self._simulation.world, trouble.effect_after_seconds, Ask(command))
                self._become(replace(self._simulation, world=world))
                self._catch_up()
            return dict.fromkeys(subjects, OutcomeUnknown("the request timed out"))
        if trouble is not None:
            self._perform(command)
        return answers_of(self._perform(command), subjects)

    def _perform(self, command: Command) -> Decision:
        simulation, decision = ask(self._simulation, command)
        self._become(simulation)
        if decision.events:
            self._saw()
            if self._store is not None:
                self._store.keep(self._simulation)
        return decision

    def _trouble(self, kind: RequestKind) -> LoseRequests | RepeatRequests | None:
        """Take what the next request of this kind meets on its way."""
        troubles = self._simulation.world.troubles
        at = next((i for i, trouble in enumerate(troubles) if trouble.kind is kind), None)
        if at is None:
            return None
        taken = troubles[at]
        rest = (replace(taken, times=taken.times - 1),) if taken.times > 1 else ()
        left = (*troubles[:at], *rest, *troubles[at + 1 :])
        self._become(
            replace(self._simulation, world=replace(self._simulation.world, troubles=left))
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
        self._become(
            advance(self._simulation, self.clock.now(), self._witness, self._meter, self._lookahead)
        )

    def _become(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def _witness(self, simulation: Simulation) -> None:
        self._become(simulation)
        self._saw()

    def _saw(self) -> None:
        self._shown.add(self._simulation)
        if self._watch is not None:
            self._watch(self._simulation)


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
