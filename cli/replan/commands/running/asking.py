"""Asking the process at work for something, through the inbox of its journal; `applying.steering` says how it obeys."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from msgspec import Struct

from replan.commands.frame.output import note
from replan.commands.shared.target import Connection, Target
from replan.errors import BadUsage, Held, ReplanError

if TYPE_CHECKING:
    from replan.applying.journal.records import Application, Command, Record, Verb
    from replan.applying.steering import MoveRates

REPLY_SECONDS = 30.0
"""How long the process at work has to answer: it reads its inbox every second, unless the cluster is silent."""
PAUSE_SECONDS = 0.2
"""Between two looks at the journal."""


@contextmanager
def noted_if_silent() -> Iterator[None]:
    """Go on, with a note, where the process at work does not answer."""
    try:
        yield
    except Held as silent:
        note(f"note: {silent}")


def ask(
    cluster: Target,
    connection: Connection,
    verb: "Verb",
    rates: "MoveRates | None" = None,
    others: bool | None = None,
) -> str:
    """Leave a command in the inbox, wait until the process at work has obeyed, and name it.

    Raises Held where nobody is at work, or nobody answers in time; then the command is withdrawn.
    """
    from replan.applying.journal.records import Command
    from replan.commands.shared.journals import journal_state, owner

    cluster_id = connection.control_plane.cluster_id()
    journal = journal_state(cluster, connection, cluster_id)
    opened = journal.ledger.application
    if opened is None:
        raise Held("no application is open on this cluster, so there is nothing to steer")
    if journal.holder is None:
        raise Held(_nobody(opened))
    rate, brokers = ("", None) if rates is None else (rates.rate, rates.brokers)
    command = Command(opened.id, _number(), verb, rate, owner(), brokers=brokers, others=others)
    who = _answer(_inbox(cluster, connection, cluster_id), command)
    if who is None:
        raise Held(
            f"no answer of {journal.holder} within {REPLY_SECONDS:.0f} s; the command was withdrawn\n"
            f"It may have ended, or be cut off. {_WAYS_ON}"
        )
    return who


def ask_loop(cluster: Target, connection: Connection, verb: "Verb") -> str | None:
    """Leave a command for the loop of the cluster, and say who obeyed, or will.

    None where there was no loop, or an application is open that is still to be asked, or performed. Where a loop is at
    work, it has so long to answer as any process; the command stays in any case, and is the first thing that the next
    turn of a loop obeys. A loop whose application somebody has cancelled is asked to go on once that is taken back.
    Raises Held where nobody answers in time.
    """
    from replan.applying.journal.records import LoopCommand, Verb
    from replan.commands.shared.journals import journal_state, loop_store, owner
    from replan.reconciling.store import lease_of, load

    journal = journal_state(cluster, connection, connection.control_plane.cluster_id())
    store, opened = loop_store(cluster, connection), journal.ledger.application
    records = store.read()
    lease = lease_of(records)
    if opened is not None:
        begun = load(records)[0].begun
        own = begun is not None and begun.opened(opened)
        lease = lease if own and opened.is_cancelled and verb is Verb.RESUME else None
    if lease is None:
        return None
    command = LoopCommand(_number(), verb, owner())
    store.write([command])
    if opened is not None:
        goes_on = journal.holder is not None and not opened.paused_by
        after = f"the loop of {lease.owner}, once what was cancelled is taken back"
        return after if goes_on else None
    if lease.released:
        return f"the next round of the loop, which {lease.owner} had last"
    until = time.monotonic() + REPLY_SECONDS
    while time.monotonic() < until:
        kept = {r.key: r for r in store.read() if isinstance(r, LoopCommand)}.get(command.key)
        if kept is None or kept.obeyed_by:  # forgotten: it was obeyed, and the next one, too
            return f"the loop of {lease.owner if kept is None else kept.obeyed_by}"
        time.sleep(PAUSE_SECONDS)
    raise Held(
        f"no answer of the loop of {lease.owner} within {REPLY_SECONDS:.0f} s; the command stays in the journal\n"
        "A loop obeys it before it begins anything else. `replan status` shows how it stands."
    )


def _number() -> str:
    """Of a command: they sort by time."""
    return f"{time.time_ns():016x}-{uuid4().hex[:8]}"


_WAYS_ON = "`replan status` shows how the application stands; `replan resume` goes on with it."


def _nobody(opened: "Application") -> str:
    return (
        f"no process is at work on application {opened.id} of {opened.owner}, so nobody would obey\n{_WAYS_ON} "
        "Nothing new begins until then, and copies that run keep their throttle."
    )


class _Inbox(Struct, frozen=True):
    """The inbox of one journal, from outside."""

    send: "Callable[[Command], None]"
    withdraw: "Callable[[Command], None]"
    read: "Callable[[], Iterable[Record]]"


def _inbox(cluster: Target, connection: Connection, cluster_id: str) -> _Inbox:
    from replan.applying.journal import file_inbox
    from replan.applying.journal.file import peek
    from replan.applying.journal.records import Forget
    from replan.commands.shared.journals import journal_topic_of

    where = cluster.journal_place
    if where.path is not None:
        path = where.path
        return _Inbox(
            lambda command: file_inbox.put_command(path, command),
            lambda command: file_inbox.remove_command(path, command.key),
            lambda: peek(path, cluster_id),
        )
    topic = journal_topic_of(connection, where)

    def read() -> "Iterable[Record]":
        topic.reader.refresh()
        return topic.reader.records()

    return _Inbox(topic.send, lambda command: topic.send(Forget(command.key)), read)


def _answer(inbox: _Inbox, command: "Command") -> str | None:
    """Who obeyed; None where nobody did in time, or the application has ended, and the command is withdrawn."""
    from replan.applying.journal.ledger import fold

    until = time.monotonic() + REPLY_SECONDS
    try:
        inbox.send(command)
        while time.monotonic() < until:
            opened = fold(records := list(inbox.read())).application
            who = _obeyed(records, command)
            if who or opened is None or opened.id != command.application:
                break
            time.sleep(PAUSE_SECONDS)
        who = who or _obeyed(inbox.read(), command)
    except BaseException:
        with suppress(ReplanError):  # what went wrong first is what the caller shall see
            inbox.withdraw(command)
        raise
    if who is None:
        inbox.withdraw(command)
    return who


def _obeyed(records: "Iterable[Record]", command: "Command") -> str | None:
    """Who obeyed; an application that was cancelled at once has forgotten its commands."""
    from replan.applying.journal.records import Application, ApplicationStatus, Command

    for record in records:
        if isinstance(record, Command) and record.key == command.key:
            if record.refused:
                rates = ", ".join(record.wrong_rates)
                raise BadUsage(
                    f"{record.obeyed_by} refused the command: no rate may be {rates} B/s"
                )
            return record.obeyed_by or None
        if isinstance(record, Application) and record.id == command.application:
            cancelled = record.status is ApplicationStatus.CANCELLED
            if cancelled and record.cancelled_by == command.sender:
                return "the process that was at work"
    return None
