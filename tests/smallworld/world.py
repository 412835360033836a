"""One or two partitions, four brokers, one journal, and a process that applies a plan: states, and steps between them.

The product's own pieces do everything: `ApplicationRun` looks, decides, appends and sends; the simulator's controller
decides what requests, brokers and other tools cause. Only what lies between them is made here.

State. The controller's state; the records of the journal; the memory of the process, or none where it is dead; messages
that are late; which plan is performed; what has happened (`Ghost`), for the laws. Two states are one where they differ
only in epochs and in ages beyond every patience (`canonical`).

Time goes in quanta of 5 s, one tick each. The settings are the product's, but for the quarantine (40 s), so a late
message takes effect within 35 s or never: what matters is that it is shorter, and that both are longer than the settle
time.

Steps. `tick`: one tick of the process, everything goes well. `tick, N FATE`: the N-th crossing of its boundary has
another fate (`Fate`). `take over`: another process begins. Brokers are fenced and return, followers leave the ISR and
catch up, other tools act, late messages arrive. What makes things worse costs one of `faults`; what heals is free.

Abstracted: bytes (a copy ends when it likes), sessions (a broker dies and is fenced at once), log directories, ELR.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from math import inf
from typing import Any, TypeVar, cast

from msgspec import Struct
from tests.unit.applying.lab import Killed

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal
from replan.applying.journal.records import PlanChunk, Record
from replan.applying.observation.history import PartitionHistory
from replan.applying.run.application_run import ApplicationRun
from replan.applying.run.opening import opening
from replan.applying.settings import Settings
from replan.applying.tick.run_state import RunState
from replan.applying.tick_input import Job
from replan.applying.views.outcome import Outcome
from replan.applying.views.progress import Progress
from replan.model.broker import LogDir
from replan.model.configs import ConfigChange, ConfigScope
from replan.model.control_plane import (
    Answer,
    ElectionType,
    Look,
    NewPartitions,
    OutcomeUnknown,
    Wanted,
    agreeing,
)
from replan.model.names import Replicas, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.simulator.client_view import answers_of
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.physical_state import Simulation, World
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    Command,
    CreatePartitions,
    ElectLeaders,
    Subject,
)
from replan.simulator.controller.decide import perform
from replan.simulator.controller.state import ClusterState

T = TypeVar("T")
QUANTUM = 5.0
LATEST_SECONDS = 35.0
"""How late a message takes effect at the latest; less than the quarantine."""
LAG_QUANTA = 2
"""How old what brokers show may be."""
OLD_SECONDS = 50.0
"""Beyond every patience of these settings: ages are not told apart any more."""
SETTINGS = Settings(
    owner="small world",
    poll_seconds=QUANTUM,
    quarantine_seconds=40.0,
    retry_seconds=QUANTUM,
    patience_seconds=10.0,
    stalled_seconds=inf,
    disk_seconds=inf,
)


class Fate(Enum):
    """What may become of what crosses the boundary of a process."""

    DIES_BEFORE = "the process dies before it"
    DIES_AFTER = "the process dies after it"
    DIES_LATE = "the process dies, and it takes effect later or never"
    LOST = "it never arrives"
    UNANSWERED = "its answer is lost"
    LATE = "it times out, and takes effect later or never"
    AGAIN = "its answer is lost, and it takes effect again later or never"
    REPEATED = "it arrives twice, and the second answer comes back"


UNKNOWN = frozenset({Fate.LOST, Fate.LATE, Fate.UNANSWERED, Fate.AGAIN})
PENDING = frozenset({Fate.LATE, Fate.AGAIN, Fate.DIES_LATE})
APPENDS = (Fate.DIES_BEFORE, Fate.DIES_AFTER)


class TickOver(BaseException):
    """The process sleeps until its next tick."""


@dataclass(frozen=True, slots=True)
class Ghost:
    """What has happened, as far as the laws ask."""

    lists_changed: bool = False
    """Another tool has asked for a list, or cancelled one."""
    throttles_changed: bool = False
    settings_changed: bool = False
    settled: Mapping[TopicPartition, int] = field(default_factory=dict)
    """In how many looks, one in each quantum, the whole target has been in the ISR, up to four."""


@dataclass(frozen=True, slots=True)
class Late:
    """A message of replan that may yet take effect."""

    command: Command
    sent_at: float


@dataclass(frozen=True, slots=True)
class State:
    """Everything at one boundary between two ticks."""

    cluster: ClusterState
    records: tuple[Record, ...] = ()
    run: ApplicationRun | None = None
    plan: int = 0
    """Which of the plans is performed, or was performed last."""
    ended: Outcome | None = None
    """How it ended."""
    late: tuple[Late, ...] = ()
    past: tuple[ClusterState, ...] = ()
    """As the cluster was before, latest first; kept only where brokers may lag."""
    lag: int = 0
    """By how many quanta the home broker of this process lags."""
    ghost: Ghost = field(default_factory=Ghost)
    faults: int = 0
    """How many are left."""
    now: float = field(default=0.0, compare=False)


@dataclass
class Sent:
    """What one tick sent, for the laws."""

    shown: Look | None = None
    commands: list[Command] = field(default_factory=list)
    crossings: list[bool] = field(default_factory=list)
    """Each crossing in order; True for a request."""
    outcome: Outcome | None = None
    progress: Progress | None = None


class Outside:
    """The ports of a process for one tick: reader, writer, journal and clock, over a state."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._jobs = [Job.of(plan, SETTINGS, lambda _name, _reason: "") for plan in plans]
        self._digests = [digest(plan) for plan in plans]
        self._state = State(ClusterState("", "4.3", elr_enabled=False))
        self._journal = MemoryJournal()
        self._fate: tuple[int, Fate] | None = None
        self.sent = Sent()
        self.reader = self.writer = self.journal = self.clock = self

    def arrived(self) -> tuple[()]:
        """Nobody steers it."""
        return ()

    def begun(self, state: State) -> State:
        """Another process takes up the plan, and is about to look for the first time."""
        self._load(state, None)
        ledger = fold(self._journal.read())
        opened = opening(self._jobs[state.plan].plan, self._digests[state.plan], ledger, SETTINGS)
        self._journal.append(opened)
        run = ApplicationRun(self._jobs[state.plan], ledger.after(opened), cast(Any, self), ())
        return replace(state, run=run, records=tuple(self._journal.read()))

    def ticked(self, state: State, fate: tuple[int, Fate] | None = None) -> tuple[State, Sent]:
        """One tick of the process; `fate`: of the crossing of this number."""
        self._load(state, fate)
        run: ApplicationRun | None = copy(state.run)
        assert run is not None
        ended = None
        try:
            ended = run.to_end()
            run = None
        except TickOver:
            pass
        except Killed:
            run = None
        self.sent.outcome = ended
        after = replace(self._state, run=run, ended=ended, records=tuple(self._journal.read()))
        return after, self.sent

    def _load(self, state: State, fate: tuple[int, Fate] | None) -> None:
        self._state, self._fate, self.sent = state, fate, Sent()
        self._journal = MemoryJournal()
        self._journal.append(state.records)

    def now(self) -> float:
        return self._state.now

    def sleep(self, _seconds: float) -> None:
        raise TickOver

    def stop(self) -> bool:
        return False

    def idle(self) -> bool:
        return False

    def report(self, progress: Progress) -> None:
        self.sent.progress = progress

    def look(self, wanted: Wanted) -> Look:
        """As the simulator shows it; a home broker that lags shows older partitions."""
        seen = _look(self._state.cluster, self._state.now, wanted)
        lag = min(self._state.lag, len(self._state.past))
        if lag:
            older = _look(self._state.past[lag - 1], self._state.now, wanted).partitions
            partitions, unclear = agreeing(older, seen.running)
            seen = replace(seen, partitions=partitions, unclear=unclear)
        self.sent.shown = seen
        return seen

    def log_dirs(self) -> Sequence[LogDir]:
        return ()

    def read(self) -> Sequence[Record]:
        return self._journal.read()

    def append(self, records: Sequence[Record]) -> None:
        if records:
            self._cross(lambda: self._journal.append(records))

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        guarded = self._state.cluster.rules.replication_factor_guard
        command = AlterReassignments(
            tuple(sorted(lists.items())),
            allow_replication_factor_change=allow_replication_factor_change or not guarded,
        )
        return self._requested(command, list(lists))

    def elect(
        self, partitions: Collection[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        names = sorted(partitions)
        return self._requested(ElectLeaders(tuple(names), kind), names)

    def create_partitions(self, added: Mapping[str, NewPartitions]) -> Mapping[str, Answer]:
        found: dict[str, Answer] = {}
        for topic, new in sorted(added.items()):
            found |= self._requested(CreatePartitions(topic, new.count, new.lists), [topic])
        return found

    def alter_configs(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        resources = list(dict.fromkeys((c.scope, c.name) for c in changes))
        return self._requested(AlterConfigs(tuple(changes)), resources)

    def _requested(self, command: Command, subjects: Sequence[Any]) -> dict[Any, Answer]:
        self.sent.commands.append(command)
        return self._cross(lambda: self._performed(command, subjects), (command, subjects))

    def _cross(
        self, effect: Callable[[], T], request: tuple[Command, Sequence[Subject]] | None = None
    ) -> T:
        self.sent.crossings.append(request is not None)
        here = self._fate is not None and self._fate[0] == len(self.sent.crossings) - 1
        fate = self._fate[1] if here and self._fate is not None else None
        if fate is Fate.DIES_BEFORE:
            raise Killed
        if request is not None and fate in PENDING:
            late = (*self._state.late, Late(request[0], self._state.now))
            self._state = replace(self._state, late=late)
        if fate is Fate.DIES_LATE:
            raise Killed
        if fate is Fate.REPEATED:
            effect()
        if fate not in {Fate.LOST, Fate.LATE}:
            result = effect()
        if fate is Fate.DIES_AFTER:
            raise Killed
        if request is not None and fate in UNKNOWN:
            return cast(T, dict.fromkeys(request[1], OutcomeUnknown("no answer")))
        return result

    def _performed(self, command: Command, subjects: Sequence[Any]) -> dict[Any, Answer]:
        cluster, decision = perform(self._state.cluster, command)
        self._state = replace(self._state, cluster=cluster)
        return answers_of(decision, subjects)


def _look(cluster: ClusterState, now: float, wanted: Wanted) -> Look:
    world = World(now=now, next_rebalance=inf, next_unclean=inf)
    plane = SimulatedControlPlane(Simulation(cluster, world), VirtualClock(now))
    return plane.look(wanted)


ATOMS = frozenset({type(None), bool, int, str})
LEFT_OUT = frozenset({"_job", "_ports", "_began", "_progress"})
"""Of a process: what never changes, and what it only reports."""
UNUSED: Mapping[type, frozenset[str]] = {
    RunState: frozenset({"moved_at"}),
    PartitionHistory: frozenset({"sizes", "totals"}),
}
"""What decides nothing in this world: nobody gives up, and a copy ends when it likes."""


def canonical(value: object, now: float) -> object:
    """A value that is equal for states that behave alike: moments become ages, epochs are left out."""
    kind = type(value)
    if kind in ATOMS or isinstance(value, Enum):
        return value
    if isinstance(value, float):
        return "age", max(-OLD_SECONDS, min(OLD_SECONDS, now - value))
    if isinstance(value, Collection):
        return _collected(value, now)
    if isinstance(value, ApplicationRun):
        return tuple([canonical(v, now) for k, v in vars(value).items() if k not in LEFT_OUT])
    if isinstance(value, PartitionHistory):
        return _history(value, now)
    return kind, *[canonical(getattr(value, name), now) for name in _names(kind)]


def _history(value: PartitionHistory, now: float) -> object:
    """What has stayed in sync counts in seconds that looks vouch for, by a clock of its own."""
    vouched = (value.target_in_sync, value.new_in_sync)
    others = replace(value, target_in_sync={}, new_in_sync={}, vouched=now)
    names = _names(PartitionHistory)
    return canonical(vouched, value.vouched), *[canonical(getattr(others, n), now) for n in names]


def _collected(value: Collection[object], now: float) -> object:
    if isinstance(value, tuple | list):
        return tuple([v if type(v) in ATOMS else canonical(v, now) for v in value])
    if isinstance(value, Mapping):
        return frozenset([(canonical(k, now), canonical(v, now)) for k, v in value.items()])
    return frozenset([canonical(v, now) for v in value])


_NAMES: dict[type, tuple[str, ...]] = {Move: ("partition",), PlanChunk: ("application",)}
"""The fields that tell values of a type apart; what belongs to a plan has a name."""


def _names(kind: type) -> tuple[str, ...]:
    """The fields that tell values of a type apart."""
    if kind not in _NAMES:
        if issubclass(kind, Struct):
            names = kind.__struct_fields__
        else:
            assert is_dataclass(kind), kind
            names = tuple(f.name for f in fields(kind) if f.compare)
        unused = UNUSED.get(kind, frozenset())
        _NAMES[kind] = tuple(n for n in names if "epoch" not in n and n not in unused)
    return _NAMES[kind]


def key_of(state: State) -> int:
    """The same for states that behave alike."""
    return hash(canonical(state, state.now))
