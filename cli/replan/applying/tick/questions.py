"""Which questions a look asks: what the next decision rests on, and no more. Pure."""

from collections.abc import Iterable

from replan.applying.journal.steps import Reached
from replan.applying.partitions.judge import left_out
from replan.applying.steps.creating import looked_at, pending, perhaps_cordoned
from replan.applying.steps.log_moves import looked_at as looked_at_logs
from replan.applying.steps.log_moves import places_of
from replan.applying.steps.recovering import pending as pending_recoveries
from replan.applying.steps.standing_throttles import standing_places
from replan.applying.tick.run_state import Configured, RunState
from replan.applying.tick_input import Job
from replan.model.configs import ConfigScope
from replan.model.control_plane import Rejected, Wanted
from replan.model.names import BrokerId, Replicas, TopicPartition


def wanted(state: RunState, job: Job, candidates: Iterable[TopicPartition]) -> Wanted:
    """What this tick is decided by; `Readings` says what of it is read now."""
    names = {*state.ledger.open, *state.admitted, *candidates}
    names.update(state.given_up)
    within = looked_at_logs(job, state.ledger)
    set_places = standing_places(job, state.ledger)
    topics = {n.topic for n in (*names, *state.others.found)}
    topics |= {topic for topic, _ in state.ledger.entries}
    topics |= {name for scope, name in set_places if scope is ConfigScope.TOPIC}
    brokers = {broker for broker, _ in state.ledger.rates} | own_brokers(set_places)
    if state.throttle(job) is not None:
        brokers |= state.others.brokers
        brokers.update(move.broker for move in within)
        for name in names:
            move = job.moves[name]
            brokers.update((*move.original, *move.new) if move.new else ())
    return Wanted(
        partitions=sorted(
            names.union(
                state.others.found,
                looked_at(pending(job, state.ledger)),
                (r.partition for r in pending_recoveries(job, state.ledger)),
                (m.partition for m in within),
            )
        ),
        topics=sorted(topics),
        rates_of=sorted(brokers),
        cordons_of=sorted(_to_be_cordoned(state, job, names)),
        registered=job.plan.racks.keys() | {broker for broker, _ in state.ledger.rates},
        places_of=places_of(within),
    )


def _to_be_cordoned(state: RunState, job: Job, names: Iterable[TopicPartition]) -> set[BrokerId]:
    """The brokers of which it matters whether they are cordoned.

    New ones; leaving ones of a list that Kafka refused, and those that a list leaves out and that may be back.
    """
    brokers = {b for n in state.admitted for b in job.moves[n].new}
    brokers |= perhaps_cordoned(job, state.ledger, state.creating)
    refused = [n for n, answer in state.answers.items() if isinstance(answer, Rejected)]
    for name in names:
        own = state.ledger.owned.get(name)
        if own is None:
            brokers |= job.moves[name].unnameable
        elif own.reached is Reached.NOTHING:
            brokers |= left_out(job.moves[name], own) or frozenset()
    return brokers.union(*(job.moves[n].leaving for n in refused))


def urgent(state: RunState, job: Job, changed: Iterable[Configured]) -> frozenset[BrokerId]:
    """The brokers whose rates are read in this tick, because it may change them or waits for a change.

    A change is decided by what was just read: a broker that died meanwhile does not answer, and is not asked.
    """
    soon = job.settings.settle_seconds - 2 * job.settings.poll_seconds
    own = own_brokers((*changed, *state.configs_unknown_since))
    own |= own_brokers(standing_places(job, state.ledger))
    own |= {move.broker for move in looked_at_logs(job, state.ledger)}
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


def own_brokers(places: Iterable[Configured]) -> set[BrokerId]:
    """The brokers among topics and brokers."""
    return {BrokerId(int(name)) for scope, name in places if scope is ConfigScope.BROKER}
