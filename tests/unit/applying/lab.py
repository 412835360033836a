"""A small simulated cluster, a plan, and an application that can be killed at every boundary."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.builders import CLUSTER_ID, brokers, snapshot
from tests.profiles import by_profile

from replan.applying.api import (
    Command,
    Journal,
    Ledger,
    MemoryJournal,
    Outcome,
    Progress,
    Record,
    RunningCopies,
    Settings,
    Verb,
    abandon_application,
    apply_plan,
    clear_throttles,
    fold,
    none_arrived,
)
from replan.model.api import (
    Answer,
    Broker,
    ClusterWriter,
    ConfigChange,
    ConfigResource,
    ConfigScope,
    ElectionType,
    Features,
    LogDir,
    MoveThrottle,
    NewPartitions,
    PartitionState,
    Rejected,
    ReplicaName,
    Replicas,
    TopicPartition,
    Wanted,
)
from replan.planning.api import Move, Plan, digest
from replan.simulator.api import (
    Schedule,
    SimulatedControlPlane,
    Simulation,
    VirtualClock,
    from_snapshot,
    rules_of,
)

T = TypeVar("T")
MB = 1_000_000
LONGEST_TICKS = 2_000


class Killed(BaseException):
    """The process was killed; nothing in the product may catch it."""


class Endless(AssertionError):
    """An application that does not come to its end."""


@dataclass
class Boundary:
    """Counts what crosses the boundary of the process, and kills before or after one crossing."""

    kill_before: int | None = None
    kill_after: int | None = None
    crossings: int = 0
    lists: Callable[[Mapping[TopicPartition, Replicas | None]], None] | None = None
    """Sees every list that is about to be asked for."""
    refuses: Callable[[], bool] = lambda: False
    """Whether writing requests are refused now, as by a broker that has just restarted."""
    log: list[str] = field(default_factory=list)
    """What crossed, and `tick` at the end of each."""

    def cross(self, what: str, effect: Callable[[], T]) -> T:
        self.crossings += 1
        self.log.append(what)
        if self.crossings == self.kill_before:
            raise Killed
        result = effect()
        if self.crossings == self.kill_after:
            raise Killed
        return result


@dataclass
class MortalJournal:
    """A journal whose every append is a crossing."""

    kept: Journal
    boundary: Boundary

    def read(self) -> Sequence[Record]:
        return self.kept.read()

    def append(self, records: Sequence[Record]) -> None:
        if records:
            self.boundary.cross("append", lambda: self.kept.append(records))


REFUSED = Rejected(29, "TOPIC_AUTHORIZATION_FAILED", "Not loaded yet.")
"""What a broker says whose authorizer has not read its rules yet."""


@dataclass
class MortalWriter:
    """A cluster whose every writing request is a crossing, and that refuses while the boundary says so."""

    real: ClusterWriter
    boundary: Boundary

    def _asked(
        self, what: str, subjects: Iterable[T], effect: Callable[[], Mapping[T, Answer]]
    ) -> Mapping[T, Answer]:
        refused = dict.fromkeys(subjects, REFUSED)
        return self.boundary.cross(what, (lambda: refused) if self.boundary.refuses() else effect)

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        if self.boundary.lists is not None:
            self.boundary.lists(lists)
        return self._asked(
            "reassign",
            lists,
            lambda: self.real.reassign(
                lists, allow_replication_factor_change=allow_replication_factor_change
            ),
        )

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        return self._asked("elect", partitions, lambda: self.real.elect(partitions, kind))

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        return self._asked("create", added, lambda: self.real.create_partitions(added))

    def move_logs(self, paths: Mapping[ReplicaName, str]) -> Mapping[ReplicaName, Answer]:
        return self._asked("move logs", paths, lambda: self.real.move_logs(paths))

    def alter_configs(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        places = [(c.scope, c.name) for c in changes]
        return self._asked("configure", places, lambda: self.real.alter_configs(changes))


@dataclass
class Lab:
    """A cluster that outlives the processes that work on it, and the journal that they share."""

    plane: SimulatedControlPlane
    clock: VirtualClock
    plan: Plan
    journal: Journal = field(default_factory=MemoryJournal)
    reports: list[Progress] = field(default_factory=list)
    settings: Settings = field(default_factory=lambda: Settings(owner="ann@ops-1"))
    longest_ticks: int = LONGEST_TICKS

    def apply(
        self,
        plan: Plan | None = None,
        *,
        boundary: Boundary | None = None,
        stop: Callable[[], bool] | None = None,
        arrived: Callable[[], Sequence[Command]] = none_arrived,
        verb: Verb | None = None,
        others: bool = False,
        silent_since: float | None = None,
    ) -> Outcome:
        """One process: apply until it ends, is stopped, or is killed."""
        wanted = self.plan if plan is None else plan
        crossing = Boundary() if boundary is None else boundary
        ticks = 0
        self.plane.connect_again()

        def report(progress: Progress) -> None:
            nonlocal ticks
            ticks += 1
            crossing.log.append("tick")
            self.reports.append(progress)
            if ticks > self.longest_ticks:
                raise Endless(f"still at it after {ticks} ticks: {progress}")

        return apply_plan(
            wanted,
            self.plane,
            MortalWriter(self.plane, crossing),
            MortalJournal(self.journal, crossing),
            self.clock,
            plan_digest=digest(wanted),
            settings=self.settings,
            report=report,
            stop=(lambda: False) if stop is None else stop,
            arrived=arrived,
            verb=verb,
            others=others,
            silent_since=silent_since,
        )

    def abandon(self, copies: RunningCopies = RunningCopies.UNTHROTTLED) -> Outcome:
        """Give the open application up."""
        plane, journal, clock = self.plane, self.journal, self.clock
        return abandon_application(
            plane, plane, journal, clock, settings=self.settings, copies=copies
        )

    def clear(
        self,
        report: Callable[[str], None] | None = None,
        silent_since: float | None = None,
    ) -> Outcome:
        """Restore what throttles were before."""
        return clear_throttles(
            self.plane,
            self.plane,
            self.journal,
            self.clock,
            settings=self.settings,
            report=report,
            silent_since=silent_since,
        )

    @property
    def ledger(self) -> Ledger:
        return fold(self.journal.read())

    def stop_at(self, seconds: float) -> Callable[[], bool]:
        """A person presses ^C at this second."""
        return lambda: self.clock.now() >= seconds

    def partition(self, move: Move) -> PartitionState:
        return self.plane.look(Wanted(partitions=[move.partition])).partitions[move.partition]

    def configs(self) -> dict[ConfigResource, dict[str, str]]:
        """All dynamic configurations as they are stored."""
        stored = self.plane.simulation.cluster.configs
        return {where: dict(values) for where, values in stored.items() if values}


BOB = "bob@ops-2"


def at(made: Lab, *sent: tuple[float, Verb, str], **more: Any) -> Callable[[], Sequence[Command]]:
    """The inbox of a run to which these are sent by Bob: when, what, and which rate; `more`: of each."""

    def arrived() -> Sequence[Command]:
        ledger = made.ledger
        due = (
            Command(ledger.application_id, f"{number}", verb, rate, BOB, **more)
            for number, (seconds, verb, rate) in enumerate(sent)
            if seconds <= made.clock.now()
        )
        return [c for c in due if c.key not in ledger.records]

    return arrived


def killed_anywhere(
    made: Callable[[], Lab],
    apply: Callable[[Lab, Boundary], object] = lambda found, boundary: found.apply(
        boundary=boundary
    ),
) -> Iterator[tuple[Boundary, Lab]]:
    """The same application, killed before and after each of its effects; what the next run does is the caller's.

    By day at each third of these moments, before and after in turn.
    """
    counting = Boundary()
    apply(made(), counting)
    effects = range(1, counting.crossings + 1)
    moments = [b for e in effects for b in (Boundary(kill_before=e), Boundary(kill_after=e))]
    for boundary in moments[:: by_profile(fast=5, ci=3, full=1, nightly=1)]:
        found = made()
        try:
            apply(found, boundary)
        except Killed:
            yield boundary, found
        else:
            raise AssertionError(f"not killed: {boundary}")


def lab(
    states: Sequence[PartitionState],
    moves: Sequence[Move],
    *,
    throttle: MoveThrottle | None = None,
    schedule: Schedule = (),
    version: str = "4.3",
    registered: Sequence[Broker] | None = None,
    journal: Journal | None = None,
    settings: Settings | None = None,
    remember: Collection[TopicPartition] = (),
    unclean: bool = False,
    log_dirs: Sequence[LogDir] = (),
) -> Lab:
    """A lab with these partitions and a plan of these moves."""
    clock = VirtualClock()
    plane = SimulatedControlPlane(
        simulation(states, version, registered, unclean=unclean, log_dirs=log_dirs),
        clock,
        schedule=schedule,
    )
    return Lab(
        plane,
        clock,
        plan_of(moves, throttle=throttle, registered=registered, remember=remember),
        MemoryJournal() if journal is None else journal,
        settings=Settings(owner="ann@ops-1") if settings is None else settings,
    )


def simulation(
    states: Sequence[PartitionState],
    version: str,
    registered: Sequence[Broker] | None = None,
    *,
    unclean: bool = False,
    log_dirs: Sequence[LogDir] = (),
) -> Simulation:
    """A cluster of this version with these partitions; `unclean`: unclean.leader.election.enable of all topics."""
    rules = rules_of(version)
    features = Features(rules.replication_factor_guard, rules.elr_by_default)
    topics = {s.partition.topic for s in states} if unclean else set[str]()
    seen = snapshot(
        states,
        registered=registered,
        features=features,
        unclean=sorted(topics),
        log_dirs=log_dirs,
    )
    return from_snapshot(seen, version)


def plan_of(
    moves: Sequence[Move],
    *,
    throttle: MoveThrottle | None = None,
    registered: Sequence[Broker] | None = None,
    remember: Collection[TopicPartition] = (),
) -> Plan:
    """A plan of these moves, in this order."""
    known = brokers() if registered is None else registered
    return Plan(
        cluster_id=CLUSTER_ID,
        placement_digest="0" * 64,
        racks={b.id: b.rack for b in known},
        moves=tuple(moves),
        throttle=throttle,
        remember=frozenset(remember),
    )
