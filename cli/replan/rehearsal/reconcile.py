"""The loop that reconciles, on the simulated cluster, in virtual time: what a policy does in a bad month.

The real loop runs with the real applier, round after round, while faults happen and placements are released. The same
month is run once more with a policy that puts nothing right, so that both can be compared.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal, SteeredJournal
from replan.applying.journal.records import LoopCommand, Record, Verb
from replan.applying.settings import Settings
from replan.applying.views.progress import Progress
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind, Reconcile
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.reconciling.loop import (
    LONGEST_REST_SECONDS,
    Journalled,
    Loop,
    LoopPorts,
    LoopSettings,
    Read,
)
from replan.reconciling.status import (
    LoopState,
    Observer,
    Proposal,
    Reason,
    Round,
    Source,
    Status,
)
from replan.reconciling.store import LoopStore, MemoryStore
from replan.rehearsal.coarse import EventSkippingClock, busy_stride
from replan.simulator.clock import VirtualClock
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
class Lasted:
    """One deviation: from when to when it was seen; None: to the end."""

    kind: DeviationKind | None
    key: str
    since: float
    until: float | None

    def seconds(self, end: float) -> float:
        """For how long."""
        return (end if self.until is None else self.until) - self.since


@dataclass(frozen=True, slots=True)
class Held:
    """One time in which the loop held, and why."""

    since: float
    until: float
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class Watched:
    """What an observer of a loop saw; all times are seconds since the rehearsal began."""

    began: float
    also: Observer | None = None
    """Who else hears of it all."""
    statuses: int = 0
    states: Counter[LoopState] = field(default_factory=Counter)
    """Seconds in each state."""
    lasted: list[Lasted] = field(default_factory=list)
    holds: list[Held] = field(default_factory=list)
    rounds: dict[int, Round] = field(default_factory=dict)
    last: Status | None = None
    _open: dict[str, tuple[DeviationKind | None, float]] = field(default_factory=dict)

    def changed(self, status: Status) -> None:
        """Count it."""
        if self.also is not None:
            self.also.changed(status)
        self.statuses += 1
        before, at = self.last, status.at - self.began
        if before is not None:
            since = before.at - self.began
            self.states[before.state] += round(at - since, 3)  # type: ignore[assignment]
            if before.state is LoopState.HOLDING:
                self._held(since, at, before.reasons)
        self.last = status
        for done in status.rounds:
            self.rounds[done.number] = done
        self._seen(status, at)

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        """Hand it on."""
        if self.also is not None:
            self.also.planned(plan, snapshot)

    def proposed(self, proposal: Proposal) -> None:
        """Hand it on."""
        if self.also is not None:
            self.also.proposed(proposal)

    def _held(self, since: float, until: float, reasons: tuple[Reason, ...]) -> None:
        last = self.holds[-1] if self.holds else None
        if last is not None and last.until == since and last.reasons == reasons:
            self.holds[-1] = Held(last.since, until, reasons)
        else:
            self.holds.append(Held(since, until, reasons))

    def _seen(self, status: Status, at: float) -> None:
        if status.state in {LoopState.ACTING, LoopState.UNREACHABLE, LoopState.ENDED}:
            return
        now = {_key(d): (d.kind, d.since - self.began) for d in status.deviations}
        for key in self._open.keys() - now.keys():
            kind, since = self._open.pop(key)
            self.lasted.append(Lasted(kind, key, since, at))
        for key, found in now.items():
            self._open.setdefault(key, found)

    def all_lasted(self) -> list[Lasted]:
        """Those that are over, and those that are not."""
        return [*self.lasted, *(Lasted(k, key, at, None) for key, (k, at) in self._open.items())]


def _key(deviation: object) -> str:
    kind, subject = getattr(deviation, "kind", None), getattr(deviation, "subject", None)
    return f"{kind} {subject}"


@dataclass(frozen=True, slots=True)
class Month:
    """What one run came to."""

    seconds: float
    watched: Watched
    simulation: Simulation
    """At the end."""
    looks: int

    @property
    def copied_bytes(self) -> int:
        """Of all rounds."""
        return sum(r.bytes for r in self.watched.rounds.values())


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
) -> Month:
    """Run the loop for so long; the releases are in the order of their times, and the first is there from the start.

    `also` hears what an observer of any loop hears, proposals included.
    """
    clock = VirtualClock(simulation.world.now)
    changed = _Changes(clock.now())
    plane = SimulatedControlPlane(simulation, clock, schedule=schedule, watch=changed)
    started = datetime.fromisoformat(simulation.world.started_at).timestamp()
    began, end = clock.now(), clock.now() + seconds
    watched = Watched(started + began, also)
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
            clock.sleep(min(seconds, until - clock.now()))
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
    loop = Loop(
        ports,
        LoopSettings(
            owner="rehearsal",
            every=every,
            proposes=also is not None,
            leased=False,
            slice_seconds=LONGEST_REST_SECONDS,
            applying=applying,
        ),
    )
    loop.run()
    return Month(clock.now() - began, watched, plane.simulation, quick.looks)


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
