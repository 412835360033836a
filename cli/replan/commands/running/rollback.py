"""`rollback`: the plan back to what was there before an application."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from replan.commands.frame.output import keep_inputs
from replan.commands.shared.options import Allow, ExitZero, ReportForm, SavedPlan
from replan.commands.shared.target import AnsweringTarget
from replan.commands.shared.unread import note_unread
from replan.errors import BadUsage, Exit


def rollback(
    *,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="APPLICATION",
            help="Back to before this one, over all that came after it; by default over the last one. "
            "`replan journal show` lists them.",
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "-f",
            "--file",
            metavar="PATH",
            help="Take limits and throttles from this placement; repeatable. Without it there are no limits, and "
            "copies go at the rate of the application.",
        ),
    ] = None,
    allow: Allow = None,
    output: SavedPlan = None,
    form: ReportForm = "text",
    exit_zero: ExitZero = False,
    cluster: AnsweringTarget,
) -> Exit:
    """Plan the way back to what was there before an application.

    The journal keeps lists, orders and throttles from before the first effect, of the last ten applications. The plan
    is like any other: review it, and apply it with `replan apply`. Partitions that were created or led again stay so,
    replicas stay in other log directories to which they went, and what somebody has changed since stays; all are named.
    The placement still declares the other state: change it, too.

    Exit codes:
      0  everything that can go back is as it was
      1  an error, or the journal does not know the application
      2  there is something to go back (0 with --exit-zero)
      3  a safety rule refuses some partitions, and the plan has the others; or a limit refuses the whole plan
      4  an application is open, or another tool is changing some partitions

    Examples:
      replan rollback --bootstrap-server kafka-1:9092 -o back.json
      replan rollback --to 3f9a1c02b7de-1 -f placement.yaml --simulated cluster.json
    """
    from replan.applying.journal.originals import before
    from replan.applying.views.by_journal import as_planned_from
    from replan.commands.shared.journals import read_journal
    from replan.commands.shared.plans import allowed_of, present, save_plan, verdict
    from replan.placement_file.load import load_placement
    from replan.planning.comparison.cluster_check import check_cluster
    from replan.planning.making.limits import raised
    from replan.planning.making.way_back import way_back
    from replan.reporting.plans.plan_context import PlanContext

    if allow and not files:
        raise BadUsage("--allow raises a limit of the placement; name it with -f")
    keep_inputs(output, [*(files or ()), cluster.simulated])
    placement = load_placement(files) if files else None
    with cluster.connect() as connection:
        observed = connection.control_plane.observe()
        note_unread(observed)
        ledger = read_journal(cluster, connection, observed.cluster_id).ledger
    back, allowed = before(ledger, to), allowed_of(allow or ())
    if placement is not None:
        check_cluster(placement, observed)
        back = replace(
            back,
            throttle=placement.move_throttle,
            limits=raised(placement.limits, allowed),
            allowed=allowed,
            cluster_name=placement.cluster_name,
        )
    snapshot = as_planned_from(observed, ledger)
    made = way_back(back, snapshot)
    context = PlanContext(snapshot=snapshot)
    present(made, form, context)
    if output is not None:
        save_plan(made, output, cluster)
    return verdict(made, exit_zero=exit_zero)
