"""An application under everything that may go wrong, drawn at random: the case, and the run.

Here belong the journals that are slow or fail, and the run itself: an application that is killed and resumed. What may
happen to the cluster is in `hostile_faults`, what must hold of a run in `test_hostile`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from hypothesis import Phase, assume, note, settings
from hypothesis import strategies as st
from msgspec import Struct, field
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot
from tests.profiles import count
from tests.properties.clusters import (
    OFFSETS,
    TOPIC_IDS,
    VERSIONS,
    WITH_OFFSETS,
    clusters,
    lists,
)
from tests.properties.hostile_faults import FAULTS, OTHERS, Place, schedules, throttle_changes
from tests.unit.applying.lab import MB, Boundary, Killed, Lab

from replan.applying.api import (
    Application,
    ApplicationStatus,
    Command,
    Ending,
    Forget,
    Journal,
    MemoryJournal,
    Outcome,
    Record,
    Settings,
    Verb,
)
from replan.errors import BadFile, ClusterRefused, ClusterUnreachable, Exit
from replan.model.api import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    BrokerId,
    Clock,
    ConfigChange,
    ConfigScope,
    Features,
    MoveThrottle,
    PartitionState,
    Replicas,
    TopicPartition,
)
from replan.planning.api import Broken, Plan, loads, make_plan, throttles_are_known
from replan.rehearsal.api import Recorder, journalled_throttles, throttles_of
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    At,
    CordonDirs,
    CreateTopic,
    DeleteTopic,
    Disconnect,
    LoseRequests,
    Schedule,
    SendRequest,
    SimulatedControlPlane,
    Simulation,
    SlowLooks,
    UnregisterBroker,
    VirtualClock,
    from_snapshot,
    rules_of,
    scheduled,
    submit_command,
)


def as_found(*, fast: int, full: int, nightly: int) -> settings:
    """So many cases in each profile; to shrink one takes longer than a test may."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    return settings(max_examples=count(fast=fast, full=full, nightly=nightly), phases=phases)


class JournalTrouble(Struct, frozen=True):
    """What one append meets: it takes so long, and fails or not, before or after it is durable."""

    seconds: float = 0.0
    fails: bool = False
    kept: bool = True


class TroubledJournal(Struct):
    """A journal whose appends may be slow or fail; the outcome of one that fails is not known."""

    clock: Clock
    troubles: Mapping[int, JournalTrouble]
    inner: Journal = field(default_factory=MemoryJournal)
    appends: int = 0
    undo: tuple[Record, ...] = ()
    """What makes it as if the appends that failed were not there; a process that reads it takes them as they are."""

    def read(self) -> Sequence[Record]:
        self.undo = ()
        return self.inner.read()

    def append(self, records: Sequence[Record]) -> None:
        self.appends += 1
        trouble = self.troubles.get(self.appends, JournalTrouble())
        self.clock.sleep(trouble.seconds)
        if trouble.fails:
            if trouble.kept:
                before = {r.key: r for r in self.inner.read()}
                self.undo = (*(before.get(r.key, Forget(r.key)) for r in records), *self.undo)
                self.inner.append(records)
            raise BadFile("journal: no space left on device")
        self.inner.append((*self.undo, *records))
        self.undo = ()


class Case(Struct, frozen=True):
    """A cluster, its plan, everything that happens to it, and when the process that moves is killed."""

    plan: Plan
    stage: Simulation
    schedule: Schedule
    kills: tuple[int, ...]
    pauses: tuple[float, ...]
    """Seconds until another process goes on where one was killed; as many as kills."""
    slots: int
    journal: Mapping[int, JournalTrouble]
    steering: tuple[tuple[float, Verb, str], ...] = ()
    """What its people send to it: when, what, and which rate."""

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
            f"kills {self.kills} pauses {self.pauses}, slots {self.slots}, {dict(self.journal)}, "
            f"{self.steering})"
        )

    @property
    def over_at(self) -> float:
        """From when on nothing happens to the cluster from outside, and nothing is late any more."""
        sent = [at for at, _, _ in self.steering]
        return max([*(_felt_until(at) for at in self.schedule), *sent], default=0.0)

    def by_others(self) -> Iterator[tuple[float, SendRequest]]:
        """What other tools do, and when."""
        return ((at.seconds, at.fault) for at in self.schedule if isinstance(at.fault, SendRequest))

    def changes(self) -> Iterator[tuple[float, ConfigChange]]:
        """What other tools configure, and when."""
        for seconds, act in self.by_others():
            if isinstance(act.command, AlterConfigs):
                yield from ((seconds, change) for change in act.command.changes)

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
        case Disconnect(seconds) | SlowLooks(seconds):
            return at.seconds + seconds
        case _:
            return at.seconds


def _touches_list(act: SendRequest, name: TopicPartition) -> bool:
    match act.command:
        case AlterReassignments(items):
            return any(touched == name for touched, _ in items)
        case DeleteTopic(topic) | CreateTopic(topic):
            return topic == name.topic
        case _:
            return False


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
def steerings(draw: st.DrawFn, *, throttled: bool) -> tuple[tuple[float, Verb, str], ...]:
    """Mostly nobody steers; a pause ends after a while, a rate is changed where there is one, a cancel comes last."""
    found: list[tuple[float, Verb, str]] = []
    moment = 0.0
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 3]))):
        moment += draw(st.sampled_from([0, 1, 3, 10, 40]))
        if throttled and draw(st.booleans()):
            found.append((moment, Verb.THROTTLE, str(draw(st.sampled_from([4, 20])) * MB)))
        else:
            found.append((moment, Verb.PAUSE, ""))
            moment += draw(st.sampled_from([1, 20, 60]))
            found.append((moment, Verb.RESUME, ""))
    if not draw(st.integers(0, 5)):
        moment += draw(st.sampled_from([0, 1, 3, 10, 40]))
        found.append((moment, Verb.CANCEL, ""))
    return tuple(found)


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


def growths() -> st.SearchStrategy[list[str]]:
    """The topics that are to get partitions; mostly none. That of the committed offsets gets none."""
    return st.sampled_from([[], [], [], ["orders"], ["clicks", "orders"], [OFFSETS]])


@st.composite
def growing(
    draw: st.DrawFn,
    topic: str,
    states: Sequence[PartitionState],
    declared: Mapping[str, Mapping[int, Replicas]],
) -> list[Replicas]:
    """All lists of a topic, with one or two beyond those that it has; none where it does not exist."""
    known = [s for s in states if s.partition.topic == topic]
    if not known:
        return []
    factor, moved = len(known[0].replicas), declared.get(topic, {})
    there = [moved.get(s.partition.partition, s.replicas) for s in known]
    return [*there, *(draw(lists(factor, factor)) for _ in range(draw(st.integers(1, 2))))]


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    others: bool = True,
    kinds: Sequence[str] = tuple(FAULTS),
    kills: bool = True,
) -> Case:
    """`kinds`: of the faults that no other tool makes; `others`: other tools and people act too."""
    topics = draw(st.sampled_from([TOPIC_IDS, TOPIC_IDS, WITH_OFFSETS]))
    sizes = st.sampled_from([0, 1, 40, 150])
    states = draw(clusters(sizes=sizes, partitions=2, longest=3, topics=topics))
    declared: dict[str, dict[int, Replicas]] = {}
    for seen in states:
        if draw(st.integers(0, 4)):
            topic, number = seen.partition
            kinds_of_goal = [lists(), lists(2, 4)]
            if len(seen.replicas) > 1:
                kinds_of_goal.append(st.permutations(seen.replicas).map(tuple))
            goal = draw(st.one_of(kinds_of_goal))
            if goal != seen.replicas:
                declared.setdefault(topic, {})[number] = goal
    grown = {topic: draw(growing(topic, states, declared)) for topic in draw(growths())}
    assume(declared or any(grown.values()))
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
            {**declared, **{topic: more for topic, more in grown.items() if more}},
            below_min_isr=draw(st.sampled_from([(), ("orders",)])),
            throttle=throttle,
        ),
        seen_whole,
    )
    assume(plan.changes)
    plan = draw(claiming(plan))
    stage = from_snapshot(seen_whole, version)
    place = Place(
        tuple(sorted(s.partition for s in states)),
        {m.partition: (m.original, m.expanded, m.target) for m in plan.moves}
        or {states[0].partition: (states[0].replicas,)},
    )
    for change in draw(st.lists(throttle_changes(place.names), max_size=2)):
        stage, _ = submit_command(stage, AlterConfigs((change,)))
    happenings = (*(FAULTS[kind] for kind in kinds), *(OTHERS.values() if others else ()))
    schedule = draw(schedules(place, happenings))
    killed = tuple(draw(st.lists(st.integers(1, 14), max_size=3))) if kills else ()
    return Case(
        plan,
        stage,
        schedule,
        killed,
        tuple(draw(st.sampled_from([0.0, 12.0, 20.0, 100.0])) for _ in killed),
        draw(st.integers(1, 3)),
        draw(troubled_journals()),
        draw(steerings(throttled=throttle is not None)),
    )


class Run(Struct):
    """A plan that was performed under all this, and what was recorded of it."""

    case: Case
    lab: Lab
    recorder: Recorder
    outcomes: list[Outcome] = field(default_factory=list)
    alone: list[tuple[float, float]] = field(default_factory=list)
    """When no process ran."""
    forgotten: list[Broken] = field(default_factory=list)
    """Throttles that the journal did not know when a process had ended."""

    @property
    def cluster(self) -> Simulation:
        return self.lab.plane.simulation


class Deadline(Struct, frozen=True):
    """When an application has to have ended; its clock is that of the cluster."""

    clock: Clock
    seconds: float

    def __call__(self) -> bool:
        return self.clock.now() >= self.seconds


def cancelled(made: Lab) -> bool:
    """Whether an application has gone back: whoever wants it still makes a new plan."""
    applications = (r for r in made.journal.read() if isinstance(r, Application))
    return any(a.status is ApplicationStatus.CANCELLED for a in applications)


def plan_back(made: Lab) -> Plan | None:
    """The plan of an open application that is being cancelled, or takes one back: that of the journal."""
    ledger = made.ledger
    opened = ledger.application
    if opened is None or not (opened.cancelled_by or opened.takes_back):
        return None
    return loads(ledger.plan_text(opened.id), "journal")


def inbox(made: Lab, sent: Sequence[tuple[float, Verb, str]]) -> Callable[[], Sequence[Command]]:
    """What has arrived for the first application, and was not answered."""
    opened = next((r.id for r in made.journal.read() if isinstance(r, Application)), "")

    def arrived() -> Sequence[Command]:
        ledger = made.ledger
        first = opened or ("" if ledger.application is None else ledger.application.id)
        due = (
            Command(first, f"{number}", verb, rate, "bob@ops-2")
            for number, (seconds, verb, rate) in enumerate(sent)
            if seconds <= made.clock.now()
        )
        return [c for c in due if c.key not in ledger.records]

    return arrived


GIVE_UP_SECONDS = 600.0
NEVER = 0
LAST_LIVES = ((NEVER, 60.0),) * 20
"""Processes that nobody kills: a cluster or a journal may not answer for a while."""


def performed(case: Case, seconds: float, *, processes: int = len(LAST_LIVES)) -> Run:
    """Perform a plan: killed where the case says so, resumed until it ends or another process would do no more.

    A process that is still at it so many seconds after its beginning and the last fault is asked to leave; its outcome
    says so (`interrupted`). `processes`: how many there are that nobody kills.
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
    run, set_before = Run(case, made, recorder), throttles_of(stage.cluster)
    lives = [*zip(case.kills, case.pauses, strict=True), *LAST_LIVES[:processes]]
    for kill, pause in lives:
        before, after = (kill, None) if kill % 2 else (None, kill)
        stop = Deadline(clock, max(clock.now(), case.over_at) + seconds)
        try:
            arrived = inbox(made, case.steering)
            back = plan_back(made)
            outcome = made.apply(
                back,
                boundary=Boundary(before, after),
                stop=stop,
                arrived=arrived,
                verb=None if back is None else Verb.RESUME,
            )
        except Killed:
            note(f"killed at second {clock.now():g}")
        except (BadFile, ClusterRefused, ClusterUnreachable) as error:
            note(f"not begun at second {clock.now():g}: {error}")
        else:
            run.outcomes.append(outcome)
            note(f"second {clock.now():g}: {outcome.exit_code!r} {outcome_text(outcome)}")
            no_more = outcome.interrupted or outcome.ending is Ending.STAYS_OPEN
            over = no_more and clock.now() > case.over_at + GIVE_UP_SECONDS
            if kill == NEVER and (outcome.exit_code in {Exit.OK, Exit.REFUSED} or over):
                break
        if cancelled(made) and made.ledger.application is None:
            break
        left = clock.now()
        known = journalled_throttles(made.journal.read()) | case.configured()
        run.forgotten += throttles_are_known(set_before, throttles_of(run.cluster.cluster), known)
        clock.sleep(pause)
        run.alone.append((left, clock.now()))
    return run
