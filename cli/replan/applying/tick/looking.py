"""What a tick is decided by: which questions its look asks, what the decision rests on and no more, and the look."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from replan.applying.journal.records import Command, Reached
from replan.applying.observation import Job, TickInput
from replan.applying.partitions import left_out_by_expand
from replan.applying.steps.kinds import kinds_of, logs_for_tick
from replan.applying.tick.run_state import RunState
from replan.model.configs import brokers_among
from replan.model.control_plane import ClusterReader, Rejected, Wanted
from replan.model.names import BrokerId, Replicas, TopicPartition


def look_for_tick(
    job: Job,
    reader: ClusterReader,
    clock: Callable[[], float],
    state: RunState,
    *,
    admitting: bool = True,
    commands: Sequence[Command] = (),
    overslept: float = 0.0,
) -> tuple[TickInput, RunState]:
    """Read what a tick is decided by. Raises ClusterUnreachable and ClusterRefused."""
    now = clock()
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
    look = reader.look(wanted)
    ended = clock()
    readings, complete = state.readings.after(every_tick, wanted, look, now)
    history = state.history.with_sizes(job.moves, complete.sizes, now)
    tick = TickInput(
        job=job,
        look=complete,
        now=now,
        ended=ended,
        candidates=candidates,
        admitting=admitting,
        logs=logs_for_tick(reader, job, state.ledger, complete),
        commands=tuple(commands),
        moment=job.settings.moment(),
        overslept=overslept,
    )
    return tick, replace(state, history=history, readings=readings)


def wanted_by_tick(state: RunState, job: Job, candidates: Iterable[TopicPartition]) -> Wanted:
    """What this tick is decided by; `Readings` says what of it is read now."""
    names = {*state.ledger.open, *state.admitted, *candidates}
    names.update(state.ledger.given_up)
    steps = _wanted_by_steps(state, job)
    topics = {n.topic for n in (*names, *state.others.reassignments)}.union(
        *(s.topics for s in steps)
    )
    topics |= {topic for topic, _ in state.ledger.entries}
    own = {broker for broker, _ in state.ledger.rates}
    brokers = own.union(*(s.rates_of for s in steps))
    if state.throttle(job) is not None:
        brokers |= state.others.brokers
        for name in names:
            move = job.moves[name]
            brokers.update((*move.original, *move.new) if move.new else ())
    return Wanted(
        partitions=sorted(names.union(state.others.reassignments, *(s.partitions for s in steps))),
        topics=sorted(topics),
        rates_of=sorted(brokers),
        cordons_of=sorted(_to_be_cordoned(state, job, names).union(*(s.cordons_of for s in steps))),
        registered=job.plan.racks.keys() | own,
        places_of={b: names for s in steps for b, names in s.places_of.items()},
    )


def _wanted_by_steps(state: RunState, job: Job) -> list[Wanted]:
    return [kind.reads(job, state.ledger, state.steps) for kind in kinds_of(job.plan)]


def _to_be_cordoned(state: RunState, job: Job, names: Iterable[TopicPartition]) -> set[BrokerId]:
    """The brokers of which it matters whether they are cordoned.

    New ones of what may begin now; new and leaving ones of a list that Kafka refused, and those that a list leaves out
    and that may be back.
    """
    brokers = {b for n in state.admitted for b in job.moves[n].new}
    refused = [n for n, answer in state.moves.answers.items() if isinstance(answer, Rejected)]
    for name in names:
        own = state.ledger.owned.get(name)
        if own is None:
            brokers |= {*job.moves[name].new, *job.moves[name].unnameable}
        elif own.reached is Reached.NOTHING:
            brokers |= left_out_by_expand(job.moves[name], own) or frozenset()
    return brokers.union(*((*job.moves[n].leaving, *job.moves[n].new) for n in refused))


def urgent(state: RunState, job: Job) -> frozenset[BrokerId]:
    """The brokers whose rates are read in this tick, because it may change them or waits for a change.

    A change is decided by what was just read: a broker that died meanwhile does not answer, and is not asked.
    """
    soon = job.settings.settle_seconds - 2 * job.settings.poll_seconds
    own = brokers_among((*state.config_resources, *state.configs_unknown_since))
    own.update(*(wanted.rates_of for wanted in _wanted_by_steps(state, job)))
    own |= {broker for (broker, _), _ in state.throttle_history.catching_up}
    running, ending = state.others.brokers, set[BrokerId]()
    for name, replicas in copying(state, job).items():
        (ending if state.history.copied(name, soon) else running).update(replicas)
    ending.update(*((*job.moves[n].original, *job.moves[n].new) for n in state.admitted))
    return frozenset(own | ending | ({broker for broker, _ in state.ledger.rates} - running))


def copying(state: RunState, job: Job) -> dict[TopicPartition, Replicas]:
    """The replicas of the copies that run."""
    return {
        n: (*job.moves[n].original, *job.moves[n].new)
        for n, record in state.ledger.open.items()
        if record.expanding
    }
