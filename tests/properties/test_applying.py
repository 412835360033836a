"""Laws of applying, over random clusters, targets, faults and kills: it arrives, harms nobody, and leaves no trace."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis import given, note
from hypothesis import strategies as st
from tests.builders import move, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, lab, simulation

from replan.applying.settings import Settings
from replan.errors import Exit
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigChange,
    ConfigOperation,
    broker_change,
    topic_change,
)
from replan.model.control_plane import Wanted
from replan.model.declared.placement import MoveThrottle, SideRates
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.plans.moves import Move
from replan.reporting.application.outcome_text import outcome_text
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.faults import (
    At,
    Disconnect,
    DropFromIsr,
    KillBroker,
    LagMetadata,
    LoseRequests,
    RequestKind,
    Schedule,
    StartBroker,
    StopBroker,
)
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.controller.versions import RULES

BROKERS = tuple(BrokerId(b) for b in range(1, 6))
VERSIONS = tuple(RULES)


@dataclass(frozen=True)
class Case:
    """One application and every fault that it meets."""

    moves: tuple[Move, ...]
    throttle: MoveThrottle | None
    standing: tuple[ConfigChange, ...]
    schedule: Schedule
    kills: tuple[int, ...]
    version: str
    slots: int
    unclean: bool
    pause: float
    """Seconds until another process goes on where one was killed."""

    def never_dropped(self, planned: Move) -> Replicas:
        """The original replicas that the schedule itself never drops: whom it can drop depends on who leads."""
        dropped = {
            at.fault.broker
            for at in self.schedule
            if isinstance(at.fault, DropFromIsr) and at.fault.partition == planned.partition
        }
        return tuple(b for b in planned.original if b not in dropped)

    def lab(self, watch: Callable[[Simulation], None] | None = None) -> Lab:
        made = lab(
            [state(m.original, partition=m.partition.partition, size=m.bytes) for m in self.moves],
            self.moves,
            throttle=self.throttle,
            schedule=self.schedule,
            version=self.version,
            watch=watch,
            settings=Settings(slots_per_broker=self.slots),
            unclean=self.unclean,
        )
        made.plane.alter_configs(self.standing)
        return made


def lists(least: int = 2, most: int = 4) -> st.SearchStrategy[list[BrokerId]]:
    return st.lists(st.sampled_from(BROKERS), min_size=least, max_size=most, unique=True)


@st.composite
def moves(draw: st.DrawFn, *, unclean: bool) -> tuple[Move, ...]:
    return tuple(
        move(
            draw(lists()),
            draw(lists()),
            partition=p,
            size=draw(st.integers(1, 40)) * MB,
            elect=draw(st.booleans()),
            unclean_election=unclean,
        )
        for p in range(draw(st.integers(1, 4)))
    )


@st.composite
def standing(draw: st.DrawFn) -> tuple[ConfigChange, ...]:
    """Throttles that another tool has set before."""
    entries = st.sampled_from(["", "*", "0:1", "7:8", "0:4,1:2", "0:1,0:2,0:3,0:4,0:5"])
    changes = [
        topic_change("orders", key, ConfigOperation.SET, draw(entries))
        for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
        if draw(st.booleans())
    ]
    for broker in BROKERS:
        for key in (LEADER_RATE, FOLLOWER_RATE):
            if draw(st.integers(0, 4)) == 0:
                rate = str(draw(st.sampled_from([3, 8, 500])) * MB)
                changes.append(broker_change(broker, key, ConfigOperation.SET, rate))
    return tuple(changes)


LAGS = st.sampled_from([5 * MB, 400 * MB, 2_000 * MB])
"""How far a follower falls behind: out of the ISR for 0.05, 4 and 20 s at the speed of the network."""


@st.composite
def schedules(draw: st.DrawFn, partitions: int) -> Schedule:
    """Faults one after another: at most one broker is down at a time, and it comes back."""
    happenings: list[At] = []
    moment = 0.0
    for _ in range(draw(st.integers(0, 3))):
        moment += draw(st.integers(0, 40))
        kind = draw(st.integers(0, 5))
        broker = draw(st.sampled_from(BROKERS))
        match kind:
            case 0 | 1:
                down = KillBroker(broker) if kind == 0 else StopBroker(broker)
                back = moment + draw(st.sampled_from([2, 15, 60]))
                happenings += [At(moment, down), At(back, StartBroker(broker))]
                moment = back + 60
            case 2:
                late = draw(st.sampled_from([None, 0.0, 5.0, 70.0]))
                lost = draw(st.sampled_from(RequestKind))
                happenings.append(At(moment, LoseRequests(lost, draw(st.integers(1, 3)), late)))
            case 3:
                happenings.append(At(moment, Disconnect(draw(st.sampled_from([3, 20, 40])))))
                moment += 45
            case 4:
                name = TopicPartition("orders", draw(st.integers(0, partitions - 1)))
                happenings.append(At(moment, DropFromIsr(name, broker, draw(LAGS))))
            case _:
                happenings.append(At(moment, LagMetadata(draw(st.sampled_from([0.0, 1.5])))))
    return tuple(happenings)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    unclean = draw(st.booleans())
    planned = draw(moves(unclean=unclean))
    return Case(
        moves=planned,
        throttle=draw(
            st.sampled_from(
                [
                    None,
                    MoveThrottle(5 * MB),
                    MoveThrottle(20 * MB, {BROKERS[0]: None, BROKERS[1]: SideRates(MB, 9 * MB)}),
                ]
            )
        ),
        standing=draw(standing()),
        schedule=draw(schedules(len(planned))),
        kills=tuple(draw(st.lists(st.integers(1, 12), max_size=3))),
        version=draw(st.sampled_from(VERSIONS)),
        slots=draw(st.integers(1, 3)),
        unclean=unclean,
        pause=draw(st.sampled_from([0.0, 20.0])),
    )


@st.composite
def disturbed_starts(draw: st.DrawFn) -> Case:
    """Requests are lost and processes killed at the start, while a broker dies and replicas fall behind."""
    unclean = draw(st.booleans())
    planned = draw(moves(unclean=unclean))
    down, died = draw(st.sampled_from(BROKERS)), draw(st.integers(0, 8))
    happenings = [
        At(0, LoseRequests(RequestKind.REASSIGN, draw(st.sampled_from([1, 15, 30])), None)),
        At(died, KillBroker(down)),
        At(died + draw(st.sampled_from([15, 60])), StartBroker(down)),
    ]
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from([m.partition for m in planned]))
        behind = DropFromIsr(name, draw(st.sampled_from(BROKERS)), draw(LAGS))
        happenings.append(At(draw(st.integers(0, 25)), behind))
    return Case(
        moves=planned,
        throttle=draw(st.sampled_from([None, MoveThrottle(5 * MB)])),
        standing=(),
        schedule=tuple(sorted(happenings, key=lambda at: at.seconds)),
        kills=tuple(draw(st.lists(st.integers(2, 5), max_size=2))),
        version=draw(st.sampled_from(VERSIONS)),
        slots=draw(st.integers(1, 3)),
        unclean=unclean,
        pause=draw(st.sampled_from([0.0, 12.0, 20.0])),
    )


Lists = Callable[[Mapping[TopicPartition, Replicas | None]], None]


def applied(case: Case, made: Lab, lists: Lists | None = None) -> None:
    """Run it to its end, killed where the case says so; a cluster that was silent for too long is tried again."""
    for kill in case.kills:
        before, after = (kill, None) if kill % 2 else (None, kill)
        try:
            made.apply(boundary=Boundary(before, after, lists=lists))
        except Killed:
            note(f"killed at second {made.clock.now():g}")
            made.clock.sleep(case.pause)
    outcome = made.apply(boundary=Boundary(lists=lists))
    for _ in range(3):
        if outcome.exit_code is Exit.OK:
            return
        note(outcome_text(outcome))
        made.clock.sleep(60)
        outcome = made.apply(boundary=Boundary(lists=lists))
    assert outcome.exit_code is Exit.OK, outcome


@given(cases())
def test_it_arrives_and_leaves_throttles_exactly_as_they_were(case: Case) -> None:
    made = case.lab()
    before = made.configs()
    applied(case, made)
    made.clock.sleep(1_000)  # whatever is still to come has come
    for planned in case.moves:
        found = made.partition(planned)
        assert found.replicas == planned.target
        assert (found.adding, found.removing) == ((), ())
    assert made.configs() == before


UNSEEN_SECONDS = 2.5
"""Out of sync for less may fall between two looks: a poll, and metadata that lags."""
SETTLED_SECONDS = 15 - UNSEEN_SECONDS


@dataclass
class InSync:
    """Since when the whole target of a partition has been in sync, and whether it ever was for the settle time."""

    since: float | None = 0.0
    lost_at: float | None = None
    settled: bool = False

    def see(self, now: float, *, holds: bool) -> None:
        lost_for = 0.0 if self.lost_at is None else now - self.lost_at
        if self.since is not None and lost_for > UNSEEN_SECONDS:
            self.since = None
        if holds:
            self.since, self.lost_at = now if self.since is None else self.since, None
        elif self.lost_at is None:
            self.lost_at = now
        if self.since is not None:
            until = now if self.lost_at is None else self.lost_at
            self.settled |= until - self.since >= SETTLED_SECONDS

    def settled_by(self, now: float) -> bool:
        """Whether it had settled before now, or has up to now."""
        until = now if self.lost_at is None else self.lost_at
        return self.settled or (self.since is not None and until - self.since >= SETTLED_SECONDS)


@dataclass
class Witness:
    """Watches every state that the controller goes through, and collects what breaks the laws.

    A request may take effect long after it was sent, when an ISR has shrunk again; so what is demanded at a drop is
    that the target had settled before.
    """

    moves: dict[TopicPartition, Move]
    undisturbed: Callable[[float, TopicPartition], Replicas]
    """Brokers that never left the ISR up to a second, without us."""
    broken: list[str] = field(default_factory=list)
    lists: dict[TopicPartition, Replicas] = field(default_factory=dict)
    in_sync: dict[TopicPartition, InSync] = field(default_factory=dict)

    def __call__(self, simulation: Simulation) -> None:
        now = simulation.world.now
        for name, partition in simulation.cluster.partitions():
            planned, before = self.moves[name], self.lists.get(name, self.moves[name].original)
            dropped = (set(before) - set(partition.replicas)) & set(planned.original)
            target = self.in_sync.setdefault(name, InSync(None if planned.new else -99.0))
            if dropped and not target.settled_by(now):
                self.broken.append(f"{name}: dropped {dropped} of {before} before it had settled")
            target.see(now, holds=set(planned.target) <= set(partition.isr))
            if set(planned.original) <= set(partition.replicas):
                missing = set(self.undisturbed(now, name)) - set(partition.isr)
                if missing:
                    self.broken.append(f"{name}: {missing} left the ISR because of us")
            self.lists[name] = partition.replicas


@given(cases())
def test_no_replica_is_dropped_before_the_target_settled_and_none_leaves_the_isr_because_of_us(
    case: Case,
) -> None:
    witness = Witness({m.partition: m for m in case.moves}, never_left(case))
    applied(case, case.lab(watch=witness))
    assert not witness.broken


@dataclass
class Gatekeeper:
    """Watches every state of the cluster, and collects lists that are asked for although a gate is closed."""

    unclean: bool
    now: Callable[[], float] = float
    closed_since: dict[TopicPartition | BrokerId, float] = field(default_factory=dict)
    """Partitions in which an empty replica could be elected, and brokers that are fenced."""
    latest: Simulation | None = None
    broken: list[str] = field(default_factory=list)

    def __call__(self, simulation: Simulation) -> None:
        self.latest = simulation
        brokers = simulation.cluster.brokers
        fenced = {b for b, registration in brokers.items() if registration.fenced}
        lonely = {n for n, p in simulation.cluster.partitions() if len(set(p.isr) - fenced) < 2}
        now = simulation.world.now
        closed: set[TopicPartition | BrokerId] = {*fenced, *lonely}
        self.closed_since = {c: self.closed_since.get(c, now) for c in closed}

    def closed_for(self, what: TopicPartition | BrokerId) -> float:
        """For how long this has been closing a gate."""
        now = self.now()
        return now - self.closed_since.get(what, now)

    def asked(self, lists: Mapping[TopicPartition, Replicas | None]) -> None:
        """See what is about to be asked for."""
        if self.latest is None:
            return
        for name, listed in lists.items():
            partition = self.latest.cluster.partition(name)
            added = set(listed or ()) - set(() if partition is None else partition.replicas)
            watched: set[TopicPartition | BrokerId] = {*added}
            if added and self.unclean:
                watched.add(name)
            closed = [w for w in watched if self.closed_for(w) > UNSEEN_SECONDS]
            if closed:
                self.broken.append(
                    f"{name}: {listed} is asked for although {closed} closes the gate"
                )


@given(disturbed_starts())
def test_no_replica_is_added_past_a_gate_whatever_was_asked_before(case: Case) -> None:
    gatekeeper = Gatekeeper(case.unclean)
    made = case.lab(watch=gatekeeper)
    gatekeeper.now = made.clock.now
    applied(case, made, gatekeeper.asked)
    assert not gatekeeper.broken


def never_left(case: Case) -> Callable[[float, TopicPartition], Replicas]:
    """From the same cluster under the same faults without us: who was in sync at every moment up to a second."""
    clock = VirtualClock()
    states = [state(m.original, partition=m.partition.partition, size=m.bytes) for m in case.moves]
    history: list[tuple[float, dict[TopicPartition, Replicas]]] = []
    steady = {m.partition: case.never_dropped(m) for m in case.moves}

    def watch(now: Simulation) -> None:
        for name, partition in now.cluster.partitions():
            steady[name] = tuple(b for b in steady[name] if b in partition.isr)
        history.append((now.world.now, dict(steady)))

    plane = SimulatedControlPlane(
        simulation(states, case.version, unclean=case.unclean),
        clock,
        schedule=case.schedule,
        watch=watch,
    )
    plane.alter_configs(case.standing)
    clock.sleep(4_000)
    plane.look(Wanted())

    def steady_until(seconds: float, name: TopicPartition) -> Replicas:
        last = {m.partition: case.never_dropped(m) for m in case.moves}
        for moment, members in history:
            if moment > seconds:
                break
            last = members
        return last[name]

    return steady_until
