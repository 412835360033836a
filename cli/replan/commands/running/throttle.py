"""Commands about throttles: `throttle RATE`, `throttle show`, `throttle clear`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.frame.output import is_live, result
from replan.commands.running.asking import ask, noted_if_silent
from replan.commands.shared.options import Detail, Pace, TextOrJson, patience
from replan.commands.shared.target import Connection, JournaledTarget, LiveTarget, Target
from replan.errors import BadUsage, Exit
from replan.wording import NAMES_SHOWN, capped

if TYPE_CHECKING:
    from replan.applying.journal.ledger import Ledger
    from replan.applying.steering import MoveRates


def _steered_rate(text: str) -> str:
    from replan.applying.journal.records import rate_text
    from replan.placement_file.units import parse_rate

    try:
        bytes_per_second = parse_rate(text)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem
    return rate_text(bytes_per_second)


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
    running: Annotated[
        bool | None,
        typer.Option(
            "--running/--no-running",
            help="Throttle reassignments of other tools, too, until none runs; or no more.",
        ),
    ] = None,
    give_up_after: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=patience,
            help="With --running: restore and end when none of them has moved for so long. `never` waits for ever: the "
            "default at a terminal; elsewhere it is 1h.",
        ),
    ] = None,
    detail: Detail,
    cluster: LiveTarget,
) -> Exit:
    """Change the rate of the running application, or throttle what other tools reassign.

    It takes the place of the plan's rate, for copies that run and for those to come, until the application ends.
    Brokers with a rate of their own in the placement keep that, and are named. The process at work, on this machine or
    another, obeys within two of its ticks; the command waits for its answer, 30 s at most.

    With --running the rate also holds for reassignments that replan did not begin. Where no application is open, the
    command opens one for that, stays until none runs, and restores what was there before; after ^C, the same command
    goes on, and `replan abandon --unthrottled` restores at once. Where none of them moves for as long as
    --give-up-after says, as to a dead broker, it restores and ends. A lower rate of another tool stays, and a higher
    one is restored at the end; both are named.

    Exit codes:
      0    changed; or no reassignment runs any more, and throttles are restored
      1    an error
      4    nobody is at work, or did not answer; throttles are still to be restored; or what runs does not move
      130  interrupted; the copies stay throttled, and `replan resume` goes on

    Examples:
      replan throttle 80MB/s --bootstrap-server kafka-1:9092
      replan throttle 20MB/s --running --simulated cluster.json
    """
    from replan.applying.journal.ledger import Ledger
    from replan.applying.journal.records import Verb, rate_number
    from replan.applying.other_tools import not_ours, plan_of_throttle
    from replan.applying.run.opening import open_plan
    from replan.applying.steering import MoveRates
    from replan.commands.shared.application import perform
    from replan.commands.shared.journals import journal_state
    from replan.commands.shared.permissions import check_allowed
    from replan.model.control_plane import Wanted

    if give_up_after is not None and not running:
        raise BadUsage("--give-up-after goes with --running")
    with cluster.connect() as connection:
        cluster_id = connection.control_plane.cluster_id()
        journal = journal_state(cluster, connection, cluster_id)
        settings = Pace(give_up_after=give_up_after).settings(watched=is_live(sys.stderr))
        begun = open_plan(journal.ledger) if running and journal.holder is None else None
        if begun is not None and not begun.changes:  # interrupted: what it was opened for goes on
            rates = MoveRates(rate)
            return perform(
                begun, cluster, connection, settings, detail, verb=Verb.THROTTLE, rates=rates
            )
        if running and journal.ledger.application is None:
            look = connection.control_plane.look(Wanted())
            copies = not_ours(look, Ledger())
            if not copies:
                result("no reassignment adds replicas now; there is nothing to throttle\n")
                return Exit.OK
            plan = plan_of_throttle(cluster_id, look, rate_number(rate))
            check_allowed(plan, cluster, connection, {name.topic for name in copies})
            return perform(plan, cluster, connection, settings, detail, others=True)
        rates = MoveRates(rate)
        who = ask(cluster, connection, Verb.THROTTLE, rates, running)
    result(_changed(rates, who, journal.ledger))
    return Exit.OK


def change_rates(cluster: Target, connection: Connection, rates: "MoveRates") -> bool:
    """Let the process at work change its rates, if there is one; False where nobody answers."""
    from replan.applying.journal.records import Verb
    from replan.commands.shared.journals import journal_state

    journal = journal_state(cluster, connection, connection.control_plane.cluster_id())
    if journal.holder is None:
        return False
    with noted_if_silent():
        who = ask(cluster, connection, Verb.THROTTLE, rates)
        result(_changed(rates, who, journal.ledger))
        return True
    return False


def _changed(rates: "MoveRates", who: str, ledger: "Ledger") -> str:
    """The rate that holds now, and the brokers that keep another one, by the journal that the process at work has."""
    from replan.applying.journal.records import rate_number
    from replan.applying.run.opening import open_plan
    from replan.applying.steering import kept_rates
    from replan.reporting.plans.plan_words import broker_rate
    from replan.wording import rate as shown

    plan, application = open_plan(ledger), ledger.application
    planned = None if plan is None else plan.throttle
    own = {} if application is None else kept_rates(planned, application, rates)
    named = [f"broker {broker} has its own rate: {broker_rate(of)}" for broker, of in own.items()]
    lines = capped(named, limit=NAMES_SHOWN, noun="broker")
    new = shown(rate_number(rates.rate))
    return "".join(f"{line}\n" for line in (f"throttle: {new}, set by {who}", *lines))


def throttle_show(*, form: TextOrJson = "text", cluster: JournaledTarget) -> Exit:
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
    from replan.applying.journal.ledger import Ledger
    from replan.applying.views.by_journal import owned_throttles, throttles_seen_twice
    from replan.commands.shared.journals import journal_state
    from replan.reporting.cluster.checkup_text import render_throttles, render_throttles_json

    if cluster.snapshot is not None:
        snapshot = cluster.observe()
        throttles = owned_throttles(snapshot, Ledger())
    else:
        with cluster.connect() as connection:
            snapshot = connection.control_plane.observe()
            ledger = journal_state(cluster, connection, snapshot.cluster_id).ledger
        throttles = throttles_seen_twice(snapshot, cluster.observe, ledger)
    match form:
        case "text":
            result(render_throttles(throttles, snapshot.observed_at))
        case "json":
            result(render_throttles_json(throttles, snapshot.observed_at))
    return Exit.OK


def throttle_clear(*, cluster: LiveTarget) -> Exit:
    """Restore the throttles that an interrupted application left.

    What other tools set stays; throttles of copies that still run stay too. Throttles in the cluster that the journal
    does not know are listed: nobody can say whose they are.

    It takes the lock first: of a process that was killed it watches the lock for 60 s. What that process had asked for
    may still arrive, so after the throttles are restored it watches them for the rest of 85 s, and restores them again;
    that is also so where nothing runs, and where throttles were kept. A `replan resume` after it need not wait again.

    Exit codes:
      0  restored
      1  an error
      4  throttles are still to be restored; or there is no journal, and throttles are set in the cluster

    Examples:
      replan throttle clear --bootstrap-server kafka-1:9092
      replan throttle clear --simulated cluster.json
    """
    from replan.applying.abandoning import clear_throttles as clear
    from replan.commands.shared.application import act_on_open_application

    return act_on_open_application(clear, cluster, unknown=True)
