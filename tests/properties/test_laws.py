"""The laws of plans and of runs, over random clusters, placements, faults and kills.

The laws are in `replan.planning.safety` (`plan_invariants`, `run_invariants`); here they are held against everything
that the real planner and the real applier do on the simulator: 500 cases, 20,000 by night.
"""

from collections.abc import Sequence

from hypothesis import given, note
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from tests.builders import brokers, judged_in, placement, snapshot
from tests.profiles import examples
from tests.properties.clusters import BROKERS, VERSIONS, clusters, lists
from tests.unit.applying.lab import MB, Boundary, Killed, Lab

from replan.applying.api import Outcome, Result, Settings
from replan.errors import ClusterUnreachable
from replan.model.api import (
    Features,
    LogDir,
    MoveThrottle,
    Placement,
    Replicas,
    Snapshot,
    TopicPartition,
)
from replan.planning.api import (
    Broken,
    Ends,
    Move,
    Plan,
    Slack,
    Trajectory,
    arrived,
    broken_laws,
    drops_only_what_was_replaced,
    harms_nobody,
    make_plan,
    throttles_are_known,
)
from replan.rehearsal.api import (
    Recorder,
    journalled_throttles,
    throttles_of,
    untouched,
    with_plan_applied,
)
from replan.reporting.api import outcome_text
from replan.simulator.api import (
    At,
    Disconnect,
    KillBroker,
    LagMetadata,
    LoseDisk,
    LoseRequests,
    ReplaceDisks,
    Schedule,
    SimulatedControlPlane,
    Simulation,
    SlowBroker,
    StartBroker,
    StopBroker,
    VirtualClock,
    WriteKind,
    from_snapshot,
    rules_of,
    scheduled,
)

HARD = examples(fast=10, full=200, nightly=20_000)

SETTLE_SECONDS = Settings().settle_seconds
SLACK = Slack(in_sync_seconds=5, leaderless_seconds=15)
"""A broker that starts again catches up while it shares its network with copies."""


class Case(Struct, frozen=True):
    """A cluster, what is asked of it, its faults, and when the process that moves is killed."""

    placement: Placement
    snapshot: Snapshot
    version: str
    schedule: Schedule
    kills: tuple[int, ...]
    resumes: bool
    slots: int

    def __repr__(self) -> str:
        """Short enough to read in a failure."""
        rows = self.snapshot.partitions.to_pylist()
        seen = [
            f"{r['topic']}-{r['partition']}: {r['replicas']} isr {r['isr']} {r['bytes']}"
            for r in rows
        ]
        asked = [
            f"{r['topic']}-{r['partition']}: {r['replicas']}"
            for r in self.placement.explicit.to_pylist()
        ]
        m = self.snapshot.topics.column("min_insync_replicas").to_pylist()[0]
        others = (self.version, self.schedule, self.kills, self.resumes, self.slots)
        return f"Case({seen}, min ISR {m}, {asked}, {self.placement.move_throttle}, {others})"

    def stage(self) -> Simulation:
        simulation = from_snapshot(self.snapshot, self.version)
        world = scheduled(simulation.world, self.schedule)
        return Simulation(simulation.cluster, world)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Faults one after another: at most one broker is away at a time, and it comes back."""
    found: list[At] = []
    moment = 0.0
    for _ in range(draw(st.integers(0, 3))):
        moment += draw(st.sampled_from([0, 3, 10, 16, 25, 60]))
        broker = draw(st.sampled_from(BROKERS))
        match draw(
            st.sampled_from(["kill", "stop", "disk", "slow", "lose", "silence", "metadata"])
        ):
            case ("kill" | "stop") as how:
                down = KillBroker(broker) if how == "kill" else StopBroker(broker)
                back = moment + draw(st.sampled_from([2, 15, 60, 300]))
                found += [At(moment, down), At(back, StartBroker(broker))]
                moment = back + 60
            case "disk":
                back = moment + draw(st.sampled_from([2, 15, 60, 300]))
                path = draw(st.sampled_from([None, "a", "b"]))
                found += [At(moment, LoseDisk(broker, path)), At(back, ReplaceDisks(broker))]
                moment = back + 60
            case "slow":
                found += [
                    At(moment, SlowBroker(broker, 2.0 * MB)),
                    At(moment + 30, SlowBroker(broker, None)),
                ]
            case "lose":
                late = draw(st.sampled_from([None, 0.0, 5.0, 70.0]))
                lost = draw(st.sampled_from(list(WriteKind)))
                found.append(At(moment, LoseRequests(lost, draw(st.integers(1, 3)), late)))
            case "silence":
                found.append(At(moment, Disconnect(draw(st.sampled_from([3.0, 20.0, 40.0])))))
                moment += 45
            case _:
                found.append(At(moment, LagMetadata(draw(st.sampled_from([0.0, 1.5])))))
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    states = draw(clusters(sizes=st.integers(0, 40), partitions=3, longest=4))
    declared: dict[str, dict[int, Replicas]] = {}
    for seen in states:
        if draw(st.integers(0, 3)):
            topic, number = seen.partition
            kept = draw(st.permutations(seen.replicas)).copy()
            goal = draw(st.sampled_from([tuple(kept), draw(lists()), draw(lists(3, 4))]))
            declared.setdefault(topic, {})[number] = goal
    version = draw(st.sampled_from(VERSIONS))
    rules = rules_of(version)
    disks = draw(st.sampled_from([(), ("a", "b")]))
    return Case(
        placement(
            declared,
            below_min_isr=draw(st.sampled_from([(), ("orders",)])),
            throttle=draw(st.sampled_from([None, MoveThrottle(5 * MB), MoveThrottle(30 * MB)])),
        ),
        replace(
            snapshot(
                states,
                registered=brokers(6, "abc"),
                min_insync_replicas=draw(st.integers(1, 3)),
                features=Features(rules.replication_factor_guard, rules.elr_by_default),
            ),
            log_dirs=tuple(LogDir(b, path) for b in BROKERS for path in disks),
        ),
        version,
        draw(schedules()),
        tuple(draw(st.lists(st.integers(1, 14), max_size=3))),
        draw(st.booleans()),
        draw(st.integers(1, 3)),
    )


class Run(Struct):
    """A plan that was performed, and what was recorded of it."""

    plan: Plan
    made: Lab
    recorder: Recorder
    outcome: Outcome | None = None

    def known(self) -> frozenset[tuple[str, str, str]]:
        return journalled_throttles(self.made.journal.read())

    def histories(self) -> dict[TopicPartition, Trajectory]:
        self.recorder.note(self.made.plane.simulation)
        return self.recorder.trajectories()


def performed(case: Case, plan: Plan, broken: list[Broken]) -> Run:
    """Perform a plan, killed where the case says so, to its end where it resumes."""
    stage = case.stage()
    recorder = Recorder([m.partition for m in plan.moves], stage)
    clock = VirtualClock()
    plane = SimulatedControlPlane(stage, clock, meter=recorder)
    made = Lab(plane, clock, plan, settings=Settings(slots_per_broker=case.slots))
    run = Run(plan, made, recorder)
    before = throttles_of(stage.cluster)
    for kill in case.kills:
        try:
            made.apply(boundary=Boundary(kill_before=kill // 2, kill_after=kill - kill // 2))
        except Killed:
            note(f"killed at second {clock.now():g}")
        broken += throttles_are_known(before, throttles_of(plane.simulation.cluster), run.known())
    if not case.resumes:
        clock.sleep(1_000)
        return run
    for _ in range(5):
        run.outcome = made.apply()
        if is_done(run.outcome, plan):
            break
        note(outcome_text(run.outcome))
        clock.sleep(120)
    broken += throttles_are_known(before, throttles_of(plane.simulation.cluster), frozenset())
    return run


def is_done(outcome: Outcome, plan: Plan) -> bool:
    """Whether every move is done; the exit code is then what the plan leaves out."""
    done = all(r.result is Result.DONE for r in outcome.results)
    return done and outcome.exit_code is plan.left_out


@HARD
@given(cases())
def test_every_plan_keeps_the_laws_that_are_judged_before_it_runs(case: Case) -> None:
    plan = make_plan(case.placement, case.snapshot)
    judged = judged_in(case.snapshot, plan)
    assert len(judged) == len(plan.moves)
    assert broken_laws(case.placement, case.snapshot, plan, judged) == []


@HARD
@given(cases())
def test_every_run_keeps_the_laws_however_often_it_is_killed_and_whatever_fails(
    case: Case,
) -> None:
    plan = make_plan(case.placement, case.snapshot)
    broken: list[Broken] = []
    run = performed(case, plan, broken)
    histories = run.histories()
    ended = run.made.clock.now()
    stage = case.stage()
    there_already = with_plan_applied(stage, plan, run.made.plane.simulation.world.placed)
    still, there = untouched(plan, stage, ended), untouched(plan, there_already, ended)
    for move in plan.moves:
        name = move.partition
        broken += drops_only_what_was_replaced(move, histories[name], SETTLE_SECONDS)
        ends = Ends(at_original=still[name], at_target=there[name])
        broken += harms_nobody(histories[name], ends, SLACK)
    assert broken == []
    if run.outcome is not None:
        assert is_done(run.outcome, plan), run.outcome
        assert_there(case, run, plan.moves, histories)


def assert_there(
    case: Case, run: Run, moves: Sequence[Move], histories: dict[TopicPartition, Trajectory]
) -> None:
    """At the end every move has arrived, and planning again moves nothing of it."""
    assert [b for m in moves for b in arrived(m, histories[m.partition])] == []
    run.made.clock.sleep(120)
    again = make_plan(case.placement, observed(run))
    listed = {m.partition for m in again.moves if not m.is_leader_only}
    assert listed.isdisjoint(m.partition for m in moves), "a fault may only have moved a leader"


def observed(run: Run) -> Snapshot:
    """The cluster at the end; a disconnection that is still to come is waited out."""
    for _ in range(10):
        try:
            return run.made.plane.observe()
        except ClusterUnreachable:
            run.made.clock.sleep(30)
    return run.made.plane.observe()
