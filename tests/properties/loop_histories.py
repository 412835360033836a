"""Drawn histories of weeks of a cluster that a loop keeps: what happens to it, the run, and what was seen of it.

Here belong the history, how a seed draws one, and its run on the simulator; what must hold of it is in `loop_laws`.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from random import Random

from msgspec import Struct, field
from msgspec.structs import replace
from tests.builders import placement, snapshot, state, within
from tests.properties.loop_lives import PERSON, Deadly, MortalJournal, Span, lives

from replan.applying.api import Verb
from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    Balance,
    Broker,
    BrokerId,
    ConfigOperation,
    DeviationKind,
    HoldLimits,
    LogDir,
    MoveThrottle,
    Placement,
    Reconcile,
    ReplicaBlacklist,
    ReplicaName,
    Snapshot,
    Spread,
    TopicPartition,
    TopicRule,
    Where,
    Window,
    Windows,
    broker_change,
    replicas,
)
from replan.planning.api import Plan
from replan.reconciling.api import LoopStatus, Proposal
from replan.rehearsal.api import LoopRun, Recorder, Release, TimedCommand, run_loop
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    At,
    Disconnect,
    Fault,
    KillBroker,
    LoseDisk,
    LoseRequests,
    RepeatRequests,
    ReplaceDisks,
    SendRequest,
    Simulation,
    StartBroker,
    StopBroker,
    WriteKind,
    from_snapshot,
)

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
MB = 1_000_000
SIZE = 200 * MB
VOLUMES = (2_000 * MB, 2_000 * MB, 700 * MB, 430 * MB)
"""Of each of the two log directories of a broker, where a history has any: two or three fill the small ones."""
FULL_ABOVE = Fraction(85, 100)
BASE = ((1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 1), (6, 1, 2))
WHERE = Where("placement.yaml", 3, 3)
CANCELS_EVERY = 120.0
"""How often a person looks whether anything is applied that is to be cancelled."""
REST_HOURS = 30.0
"""After the last event: a night without a window, the longest threshold, the slowest copies."""


class Away(Struct, frozen=True):
    """Brokers that do not serve; one that has lost its only disk does not."""

    brokers: tuple[int, ...]
    at: float
    returns: tuple[float, ...]
    """When each serves again."""
    how: str

    @property
    def until(self) -> float:
        """When all of them serve again."""
        return max(self.returns)

    def schedule(self) -> Iterator[At]:
        """What happens when."""
        for broker, until in zip(map(BrokerId, self.brokers), self.returns, strict=True):
            ends: dict[str, tuple[Fault, Fault]] = {
                "kill": (KillBroker(broker), StartBroker(broker)),
                "stop": (StopBroker(broker), StartBroker(broker)),
                "disk": (LoseDisk(broker), ReplaceDisks(broker)),
            }
            dies, back = ends[self.how]
            yield At(self.at, dies)
            if until < inf:
                yield At(until, back)


class ByHand(Struct, frozen=True):
    """A person moves a partition."""

    number: int
    target: tuple[int, ...]
    at: float


class Left(Struct, frozen=True):
    """A tool leaves a throttle behind."""

    broker: int
    key: str
    at: float


class Trouble(Struct, frozen=True):
    """The network: nobody answers for so long, or the next requests of a kind get lost, or arrive twice."""

    fault: Disconnect | LoseRequests | RepeatRequests
    at: float

    @property
    def until(self) -> float:
        """When it is over."""
        return self.at + (self.fault.seconds if isinstance(self.fault, Disconnect) else 0.0)


class KilledLoop(Struct, frozen=True):
    """From then on the process dies before, or after, its so manieth effect; another one goes on a while later."""

    at: float
    effects: int
    before: bool
    gap: float

    @property
    def until(self) -> float:
        """When the other one is there, if it died at once."""
        return self.at + self.gap


class Declared(Struct, frozen=True):
    """A placement: lists, or a rule with brokers that are drained."""

    at: float
    lists: tuple[tuple[int, ...], ...] = BASE
    drained: frozenset[int] = frozenset()


class Paused(Struct, frozen=True):
    """A person pauses what is there, or cancels what is applied meanwhile, and lets it go on."""

    at: float
    until: float
    cancels: bool = False


class Broken(Struct, frozen=True):
    """The placement cannot be read."""

    at: float
    until: float


class Jump(Struct, frozen=True):
    """The wall clock is put forward, or back, and put right later."""

    at: float
    until: float
    seconds: float


class Stopped(Struct, frozen=True):
    """The process is asked to leave, and another one begins later."""

    at: float
    until: float


Event = Away | ByHand | Left | Trouble | KilledLoop | Declared | Paused | Broken | Jump | Stopped


class History(Struct, frozen=True, kw_only=True):
    """What happens to a cluster, and what the loop may do; times in seconds from the beginning."""

    policy: Reconcile
    events: tuple[Event, ...]
    hours: float
    by_rule: bool = False
    rate: int | None = None
    """Of the throttle."""
    every: float = 600.0
    brokers: int = 6
    base: tuple[tuple[int, ...], ...] = BASE
    balanced: bool = False
    """Whether the placement asks for a balance of replicas."""
    balanced_dirs: bool = False
    """Whether it asks for a balance of the log directories of each broker."""
    volumes: tuple[int, ...] = ()
    """Bytes of each of the two log directories of a broker, by broker; none where a history has no directories."""
    elects: bool = True
    """Whether the cluster brings leaderships back by itself."""
    leased: bool = False
    """Whether another loop may be there: each process waits until the lease of the one before has ended."""

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
        changed = (e for e in self.events if isinstance(e, Declared))
        return [Declared(0.0, self.base), *changed]

    @property
    def names(self) -> list[TopicPartition]:
        """Of all partitions."""
        return [TopicPartition("orders", number) for number in range(len(self.base))]

    def log_dirs(self, broker: int) -> dict[str, list[int]]:
        """Which partitions lie in which directory of a broker at the beginning."""
        holds = [i for i, of in enumerate(self.base) if broker in of]
        return {"/a": holds[::2], "/b": holds[1::2]}

    def rack(self, broker: int) -> str:
        """Of a broker."""
        return "abc"[(broker - 1) % 3]

    def down(self, broker: int, moment: float) -> float | None:
        """For how long a broker had been down at a moment; None where it served."""
        found = [
            e.at
            for e in self.away
            for b, until in zip(e.brokers, e.returns, strict=True)
            if b == broker and e.at <= moment < until
        ]
        return moment - min(found) if found else None

    def placement(self, declared: Declared) -> Placement:
        """As a file would declare it."""
        throttle = None if self.rate is None else MoveThrottle(self.rate)
        digest = f"{declared.at:064.0f}"
        if not self.by_rule:
            lists = {"orders": [list(of) for of in declared.lists]}
            made = placement(lists, throttle=throttle, reconcile=self.policy)
            return replace(made, digest=digest)
        factor = len(self.base[0])
        rule = TopicRule(
            where=WHERE, pattern="orders", replication_factor=factor, spread=Spread.RACK
        )
        drained = tuple(ReplicaBlacklist(BrokerId(b), WHERE) for b in sorted(declared.drained))
        parts = {"replicas": Fraction(1, 4)} if self.balanced else {}
        parts |= {"logDirs": Fraction(1, 10)} if self.balanced_dirs else {}
        balance = Balance(WHERE, within(**parts)) if parts else None
        made = placement(
            throttle=throttle, reconcile=self.policy, rules={"orders": rule}, balance=balance
        )
        return replace(made, replica_blacklist=drained, digest=digest)


class Seen(Struct):
    """What an observer hears."""

    statuses: list[LoopStatus] = field(default_factory=list)
    plans: list[tuple[float, Plan]] = field(default_factory=list)

    def changed(self, status: LoopStatus) -> None:
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
                self.bytes += min(
                    speed * seconds, simulation.world.lags[name, broker].remaining_bytes
                )


class Run(Struct, frozen=True):
    """A history that has happened."""

    history: History
    month: LoopRun
    seen: Seen
    journal: MortalJournal
    recorder: Recorder
    copied: float
    kills: tuple[float, ...]
    """When the process died."""
    cancels: tuple[float, ...]
    """When a person cancelled what it applied."""


def happens(history: History) -> Run:
    """Run the loop through it."""
    simulation = begin(history)
    releases = [Release(d.at, history.placement(d)) for d in history.declared]
    seen, recorder = Seen(), Recorder(history.names, simulation)
    journal = MortalJournal()
    broken = spans(history, Broken)
    releases += [  # nobody rests over the moment at which it breaks
        replace(before[-1], at=of.at)
        for of in broken
        if (before := [r for r in releases if r.at <= of.at])
    ]
    killed = [e for e in history.events if isinstance(e, KilledLoop)]
    deadly = Deadly([(e.at, e.effects, e.before, e.gap) for e in killed])
    copied = Copied(recorder)
    month = run_loop(
        simulation,
        sorted(releases, key=lambda of: of.at),
        history.hours * HOUR,
        tuple(sorted(_schedule(history), key=lambda at: at.seconds)),
        every=history.every,
        journal=journal,
        also=seen,
        asked=list(_asked(history)),
        meter=copied,
        lives=lives(
            deadly,
            journal,
            broken=broken,
            jumps=spans(history, Jump),
            stops=spans(history, Stopped),
            leased=history.leased,
        ),
    )
    recorder.note(month.simulation)
    return Run(
        history,
        month,
        seen,
        journal,
        recorder,
        copied.bytes,
        tuple(deadly.died),
        tuple(journal.cancelled),
    )


def begin(history: History) -> Simulation:
    """The cluster as it is when the history begins."""
    states = [state(of, partition=i, size=SIZE) for i, of in enumerate(history.base)]
    registered = [Broker(BrokerId(b), history.rack(b)) for b in range(1, history.brokers + 1)]
    seen = snapshot(
        states, registered=registered, min_insync_replicas=max(1, len(history.base[0]) - 1)
    )
    if history.volumes:
        seen = replace(seen, log_dirs=tuple(_log_dirs(history)))
    simulation = from_snapshot(seen, "4.3")
    if history.elects:
        return simulation
    speeds = replace(simulation.world.speeds, rebalance_seconds=None)
    return replace(simulation, world=replace(simulation.world, speeds=speeds))


def _log_dirs(history: History) -> Iterator[LogDir]:
    for broker in range(1, history.brokers + 1):
        for path, lying in history.log_dirs(broker).items():
            total = max(history.volumes[broker - 1], len(lying) * SIZE + MB)
            usable = total - len(lying) * SIZE
            replicas_of = {"orders": tuple(lying)} if lying else {}
            yield LogDir(BrokerId(broker), path, total, usable, len(lying), replicas=replicas_of)


def _schedule(history: History) -> Iterator[At]:
    for event in history.events:
        match event:
            case Away():
                yield from event.schedule()
            case ByHand(number, target, at):
                moved = AlterReassignments(((history.names[number], replicas(*target)),))
                yield At(at, SendRequest(moved))
            case Left(broker, key, at):
                set_to = broker_change(BrokerId(broker), key, ConfigOperation.SET, "5000000")
                yield At(at, SendRequest(AlterConfigs((set_to,))))
            case Trouble(fault, at):
                yield At(at, fault)
            case _:
                pass


def spans(history: History, kind: type[Broken | Jump | Stopped]) -> list[Span]:
    """When something of a kind goes on, in the order of time."""
    found = (e for e in history.events if isinstance(e, kind))
    of = (Span(e.at, e.until, e.seconds if isinstance(e, Jump) else 0.0) for e in found)
    return sorted(of, key=lambda span: span.at)


def _asked(history: History) -> Iterator[TimedCommand]:
    for event in history.events:
        if isinstance(event, Paused):
            times = int((event.until - event.at) / CANCELS_EVERY) if event.cancels else 0
            for again in range(times + 1):
                verb = Verb.CANCEL if event.cancels else Verb.PAUSE
                yield TimedCommand(event.at + again * CANCELS_EVERY, verb, PERSON)
            yield TimedCommand(event.until, Verb.RESUME, PERSON)


def drawn(seed: int) -> History:
    """A history of one to four weeks: small clusters, any policy, and whatever happens."""
    chance = Random(seed)  # noqa: S311 - the same history for the same seed
    brokers, factor = chance.choice([3, 4, 5, 6, 6, 7, 8]), chance.choice([2, 3, 3, 3])
    by_rule, disks = chance.random() < 0.6, chance.random() < 0.3
    shape = History(
        policy=_policy(chance, disks=disks, by_rule=by_rule),
        events=(),
        hours=0.0,
        by_rule=by_rule,
        rate=chance.choice([None, 2 * MB, 200_000]),
        every=chance.choice([300.0, 600.0, 1_800.0, 3_600.0, 3_600.0]),
        brokers=brokers,
        base=_lists(chance, brokers, factor, chance.randint(2, 6)),
        balanced=by_rule and chance.random() < 0.4,
        volumes=tuple(chance.choice(VOLUMES) for _ in range(brokers)) if disks else (),
        elects=chance.random() < 0.5,
        leased=chance.random() < 0.2,
    )
    weeks = chance.randint(1, 4)
    events = _events(chance, shape, weeks)
    ends = [getattr(e, "until", e.at) for e in events]
    last = max(
        (e.at if end == inf else end for e, end in zip(events, ends, strict=True)), default=0
    )
    hours = max(weeks * 7 * 24.0, last / HOUR + REST_HOURS)
    by_dirs = bool(shape.volumes) and by_rule and chance.random() < 0.4
    return replace(shape, events=events, hours=hours, balanced_dirs=by_dirs)


def _lists(chance: Random, brokers: int, factor: int, count: int) -> tuple[tuple[int, ...], ...]:
    """Lists over distinct racks."""
    racks = [range(first, brokers + 1, 3) for first in (1, 2, 3)]
    found = []
    for _ in range(count):
        members = [chance.choice(rack) for rack in chance.sample(racks, factor)]
        found.append(tuple(members))
    return tuple(found)


def _policy(chance: Random, *, disks: bool, by_rule: bool) -> Reconcile:
    """Some kinds, each after its time; mostly without windows."""
    kinds = [k for k in DeviationKind if disks or k is not DeviationKind.LOG_DIR_FULL]
    wanted = [k for k in kinds if chance.random() < 0.7]
    put_right = {kind: chance.choice([0, 600, 1_800, 7_200]) for kind in wanted}
    windows, hold = Windows(), HoldLimits()
    if chance.random() < 0.2:
        begins, length = chance.choice([0, 4, 20]) * 60, chance.choice([30, 240, 600])
        window = Window(tuple(range(7)), begins, (begins + length - 1) % 1_440 + 1)
        excepted = (DeviationKind.BROKER_DOWN,) if chance.random() < 0.3 else ()
        windows = Windows((window,), frozenset(excepted))
    if by_rule and chance.random() < 0.2:
        hold = HoldLimits(brokers_down=chance.choice([1, 2, 3]), racks_down=chance.choice([1, 2]))
    return Reconcile(put_right, full_above=FULL_ABOVE, windows=windows, hold=hold)


OFTEN = {
    "broker": 4,
    "rack": 1,
    "hand": 2,
    "tool": 1,
    "release": 3,
    "pause": 2,
    "cancel": 2,
    "broken": 1,
    "clock": 0.2,
    "stopped": 0.7,
    "network": 2,
    "killed": 2,
}
"""How often each happens, beside the others."""


def _events(chance: Random, shape: History, weeks: int) -> tuple[Event, ...]:
    events, busy = list[Event](), dict[int, float]()
    now = HOUR
    for _ in range(chance.randint(1, 5 + 3 * weeks)):
        now += chance.choice([MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 9 * HOUR, 2 * DAY])
        if now > weeks * 7 * DAY:
            break
        what = chance.choices(list(OFTEN), list(OFTEN.values()))[0]
        found = _event(chance, what, now + chance.choice([0.0, 7.0, 131.0]), shape, events)
        if isinstance(found, Away):
            if any(busy.get(b, 0) >= found.at for b in found.brokers):
                continue
            ends = {b: t + 2 * MINUTE for b, t in zip(found.brokers, found.returns, strict=True)}
            busy |= ends
        events.append(found)
        if isinstance(found, Declared | ByHand | Away) and chance.random() < 0.15:
            soon = found.at + chance.choice([1.0, 1_000.0, 5_000.0])  # whatever is done about it
            events.append(Paused(soon, soon + chance.choice([1, 3, 9]) * HOUR, cancels=True))
    return tuple(events)


def _event(chance: Random, what: str, at: float, shape: History, before: Sequence[Event]) -> Event:
    match what:
        case "broker" | "rack":
            return _outage(chance, what, at, shape)
        case "hand" | "release":
            number = chance.randrange(len(shape.base))
            by_hand = ByHand(number, _any_list(chance, shape), at)
            return by_hand if what == "hand" else _released(chance, at, shape, before)
        case "killed":
            effects, gap = chance.randint(1, 12), chance.choice([5.0, 60.0, HOUR])
            return KilledLoop(at, effects, chance.random() < 0.5, gap)
        case "tool":
            key = chance.choice([LEADER_RATE, FOLLOWER_RATE])
            return Left(chance.randint(1, shape.brokers), key, at)
        case "network":
            return Trouble(_trouble(chance), at)
        case _:
            return _lasting(chance, what, at)


def _lasting(chance: Random, what: str, at: float) -> Event:
    until = at + _lasts(chance)
    match what:
        case "pause" | "cancel":
            return Paused(at, until, what == "cancel")
        case "broken":
            return Broken(at, until)
        case "clock":
            by = chance.choice([-30 * DAY, -DAY, -HOUR, -MINUTE, MINUTE, HOUR, DAY, 30 * DAY])
            return Jump(at, until, by)
        case _:
            return Stopped(at, until)


def _lasts(chance: Random) -> float:
    return chance.choice([0.1, 0.4, 0.6, 1.0, 3.0, 9.0]) * HOUR


def _outage(chance: Random, what: str, at: float, shape: History) -> Away:
    lasts = _lasts(chance)
    if what == "rack":
        rack = tuple(range(chance.randint(1, 3), shape.brokers + 1, 3))
        apart = chance.choice([0.0, 0.0, 3 * MINUTE, HOUR])
        return Away(rack, at, tuple(at + lasts + i * apart for i in range(len(rack))), "kill")
    how = chance.choice(["kill", "kill", "stop", "kill" if shape.volumes else "disk"])
    ever = how == "kill" and chance.random() < 0.2
    return Away((chance.randint(1, shape.brokers),), at, (inf if ever else at + lasts,), how)


def _trouble(chance: Random) -> Disconnect | LoseRequests | RepeatRequests:
    kind, times = chance.choice(list(WriteKind)), chance.randint(1, 3)
    if chance.random() < 0.5:
        return Disconnect(chance.choice([20.0, 300.0, 2_400.0]))
    if chance.random() < 0.7:
        return LoseRequests(kind, times, chance.choice([None, 0.0, 30.0]))
    return RepeatRequests(kind, times)


def _any_list(chance: Random, shape: History) -> tuple[int, ...]:
    return tuple(chance.sample(range(1, shape.brokers + 1), len(shape.base[0])))


def _released(chance: Random, at: float, shape: History, before: Sequence[Event]) -> Declared:
    now = ([Declared(0.0, shape.base)] + [e for e in before if isinstance(e, Declared)])[-1]
    if shape.by_rule:
        drains = chance.random() < 0.6
        broker = chance.randint(1, shape.brokers)
        return replace(now, at=at, drained=frozenset({broker} if drains else ()))
    lists = list(now.lists)
    lists[chance.randrange(len(lists))] = _any_list(chance, shape)
    return replace(now, at=at, lists=tuple(lists))


def drawn_outage(seed: int) -> tuple[History, float]:
    """One broker dies, by rule, and comes back or never does; and for how long it was away.

    The process dies, and the network fails, as in any history.
    """
    chance = Random(seed)  # noqa: S311 - the same history for the same seed
    after = chance.choice([0, 600, 1_800, 7_200])
    rate = chance.choice([None, 2 * MB, 300_000, 100_000])
    lasts = chance.choice([inf, inf, 30.0, 300.0, after - 120.0, after + 1_500.0, after + 2_400.0])
    lasts, at = max(30.0, lasts), chance.choice([1.0, 1.13, 4.7]) * HOUR
    away = Away((chance.randint(1, 6),), at, (at + lasts,), "kill")
    events: list[Event] = [away]
    for _ in range(chance.choice([0, 0, 1, 2])):
        moment = at + chance.choice([10.0, after + 30.0, after + 300.0, after + 1_000.0, lasts + 9])
        if moment < inf:
            what = chance.choice(["network", "killed"])
            shape = History(policy=Reconcile(), events=(), hours=0)
            events.append(_event(chance, what, moment, shape, events))
    policy = Reconcile({DeviationKind.BROKER_DOWN: after})
    ordered = tuple(sorted(events, key=lambda e: e.at))
    weeks = chance.randint(1, 4) * 7 * 24.0
    history = History(policy=policy, events=ordered, hours=weeks, by_rule=True, rate=rate)
    return history, lasts


def with_fewer_events(history: History) -> Iterator[History]:
    """The same without one of its events, each in turn."""
    for left_out in range(len(history.events)):
        events = history.events[:left_out] + history.events[left_out + 1 :]
        yield replace(history, events=events)


def changes(history: History) -> Iterator[tuple[Declared, Declared]]:
    """Each placement with the one before it."""
    return pairwise(history.declared)
