"""Drawn histories of a cluster that a loop keeps: what happens to it, the run, and what was seen of it.

Here belong the history, its strategy and its run on the simulator; what must hold of it is in `test_reconciling`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from hypothesis import strategies as st
from tests.builders import brokers, placement, snapshot, state

from replan.applying.journal.protocol import MemoryJournal
from replan.applying.journal.records import Verb
from replan.model.configs import FOLLOWER_RATE, LEADER_RATE, ConfigOperation, broker_change
from replan.model.declared.placement import MoveThrottle, Placement
from replan.model.declared.reconcile import DeviationKind, Reconcile, Window, Windows
from replan.model.declared.rules import ReplicaBlacklist, Spread, TopicRule
from replan.model.declared.where import Where
from replan.model.names import BrokerId, TopicPartition, replicas
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.reconciling.status import Proposal, Status
from replan.rehearsal.reconcile import Asked, Month, Release, run_loop
from replan.rehearsal.recording import Recorder
from replan.simulator.cluster.faults import (
    Ask,
    At,
    Fault,
    KillBroker,
    LoseDisk,
    ReplaceDisks,
    StartBroker,
    StopBroker,
)
from replan.simulator.cluster.physical_state import ReplicaName, Simulation
from replan.simulator.controller.commands import AlterConfigs, AlterReassignments
from replan.simulator.persistence.from_snapshot import from_snapshot

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
EVERY = 600.0
MB = 1_000_000
BROKERS = range(1, 7)
RACKS = {"a": (1, 4), "b": (2, 5), "c": (3, 6)}
BASE = ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 1), (6, 1, 2))
SIZE = 200 * MB
NAMES = [TopicPartition("orders", number) for number in range(len(BASE))]
WHERE = Where("placement.yaml", 3, 3)
KINDS = (
    DeviationKind.BROKER_DOWN,
    DeviationKind.PLACEMENT_CHANGED,
    DeviationKind.CHANGED_ELSEWHERE,
    DeviationKind.LEADERSHIP_MOVED,
    DeviationKind.STALE_THROTTLE,
)
REST_HOURS = 30.0
"""After the last event: a night without a window, the longest threshold, the slowest copies."""


@dataclass(frozen=True, slots=True)
class Away:
    """Brokers that do not serve; one that has lost its only disk does not."""

    brokers: tuple[int, ...]
    at: float
    until: float
    how: str

    def schedule(self) -> Iterator[At]:
        """What happens when."""
        for broker in map(BrokerId, self.brokers):
            ends: dict[str, tuple[Fault, Fault]] = {
                "kill": (KillBroker(broker), StartBroker(broker)),
                "stop": (StopBroker(broker), StartBroker(broker)),
                "disk": (LoseDisk(broker), ReplaceDisks(broker)),
            }
            dies, returns = ends[self.how]
            yield At(self.at, dies)
            if self.until < inf:
                yield At(self.until, returns)


@dataclass(frozen=True, slots=True)
class ByHand:
    """A person moves a partition."""

    number: int
    target: tuple[int, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Left:
    """A tool leaves a throttle behind."""

    broker: int
    key: str
    at: float


@dataclass(frozen=True, slots=True)
class Declared:
    """A placement: lists, or a rule with brokers that are drained."""

    at: float
    lists: tuple[tuple[int, ...], ...] = BASE
    drained: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Paused:
    """A person pauses the loop, and lets it go on."""

    at: float
    until: float


Event = Away | ByHand | Left | Declared | Paused


@dataclass(frozen=True, slots=True)
class History:
    """What happens to a cluster, and what the loop may do; times in seconds from the beginning."""

    policy: Reconcile
    by_rule: bool
    rate: int | None
    """Of the throttle."""
    events: tuple[Event, ...]
    hours: float

    @property
    def away(self) -> list[Away]:
        """When who was."""
        return [e for e in self.events if isinstance(e, Away)]

    @property
    def by_hand(self) -> list[ByHand]:
        """What people moved."""
        return [e for e in self.events if isinstance(e, ByHand)]

    @property
    def declared(self) -> list[Declared]:
        """All placements, the first one among them."""
        return [Declared(0.0), *(e for e in self.events if isinstance(e, Declared))]

    def down(self, broker: int, moment: float) -> float | None:
        """For how long a broker had been down at a moment; None where it served."""
        found = [e.at for e in self.away if broker in e.brokers and e.at <= moment < e.until]
        return moment - min(found) if found else None

    def placement(self, declared: Declared) -> Placement:
        """As a file would declare it."""
        throttle = None if self.rate is None else MoveThrottle(self.rate)
        digest = f"{declared.at:064.0f}"
        if not self.by_rule:
            lists = {"orders": [list(of) for of in declared.lists]}
            made = placement(lists, throttle=throttle, reconcile=self.policy)
            return replace(made, digest=digest)
        rule = TopicRule(where=WHERE, pattern="orders", replication_factor=3, spread=Spread.RACK)
        drained = tuple(ReplicaBlacklist(BrokerId(b), WHERE) for b in sorted(declared.drained))
        made = placement(throttle=throttle, reconcile=self.policy, rules={"orders": rule})
        return replace(made, replica_blacklist=drained, digest=digest)


@dataclass(slots=True)
class Seen:
    """What an observer hears."""

    statuses: list[Status] = field(default_factory=list)
    plans: list[tuple[float, Plan]] = field(default_factory=list)

    def changed(self, status: Status) -> None:
        """Keep it."""
        self.statuses.append(status)

    def planned(self, plan: Plan, snapshot: Snapshot) -> None:
        """Keep it, with when it was."""
        del snapshot
        self.plans.append((self.statuses[-1].at if self.statuses else 0.0, plan))

    def proposed(self, proposal: Proposal) -> None:
        """Nothing follows from it."""


class Copied:
    """Counts the bytes that new replicas get, as they flow."""

    def __init__(self, recorder: Recorder) -> None:
        self.bytes = 0.0
        self._recorder = recorder

    def __call__(
        self, simulation: Simulation, speeds: Mapping[ReplicaName, float], until: float
    ) -> None:
        """Take in one stretch."""
        self._recorder(simulation, speeds, until)
        seconds = until - simulation.world.now
        for (name, broker), speed in speeds.items():
            found = simulation.cluster.partition(name)
            if found is not None and broker in found.adding:
                self.bytes += speed * seconds


@dataclass(frozen=True, slots=True)
class Run:
    """A history that has happened."""

    history: History
    month: Month
    seen: Seen
    journal: MemoryJournal
    recorder: Recorder
    copied: float


def happens(history: History, every: float = EVERY) -> Run:
    """Run the loop through it."""
    states = [state(of, partition=i, size=SIZE) for i, of in enumerate(BASE)]
    simulation = from_snapshot(snapshot(states, registered=brokers(6, "abc")), "4.3")
    releases = [Release(d.at, history.placement(d)) for d in history.declared]
    journal, seen, recorder = MemoryJournal(), Seen(), Recorder(NAMES, simulation)
    copied = Copied(recorder)
    month = run_loop(
        simulation,
        releases,
        history.hours * HOUR,
        tuple(sorted(_schedule(history), key=lambda at: at.seconds)),
        every=every,
        journal=journal,
        also=seen,
        asked=list(_asked(history)),
        meter=copied,
    )
    recorder.note(month.simulation)
    return Run(history, month, seen, journal, recorder, copied.bytes)


def _schedule(history: History) -> Iterator[At]:
    for event in history.events:
        match event:
            case Away():
                yield from event.schedule()
            case ByHand(number, target, at):
                asked: Fault = Ask(AlterReassignments(((NAMES[number], replicas(*target)),)))
                yield At(at, asked)
            case Left(broker, key, at):
                set_to = broker_change(BrokerId(broker), key, ConfigOperation.SET, "5000000")
                yield At(at, Ask(AlterConfigs((set_to,))))
            case Declared() | Paused():
                pass


def _asked(history: History) -> Iterator[Asked]:
    for event in history.events:
        if isinstance(event, Paused):
            yield Asked(event.at, Verb.PAUSE, "a person")
            yield Asked(event.until, Verb.RESUME, "a person")


@st.composite
def policies(draw: st.DrawFn) -> Reconcile:
    """Some kinds, each after its time; mostly without windows."""
    thresholds = st.sampled_from([0, 600, 1_800, 7_200])
    put_right = draw(st.dictionaries(st.sampled_from(KINDS), thresholds))
    windows = Windows()
    if not draw(st.integers(0, 3)):
        begins = draw(st.sampled_from([0, 4, 20])) * 60
        length = draw(st.sampled_from([30, 240, 600]))
        days = tuple(range(7))
        window = Window(days, begins, (begins + length - 1) % 1_440 + 1)
        excepted = draw(st.sampled_from([(), (), (DeviationKind.BROKER_DOWN,)]))
        windows = Windows((window,), frozenset(excepted))
    return Reconcile(put_right, windows=windows)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Days in which this and that happens, one after the other or at once; then nothing more."""
    by_rule, events = draw(st.booleans()), list[Event]()
    hours, busy = 1.0, dict[int, float]()
    last = 1.0
    for _ in range(draw(st.integers(0, 7))):
        hours += draw(st.sampled_from([0.05, 0.3, 2.0, 7.0, 26.0]))
        event = draw(_event(hours * HOUR, by_rule, events))
        if isinstance(event, Away):
            if any(busy.get(b, 0) >= event.at for b in event.brokers):
                continue
            busy |= dict.fromkeys(event.brokers, event.until + 2 * MINUTE)
        events.append(event)
        ends = getattr(event, "until", event.at)
        last = max(last, (ends if ends < inf else event.at) / HOUR)
    return History(
        draw(policies()),
        by_rule,
        draw(st.sampled_from([None, 2 * MB, 200_000])),
        tuple(events),
        last + REST_HOURS,
    )


@st.composite
def _event(draw: st.DrawFn, at: float, by_rule: bool, before: Sequence[Event]) -> Event:
    lasts = draw(st.sampled_from([0.1, 0.4, 0.6, 1.0, 3.0, 9.0])) * HOUR
    found: Event
    match draw(st.sampled_from(["broker", "broker", "rack", "hand", "tool", "release", "pause"])):
        case "broker":
            how = draw(st.sampled_from(["kill", "kill", "stop", "disk"]))
            ever = how == "kill" and not draw(st.integers(0, 3))
            broker = draw(st.sampled_from(BROKERS))
            found = Away((broker,), at, inf if ever else at + lasts, how)
        case "rack":
            found = Away(draw(st.sampled_from(sorted(RACKS.values()))), at, at + lasts, "kill")
        case "hand":
            target = tuple(draw(st.permutations(BROKERS))[:3])
            found = ByHand(draw(st.integers(0, 5)), target, at)
        case "tool":
            key = draw(st.sampled_from([LEADER_RATE, FOLLOWER_RATE]))
            found = Left(draw(st.sampled_from(BROKERS)), key, at)
        case "pause":
            found = Paused(at, at + lasts)
        case _:
            known = [e for e in before if isinstance(e, Declared)]
            found = draw(_released(at, by_rule, known[-1] if known else Declared(0.0)))
    return found


@st.composite
def _released(draw: st.DrawFn, at: float, by_rule: bool, now: Declared) -> Declared:
    if by_rule:
        drained = draw(st.sampled_from([frozenset(), *(frozenset({b}) for b in BROKERS)]))
        return replace(now, at=at, drained=drained)
    lists = list(now.lists)
    lists[draw(st.integers(0, 5))] = tuple(draw(st.permutations(BROKERS))[:3])
    return replace(now, at=at, lists=tuple(lists))
