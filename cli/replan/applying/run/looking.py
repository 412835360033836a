"""What a process reads before each decision, and what it reads only now and then while copies wait."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import Command
from replan.applying.observation import Job, TickInput
from replan.applying.run.opening import plan_back, unfinished
from replan.applying.steps.kinds import kinds_of, logs_for_tick
from replan.applying.tick.questions import copying, urgent, wanted_by_tick
from replan.applying.tick.run_state import RunState
from replan.applying.views.progress import ProgressListener
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.model.broker import LogDir
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter, Wanted
from replan.model.names import TopicPartition
from replan.model.partition import PartitionState
from replan.planning.plans.plan import Plan


class Ports(Struct, frozen=True):
    """The outside of one run."""

    reader: ClusterReader
    writer: ClusterWriter
    journal: Journal
    clock: Clock
    report: ProgressListener
    stop: Callable[[], bool]
    idle: Callable[[], bool]
    """Whether nothing will happen to the cluster by itself any more."""
    arrived: Callable[[], Sequence[Command]]
    """The commands in the inbox."""


def look_for_tick(
    job: Job,
    ports: Ports,
    state: RunState,
    *,
    overslept: float,
    admitting: bool,
    commands: Sequence[Command],
) -> tuple[TickInput, RunState]:
    """Read what a tick is decided by. Raises ClusterUnreachable and ClusterRefused."""
    clock = ports.clock
    waits = state.copies_waiting or _waits_to_copy(job, state.ledger)
    if waits and admitting:
        state = _read_now_and_then(job, ports, state, clock.now())
    now = clock.now()
    state = state.without_old_unknowns(now, job.settings.quarantine_seconds)
    candidates: tuple[TopicPartition, ...] = ()
    if admitting:
        state, candidates = state.next_candidates(job, now)
    every_tick = wanted_by_tick(state, job, candidates)
    wanted = state.readings.wanted(
        every_tick,
        now,
        job.settings,
        urgent=urgent(state, job),
        copying={**state.others.replicas, **copying(state, job)},
    )
    look = ports.reader.look(wanted)
    ended = clock.now()
    readings, complete = state.readings.after(every_tick, wanted, look, now)
    history = state.history.with_sizes(job.moves, complete.sizes, now)
    state = replace(state, history=history, readings=readings)
    tick = TickInput(
        job=job,
        look=complete,
        now=now,
        ended=ended,
        candidates=candidates,
        admitting=admitting,
        logs=logs_for_tick(ports.reader, job, state.ledger, complete),
        commands=tuple(commands),
        moment=job.settings.moment(),
        overslept=overslept,
    )
    return tick, state


def _read_now_and_then(job: Job, ports: Ports, state: RunState, now: float) -> RunState:
    """What is read while copies wait, and before a look, as it may take long; where that fails, it goes on."""
    with suppress(ClusterUnreachable, ClusterRefused):
        if now - state.readings.disks_at >= job.settings.disk_period:
            state = replace(state, readings=replace(state.readings, disks_at=now))
            state = state.with_room(job, ports.reader.log_dirs())
        began, neighbours = ports.clock.now(), state.neighbours
        if began >= neighbours.due and state.copies_waiting and state.ledger.open:
            period = job.settings.neighbours_seconds
            state = replace(state, neighbours=neighbours.later(began, period))
            snapshot = ports.reader.observe()
            ended = ports.clock.now()
            after = neighbours.after(snapshot, job.moves.keys(), began, ended, period)
            state = replace(state, neighbours=after)
    return state


def _waits_to_copy(job: Job, ledger: Ledger) -> bool:
    """Whether any step beside moves that copies has yet to begin."""
    copying = (kind for kind in kinds_of(job.plan) if kind.copies)
    return any(step.record is None for kind in copying for step in kind.pending(job, ledger))


def way_back_of_cancelled(
    reader: ClusterReader, ledger: Ledger, plan: Plan
) -> tuple[Plan, Sequence[LogDir]] | None:
    """The plan that takes a cancelled application back, and the room on disks; None where readings do not agree yet.

    Raises ClusterRefused where this user may not read a topic of it: what is not seen is not gone.
    """
    names = [own.partition for own in unfinished(ledger, plan)]
    snapshot = reader.observe()
    again = reader.look(Wanted(partitions=names, topics={name.topic for name in names}))
    for topic, missing in again.forbidden.items():
        raise ClusterRefused(
            f"partitions of {topic} are to go back, and this user lacks the ACL {missing} on Topic {topic}"
        )
    back = plan_back(ledger, plan, snapshot)
    log_dirs = reader.log_dirs() if back.moves else ()
    if any(_shown(snapshot.partition(n)) != _shown(again.partitions.get(n)) for n in names):
        return None  # a broker shows older metadata
    return back, log_dirs


def _shown(state: PartitionState | None) -> object:
    """What two readings of a partition that rests must agree on."""
    return state and (state.topic_id, state.replicas, state.adding, state.removing)
