"""The weeks of `rehearse --reconcile`: what is asked for, what is drawn, the run, and the same with doing nothing."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.records import Verb
from replan.commands.frame.output import note_passing
from replan.commands.running.rehearsals import RehearsalProgress, stage_of, with_speeds_of
from replan.commands.shared.target import Target
from replan.errors import BadUsage
from replan.faults.read import FaultSpec, read_fault, read_loop_event, schedule_of
from replan.model.declared.placement import Placement
from replan.placement_file.load import load_placement
from replan.reconciling.deviations import look_at_cluster
from replan.rehearsal.findings import RefusedFaults, injected_faults
from replan.rehearsal.loop_faults import drawn_weeks
from replan.rehearsal.loop_outcome import LoopOutcome, LoopRehearsal, loop_outcome
from replan.rehearsal.options import Options
from replan.rehearsal.reconcile import Release, TimedCommand, run_loop, without_policy
from replan.rehearsal.result import InjectedFault
from replan.rehearsal.setup import fault_context, with_assumptions
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.persistence.from_snapshot import observed_snapshot
from replan.wording import duration

SOMEBODY = "somebody"
"""Who pauses a loop in a rehearsal."""
_AT = re.compile(r" at \S+(?!.* at )")
"""When a fault begins, which the report says beside it."""


class LoopOptions(Struct, frozen=True):
    """What is rehearsed."""

    placement: Placement
    seconds: float
    every: float
    options: Options
    faults: Sequence[str] = ()
    seed: int | None = None


class _Happening(Struct, frozen=True):
    """What happens meanwhile; all times count from the beginning."""

    faults: tuple[FaultSpec, ...]
    releases: tuple[tuple[Release, str], ...]
    commands: tuple[tuple[TimedCommand, str], ...]


def loop_rehearsal_of(cluster: Target, wanted: LoopOptions) -> LoopRehearsal:
    """Rehearse the weeks on the cluster that is named. Raises as `stage_of`, and MistakenPlacement, WrongCluster."""
    if not cluster.is_named:
        raise BadUsage(
            "--reconcile is rehearsed on a whole cluster; name one, e.g. --snapshot FILE"
        )
    simulation, _ = stage_of(cluster, wanted.options.version)
    options = replace(
        wanted.options,
        version=simulation.cluster.version,
        version_is_inferred=wanted.options.version is None and cluster.simulated is None,
    )
    options = with_speeds_of(simulation, options)
    happening = _happening(wanted, simulation)
    look_at_cluster(wanted.placement, observed_snapshot(simulation, simulation.world.now))
    stage = with_assumptions(simulation, options, exact=False)
    releases = [Release(0, wanted.placement), *(release for release, _ in happening.releases)]
    refused = RefusedFaults(happening.faults, stage)
    try:
        acting = _run(stage, releases, wanted, happening, refused)
        idle = _run(stage, without_policy(releases), wanted, happening, None)
    finally:
        note_passing("")
    return LoopRehearsal(
        cluster_id=simulation.cluster.cluster_id,
        cluster_name=wanted.placement.cluster_name,
        placement_digest=wanted.placement.digest,
        policy=wanted.placement.reconcile,
        options=options,
        every_seconds=wanted.every,
        seed=wanted.seed,
        faults=tuple(sorted(_listed(happening, refused), key=lambda f: f.at_seconds)),
        acting=acting,
        idle=idle,
    )


def _run(
    stage: Simulation,
    releases: Sequence[Release],
    wanted: LoopOptions,
    happening: _Happening,
    refused: RefusedFaults | None,
) -> LoopOutcome:
    began = stage.world.now
    shown = RehearsalProgress("with doing nothing: " if refused is None else "")
    length = duration(wanted.seconds)
    return loop_outcome(
        run_loop(
            stage,
            releases,
            wanted.seconds,
            schedule_of(happening.faults, began),
            every=wanted.every,
            settings=wanted.options.settings,
            asked=[command for command, _ in happening.commands],
            passed=lambda seconds: shown.say(f"{duration(seconds)} of {length}"),
            meter=None if refused is None else lambda look, _, until: refused.look(look, until),
        )
    )


def _happening(wanted: LoopOptions, stage: Simulation) -> _Happening:
    around, faults = fault_context(stage), list[FaultSpec]()
    releases, commands = list[tuple[Release, str]](), list[tuple[TimedCommand, str]]()
    for text in wanted.faults:
        event = read_loop_event(text)
        if event is None:
            faults.append(read_fault(text, around))
            continue
        for at, what in event.happens:
            if isinstance(what, Verb):
                commands.append((TimedCommand(at, what, SOMEBODY), f"replan {what.value}"))
            else:
                released = Release(at, load_placement([what]))
                releases.append((released, _AT.sub("", event.text)))
    if wanted.seed is not None:
        drawn = drawn_weeks(wanted.seed, wanted.seconds, wanted.placement, around)
        faults += drawn.faults
        releases += [] if releases else drawn.releases
    late = sorted(releases, key=lambda of: of[0].at)
    return _Happening(tuple(faults), tuple(late), tuple(commands))


def _listed(happening: _Happening, refused: RefusedFaults) -> Iterator[InjectedFault]:
    for fault in injected_faults(happening.faults, refused.refusals):
        yield replace(fault, what=_AT.sub("", fault.what))
    for release, text in happening.releases:
        yield InjectedFault(release.at, None, text)
    for command, text in happening.commands:
        yield InjectedFault(command.at, None, text)
