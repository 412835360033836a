"""The loop that reconciles, on the simulated cluster, in virtual time: what a policy does in a bad month.

The real loop runs with the real applier, round after round, while faults happen and placements are released. The same
month is run once more with a policy that puts nothing right, so that both can be compared.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import JournalState, fold
from replan.applying.journal.protocol import MemoryJournal, SteeredJournal
from replan.applying.journal.records import Command, LoopCommand, Record, Verb
from replan.applying.settings import Settings
from replan.applying.views.progress import Progress
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import REST_SECONDS, Reconcile
from replan.model.garbage_collection import garbage_collection_paused
from replan.planning.plans.plan import Plan
from replan.reconciling.loop import LONGEST_REST_SECONDS, Loop, LoopSettings
from replan.reconciling.ports import LoopPorts, Read
from replan.reconciling.status import Observer, PlacementSource
from replan.reconciling.steering import STUCK_SECONDS
from replan.reconciling.store import LoopStore, MemoryStore
from replan.rehearsal.skipping_clock import EventSkippingClock, busy_stride
from replan.rehearsal.watched import LackMeter, Missed, WatchedLoop
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import Meter
from replan.simulator.cluster.faults import Schedule
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane

STRIDE_SECONDS = 60.0
"""The longest sleep of the applier while nothing happens, in the first hours."""
LONGEST_STRIDE_SECONDS = STUCK_SECONDS / 3
"""And later: what the guard does not see move for three times as long counts as stuck."""
WAITS_SECONDS = 30.0
"""So long a person waits for an answer of the process at work."""


class Release(Struct, frozen=True):
    """A placement, and the virtual second from which on it is what the loop reads."""

    at: float
    placement: Placement
    commit: str = ""


class TimedCommand(Struct, frozen=True):
    """What a person asks of the loop or of its application, whichever there is, and at which virtual second."""

    at: float
    verb: Verb
    """`pause`, `resume` or `cancel`."""
    sender: str


class LoopRun(Struct, frozen=True):
    """What one run came to."""

    seconds: float
    watched: WatchedLoop
    simulation: Simulation
    """At the end."""
    looks: int
    lack: Missed
    """In seconds."""
    peaks: Sequence[float]
    """The most partitions that were under-replicated in each of many equal parts of the time."""

    @property
    def copied_bytes(self) -> int:
        """Of all rounds."""
        return sum(r.bytes for r in self.watched.rounds.values())


Lives = Callable[[LoopPorts, LoopSettings, WatchedLoop], None]
"""Processes of a loop, one after the other, to the end of the rehearsal."""


def one_life(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
    """One process, to the end."""
    loop = Loop(ports, settings)
    watched.lasting_since = lambda: loop.lasting_since
    loop.run()


@garbage_collection_paused()
def run_loop(
    simulation: Simulation,
    releases: Sequence[Release],
    seconds: float,
    schedule: Schedule = (),
    *,
    every: float = REST_SECONDS,
    settings: Settings | None = None,
    store: LoopStore | None = None,
    journal: MemoryJournal | None = None,
    also: Observer | None = None,
    asked: Sequence[TimedCommand] = (),
    passed: Callable[[float], None] = lambda _: None,
    meter: Meter | None = None,
    lives: Lives = one_life,
) -> LoopRun:
    """Run the loop for so long; the releases are in the order of their times, and the first is there from the start.

    The schedule is in seconds of the simulated world, all other times count from now. `also` hears what an observer of
    any loop hears, proposals included; `passed` hears how much time has passed, and
    `meter` of every stretch of time in which only bytes flow.
    """
    clock = VirtualClock(simulation.world.now)
    changed = _Changes(clock.now())
    lack = LackMeter(simulation, seconds)

    def watch(seen: Simulation) -> None:
        changed(seen)
        lack(seen)

    plane = SimulatedControlPlane(simulation, clock, schedule=schedule, watch=watch, meter=meter)
    started = datetime.fromisoformat(simulation.world.started_at).timestamp()
    began, end = clock.now(), clock.now() + seconds
    watched = WatchedLoop(started + began, also, passed, lambda: read().placement.reconcile)
    records = MemoryJournal() if journal is None else journal
    people = _People(records, MemoryStore() if store is None else store, clock, began, asked)
    quick = _pace(plane, clock, changed, schedule)

    def read() -> Read:
        current = [r for r in releases if r.at <= clock.now() - began][-1]
        source = PlacementSource("rehearsal", current.placement.digest, current.commit)
        return Read(current.placement, source)

    @contextmanager
    def own(_plan: Plan, _alive: Callable[[], object]) -> Iterator[SteeredJournal]:
        yield _Steered(records, people)

    def rest(seconds: float, longest: float) -> None:
        """Step by step, as long as the controller sees nothing happen, and nobody releases or asks for anything."""
        before, until = plane.simulation.cluster, clock.now() + longest
        moments = [began + at for at in (*(r.at for r in releases), *(a.at for a in asked))]
        coming = min((at for at in moments if at > clock.now()), default=end)
        while clock.now() < min(until, end):
            quiet = min(plane.next_moment(), coming, until, end) - clock.now()
            clock.sleep(min(seconds * max(1, ceil(quiet / seconds)), until - clock.now()))
            if plane.simulation.cluster is not before or clock.now() >= coming:
                return

    def report(progress: Progress) -> None:
        quick.gives_up_at = progress.gives_up_at
        quick.busy_stride_seconds = busy_stride(progress)

    ports = LoopPorts(
        reader=plane,
        writer=plane,
        clock=clock,
        wall=lambda: started + clock.now(),
        read=read,
        journal=lambda _: JournalState(fold(records.read())),
        own=own,
        store=_WithPeople(people),
        stop=lambda: clock.now() >= end,
        observer=watched,
        report=report,
        rest=rest,
        pace=quick,
    )
    applying = Settings(give_up_seconds=3_600.0) if settings is None else settings
    lives(
        ports,
        LoopSettings(
            owner="rehearsal",
            every=every,
            proposes=also is not None,
            leased=False,
            slice_seconds=LONGEST_REST_SECONDS,
            applying=applying,
        ),
        watched,
    )
    ended = plane.simulation
    lack.until(clock.now())
    return LoopRun(clock.now() - began, watched, ended, quick.looks, lack.seconds, lack.peaks)


class _People:
    """What people ask for, each in its moment, as `replan pause`, `resume` and `cancel` do."""

    def __init__(
        self,
        journal: MemoryJournal,
        store: LoopStore,
        clock: VirtualClock,
        began: float,
        commands: Sequence[TimedCommand],
    ) -> None:
        self.journal, self.store, self._clock = journal, store, clock
        self._coming = [(began + one.at, one) for one in sorted(commands, key=lambda one: one.at)]
        self._sent: list[tuple[float, Command]] = []

    def ask(self) -> None:
        """Ask for what is due now; whoever got no answer of a process in time has withdrawn it."""
        now, inbox = self._clock.now(), self.journal.inbox
        waiting = {command.key for command in self.journal.arrived()}
        for command in [c for at, c in self._sent if at + WAITS_SECONDS < now and c in inbox]:
            inbox.remove(command)
            if command.verb is Verb.RESUME and command.key in waiting:
                self._resumes(command.application)
        while self._coming and self._coming[0][0] <= now:
            at, one = self._coming.pop(0)
            self._ask(at, one, f"{len(self._coming):08d}")

    def _ask(self, at: float, one: TimedCommand, number: str) -> None:
        opened = fold(self.journal.read()).application
        verbs = {c.verb for c in self.journal.arrived()}
        cancelled = opened is not None and (opened.is_cancelled or Verb.CANCEL in verbs)
        paused = opened is not None and (opened.paused_by or Verb.PAUSE in verbs)
        of_loop = opened is None or (one.verb is Verb.RESUME and cancelled)
        if opened is not None and (paused or not of_loop):
            command = Command(opened.id, f"{at:016.0f}-{number}", one.verb, sender=one.sender)
            self.journal.inbox.append(command)
            self._sent.append((at, command))
        if of_loop and one.verb is not Verb.CANCEL:
            self.store.write([LoopCommand(f"{at:016.0f}-{number}", one.verb, one.sender)])

    def _resumes(self, application: str) -> None:
        """`replan resume` goes on with an application itself where no process does; here the loop soon takes over."""
        opened = fold(self.journal.read()).application
        if opened is not None and opened.id == application and opened.paused_by:
            resumed = replace(opened, paused_by="")
            MemoryJournal.append(self.journal, [resumed])  # of a process that is not the loop's


class _WithPeople:
    """The records of a loop; in the moment at which a person asks for something, that is among them."""

    def __init__(self, people: _People) -> None:
        self._people, self.write = people, people.store.write

    def read(self) -> Sequence[Record]:
        """With what was asked for since the last look."""
        self._people.ask()
        return self._people.store.read()


class _Steered:
    """The journal, with what people ask of an application in its inbox."""

    def __init__(self, journal: MemoryJournal, people: _People) -> None:
        self._journal, self._people = journal, people
        self.read, self.append, self.silent_since = (
            journal.read,
            journal.append,
            journal.silent_since,
        )

    def arrived(self) -> Sequence[Command]:
        """With what was asked for since the last look."""
        self._people.ask()
        return self._journal.arrived()


class _Changes:
    """When the cluster last changed by itself or by a request."""

    def __init__(self, now: float) -> None:
        self.at = now
        self._cluster: object = None

    def __call__(self, simulation: Simulation) -> None:
        if simulation.cluster is not self._cluster:
            self._cluster, self.at = simulation.cluster, simulation.world.now

    def when(self, simulation: Simulation) -> float:
        """Of the state that is looked at now."""
        self(simulation)
        return self.at


def _pace(
    plane: SimulatedControlPlane, clock: VirtualClock, changed: _Changes, schedule: Schedule
) -> EventSkippingClock:
    return EventSkippingClock(
        plane,
        clock,
        changed.when,
        settle_seconds=Settings().settle_seconds,
        longest_stride_seconds=STRIDE_SECONDS,
        most_seconds=LONGEST_STRIDE_SECONDS,
        faults=schedule,
    )


def without_policy(releases: Sequence[Release]) -> list[Release]:
    """The same releases, with a policy that puts nothing right."""
    return [replace(r, placement=replace(r.placement, reconcile=Reconcile())) for r in releases]
