"""A process that applies a plan, between two ticks and during one: the product's own, with what lies around it.

`Process` is what outlives a tick: its memory, or none where it is dead, and the journal. `Outside` is reader, writer,
journal and clock for one tick, and gives one crossing of the boundary its fate.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from enum import Enum
from math import inf
from typing import Any, NamedTuple, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace
from tests.smallworld.canonical import canonical
from tests.smallworld.settings import QUANTUM, SETTINGS
from tests.unit.applying.lab import Killed

from replan.applying.api import (
    ApplicationRun,
    HoldReason,
    Job,
    MemoryJournal,
    MoveRecord,
    Note,
    Outcome,
    Progress,
    Record,
    fold,
    opening,
)
from replan.errors import Exit
from replan.model.api import (
    Answer,
    ConfigChange,
    ConfigScope,
    ElectionType,
    LogDir,
    Look,
    NewPartitions,
    OutcomeUnknown,
    Replicas,
    Snapshot,
    TopicPartition,
    Wanted,
    agreeing,
)
from replan.planning.api import Plan, digest
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    ClusterState,
    CommandSubject,
    ControllerCommand,
    CreatePartitions,
    ElectLeaders,
    SimulatedControlPlane,
    Simulation,
    VirtualClock,
    World,
    answers_of,
    decide_and_apply,
)

T = TypeVar("T")


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
DEADLY = frozenset({Fate.DIES_BEFORE, Fate.DIES_AFTER, Fate.DIES_LATE})
APPENDS = (Fate.DIES_BEFORE, Fate.DIES_AFTER)
"""The fates of an append."""
Ill = tuple[int, Fate] | None
"""Which crossing of a tick has which fate, if any."""


class TickOver(BaseException):
    """The process sleeps until its next tick."""


class Ended(NamedTuple):
    """How an application ended."""

    exit_code: Exit
    interrupted: bool


class Process(Struct, frozen=True):
    """A process between two ticks, and the journal."""

    records: tuple[Record, ...] = ()
    run: ApplicationRun | None = None
    """Its memory; None where it is dead, has ended, or has not begun."""
    plan: int = 0
    """Which of the plans is performed, or was performed last."""
    ended: Ended | None = None
    now: float = 0.0
    """On its clock: moments in its memory are before or after that."""

    @property
    def key(self) -> int:
        """The same for processes that behave alike."""
        memory = None if self.run is None else canonical(self.run, self.now)
        return hash((self.records, self.plan, self.ended, memory))


class Sent(Struct):
    """What one tick sent, for the laws."""

    shown: Look | None = None
    commands: list[ControllerCommand] = field(default_factory=list)
    late: list[ControllerCommand] = field(default_factory=list)
    """Those that may yet take effect."""
    crossings: list[bool] = field(default_factory=list)
    """Each crossing in order; True for a request."""
    moves: list[MoveRecord] = field(default_factory=list)
    """Their records, as far as they were written; the end of an application forgets them."""
    notes: Sequence[Note | str] = ()
    """What it said in this tick."""
    holds: Sequence[HoldReason] = ()
    """Why moves wait."""
    admits: bool = True
    """Whether it would begin anything new."""


class Outside:
    """The ports of a process for one tick."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._jobs = [Job.of(plan, SETTINGS) for plan in plans]
        self._digests = [digest(plan) for plan in plans]
        self._cluster = self._shown = ClusterState("", "4.3", elr_enabled=False)
        self._looks: dict[tuple[int, int, object], tuple[ClusterState, ClusterState, Look]] = {}
        self._journal = MemoryJournal()
        self._ill: Ill = None
        self._now = 0.0
        self.sent = Sent()
        self.reader = self.writer = self.journal = self.clock = self

    def arrived(self) -> tuple[()]:
        """Nobody steers it."""
        return ()

    def begun(self, before: Process) -> Process:
        """Another process takes up the plan, and is about to look for the first time."""
        self._load(before, None)
        ledger = fold(before.records)
        job = self._jobs[before.plan]
        opened = opening(job.plan, self._digests[before.plan], ledger, SETTINGS)
        self._journal.append(opened)
        run = ApplicationRun(job, ledger.after(opened), cast(Any, self), ())
        return replace(before, run=run, ended=None, records=tuple(self._journal.read()))

    def ticked(
        self, before: Process, cluster: ClusterState, shown: ClusterState, ill: Ill = None
    ) -> tuple[Process, ClusterState, Sent]:
        """One tick of the process; `shown`: the state whose partitions brokers show, which may be an older one."""
        self._load(before, ill)
        self._cluster, self._shown = cluster, shown
        run: ApplicationRun | None = copy(before.run)
        assert run is not None
        outcome: Outcome | None = None
        try:
            outcome = run.to_end()
            run = None
        except TickOver:
            pass
        except Killed:
            run = None
        ended = None if outcome is None else Ended(outcome.exit_code, outcome.interrupted)
        records = tuple(self._journal.read())
        after = Process(records, run, before.plan, ended, self._now + QUANTUM)
        return after, self._cluster, self.sent

    def _load(self, before: Process, ill: Ill) -> None:
        self._now, self._ill, self.sent = before.now, ill, Sent()
        self._journal = MemoryJournal()
        self._journal.append(before.records)

    def now(self) -> float:
        return self._now

    def sleep(self, _seconds: float) -> None:
        raise TickOver

    def stop(self) -> bool:
        return False

    def idle(self) -> bool:
        return False

    def report(self, progress: Progress) -> None:
        self.sent.notes, self.sent.admits = progress.notes, progress.admission is None
        self.sent.holds = tuple((progress.holds or {}).values())

    def look(self, wanted: Wanted) -> Look:
        """As the simulator shows it; brokers that lag show older partitions."""
        cluster, shown = self._cluster, self._shown
        key = id(cluster), id(shown), _as_key(wanted)
        known = self._looks.get(key)
        if known is None:
            seen = _plane(cluster).look(wanted)
            if shown is not cluster:
                older = _plane(shown).look(wanted).partitions
                partitions, unclear = agreeing(older, seen.running)
                seen = replace(seen, partitions=partitions, unclear=unclear)
            known = self._looks[key] = cluster, shown, seen
        self.sent.shown = known[-1]
        return known[-1]

    def observe(self) -> Snapshot:
        return _plane(self._cluster).observe()

    def log_dirs(self) -> Sequence[LogDir]:
        return ()

    def read(self) -> Sequence[Record]:
        return self._journal.read()

    def append(self, records: Sequence[Record]) -> None:
        if records:
            self._cross(lambda: self._journal.append(records))
            self.sent.moves += [r for r in records if isinstance(r, MoveRecord)]

    def reassign(
        self,
        lists: Mapping[TopicPartition, Replicas | None],
        *,
        allow_replication_factor_change: bool,
    ) -> Mapping[TopicPartition, Answer]:
        guarded = self._cluster.rules.replication_factor_guard
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

    def _requested(self, command: ControllerCommand, subjects: Sequence[Any]) -> dict[Any, Answer]:
        self.sent.commands.append(command)
        return self._cross(lambda: self._performed(command, subjects), (command, subjects))

    def _cross(
        self,
        effect: Callable[[], T],
        request: tuple[ControllerCommand, Sequence[CommandSubject]] | None = None,
    ) -> T:
        self.sent.crossings.append(request is not None)
        here = self._ill is not None and self._ill[0] == len(self.sent.crossings) - 1
        fate = self._ill[1] if here and self._ill is not None else None
        if fate is Fate.DIES_BEFORE:
            raise Killed
        if request is not None and fate in PENDING:
            self.sent.late.append(request[0])
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

    def _performed(self, command: ControllerCommand, subjects: Sequence[Any]) -> dict[Any, Answer]:
        self._cluster, decision = decide_and_apply(self._cluster, command)
        return answers_of(decision, subjects)


def _plane(cluster: ClusterState) -> SimulatedControlPlane:
    world = World(next_rebalance=inf, next_unclean=inf)
    return SimulatedControlPlane(Simulation(cluster, world), VirtualClock())


def _as_key(wanted: Wanted) -> object:
    """What is wanted, as something that can be looked up."""
    each = (getattr(wanted, name) for name in Wanted.__struct_fields__)
    return tuple(
        tuple((k, tuple(v)) for k, v in of.items()) if isinstance(of, Mapping) else tuple(of)
        for of in each
    )
