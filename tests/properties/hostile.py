"""Everything that may go wrong around one application, drawn at random, and what a run under it looks like.

Here belong the generators of faults, of journals that are slow or fail, and the run itself: an application that is
killed and resumed under them. What must hold of a run is in `test_hostile`. Not here: the faults themselves
(`replan.simulator.cluster.faults`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import assume, note
from hypothesis import strategies as st
from tests.builders import brokers, placement, snapshot, state
from tests.unit.applying.lab import MB, Boundary, Killed, Lab

from replan.applying.journal.protocol import Journal, MemoryJournal
from replan.applying.journal.records import Record
from replan.applying.outcome import Outcome
from replan.applying.settings import Settings
from replan.errors import BadFile, ClusterUnreachable, Exit
from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    broker_change,
    topic_change,
)
from replan.model.control_plane import Clock, ElectionType
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.placement import MoveThrottle
from replan.model.snapshot import Features
from replan.planning.plan import Plan
from replan.planning.planner import make_plan
from replan.rehearsal.recording import Recorder
from replan.reporting.outcome_text import outcome_text
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.apply_fault import scheduled
from replan.simulator.cluster.faults import (
    Ask,
    At,
    Disconnect,
    DropFromIsr,
    Fault,
    KillBroker,
    LagMetadata,
    LoseDisk,
    LoseRequests,
    Question,
    RepeatRequests,
    ReplaceDisks,
    RequestKind,
    Schedule,
    SlowBroker,
    SlowLooks,
    StartBroker,
    StopBroker,
    Unresponsive,
)
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.cluster.submit import ask
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterReassignments,
    CordonDirs,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    FenceBroker,
    RebalanceLeaders,
    UnfenceBroker,
    UnregisterBroker,
)
from replan.simulator.controller.versions import RULES, rules_of
from replan.simulator.persistence.from_snapshot import from_snapshot

BROKERS = tuple(BrokerId(b) for b in range(1, 7))
TOPIC_IDS = {
    "clicks": TopicId("Y2xpY2tzLWNsaWNrcy0wMA"),
    "orders": TopicId("b3JkZXJzLW9yZGVycy0wMA"),
}
ANOTHER_TOPIC_ID = TopicId("YW5vdGhlci1hbm90aGVyLQ")
VERSIONS = tuple(RULES)
LAGS = st.sampled_from([5 * MB, 90 * MB, 400 * MB, 2_000 * MB])
"""How far a follower falls behind: out of the ISR for 0.05, 1, 4 and 20 s at the speed of the network."""


@dataclass(frozen=True, slots=True)
class JournalTrouble:
    """What one append meets: it takes so long, and fails or not, before or after it is durable."""

    seconds: float = 0.0
    fails: bool = False
    kept: bool = True


@dataclass
class TroubledJournal:
    """A journal whose appends may be slow or fail; the outcome of one that fails is not known."""

    clock: Clock
    troubles: Mapping[int, JournalTrouble]
    inner: Journal = field(default_factory=MemoryJournal)
    appends: int = 0

    def read(self) -> Sequence[Record]:
        return self.inner.read()

    def append(self, records: Sequence[Record]) -> None:
        self.appends += 1
        trouble = self.troubles.get(self.appends, JournalTrouble())
        self.clock.sleep(trouble.seconds)
        if trouble.kept:
            self.inner.append(records)
        if trouble.fails:
            raise BadFile("journal: no space left on device")


@dataclass(frozen=True, repr=False)
class Case:
    """A cluster, its plan, everything that happens to it, and when the process that moves is killed."""

    plan: Plan
    stage: Simulation
    schedule: Schedule
    kills: tuple[int, ...]
    pauses: tuple[float, ...]
    """Seconds until another process goes on where one was killed; as many as kills."""
    slots: int
    journal: Mapping[int, JournalTrouble]

    def __repr__(self) -> str:
        """Short enough to read in a failure."""
        topics = self.stage.cluster.topics
        seen = [
            f"{m.partition}: {m.original} isr {p.isr} -> {m.target}"
            for m in self.plan.moves
            for p in (topics[m.partition.topic].partitions[m.partition.partition],)
        ]
        configs = {str(k): dict(v) for k, v in self.stage.cluster.configs.items()}
        acts = "\n  ".join(f"{at.seconds:g}: {at.fault}" for at in self.schedule)
        return (
            f"Case({self.stage.cluster.version}, {seen}, throttle {self.plan.throttle}, {configs}\n  {acts}\n  "
            f"kills {self.kills} pauses {self.pauses}, slots {self.slots}, {dict(self.journal)})"
        )

    @property
    def over_at(self) -> float:
        """From when on nothing happens to the cluster from outside, and nothing is late any more."""
        return max((_felt_until(at) for at in self.schedule), default=0.0)

    def by_others(self) -> Iterator[tuple[float, Ask]]:
        """What other tools do, and when."""
        return ((at.seconds, at.fault) for at in self.schedule if isinstance(at.fault, Ask))

    def list_changed_at(self, name: TopicPartition) -> float:
        """When another tool first touches the replica list of a partition, or its topic; infinite if never."""
        moments = (at for at, act in self.by_others() if _touches_list(act, name))
        return min(moments, default=float("inf"))

    def configured(self) -> set[tuple[str, str, str]]:
        """What other tools configure, or delete with a topic: scope, name and key."""
        found = set[tuple[str, str, str]]()
        for _, act in self.by_others():
            match act.command:
                case AlterConfigs(changes):
                    found |= {(c.scope.value, c.name, c.key) for c in changes}
                case DeleteTopic(topic):
                    keys = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
                    found |= {(ConfigScope.TOPIC.value, topic, key) for key in keys}
                case _:
                    pass
        return found

    def cordoned(self) -> frozenset[BrokerId]:
        """Brokers that are cordoned for a while."""
        asked = (act.command for _, act in self.by_others())
        return frozenset(c.broker for c in asked if isinstance(c, CordonDirs))

    def unregistered(self) -> set[BrokerId]:
        """Brokers that are gone for good."""
        return {
            act.command.broker
            for _, act in self.by_others()
            if isinstance(act.command, UnregisterBroker)
        }


def _felt_until(at: At) -> float:
    match at.fault:
        case LoseRequests(_, _, float(late)):
            return at.seconds + late
        case Disconnect(seconds):
            return at.seconds + seconds
        case _:
            return at.seconds


def _touches_list(act: Ask, name: TopicPartition) -> bool:
    match act.command:
        case AlterReassignments(items):
            return any(touched == name for touched, _ in items)
        case DeleteTopic(topic) | CreateTopic(topic):
            return topic == name.topic
        case _:
            return False


def lists(least: int = 1, most: int = 4) -> st.SearchStrategy[Replicas]:
    return st.lists(st.sampled_from(BROKERS), min_size=least, max_size=most, unique=True).map(tuple)


@st.composite
def clusters(draw: st.DrawFn) -> list[PartitionState]:
    """Partitions of two topics; most are whole, some lack a replica in the ISR or are led by another."""
    states = []
    for topic in ("clicks", "orders"):
        for number in range(draw(st.integers(0 if topic == "clicks" else 1, 2))):
            listed = draw(lists(1, 3))
            whole = draw(st.integers(0, 5)) > 0 or len(listed) < 3
            isr = listed if whole else draw(st.permutations(listed))[:-1]
            leader = isr[0] if draw(st.integers(0, 3)) else draw(st.sampled_from(isr))
            states.append(
                state(
                    listed,
                    isr,
                    leader=leader,
                    topic=topic,
                    topic_id=TOPIC_IDS[topic],
                    partition=number,
                    size=draw(st.sampled_from([0, 1, 40, 150])) * MB,
                )
            )
    return states


@dataclass(frozen=True)
class Place:
    """What faults may name."""

    names: tuple[TopicPartition, ...]
    lists: Mapping[TopicPartition, tuple[Replicas, ...]]
    """Original, expanded and target of what moves: what another tool may ask for too."""

    def name(self, draw: st.DrawFn) -> TopicPartition:
        """A partition; mostly the first that moves."""
        return draw(st.sampled_from([*self.names, *(3 * [min(self.lists)])]))

    def broker(self, draw: st.DrawFn) -> BrokerId:
        """A broker; mostly one that the first move concerns."""
        first = self.lists[min(self.lists)]
        members = sorted({b for listed in first for b in listed})
        return draw(st.sampled_from([*BROKERS, *(3 * members)]))


Happening = Callable[[st.DrawFn, Place, float], tuple[list[At], float]]
"""Draws what happens from a second on, and says when the next thing may."""


def _away(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker dies, stops or is fenced, and returns."""
    broker = place.broker(draw)
    back = at + draw(st.sampled_from([2, 15, 60, 300]))
    down: Fault
    up: Fault
    match draw(st.sampled_from(["kill", "stop", "fence"])):
        case "kill":
            down, up = KillBroker(broker), StartBroker(broker)
        case "stop":
            down, up = StopBroker(broker), StartBroker(broker)
        case _:
            down, up = Ask(FenceBroker(broker)), Ask(UnfenceBroker(broker))
    return [At(at, down), At(back, up)], back + 30


def _disk(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker, back = place.broker(draw), at + draw(st.sampled_from([2, 15, 60, 300]))
    path = draw(st.sampled_from([None, "a", "b"]))
    return [At(at, LoseDisk(broker, path)), At(back, ReplaceDisks(broker))], back + 60


def _slow(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker = place.broker(draw)
    return [At(at, SlowBroker(broker, 2.0 * MB)), At(at + 30, SlowBroker(broker, None))], at


def _lost(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    late = draw(st.sampled_from([None, 0.0, 5.0, 70.0]))
    kind = draw(st.sampled_from(RequestKind))
    return [At(at, LoseRequests(kind, draw(st.sampled_from([1, 2, 3, 15])), late))], at


def _repeated(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    kind = draw(st.sampled_from(RequestKind))
    return [At(at, RepeatRequests(kind, draw(st.integers(1, 3))))], at


def _silence(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    seconds = draw(st.sampled_from([3.0, 20.0, 40.0]))
    return [At(at, Disconnect(seconds))], at + seconds + 5


def _metadata(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    """The home broker lags, or another one becomes it that does."""
    lag, until = draw(st.sampled_from([1.5, 4.0, 8.0, 10.0])), draw(st.sampled_from([5, 9, 60]))
    return [At(at, LagMetadata(lag)), At(at + until, LagMetadata(0.0))], at + until


def _unresponsive(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker lives and answers replan nothing, or not one kind of question."""
    broker, until = place.broker(draw), at + draw(st.sampled_from([5, 30, 120]))
    questions = draw(st.sampled_from([frozenset(Question), *(frozenset({q}) for q in Question)]))
    deaf, again = Unresponsive(broker, questions), Unresponsive(broker, frozenset())
    return [At(at, deaf), At(until, again)], at


def _slow_looks(draw: st.DrawFn, _place: Place, at: float) -> tuple[list[At], float]:
    seconds, until = draw(st.sampled_from([2.0, 5.0, 11.0])), at + draw(st.sampled_from([30, 120]))
    return [At(at, SlowLooks(seconds)), At(until, SlowLooks(0.0))], at


def _flaps(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """Replicas leave the ISR, for one look or for many, once or again and again."""
    name, broker = place.name(draw), place.broker(draw)
    times, every = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 7]))
    lag = draw(LAGS)
    return [At(at + i * every, DropFromIsr(name, broker, lag)) for i in range(times)], at


def _reassigned(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    name = place.name(draw)
    wanted = draw(st.sampled_from([None, *place.lists.get(name, ()), draw(lists())]))
    return [At(at, Ask(AlterReassignments(((name, wanted),))))], at


def _elected(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    if draw(st.booleans()):
        return [At(at, Ask(RebalanceLeaders()))], at
    names = (place.name(draw),)
    return [At(at, Ask(ElectLeaders(names, ElectionType.PREFERRED)))], at


def _throttled(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """Throttle lists and rates are set, added to, and wiped."""
    return [At(at, Ask(AlterConfigs((draw(throttle_changes(place.names)),))))], at


@st.composite
def throttle_changes(draw: st.DrawFn, names: Sequence[TopicPartition]) -> ConfigChange:
    if draw(st.booleans()):
        key = draw(st.sampled_from([LEADER_REPLICAS, FOLLOWER_REPLICAS]))
        topic = draw(st.sampled_from(sorted({n.topic for n in names})))
        value = draw(st.sampled_from(["0:1", "7:8", "0:4,1:2", "*"]))
        operations = [ConfigOperation.SET, ConfigOperation.DELETE]
        if value != "*":
            operations += [ConfigOperation.APPEND, ConfigOperation.SUBTRACT]
        operation = draw(st.sampled_from(operations))
        if operation is ConfigOperation.DELETE:
            value = ""
        return topic_change(topic, key, operation, value)
    key, broker = (
        draw(st.sampled_from([LEADER_RATE, FOLLOWER_RATE])),
        draw(st.sampled_from(BROKERS)),
    )
    if draw(st.booleans()):
        return broker_change(broker, key, ConfigOperation.DELETE)
    rate = str(draw(st.sampled_from([3, 8, 500])) * MB)
    return broker_change(broker, key, ConfigOperation.SET, rate)


def _settings_changed(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """min.insync.replicas or unclean election of a topic changes in flight; sometimes it changes back."""
    topic = draw(st.sampled_from(sorted({n.topic for n in place.names})))
    key, value = draw(
        st.sampled_from(
            [
                (UNCLEAN_ELECTION, "true"),
                (UNCLEAN_ELECTION, "false"),
                (MIN_INSYNC_REPLICAS, "1"),
                (MIN_INSYNC_REPLICAS, "2"),
                (MIN_INSYNC_REPLICAS, "3"),
            ]
        )
    )
    change = topic_change(topic, key, ConfigOperation.SET, value)
    return [At(at, Ask(AlterConfigs((change,))))], at


def _recreated(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A topic is deleted, and perhaps created again."""
    topic = draw(st.sampled_from(sorted({n.topic for n in place.names})))
    found = [At(at, Ask(DeleteTopic(topic)))]
    if draw(st.booleans()):
        count = max(n.partition for n in place.names if n.topic == topic) + 1
        made = tuple(draw(lists(2, 3)) for _ in range(count))
        found.append(At(at + 1, Ask(CreateTopic(topic, ANOTHER_TOPIC_ID, made))))
    return found, at + 1


def _cordoned(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    broker, until = place.broker(draw), at + draw(st.sampled_from([10, 60]))
    dirs = frozenset({"data", "a", "b"})
    return [
        At(at, Ask(CordonDirs(broker, dirs))),
        At(until, Ask(CordonDirs(broker, frozenset()))),
    ], at


def _unregistered(draw: st.DrawFn, place: Place, at: float) -> tuple[list[At], float]:
    """A broker dies for ever and is removed."""
    broker = place.broker(draw)
    gone = at + draw(st.sampled_from([12, 60]))
    return [At(at, KillBroker(broker)), At(gone, Ask(UnregisterBroker(broker)))], gone + 30


FAULTS: Mapping[str, Happening] = {
    "away": _away,
    "disk": _disk,
    "slow": _slow,
    "lost": _lost,
    "repeated": _repeated,
    "silence": _silence,
    "metadata": _metadata,
    "flaps": _flaps,
    "unresponsive": _unresponsive,
    "slow looks": _slow_looks,
}
"""What no other tool does, and what ends by itself."""
OTHERS: Mapping[str, Happening] = {
    "reassigned": _reassigned,
    "elected": _elected,
    "throttled": _throttled,
    "settings": _settings_changed,
    "recreated": _recreated,
    "cordoned": _cordoned,
    "unregistered": _unregistered,
}
"""What other tools do."""


@st.composite
def schedules(draw: st.DrawFn, place: Place, kinds: Sequence[Happening]) -> Schedule:
    """Faults one after another: brokers are away one at a time, all else comes when it likes."""
    found: list[At] = []
    moment = 0.0
    for _ in range(draw(st.integers(0, 5))):
        moment += draw(st.sampled_from([0, 1, 2, 3, 5, 10, 16, 25, 60]))
        happens = draw(st.sampled_from(kinds))
        acts, moment = happens(draw, place, moment)
        found += acts
    return tuple(sorted(found, key=lambda at: at.seconds))


@st.composite
def troubled_journals(draw: st.DrawFn) -> Mapping[int, JournalTrouble]:
    """Most never fail; some take longer than an intent lasts, some are full for a while."""
    if draw(st.integers(0, 3)):
        return {}
    first, times = draw(st.integers(1, 12)), draw(st.sampled_from([1, 3, 10]))
    kind = draw(
        st.sampled_from(
            [
                JournalTrouble(seconds=2),
                JournalTrouble(seconds=6),
                JournalTrouble(fails=True, kept=False),
                JournalTrouble(fails=True),
            ]
        )
    )
    return dict.fromkeys(range(first, first + times), kind)


@st.composite
def claiming(draw: st.DrawFn, plan: Plan) -> Plan:
    """Sometimes a plan says of brokers that no list may name them: they are back by now, or it was edited."""
    if draw(st.integers(0, 2)):
        return plan
    moves = [
        replace(m, unnameable=frozenset(b for b in m.leaving if draw(st.booleans())))
        for m in plan.moves
    ]
    claimed = {b for m in moves for b in m.unnameable}
    unknown = claimed.difference(*(m.target for m in moves)) if draw(st.booleans()) else set()
    racks = {b: rack for b, rack in plan.racks.items() if b not in unknown}
    return replace(plan, moves=tuple(moves), racks=racks)


@st.composite
def cases(draw: st.DrawFn, *, others: bool = True, kinds: Sequence[str] = tuple(FAULTS)) -> Case:
    """`kinds`: of the faults that no other tool makes; `others`: other tools and people act too."""
    states = draw(clusters())
    declared: dict[str, dict[int, Replicas]] = {}
    for seen in states:
        if draw(st.integers(0, 4)):
            topic, number = seen.partition
            kept = tuple(draw(st.permutations(seen.replicas)))
            goal = draw(st.sampled_from([kept, draw(lists()), draw(lists(2, 4))]))
            declared.setdefault(topic, {})[number] = goal
    version = draw(st.sampled_from(VERSIONS))
    rules = rules_of(version)
    seen_whole = snapshot(
        states,
        registered=brokers(6, "abc"),
        min_insync_replicas=draw(st.integers(1, 3)),
        features=Features(rules.replication_factor_guard, rules.elr_by_default),
        unclean=draw(st.sampled_from([(), ("orders",), ("orders", "clicks")])),
    )
    throttle = draw(st.sampled_from([None, MoveThrottle(5 * MB), MoveThrottle(30 * MB)]))
    plan = make_plan(
        placement(
            declared,
            below_min_isr=draw(st.sampled_from([(), ("orders",)])),
            throttle=throttle,
        ),
        seen_whole,
    )
    assume(plan.moves)
    plan = draw(claiming(plan))
    stage = from_snapshot(seen_whole, version)
    place = Place(
        tuple(sorted(s.partition for s in states)),
        {m.partition: (m.original, m.expanded, m.target) for m in plan.moves},
    )
    for change in draw(st.lists(throttle_changes(place.names), max_size=2)):
        stage, _ = ask(stage, AlterConfigs((change,)))
    happenings = (*(FAULTS[kind] for kind in kinds), *(OTHERS.values() if others else ()))
    schedule = draw(schedules(place, happenings))
    kills = tuple(draw(st.lists(st.integers(1, 14), max_size=3)))
    return Case(
        plan,
        stage,
        schedule,
        kills,
        tuple(draw(st.sampled_from([0.0, 12.0, 20.0, 100.0])) for _ in kills),
        draw(st.integers(1, 3)),
        draw(troubled_journals()),
    )


@dataclass
class Run:
    """A plan that was performed under all this, and what was recorded of it."""

    case: Case
    lab: Lab
    recorder: Recorder
    outcomes: list[Outcome] = field(default_factory=list)
    alone: list[tuple[float, float]] = field(default_factory=list)
    """When no process ran."""

    @property
    def cluster(self) -> Simulation:
        return self.lab.plane.simulation


@dataclass(frozen=True)
class Deadline:
    """When an application has to have ended; its clock is that of the cluster."""

    clock: Clock
    seconds: float

    def __call__(self) -> bool:
        return self.clock.now() >= self.seconds


GIVE_UP_SECONDS = 600.0
NEVER = 0
LAST_LIVES = ((NEVER, 60.0),) * 20
"""Processes that nobody kills: a cluster or a journal may not answer for a while."""


def performed(case: Case, seconds: float) -> Run:
    """Perform a plan: killed where the case says so, resumed until it ends or another process would do no more.

    A process that is still at it so many seconds after its beginning and the last fault is asked to leave; its outcome
    says so (`interrupted`).
    """
    stage = replace(case.stage, world=scheduled(case.stage.world, case.schedule))
    recorder = Recorder([m.partition for m in case.plan.moves], stage)
    clock = VirtualClock()
    plane = SimulatedControlPlane(stage, clock, meter=recorder)
    made = Lab(
        plane,
        clock,
        case.plan,
        journal=TroubledJournal(clock, case.journal),
        settings=Settings(slots_per_broker=case.slots, give_up_seconds=GIVE_UP_SECONDS),
        longest_ticks=10_000,
    )
    run = Run(case, made, recorder)
    lives = [*zip(case.kills, case.pauses, strict=True), *LAST_LIVES]
    for kill, pause in lives:
        before, after = (kill, None) if kill % 2 else (None, kill)
        stop = Deadline(clock, max(clock.now(), case.over_at) + seconds)
        try:
            outcome = made.apply(boundary=Boundary(before, after), stop=stop)
        except Killed:
            note(f"killed at second {clock.now():g}")
        except (BadFile, ClusterUnreachable) as error:
            note(f"not begun at second {clock.now():g}: {error}")
        else:
            run.outcomes.append(outcome)
            note(f"second {clock.now():g}: {outcome.exit_code!r} {outcome_text(outcome)}")
            over = outcome.interrupted and clock.now() > case.over_at + GIVE_UP_SECONDS
            if kill == NEVER and (outcome.exit_code in {Exit.OK, Exit.REFUSED} or over):
                break
        left = clock.now()
        clock.sleep(pause)
        run.alone.append((left, clock.now()))
    return run
