"""Which moves copy now: for whom throttle entries are needed, and who takes slots. Pure."""

from collections.abc import Collection, Container, Iterable, Iterator

from replan.applying.admission.slots import Slots, foreign_load
from replan.applying.journal.records import changed
from replan.applying.journal.steps import MoveRecord, Reached, Status
from replan.applying.observation.look import made_again, runs_own
from replan.applying.observation.refusals import believed
from replan.applying.partitions.judge_copying import never_there
from replan.applying.reasons.ends import ThrottleRefused
from replan.applying.reasons.gates import OthersUnderMinIsr
from replan.applying.throttles.replica_lists import Copy
from replan.applying.tick.run_state import RunState
from replan.applying.tick_input import TickInput
from replan.model.configs import ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import RequestKind


def lingering(tick: TickInput, state: RunState) -> list[TopicPartition]:
    """Partitions that ended in the middle and whose copy still runs: it keeps its throttle until it ends.

    Also where another tool's reassignment goes on with it: the bytes flow because replan has begun them. What runs on a
    topic that was made again is that tool's alone.
    """
    return [
        name
        for name in sorted(state.given_up)
        if name in tick.seen.running and _is_copied(tick, name)
    ]


def taken_up(tick: TickInput, state: RunState) -> Iterator[MoveRecord]:
    """The records of ended partitions that go on, since a list of replan's own runs there that is not to stay.

    It came when the partition was done or rested, or it can never end. What the controller lists is never old, so one
    look is enough; a list that was left to another tool is that tool's.
    """
    for name, running in tick.seen.running.items():
        own = state.ledger.owned.get(name)
        if own is None or own.status in {Status.OPEN, Status.FOREIGN}:
            continue
        if not runs_own(tick.seen, own):
            continue
        late = own.status in {Status.DONE, Status.CANCELLED} and running.target != own.target
        if late or never_there(running, tick.seen):
            yield changed(
                own, status=Status.OPEN, message="", reached=min(own.reached, Reached.EXPANDED)
            )


def may_arrive(state: RunState) -> list[TopicPartition]:
    """Partitions of which a list that was asked for may still arrive; elections come too late without harm."""
    owned = state.ledger.owned
    return [n for n in state.unknown_since if n in owned and owned[n].list_pending]


def _is_copied(tick: TickInput, name: TopicPartition) -> bool:
    """Whether what runs brings a new replica of replan's move into sync; another tool may list it as there already."""
    running, found = tick.seen.running.get(name), tick.seen.partitions.get(name)
    in_sync = () if found is None else found.isr
    if running is None or made_again(tick.seen, name, tick.job.moves[name].topic_id):
        return False
    stay = set(running.replicas).difference(running.removing, in_sync)
    return bool(stay.intersection(tick.job.moves[name].new).intersection(tick.seen.brokers))


def copies_under_throttle(
    tick: TickInput,
    state: RunState,
    admitted: Iterable[TopicPartition],
    ended: Collection[TopicPartition],
) -> list[Copy]:
    """The copies whose entries should be there: from just before expand until settled."""
    settle = tick.settings.settle_seconds
    names = {
        name
        for name, record in state.ledger.open.items()
        if record.expanding
        and (_is_copied(tick, name) if name in ended else not state.history.copied(name, settle))
    }
    names.update(lingering(tick, state))
    if tick.admitting:
        names.update(n for n in admitted if n not in ended)
    moves = [tick.job.moves[name] for name in sorted(names)]
    moves = [m for m in moves if not made_again(tick.seen, m.partition, m.topic_id)]
    return [copy_of(tick, state, move) for move in moves]


def copy_of(tick: TickInput, state: RunState, move: Move) -> Copy:
    """A move as throttles see it: its leader throttle is suspended while a replica catches up beside the copy.

    Any kept one that is out of the ISR, and a leaving one on a live broker: while it is listed it counts for min ISR.
    """
    found = tick.seen.partitions.get(move.partition)
    isr = state.history.isr.get(move.partition) if found is None else found.isr
    if isr is None:
        return Copy(move)
    out = set(move.original).difference(isr)
    if not out:
        return Copy(move)
    catching_up = out & move.kept or any(tick.seen.live(b) for b in out)
    return Copy(move, leader_throttle_suspended=bool(catching_up))


def slots_of(tick: TickInput, state: RunState, starting: Collection[TopicPartition]) -> Slots:
    """The slots as they are taken now, without those of moves whose start is about to be judged."""
    others = {
        name: foreign_load(running, tick.seen.live)
        for name, running in tick.seen.running.items()
        if name not in state.ledger.open or not state.ledger.open[name].expanding
    }
    loads = _loads(tick, state, starting)
    return Slots(state.limits, tick.settings.slots_per_broker, loads, others)


def _loads(
    tick: TickInput, state: RunState, starting: Collection[TopicPartition]
) -> Iterator[frozenset[BrokerId]]:
    copying = {n for n, record in state.ledger.open.items() if record.expanding}
    for name in sorted((copying | state.admitted).difference(starting)):
        move = tick.job.moves[name]
        if _loads_now(tick, state, move):
            yield frozenset((source_of(tick, move), *move.new))


def loaded_by(tick: TickInput, state: RunState) -> set[BrokerId]:
    """The brokers that the copies load which run now; not those of copies that are about to begin."""
    loads = _loads(tick, state, state.admitted)
    return {broker for brokers in loads for broker in brokers}


def source_of(tick: TickInput, move: Move) -> BrokerId:
    """From where a move copies: the leader, or who is to be it."""
    state = tick.seen.partitions.get(move.partition)
    return move.original[0] if state is None or state.leader is None else state.leader


def _loads_now(tick: TickInput, state: RunState, move: Move) -> bool:
    """Until its new replicas are in sync, unless it stands still, or this user may not see whether it goes on."""
    found, admitted = tick.seen.partitions.get(move.partition), move.partition in state.admitted
    if (found is None or admitted) and move.partition.topic in tick.seen.forbidden:
        return False
    if found is not None and set(found.isr).issuperset(move.new):
        return False
    stalled = state.history.stalled(move, tick.seen, tick.now, tick.settings.stalled_seconds)
    return admitted or stalled is None


def others_suffer(tick: TickInput, state: RunState) -> OthersUnderMinIsr | None:
    """Why nothing more is begun beside the copies that run, if partitions of others suffer on their brokers."""
    neighbours = state.neighbours
    if not neighbours.fallen or not tick.admitting:
        return None
    loaded = frozenset(loaded_by(tick, state))
    suffering = neighbours.suffering(loaded)
    if not suffering:
        return None
    theirs = {b for n in suffering for b in neighbours.fallen[n]}
    return OthersUnderMinIsr(suffering, tuple(sorted(theirs & loaded)))


def refused_setting(
    tick: TickInput, state: RunState, topics: Iterable[str], brokers: Iterable[BrokerId]
) -> ThrottleRefused | None:
    """A setting of a copy's throttle that Kafka refuses."""
    named = [(ConfigScope.TOPIC, topic) for topic in topics]
    named += [(ConfigScope.BROKER, str(b)) for b in brokers]
    for scope, name in named:
        refused = state.refused_settings.get((scope, name))
        rejection = believed(refused, tick.settings.agreeing_seconds)
        if rejection is not None:
            return ThrottleRefused(scope, name, rejection.code, rejection.name, rejection.message)
    return None


def elections_in_flight(
    tick: TickInput, state: RunState, asking: Container[TopicPartition]
) -> Iterator[BrokerId]:
    """Who shall lead by the elections that were asked for and have not been seen; not by those that go again now."""
    for name, record in state.ledger.open.items():
        asked, found = record.asked, tick.seen.partitions.get(name)
        if asked is None or asked.kind is not RequestKind.ELECT or name in asking:
            continue
        if found is None or found.leader != asked.replicas[0]:
            yield asked.replicas[0]
