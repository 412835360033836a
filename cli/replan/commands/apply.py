"""Commands that act on a cluster: `apply`, `resume`, `abandon`, `throttle clear`."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.options import Pace
from replan.commands.output import note
from replan.commands.target import LiveTarget
from replan.errors import BadUsage, Exit


def apply(
    cluster: LiveTarget,
    pace: Pace,
    plan_file: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="A saved plan; or use -f.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "-f", "--file", metavar="PATH", help="Plan from these files and perform at once."
        ),
    ] = None,
    auto_approve: Annotated[bool, typer.Option("--auto-approve", help="Do not ask.")] = False,
    faults: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT", help="With --simulated: as for rehearse; repeats."),
    ] = None,
) -> Exit:
    """Perform a plan; the same command again resumes. 0 done, 3 stopped in part, 4 held, 130 interrupted."""
    from replan.commands import application
    from replan.commands.fault_injection import with_faults
    from replan.commands.plans import read_plan

    if (plan_file is None) == (not files):
        raise BadUsage("give either a saved plan (replan apply plan.json) or placement files (-f)")
    if faults and cluster.simulated is None:
        raise BadUsage("--fault is for the embedded cluster only; it goes with --simulated FILE")
    with cluster.connect() as connection:
        inject = with_faults(faults or (), connection)
        if plan_file is not None:
            plan = read_plan(plan_file)
        else:
            plan = application.plan_of_files(files or (), cluster, connection)
        application.check_refusals(plan)
        if not (auto_approve or application.approved(plan, saved=plan_file is not None)):
            note("not approved; nothing was done")
            return Exit.ERROR
        return application.perform(plan, cluster, connection, pace.settings(), inject)


def resume(cluster: LiveTarget, pace: Pace) -> Exit:
    """Go on with the interrupted application, by the plan that the journal keeps; it was approved before."""
    from replan.commands import application

    with cluster.connect() as connection:
        plan = application.begun_plan(cluster, connection)
        application.check_refusals(plan)
        return application.perform(plan, cluster, connection, pace.settings())


def abandon(cluster: LiveTarget) -> Exit:
    """Give up an interrupted application: moves stay as they are, throttles are put back."""
    from replan.applying.clear import abandon as give_up
    from replan.commands.application import with_journal

    return with_journal(give_up, cluster)


def throttle_clear(cluster: LiveTarget) -> Exit:
    """Put back the throttles that an interrupted application left behind; what others set stays."""
    from replan.applying.clear import throttle_clear as clear
    from replan.commands.application import with_journal

    return with_journal(clear, cluster)
