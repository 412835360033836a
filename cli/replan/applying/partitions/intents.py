"""What is written down when a move is touched: the records of `decide`. Pure."""

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Forget, Order, Record, changed
from replan.applying.journal.steps import Asked, MoveRecord, Reached
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import Request, RequestKind


def begun(move: Move, ledger: Ledger) -> MoveRecord:
    """The first record of a move in the open application."""
    return MoveRecord(
        application=ledger.application_id,
        partition=move.partition,
        topic_id=move.topic_id,
        original=move.original,
        target=move.target,
    )


def intent(own: MoveRecord, ask: Request) -> MoveRecord:
    """The record that says what is about to be asked; a cancel takes back what was reached."""
    is_list = ask.kind in {RequestKind.EXPAND, RequestKind.ASSIGN}
    fresh = (ask.replicas,) if is_list and ask.replicas not in own.past else ()
    return changed(
        own,
        asked=Asked(ask.kind, ask.replicas),
        past=own.past + fresh,
        reached=Reached.NOTHING if ask.kind is RequestKind.CANCEL else own.reached,
    )


def remembering(move: Move, ledger: Ledger) -> tuple[Record, ...]:
    """Keep the order to come back to: the first one, as long as topic and replica set are the same.

    One that a recovery has left becomes the blacklist's, which the end of the recovery alone does not lift.
    """
    order = Order(move.partition, move.topic_id, move.original)
    kept = ledger.order(order.key)
    if kept is None or set(kept.replicas) != set(order.replicas):
        return (order,)
    return (changed(kept, recovered=False),) if kept.recovered else ()


def forgetting(move: Move, ledger: Ledger) -> tuple[Record, ...]:
    """Forget an order that stands again, and a list that can come back no more."""
    return _no_more(Order(move.partition, move.topic_id, move.target), ledger)


def no_more_left(own: MoveRecord, ledger: Ledger) -> tuple[Record, ...]:
    """Forget the list to come back to, where the partition of a move that was given up has its original one."""
    return _no_more(Order(own.partition, own.topic_id, own.original), ledger)


def _no_more(there: Order, ledger: Ledger) -> tuple[Record, ...]:
    order = ledger.order(there.key)
    if order is None or (not order.left and order.replicas != there.replicas):
        return ()
    if order.replicas != there.replicas and set(order.replicas) == set(there.replicas):
        return (changed(order, left=()),)
    return (Forget(there.key),)


def left_behind(own: MoveRecord, ledger: Ledger) -> tuple[Record, ...]:
    """Keep the list to come back to, where a move is given up that has begun to add replicas.

    Where no entry declares the partition, nothing else knows that those were not to stay. Its order is the remembered
    one, if there is any. A cancel that was asked for last may have been refused: then the list before it runs.
    """
    if own.asked is None or own.reached is Reached.ASSIGNED:
        return ()
    refusable = own.asked.kind is RequestKind.CANCEL and own.past
    listed = own.past[-1] if refusable else own.asked.replicas if own.expanding else ()
    if set(listed) <= set(own.original):
        return ()
    order = Order(own.partition, own.topic_id, own.original, listed)
    kept = ledger.order(order.key)
    if kept is not None and set(kept.replicas) == set(order.replicas):
        order = changed(kept, left=order.left)
    return (order,)
