"""The rehearsals of `rehearse`: one run as asked for, and those with random faults; shows how far each of them is."""

import sys
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.records import Record
from replan.applying.views.progress import Progress
from replan.commands.frame.output import is_live, note, note_passing
from replan.commands.shared.journals import journal_state
from replan.commands.shared.target import Target
from replan.errors import BadFile, BadUsage, ReplanError
from replan.faults.read import read_fault
from replan.model.names import TopicPartition
from replan.planning.plans.plan import Plan
from replan.rehearsal.options import Options
from replan.rehearsal.outcome import RandomRun, Report, report_on
from replan.rehearsal.run import rehearse_on
from replan.rehearsal.setup import (
    cluster_of,
    drawn_faults,
    fault_context,
    snapshot_of_plan,
    with_version,
)
from replan.reporting.application.progress_text import counts
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import open_simulated
from replan.workers import Worker, WorkerLost, WorkerPool, cores

_T = TypeVar("_T")
_R = TypeVar("_R")
SHOWN_SECONDS = 0.2
LOGGED_SECONDS = 5.0
"""Between lines where stderr is no terminal."""
MUCH_SECONDS = 5.0
"""Of CPU, from which on it pays to start processes: each takes about one to begin."""
ALONE = (
    "no cluster is named: rehearsed on the partitions of the plan alone, as it knows them; "
    "--snapshot FILE makes it more exact"
)


def rehearsal_of(
    plan: Plan,
    cluster: Target,
    options: Options,
    faults: Sequence[str],
    *,
    seed: int | None,
    runs: int,
) -> Report:
    """Rehearse a plan, on the partitions of the plan alone where no cluster is named."""
    stage, own = stage_of(cluster, options.version, alone=plan)
    inferred = options.version is None and cluster.simulated is None
    version = stage.cluster.version
    options = replace(options, version=version, version_is_inferred=inferred, own=own)
    options = with_speeds_of(stage, options)
    around = fault_context(stage)
    options = replace(options, faults=tuple(read_fault(text, around) for text in faults))
    if not cluster.is_named:
        note(ALONE)
    options = replace(options, journal=_journal(cluster))
    try:
        return _report(plan, stage, options, seed, runs)
    finally:
        note_passing("")


def _journal(cluster: Target) -> Sequence[Record]:
    """What `apply` would find in the journal of a live cluster; nothing where a snapshot or the plan is rehearsed."""
    if not (cluster.is_real or cluster.simulated is not None):
        return ()
    with cluster.connect() as connection:
        journal = journal_state(cluster, connection, connection.control_plane.cluster_id())
    return list(journal.ledger.records.values())


def stage_of(
    cluster: Target, version: str | None, *, alone: Plan | None = None
) -> tuple[Simulation, Collection[TopicPartition]]:
    """The cluster to rehearse on, without the assumptions yet, and what an open application in its snapshot moves.

    `alone`: the plan that is a cluster by itself.

    Raises BadFile, BadUsage, and as `observe` does.
    """
    own: Collection[TopicPartition] = ()
    if cluster.simulated is not None:
        simulation = open_simulated(cluster.simulated).simulation
    else:
        snapshot = (
            cluster.observe() if alone is None or cluster.is_named else snapshot_of_plan(alone)
        )
        own = frozenset(snapshot.own_targets)
        try:
            simulation = cluster_of(snapshot)
        except ValueError as problem:
            raise BadFile(f"the snapshot cannot be simulated: {problem}") from problem
    try:
        return (simulation if version is None else with_version(simulation, version)), own
    except ValueError as problem:
        raise BadUsage(f"--kafka-version: {problem}") from problem


def with_speeds_of(stage: Simulation, options: Options) -> Options:
    """What is assumed, with the speeds of the cluster where none are named."""
    speeds = options.speeds(stage.world.speeds)
    return replace(
        options, network=speeds.network_bytes_per_second, disk=speeds.disk_bytes_per_second
    )


def _report(plan: Plan, stage: Simulation, options: Options, seed: int | None, runs: int) -> Report:
    """The run as asked for, and those with random faults; a seed without --runs draws the faults of one run."""
    began = time.process_time()
    rehearsed = rehearse_on(plan, stage, options, RehearsalProgress("").show)
    if seed is None and runs == 0:
        return report_on(plan, options, rehearsed)
    first, random = seed or 0, WithRandomFaults(plan, stage, options, rehearsed.seconds)
    if runs == 0:
        drawn = random.options_of(first)
        again = rehearse_on(plan, stage, drawn, RehearsalProgress(f"seed {first}: ").show)
        return report_on(plan, drawn, again)
    much = (time.process_time() - began) * runs >= MUCH_SECONDS
    seeds, random_runs = range(first, first + runs), list[RandomRun]()
    shown = RehearsalProgress("runs with random faults: ")
    with closing(in_processes(random, seeds, cores() if much else 1)) as made:
        for run in made:
            random_runs.append(run)
            shown.say(f"{len(random_runs):,} of {runs:,} done")
    return report_on(plan, options, rehearsed, tuple(random_runs))


def in_processes(
    work: Callable[[_T], _R], given: Sequence[_T], processes: int
) -> Generator[_R, None, None]:
    """What the work makes of each of these, in their order, in so many processes, which end with the iterator.

    Raises what the work raises, and ReplanError where a process ends by itself.
    """
    processes = min(processes, len(given))
    if processes < 2:
        yield from map(work, given)
        return
    waiting = iter(enumerate(given))
    busy: dict[Connection, tuple[int, Worker[_T, _R]]] = {}
    results: dict[int, _R] = {}
    with WorkerPool(work) as pool:
        idle = [pool.start() for _ in range(processes)]
        for number in range(len(given)):
            while number not in results:
                while idle and (following := next(waiting, None)) is not None:
                    worker = idle.pop()
                    busy[worker.pipe] = following[0], worker
                    worker.give(following[1])
                for pipe in (p for p in wait(list(busy)) if isinstance(p, Connection)):
                    at, worker = busy.pop(pipe)
                    results[at] = _taken(worker)
                    idle.append(worker)
            yield results.pop(number)


def _taken(worker: Worker[_T, _R]) -> _R:
    try:
        return worker.take()
    except WorkerLost as lost:
        raise ReplanError(
            f"a process that worked for this one ended by itself, with code {lost.code}: killed by somebody, or for "
            "lack of memory\nRun it again; on one core (`taskset -c 0 replan …`) it takes least memory."
        ) from None


class WithRandomFaults(Struct, frozen=True):
    """Rehearses a plan with the faults that a seed draws."""

    plan: Plan
    stage: Simulation
    options: Options
    horizon_seconds: float
    """How long the plan takes undisturbed."""

    def __call__(self, seed: int) -> RandomRun:
        """One run."""
        return RandomRun(seed, rehearse_on(self.plan, self.stage, self.options_of(seed)))

    def options_of(self, seed: int) -> Options:
        """What one run assumes."""
        context = fault_context(self.stage)
        drawn = drawn_faults(seed, self.plan, self.horizon_seconds, context)
        return replace(self.options, faults=(*self.options.faults, *drawn))


class RehearsalProgress:
    """Shows how far a rehearsal is, in virtual time: a passing line at a terminal, now and then a line elsewhere."""

    def __init__(self, before: str) -> None:
        """`before`: what each line begins with."""
        self._before = before
        self._terminal = is_live(sys.stderr)
        self._every = SHOWN_SECONDS if self._terminal else LOGGED_SECONDS
        self._shown_at = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Show it, if it is time."""
        if self._is_time():
            self._say(counts(progress))

    def say(self, text: str) -> None:
        """Show something else, if it is time."""
        if self._is_time():
            self._say(text)

    def _is_time(self) -> bool:
        return time.monotonic() - self._shown_at >= self._every

    def _say(self, text: str) -> None:
        self._shown_at = time.monotonic()
        show = note_passing if self._terminal else note
        show(f"{self._before}{text}")
