"""Which moves copy now: for whom throttle entries stand, and who takes slots. Pure."""

from collections.abc import Collection, Iterable, Iterator

from replan.applying.admission.slots import Slots, foreign_load
from replan.applying.journal.records import MoveRecord, Status
from replan.applying.throttles.replica_lists import Copy
from replan.applying.tick_input import TickInput
from replan.model.names import BrokerId, TopicPartition
from replan.planning.moves import Move
from replan.planning.requests import RequestKind


def expanding(own: MoveRecord) -> bool:
    """Whether expand is what was asked last: it runs, or has ended and waits for assign."""
    return own.asked is not None and own.asked.kind is RequestKind.EXPAND


def lingering(view: TickInput) -> list[TopicPartition]:
    """Partitions that ended in the middle and whose copy still runs: it keeps its throttle until it ends."""
    return [
        name
        for name, running in view.seen.running.items()
        if (own := view.ledger.owned.get(name)) is not None
        and own.status in {Status.STALE, Status.REJECTED}
        and expanding(own)
        and not set(running.adding).isdisjoint(view.moves[name].new)
    ]


def copies_under_throttle(
    view: TickInput, admitted: Iterable[TopicPartition], ended: Collection[TopicPartition]
) -> list[Copy]:
    """The copies whose entries should stand: from just before expand until settled."""
    names = [n for n, own in view.ledger.open.items() if expanding(own) and _copies(view, n, ended)]
    names += lingering(view)
    if view.admitting:
        names += [n for n in (*view.admitted, *admitted) if n not in ended]
    return [copy_of(view, view.moves[n]) for n in sorted(set(names))]


def _copies(view: TickInput, name: TopicPartition, ended: Collection[TopicPartition]) -> bool:
    if name in ended:
        running = view.seen.running.get(name)
        return running is not None and not set(running.adding).isdisjoint(view.moves[name].new)
    return not view.watch.copied(name, view.now, view.settings.settle_seconds)


def copy_of(view: TickInput, move: Move) -> Copy:
    """A move as throttles see it: its leader throttle is suspended while a kept replica is out of the ISR."""
    state = view.seen.partitions.get(move.partition)
    isr = view.watch.last_isr(move.partition) if state is None else state.isr
    kept = set(move.original) & set(move.target)
    return Copy(move, leader_throttle_suspended=isr is not None and not kept <= set(isr))


def slots_of(view: TickInput) -> Slots:
    """The slots as they are taken now."""
    return Slots(view.limits, view.settings.slots_per_broker, _loads(view))


def _loads(view: TickInput) -> Iterator[frozenset[BrokerId]]:
    ours = {n for n, own in view.ledger.open.items() if expanding(own)}
    for name in sorted(ours | view.admitted):
        move = view.moves[name]
        if _loads_now(view, move):
            state = view.seen.partitions.get(name)
            leads = move.original[:1] if state is None or state.leader is None else (state.leader,)
            yield frozenset((*leads, *move.new))
    for name, running in view.seen.running.items():
        if name not in ours:
            yield foreign_load(running)


def _loads_now(view: TickInput, move: Move) -> bool:
    """Until its new replicas are in sync, and unless it stands still."""
    state = view.seen.partitions.get(move.partition)
    if state is not None and set(move.new) <= set(state.isr):
        return False
    stalled = view.watch.stalled(move, view.seen, view.now, view.settings.stalled_seconds)
    return move.partition in view.admitted or stalled is None
