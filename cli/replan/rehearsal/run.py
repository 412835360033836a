"""The real applier on the simulated cluster, in virtual time, with everything measured.

Here belongs the run itself. What is assumed is in `options` and `setup`, what is measured in `recording`, how it is
shown in `report`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal
from replan.applying.journal.records import Record, Status
from replan.applying.run.loop import apply_plan
from replan.applying.views.outcome import Ending, LogMoveResult, Outcome, PartitionResult, Result
from replan.applying.views.progress import Progress, ProgressListener
from replan.errors import ClusterUnreachable
from replan.faults.read import FaultSpec, schedule_of
from replan.model.control_plane import ReplicaName
from replan.model.garbage_collection import garbage_collection_paused
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.safety.run_invariants import Trajectory
from replan.rehearsal.findings import (
    ComparedRun,
    RecordedRun,
    RefusedFaults,
    ReportedWaits,
    rehearsal_of_run,
    with_own,
)
from replan.rehearsal.options import Options
from replan.rehearsal.recording import Recorder, journalled_throttles, throttles_of
from replan.rehearsal.result import Rehearsal
from replan.rehearsal.setup import cluster_of, with_assumptions, with_plan_applied
from replan.rehearsal.skipping_clock import EventSkippingClock, busy_stride
from replan.reporting.application.outcome_text import outcome_text
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import advance
from replan.simulator.cluster.faults import Disconnect
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane
from replan.wording import DAY_SECONDS, duration

TIMES_RUN_AGAIN = 3
"""How often the same command is run again when nothing more is to happen."""


def _silently(_progress: Progress) -> None:
    pass


def rehearse_plan(plan: Plan, snapshot: Snapshot, options: Options) -> Rehearsal:
    """Perform a plan on the cluster of a snapshot; raises ValueError where no cluster can be as the snapshot shows."""
    own = frozenset(snapshot.own_targets)
    return rehearse_on(plan, cluster_of(snapshot, options.version), replace(options, own=own))


@garbage_collection_paused()  # it makes values by the million, and no cycles
def rehearse_on(
    plan: Plan, simulation: Simulation, options: Options, report: ProgressListener = _silently
) -> Rehearsal:
    """Perform a plan on a copy of a simulated cluster; `report` gets its progress."""
    stage = with_assumptions(simulation, options, exact=plan.steps <= options.exact_steps)
    run = perform_recorded(plan, stage, options, report)
    ends = (stage, with_plan_applied(stage, plan, run.places))
    at_original, at_target = (untouched(plan, s, run.ended) for s in ends)
    return rehearsal_of_run(
        ComparedRun(
            plan,
            stage,
            options.faults,
            options.settings.settle_seconds,
            run,
            at_original,
            at_target,
        )
    )


def perform_recorded(
    plan: Plan, stage: Simulation, options: Options, report: ProgressListener = _silently
) -> RecordedRun:
    """Let the applier perform a plan, and record what happens."""
    began = stage.world.now
    recorder, waits = Recorder(_watched(plan), stage), ReportedWaits(options.own)
    refused, unnameable = RefusedFaults(options.faults, stage), _Unnameable(plan)

    def meter(simulation: Simulation, rates: Mapping[ReplicaName, float], until: float) -> None:
        recorder(simulation, rates, until)
        refused.look(simulation, until)
        unnameable.look(simulation)

    def on_progress(progress: Progress) -> None:
        waits(progress)
        quick.gives_up_at = progress.gives_up_at
        if plan.steps > options.exact_steps:
            quick.busy_stride_seconds = busy_stride(progress)
        report(progress)

    clock = VirtualClock(began)
    plane = SimulatedControlPlane(stage, clock, meter=meter)
    settings = replace(options.settings, owner="rehearsal")
    quick = EventSkippingClock(
        plane,
        clock,
        recorder.changed,
        settle_seconds=settings.settle_seconds,
        longest_stride_seconds=options.longest_stride_seconds,
        faults=schedule_of(options.faults, began),
    )
    stop = _Stop(quick, options, began)
    journal = MemoryJournal()
    journal.append(options.journal)
    sent = partial(
        apply_plan,
        plan,
        plane,
        plane,
        journal,
        plan_digest=digest(plan),
        settings=settings,
        report=on_progress,
        stop=stop,
        idle=plane.idle,
    )
    outcome, alone = _as_a_person_would(lambda: sent(clock=quick), plane, quick, stop)
    outcome = _with_own(outcome, options.own)
    recorder.note(plane.simulation)
    unnameable.look(plane.simulation)
    histories = recorder.trajectories()
    return RecordedRun(
        outcome=_noted(outcome, began, [until for _, until in alone]),
        text=outcome_text(outcome, holds=False)
        if stop.why is None
        else _given_up(outcome, stop.why),
        given_up=stop.why is not None,
        ended=clock.now(),
        recorder=recorder,
        histories=histories,
        waits=tuple(waits.by_kind(histories, clock.now())),
        throttles=throttles_of(plane.simulation.cluster),
        places=plane.simulation.world.placed,
        journalled=journalled_throttles(journal.read()),
        refused=refused.refusals,
        done_before=_done(options.journal),
        unnameable=frozenset(unnameable.brokers),
        unattended=(*alone, *_silences(options.faults, began)),
        longest_look_seconds=quick.longest_busy_seconds,
    )


def _watched(plan: Plan) -> list[TopicPartition]:
    """The partitions whose histories are kept."""
    return [*(m.partition for m in plan.moves), *(r.partition for r in plan.recoveries)]


def _silences(faults: Sequence[FaultSpec], began: float) -> Iterator[tuple[float, float]]:
    """When no broker answers."""
    for at in schedule_of(faults, began):
        if isinstance(at.fault, Disconnect):
            yield at.seconds, at.seconds + at.fault.seconds


def _done(journal: Sequence[Record]) -> frozenset[TopicPartition]:
    owned = fold(journal).owned
    return frozenset(name for name, record in owned.items() if record.status is Status.DONE)


class _Unnameable:
    """The members of what moves that no list could name at some moment of a run."""

    def __init__(self, plan: Plan) -> None:
        self.brokers: set[BrokerId] = set()
        self._members = {broker for move in plan.moves for broker in move.original}
        self._last: object = None

    def look(self, simulation: Simulation) -> None:
        """Take in who is not registered, or cordoned, now."""
        registered = simulation.cluster.brokers
        if registered is not self._last:
            self._last = registered
            self.brokers |= {
                b for b in self._members if b not in registered or registered[b].cordoned
            }


def _as_a_person_would(
    apply: Callable[[], Outcome],
    plane: SimulatedControlPlane,
    clock: EventSkippingClock,
    stop: "_Stop",
) -> tuple[Outcome, list[tuple[float, float]]]:
    """Run the same command again where it left something open, once what is still to happen has happened.

    That the cluster answers again is among it, also where it did not at the beginning. With when nobody was at work in
    between.
    """
    alone: list[tuple[float, float]] = []
    outcome, patience = _unless_silent(apply), TIMES_RUN_AGAIN
    while stop.why is None and (outcome is None or _left_open(outcome)) and patience:
        coming = [at.seconds for at in plane.simulation.world.agenda]
        patience -= 0 if coming else 1
        left = clock.now()
        clock.sleep(60 + (coming[0] - left if coming else 0))
        while not stop() and plane.simulation.world.unreachable_until > clock.now():
            silent = plane.simulation.world.unreachable_until - clock.now()
            clock.sleep(min(silent, stop.limit - clock.now()))
        alone.append((left, clock.now()))
        if stop.why is None:
            outcome = _unless_silent(apply) or outcome
    return apply() if outcome is None else outcome, alone


def _unless_silent(apply: Callable[[], Outcome]) -> Outcome | None:
    """None where the cluster does not answer for as long as a command waits for that."""
    try:
        return apply()
    except ClusterUnreachable:
        return None


def _left_open(outcome: Outcome) -> bool:
    """Whether the same command again would continue."""
    return outcome.ending is Ending.STAYS_OPEN or (
        outcome.interrupted and outcome.ending is not Ending.GAVE_UP
    )


class _Stop(Struct):
    """Asks the applier to leave where the rehearsal would go on for too long."""

    clock: EventSkippingClock
    options: Options
    began: float
    why: str | None = None

    @property
    def limit(self) -> float:
        """The virtual second in which it is asked at the latest."""
        return self.began + self.options.limit_seconds

    def __call__(self) -> bool:
        if self.clock.now() >= self.limit:
            self.why = f"it had not ended after {self.options.limit_seconds / DAY_SECONDS:g} days"
        if self.options.limit_looks is not None and self.clock.looks >= self.options.limit_looks:
            self.why = f"it had not ended after {self.clock.looks:,} looks at the cluster"
        return self.why is not None


def _noted(outcome: Outcome, began: float, again: list[float]) -> Outcome:
    """An outcome with how often the command was run again."""
    notes = [
        f"run again after {duration(at - began)}, as it had left something open" for at in again
    ]
    return replace(outcome, notes=(*outcome.notes, *notes))


def _with_own(outcome: Outcome, own: Collection[TopicPartition]) -> Outcome:
    """An outcome whose partitions do not wait for another tool where they wait for replan's open application."""
    results = (
        result if result.hold is None else replace(result, hold=with_own(result.hold, own))
        for result in outcome.results
    )
    return replace(outcome, results=tuple(results))


def _given_up(outcome: Outcome, why: str) -> str:
    results: list[PartitionResult | LogMoveResult] = [*outcome.partitions, *outcome.log_moves]
    left = {r.partition for r in results if r.result is not Result.DONE}
    return f"{why}; {len(left)} of {len({r.partition for r in results})} partitions not done"


def untouched(plan: Plan, stage: Simulation, ended: float) -> Mapping[TopicPartition, Trajectory]:
    """The histories under the same faults without the plan."""
    recorder = Recorder(_watched(plan), stage)
    last = advance(stage, ended, meter=recorder)
    recorder.note(last)
    recorder.now = ended
    return recorder.trajectories()
