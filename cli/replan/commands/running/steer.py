"""Commands that steer the process at work from any terminal or machine: `pause`, `cancel`.

How they travel and when they are obeyed is in `applying.steering`. `resume` lifts a pause in the same way, and
`throttle RATE` is in `throttle`.
"""

import sys
import time
from typing import TYPE_CHECKING

from replan.commands.frame.output import is_live, note, result
from replan.commands.running.asking import PAUSE_SECONDS, ask, ask_loop, noted_if_silent
from replan.commands.shared.options import Detail, Pace
from replan.commands.shared.target import AnsweringTarget, Connection, LiveTarget, Target
from replan.errors import Exit

if TYPE_CHECKING:
    from replan.applying.abandoning import RunningCopies

LEAVING_SECONDS = 60.0
"""How long the process at work has to leave: it waits 45 s at most for what it puts back."""


def pause(*, cluster: AnsweringTarget) -> Exit:
    """Pause the running application, or the loop: nothing new begins.

    What has begun goes on to its end, under its throttles. `replan resume` lifts the pause. The process at work, on
    this machine or another, obeys within two of its ticks; the command waits for its answer, 30 s at most. Where no
    application is open, it pauses the loop of `replan reconcile`, if there is one; where that runs as a scheduled job,
    its next round obeys.

    Exit codes:
      0  paused, or left to the next round of a loop
      1  an error
      4  no process is at work, or it did not answer

    Examples:
      replan pause --bootstrap-server kafka-1:9092
      replan pause --simulated cluster.json
    """
    from replan.applying.journal.records import Verb

    with cluster.connect() as connection:
        loop = ask_loop(cluster, connection, Verb.PAUSE)
        if loop is not None:
            result(f"paused, by {loop}\nNothing is put right until `replan resume`.\n")
            return Exit.OK
        who = ask(cluster, connection, Verb.PAUSE)
    result(f"paused, by {who}\nWhat has begun goes on. `replan resume` lifts the pause.\n")
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
    from replan.commands.shared import application
    from replan.commands.shared.journals import journal_state

    with cluster.connect() as connection:
        plan = application.begun_plan(cluster, connection, "cancel")
        if journal_state(cluster, connection, plan.cluster_id).holder is not None:
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
    from replan.commands.shared.journals import journal_state

    with cluster.connect() as connection:
        plane = connection.control_plane
        journal = journal_state(cluster, connection, plane.cluster_id())
        if journal.holder is None or journal.ledger.application is None:
            return
        if copies is not RunningCopies.UNTHROTTLED:
            check_no_copies(journal.ledger, plane, copies)
        with noted_if_silent():
            note(f"left to this command by {ask(cluster, connection, Verb.ABANDON)}")
            _await_release(cluster, connection)


def _await_release(cluster: LiveTarget, connection: Connection) -> None:
    """Until the process has restored what no copy needs, and left, `LEAVING_SECONDS` at most."""
    from replan.commands.shared.journals import journal_state

    cluster_id = connection.control_plane.cluster_id()
    until = time.monotonic() + LEAVING_SECONDS
    while time.monotonic() < until:
        if journal_state(cluster, connection, cluster_id).holder is None:
            return
        connection.clock.sleep(PAUSE_SECONDS)


def resume_loop(cluster: Target, connection: Connection) -> bool:
    """Let the loop go on, whatever it waits for a person for; False where an application is open, or no loop is there.

    Raises as `ask_loop`.
    """
    from replan.applying.journal.records import Verb

    loop = ask_loop(cluster, connection, Verb.RESUME)
    if loop is not None:
        result(f"resumed, by {loop}\n")
    return loop is not None


def lift_pause(cluster: Target, connection: Connection) -> bool:
    """Let the process at work go on, if there is one and it was paused; False where nobody answers."""
    from replan.applying.journal.records import Verb
    from replan.commands.shared.journals import journal_state

    journal = journal_state(cluster, connection, connection.control_plane.cluster_id())
    opened = journal.ledger.application
    if journal.holder is None or opened is None or not opened.paused_by:
        return False
    with noted_if_silent():
        who = ask(cluster, connection, Verb.RESUME)
        result(f"pause lifted, by {who}\n")
        return True
    return False
