"""Commands that steer the process at work from any terminal or machine: `pause`, `throttle RATE`, `cancel`.

How they travel and when they are obeyed is in `applying.steering`. `resume` lifts a pause in the same way.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import uuid4

import typer

from replan.commands.options import AS, Detail, Pace
from replan.commands.output import is_live, note, result
from replan.commands.target import Connection, JournaledTarget, LiveTarget, Target
from replan.errors import Exit, Held, ReplanError

if TYPE_CHECKING:
    from replan.applying.abandoning import RunningCopies
    from replan.applying.journal.records import Application, Command, Record, Verb

ANSWER_SECONDS = 30.0
"""How long the process at work has to answer: it reads its inbox every second, unless the cluster is silent."""
LEAVING_SECONDS = 60.0
"""How long it has to leave: it waits 45 s at most for what it puts back."""
_PAUSE_SECONDS = 0.2


def _steered_rate(text: str) -> str:
    from replan.manifest.units import parse_rate

    try:
        found = parse_rate(text)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem
    return "unlimited" if found is None else str(found)


def pause(*, cluster: JournaledTarget) -> Exit:
    """Pause the running application: nothing new begins.

    What has begun goes on to its end, under its throttles. `replan resume` lifts the pause. The process at work, on
    this machine or another, obeys within two of its ticks; the command waits for its answer, 30 s at most.

    Exit codes:
      0  paused
      1  an error
      4  no process is at work, or it did not answer

    Examples:
      replan pause --bootstrap-server kafka-1:9092
      replan pause --simulated cluster.json
    """
    from replan.applying.journal.records import Verb

    with cluster.connect() as connection:
        who = ask(cluster, connection, Verb.PAUSE)
    result(f"paused, by {who}\nWhat has begun goes on. `replan resume` lifts the pause.\n")
    return Exit.OK


def throttle_rate(
    *,
    rate: Annotated[
        str,
        typer.Argument(
            metavar="RATE",
            parser=_steered_rate,
            help="The new rate of copies, e.g. 50MB/s, or unlimited.",
        ),
    ],
    cluster: JournaledTarget,
) -> Exit:
    """Change the rate of the running application.

    It takes the place of the plan's rate, for copies that run and for those to come, until the application ends.
    Brokers with a rate of their own in the placement keep that. The process at work, on this machine or another, obeys
    within two of its ticks; the command waits for its answer, 30 s at most.

    Exit codes:
      0  changed
      1  an error
      4  no process is at work, or it did not answer

    Examples:
      replan throttle 80MB/s --bootstrap-server kafka-1:9092
      replan throttle unlimited --simulated cluster.json
    """
    from replan.applying.journal.records import Verb

    with cluster.connect() as connection:
        who = ask(cluster, connection, Verb.THROTTLE, rate)
    result(_changed(rate, who))
    return Exit.OK


def change_rate(cluster: Target, connection: Connection, rate: str) -> bool:
    """Let the process at work change its rate, if there is one; False where nobody answers."""
    from replan.applying.journal.records import Verb
    from replan.commands.journals import known_of

    if known_of(cluster, connection, connection.control_plane.cluster_id()).holder is None:
        return False
    with noted_if_silent():
        result(_changed(rate, ask(cluster, connection, Verb.THROTTLE, rate)))
        return True
    return False


def _changed(rate: str, who: str) -> str:
    from replan.reporting.quantities import rate as shown

    return f"throttle: {shown(int(rate) if rate.isdigit() else None)}, set by {who}\n"


def throttle_show(
    *, form: Annotated[Literal["text", "json"], AS] = "text", cluster: JournaledTarget
) -> Exit:
    """Show every throttle of the cluster, and whose it is.

    The rates of brokers and the lists of throttled replicas of topics: those that replan has set, with what was there
    before, and all others. `replan throttle clear` restores what an interrupted application has left.

    Exit codes:
      0  shown
      1  an error

    Examples:
      replan throttle show --bootstrap-server kafka-1:9092
      replan throttle show --simulated cluster.json --format json
    """
    from replan.applying.found_throttles import found_throttles
    from replan.applying.journal.ledger import Ledger
    from replan.commands.journals import known_of
    from replan.reporting.throttle_text import render_throttles, render_throttles_json

    if cluster.snapshot is not None:
        seen, ledger = cluster.observe(), Ledger()
    else:
        with cluster.connect() as connection:
            seen = connection.control_plane.observe()
            ledger = known_of(cluster, connection, seen.cluster_id).ledger
    render = render_throttles_json if form == "json" else render_throttles
    result(render(found_throttles(seen, ledger), seen.observed_at))
    return Exit.OK


def cancel(*, detail: Detail, pace: Pace, cluster: LiveTarget) -> Exit:
    """Cancel the open application: what it has not finished goes back.

    Running copies are cancelled, and unfinished partitions get their original list, order and leader again, judged by
    the same gates and copied under the same throttles where a replica is gone already. What was finished stays, and is
    listed. Where a process is at work, on this machine or another, that one does it: the command waits until it has
    begun, 30 s at most. Otherwise this one does, and may be interrupted and resumed like `apply`.

    Exit codes:
      0    cancelled; or the process at work has begun to
      1    an error, or nothing to cancel
      3    some partitions are refused, or could not go back; the others are back
      4    another party is in the way, throttles are still to be restored, or it gave up waiting
      130  interrupted; `replan resume` goes on with it

    Examples:
      replan cancel --bootstrap-server kafka-1:9092
      replan cancel --simulated cluster.json
    """
    from replan.applying.journal.records import Verb
    from replan.commands import application
    from replan.commands.journals import known_of

    with cluster.connect() as connection:
        plan = application.begun_plan(cluster, connection, "cancel")
        if known_of(cluster, connection, plan.cluster_id).holder is not None:
            with noted_if_silent():
                who = ask(cluster, connection, Verb.CANCEL)
                result(f"being cancelled, by {who}\n`replan status` shows how far it is.\n")
                return Exit.OK
        settings = pace.settings(watched=is_live(sys.stderr))
        return application.perform(plan, cluster, connection, settings, detail, verb=Verb.CANCEL)


def take_from_process(cluster: LiveTarget, copies: "RunningCopies") -> None:
    """Let the process at work leave the open application to this one, if there is one.

    Raises Held where copies run, and nobody said what becomes of them: then it goes on as before.
    """
    from replan.applying.abandoning import RunningCopies, check_no_copies
    from replan.applying.journal.records import Verb
    from replan.commands.journals import known_of

    with cluster.connect() as connection:
        plane = connection.control_plane
        known = known_of(cluster, connection, plane.cluster_id())
        if known.holder is None or known.ledger.application is None:
            return
        if copies is RunningCopies.REFUSED:
            check_no_copies(known.ledger, plane)
        with noted_if_silent():
            note(f"left to this command by {ask(cluster, connection, Verb.ABANDON)}")
            _await_release(cluster, connection)


def _await_release(cluster: LiveTarget, connection: Connection) -> None:
    """Until the process has restored what no copy needs, and left; 90 s at most, as its requests take."""
    from replan.commands.journals import known_of

    cluster_id = connection.control_plane.cluster_id()
    until = time.monotonic() + LEAVING_SECONDS
    while time.monotonic() < until:
        if known_of(cluster, connection, cluster_id).holder is None:
            return
        connection.clock.sleep(_PAUSE_SECONDS)


@contextmanager
def noted_if_silent() -> Iterator[None]:
    """Go on, with a note, where the process at work does not answer."""
    try:
        yield
    except Held as silent:
        note(f"note: {silent}")


def lift_pause(cluster: Target, connection: Connection) -> bool:
    """Let the process at work go on, if there is one and it was paused; False where nobody answers."""
    from replan.applying.journal.records import Verb
    from replan.commands.journals import known_of

    known = known_of(cluster, connection, connection.control_plane.cluster_id())
    opened = known.ledger.application
    if known.holder is None or opened is None or not opened.paused_by:
        return False
    with noted_if_silent():
        who = ask(cluster, connection, Verb.RESUME)
        result(f"pause lifted, by {who}\n")
        return True
    return False


def ask(cluster: Target, connection: Connection, verb: "Verb", rate: str = "") -> str:
    """Leave a command in the inbox, wait until the process at work has obeyed, and name it.

    Raises Held where nobody is at work, or nobody answers in time; then the command is withdrawn.
    """
    from replan.applying.journal.records import Command
    from replan.commands.journals import known_of, owner

    cluster_id = connection.control_plane.cluster_id()
    known = known_of(cluster, connection, cluster_id)
    opened = known.ledger.application
    if opened is None:
        raise Held("no application is open on this cluster, so there is nothing to steer")
    if known.holder is None:
        raise Held(_nobody(opened))
    number = f"{time.time_ns():016x}-{uuid4().hex[:8]}"
    command = Command(opened.id, number, verb, rate, owner())
    who = _answer(_inbox(cluster, connection, cluster_id), command)
    if who is None:
        raise Held(
            f"no answer of {known.holder} within {ANSWER_SECONDS:.0f} s; the command was withdrawn\n"
            f"It may have ended, or be cut off. {_WAYS_ON}"
        )
    return who


_WAYS_ON = "`replan status` shows how the application stands; `replan resume` goes on with it."


def _nobody(opened: "Application") -> str:
    return (
        f"no process is at work on application {opened.id} of {opened.owner}, so nobody would obey\n{_WAYS_ON} "
        "Nothing new begins until then, and copies that run keep their throttle."
    )


@dataclass(frozen=True, slots=True)
class _Inbox:
    """The inbox of one journal, from outside."""

    send: "Callable[[Command], None]"
    withdraw: "Callable[[Command], None]"
    read: "Callable[[], Iterable[Record]]"


def _inbox(cluster: Target, connection: Connection, cluster_id: str) -> _Inbox:
    from replan.applying.journal import file_inbox
    from replan.applying.journal.file import peek
    from replan.applying.journal.records import Forget
    from replan.commands.journals import place_of, topic_of

    where = place_of(cluster)
    if where.path is not None:
        path = where.path
        return _Inbox(
            lambda command: file_inbox.put(path, command),
            lambda command: file_inbox.remove(path, command.key),
            lambda: peek(path, cluster_id),
        )
    topic = topic_of(connection, where)

    def read() -> "Iterable[Record]":
        topic.reader.refresh()
        return topic.reader.records()

    return _Inbox(topic.send, lambda command: topic.send(Forget(command.key)), read)


def _answer(inbox: _Inbox, command: "Command") -> str | None:
    """Who obeyed; None where nobody did in time, or the application has ended, and the command is withdrawn."""
    from replan.applying.journal.ledger import fold

    until = time.monotonic() + ANSWER_SECONDS
    try:
        inbox.send(command)
        while time.monotonic() < until:
            opened = fold(found := list(inbox.read())).application
            who = _obeyed(found, command)
            if who or opened is None or opened.id != command.application:
                break
            time.sleep(_PAUSE_SECONDS)
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
            return record.obeyed_by or None
        if isinstance(record, Application) and record.id == command.application:
            cancelled = record.status is ApplicationStatus.CANCELLED
            if cancelled and record.cancelled_by == command.sender:
                return "the process that was at work"
    return None
