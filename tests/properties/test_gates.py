"""No replica is added while a gate is closed, whatever fails or is killed; `test_hostile` has the other laws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hypothesis import given, note
from hypothesis import strategies as st
from tests.builders import move, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab, lab

from replan.applying.api import Settings
from replan.errors import Exit
from replan.model.api import BrokerId, MoveThrottle, Replicas, TopicPartition
from replan.planning.api import Move
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    RULES,
    At,
    DropFromIsr,
    KillBroker,
    LoseRequests,
    Schedule,
    Simulation,
    StartBroker,
    WriteKind,
)

BROKERS = tuple(BrokerId(b) for b in range(1, 6))
VERSIONS = tuple(RULES)


@dataclass(frozen=True)
class Case:
    """One application and every fault that it meets."""

    moves: tuple[Move, ...]
    throttle: MoveThrottle | None
    schedule: Schedule
    kills: tuple[int, ...]
    version: str
    slots: int
    unclean: bool
    pause: float
    """Seconds until another process goes on where one was killed."""

    def lab(self, watch: Callable[[Simulation], None] | None = None) -> Lab:
        return lab(
            [state(m.original, partition=m.partition.partition, size=m.bytes) for m in self.moves],
            self.moves,
            throttle=self.throttle,
            schedule=self.schedule,
            version=self.version,
            watch=watch,
            settings=Settings(slots_per_broker=self.slots),
            unclean=self.unclean,
        )


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


LAGS = st.sampled_from([5 * MB, 400 * MB, 2_000 * MB])
"""How far a follower falls behind: out of the ISR for 0.05, 4 and 20 s at the speed of the network."""


@st.composite
def disturbed_starts(draw: st.DrawFn) -> Case:
    """Requests are lost and processes killed at the start, while a broker dies and replicas fall behind."""
    unclean = draw(st.booleans())
    planned = draw(moves(unclean=unclean))
    down, died = draw(st.sampled_from(BROKERS)), draw(st.integers(0, 8))
    happenings = [
        At(0, LoseRequests(WriteKind.REASSIGN, draw(st.sampled_from([1, 15, 30])), None)),
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


UNSEEN_SECONDS = 2.5
"""Out of sync for less may fall between two looks: a poll, and metadata that lags."""


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
