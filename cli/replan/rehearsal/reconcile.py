"""The loop that reconciles, on the simulated cluster, in virtual time: what a policy does in a bad month.

The real loop runs with the real applier, round after round, while faults happen and placements are released. The same
month is run once more with a policy that puts nothing right, so that both can be compared.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal, SteeredJournal
from replan.applying.journal.records import LoopCommand, Record, Verb
from replan.applying.settings import Settings
from replan.applying.views.progress import Progress
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import Reconcile
from replan.model.garbage_collection import garbage_collection_paused
from replan.planning.plans.plan import Plan
from replan.reconciling.loop import (
    LONGEST_REST_SECONDS,
    Journalled,
    Loop,
    LoopPorts,
    LoopSettings,
    Read,
)
from replan.reconciling.status import Observer, Source
from replan.reconciling.store import LoopStore, MemoryStore
from replan.rehearsal.coarse import EventSkippingClock, busy_stride
from replan.rehearsal.watched import Lack, LackMeter, Watched
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import Meter
from replan.simulator.cluster.faults import Schedule
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane

STRIDE_SECONDS = 60.0
"""The longest sleep of the applier while nothing happens: the guard looks as often as that, at least."""


@dataclass(frozen=True, slots=True)
class Release:
    """A placement, and the virtual second from which on it is what the loop reads."""

    at: float
    placement: Placement
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks of the loop, and at which virtual second."""

    at: float
    verb: Verb
    """`pause` or `resume`."""
    sender: str


@dataclass(frozen=True, slots=True)
class Month:
    """What one run came to."""

    seconds: float
    watched: Watched
    simulation: Simulation
    """At the end."""
    looks: int
    lack: Lack
    """In seconds."""
    peaks: Sequence[float]
    """The most partitions that were under-replicated in each of many equal parts of the time."""

    @property
    def copied_bytes(self) -> int:
        """Of all rounds."""
        return sum(r.bytes for r in self.watched.rounds.values())


Lives = Callable[[LoopPorts, LoopSettings, Watched], None]
"""Processes of a loop, one after the other, to the end of the rehearsal."""


def one_life(ports: LoopPorts, settings: LoopSettings, watched: Watched) -> None:
    """One process, to the end."""
    loop = Loop(ports, settings)
    watched.known = lambda: loop.known
    loop.run()


@garbage_collection_paused()
def run_loop(
    simulation: Simulation,
    releases: Sequence[Release],
    seconds: float,
    schedule: Schedule = (),
    *,
    every: float = 300.0,
    settings: Settings | None = None,
    store: LoopStore | None = None,
    journal: MemoryJournal | None = None,
    also: Observer | None = None,
    asked: Sequence[Asked] = (),
    passed: Callable[[float], None] = lambda _: None,
    meter: Meter | None = None,
    lives: Lives = one_life,
) -> Month:
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
    watched = Watched(started + began, also, passed, policy=lambda: read().placement.reconcile)
    records = MemoryJournal() if journal is None else journal
    quick = _pace(plane, clock, changed, schedule)

    def read() -> Read:
        current = [r for r in releases if r.at <= clock.now() - began][-1]
        source = Source("rehearsal", current.placement.digest, current.commit)
        return Read(current.placement, source)

    @contextmanager
    def own(_plan: Plan, _alive: Callable[[], object]) -> Iterator[SteeredJournal]:
        yield records

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
        journal=lambda _: Journalled(fold(records.read())),
        own=own,
        store=_WithPeople(MemoryStore() if store is None else store, clock, began, asked),
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
    return Month(clock.now() - began, watched, ended, quick.looks, lack.seconds, lack.peaks)


class _WithPeople:
    """The records of a loop; in the moment at which a person asks for something, that is among them."""

    def __init__(
        self, store: LoopStore, clock: VirtualClock, began: float, asked: Sequence[Asked]
    ) -> None:
        self._store, self._clock, self.write = store, clock, store.write
        self._coming = sorted(
            (
                (began + one.at, LoopCommand(f"{n:08d}", one.verb, one.sender))
                for n, one in enumerate(asked)
            ),
            key=lambda one: one[0],
        )

    def read(self) -> Sequence[Record]:
        """With what was asked for since the last look."""
        while self._coming and self._coming[0][0] <= self._clock.now():
            self.write([self._coming.pop(0)[1]])
        return self._store.read()


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
        quiet_seconds=Settings().settle_seconds + 10.0,
        longest_stride_seconds=STRIDE_SECONDS,
        faults=[at.seconds for at in schedule],
    )


def without_policy(releases: Sequence[Release]) -> list[Release]:
    """The same releases, with a policy that puts nothing right."""
    return [replace(r, placement=replace(r.placement, reconcile=Reconcile())) for r in releases]
