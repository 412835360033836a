"""Commands that act on a cluster: `apply`, `resume`, `abandon`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from replan.commands.elections.tails import SaveTails
from replan.commands.elections.tails import save_tails as save_records
from replan.commands.frame.output import Color, is_live, note
from replan.commands.shared.options import (
    COLOR,
    Allow,
    Detail,
    Faults,
    Pace,
    ProduceRates,
    Until,
    WithinLimits,
)
from replan.commands.shared.target import LiveTarget
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.planning.plans.plan import Plan


def apply(
    *,
    plan_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN", help="A plan file, as `replan plan -o` saves it; or use -f."
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "-f",
            "--file",
            metavar="PATH",
            help="Plan from this placement file or folder, show the plan, ask, and apply it; repeatable.",
        ),
    ] = None,
    allow: Allow = None,
    within_limits: WithinLimits = False,
    rates: ProduceRates = None,
    auto_approve: Annotated[
        bool,
        typer.Option(
            "--auto-approve", help="Do not ask for approval, with -f and before unclean elections."
        ),
    ] = False,
    all_or_nothing: Annotated[
        bool,
        typer.Option("--all-or-nothing", help="Apply nothing where any partition is refused."),
    ] = False,
    digest: Annotated[
        str | None,
        typer.Option(
            metavar="SHA256",
            help="With PLAN: refuse any other plan than the one of this digest, as the review shows it in full.",
        ),
    ] = None,
    placement: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="With PLAN: refuse it unless it was made from what this file or folder says now; repeatable.",
        ),
    ] = None,
    preserve_throttles: Annotated[
        bool,
        typer.Option(
            "--preserve-throttles",
            help="Leave the throttles of moves in place at the end; `replan throttle clear` restores what was before.",
        ),
    ] = False,
    unclean: Annotated[
        bool,
        typer.Option(
            "--unclean",
            help="Allow the unclean elections of the plan, which lose records for good.",
        ),
    ] = False,
    save_tails: SaveTails = None,
    until: Until = None,
    faults: Faults = None,
    color: Annotated[Color, COLOR] = "auto",
    detail: Detail,
    pace: Pace,
    cluster: LiveTarget,
) -> Exit:
    """Apply a plan to the cluster.

    A saved plan is applied as it was reviewed, without a question, unless it has unclean elections: those need
    --unclean, and are approved on the terminal or by --auto-approve. With -f the plan is made now, and approved on the
    terminal or by --auto-approve. Refused partitions are left out, and the rest is applied. If the command ends early
    for any reason, run it again: it resumes. Where nothing but the rates of `throttles.moves` has changed since, -f
    changes those of the application, as `replan throttle` does. With --cluster and neither, -f is the placement of the
    fleet file.

    Exit codes:
      0    done
      1    an error, or not approved
      3    some partitions are refused, or could not be moved; the others are done. Or a limit refuses the plan,
           or it is not the one of --digest and --placement
      4    another application or tool is in the way, throttles are still to be restored, or it gave up waiting
      130  interrupted, or the time of --until has come; run it again to resume

    Examples:
      replan apply plan.json --digest "$REVIEWED" --placement placement.yaml --bootstrap-server kafka-1:9092
      replan apply -f placement.yaml --auto-approve --simulated cluster.json
    """
    from replan.applying.journal.records import Verb
    from replan.commands.running.fault_injection import with_faults
    from replan.commands.running.throttle import change_rates
    from replan.commands.shared import application
    from replan.commands.shared.rates import chosen_rates

    files = _placement(plan_file, files, cluster)
    if (plan_file is None) == (not files):
        raise BadUsage(
            "give either a saved plan (replan apply plan.json) or placement files (replan apply -f placement.yaml)"
        )
    if plan_file is not None:
        _check_saved(allow, rates, within_limits=within_limits)
    saved = _saved(plan_file, digest, placement or ())
    if faults and cluster.simulated is None:
        raise BadUsage("--fault is for the embedded cluster only; it goes with --simulated FILE")
    written = chosen_rates(rates, None, None, cluster)
    with cluster.connect() as connection:
        leave_in = None if until is None else until.seconds_from(connection.moment())
        inject = with_faults(faults or (), connection)
        if saved is not None:
            planned = application.FilesPlan(saved, approved=True)
        else:
            inputs = application.PlanInputs(files or (), allow or (), within_limits, written, color)
            planned = application.plan_of_files(inputs, cluster, connection)
        if planned.rates is not None and change_rates(cluster, connection, planned.rates):
            return Exit.OK
        plan = planned.plan
        if all_or_nothing:
            application.check_all(plan)
        agreed = application.approve_unclean(plan, unclean=unclean, auto_approve=auto_approve)
        if not agreed or not (
            planned.approved or auto_approve or plan.unclean or application.approve(plan)
        ):
            note("not approved; nothing was changed")
            return Exit.ERROR
        save_records(plan, save_tails, connection)
        settings = replace(
            pace.settings(watched=is_live(sys.stderr)), preserve_throttles=preserve_throttles
        )
        verb = Verb.THROTTLE if planned.rates is not None else None
        return application.perform(
            plan,
            cluster,
            connection,
            settings,
            detail,
            inject,
            verb=verb,
            rates=planned.rates,
            leave_in=leave_in,
            color=color,
        )


def _placement(
    plan_file: Path | None, files: list[Path] | None, cluster: LiveTarget
) -> list[Path] | None:
    """The placement files: with --cluster, and neither a plan nor -f, those of the fleet file."""
    if plan_file is None and not files and cluster.placement is not None:
        return [cluster.placement]
    return files


def _saved(plan_file: Path | None, digest: str | None, placement: Sequence[Path]) -> "Plan | None":
    """The saved plan, if it is the one that was reviewed; None where a new one is made."""
    from replan.commands.shared.plans import check_reviewed, read_plan

    if plan_file is None:
        if digest is not None or placement:
            raise BadUsage("--digest and --placement go with a saved plan; -f makes a new one")
        return None
    saved = read_plan(plan_file)
    check_reviewed(saved, digest, placement)
    return saved


def _check_saved(allow: list[str] | None, rates: str | None, *, within_limits: bool) -> None:
    """Raise BadUsage where a saved plan is given with what only a new one is made from."""
    if allow:
        raise BadUsage("--allow goes with -f; a saved plan has what `replan plan --allow` raised")
    if within_limits:
        raise BadUsage(
            "--within-limits goes with -f; a saved plan has what `replan plan --within-limits` planned"
        )
    if rates is not None:
        raise BadUsage("--rates goes with -f; a saved plan was judged by `replan plan --rates`")


def resume(*, until: Until = None, detail: Detail, pace: Pace, cluster: LiveTarget) -> Exit:
    """Resume the interrupted application, or the loop.

    The journal keeps its plan, which was approved when it began. Where `replan pause` has paused a process that is at
    work, the pause is lifted, and that process goes on. Where no application is open, the loop of `replan reconcile`
    goes on, if there is one: after a pause, after a cancel, and where it holds until a person has looked.

    Of a process that was killed it watches the lock for 60 s. Until 85 s are over what that one had asked for may
    arrive: a partition gets no other request before, and the application does not end.

    Exit codes:
      0    done; or the loop goes on
      1    an error, or nothing to resume
      3    some partitions are refused, or could not be moved; the others are done
      4    another party is in the way, throttles are still to be restored, or it gave up waiting
      130  interrupted, or the time of --until has come; run it again to resume

    Examples:
      replan resume --bootstrap-server kafka-1:9092
      replan resume --simulated cluster.json --slots 2
    """
    from replan.applying.journal.records import Verb
    from replan.commands.running.steer import lift_pause, resume_loop
    from replan.commands.shared import application

    with cluster.connect() as connection:
        leave_in = None if until is None else until.seconds_from(connection.moment())
        if resume_loop(cluster, connection):
            return Exit.OK
        plan = application.begun_plan(cluster, connection)
        if lift_pause(cluster, connection):
            return Exit.OK
        settings = pace.settings(watched=is_live(sys.stderr))
        return application.perform(
            plan, cluster, connection, settings, detail, verb=Verb.RESUME, leave_in=leave_in
        )


def abandon(
    *,
    cancel_copies: Annotated[
        bool,
        typer.Option(
            "--cancel-copies", help="Cancel the copies that run; nothing else is taken back."
        ),
    ] = False,
    unthrottled: Annotated[
        bool, typer.Option("--unthrottled", help="Let the copies that run go on unthrottled.")
    ] = False,
    cluster: LiveTarget,
) -> Exit:
    """Give up the open application: partitions stay as they are, throttles are restored.

    While copies run it is refused, and they are named: they would go on without a throttle. A process that is at work,
    on this machine or another, leaves the application to this command, within two of its ticks. `replan cancel` takes
    back what is not finished instead.

    Exit codes:
      0  given up
      1  an error, or nothing to give up
      4  copies run, or throttles are still to be restored

    Examples:
      replan abandon --bootstrap-server kafka-1:9092
      replan abandon --cancel-copies --simulated cluster.json
    """
    from functools import partial

    from replan.applying.abandoning import RunningCopies
    from replan.applying.abandoning import abandon_application as give_up
    from replan.commands.running.steer import take_from_process
    from replan.commands.shared.application import act_on_open_application

    if cancel_copies and unthrottled:
        raise BadUsage("--cancel-copies and --unthrottled contradict each other; pass one of them")
    copies = RunningCopies.CANCELLED if cancel_copies else RunningCopies.REFUSED
    copies = RunningCopies.UNTHROTTLED if unthrottled else copies
    take_from_process(cluster, copies)
    return act_on_open_application(partial(give_up, copies=copies), cluster)
