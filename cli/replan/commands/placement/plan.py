"""Commands about plans: `plan` makes one, `show` shows one that was saved."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.frame.output import Color, keep_inputs, note, result
from replan.commands.placement.annotations import Annotations, annotated
from replan.commands.shared.options import (
    COLOR,
    Allow,
    Everything,
    ExitZero,
    ListSteps,
    MaxSize,
    PageForm,
    PlacementPaths,
    PlanFile,
    ProduceRates,
    SavedPlan,
    Topics,
    WithinLimits,
    limit_of,
    placement_files,
)
from replan.commands.shared.target import JournaledTarget, seconds
from replan.errors import BadUsage, Exit

if TYPE_CHECKING:
    from replan.commands.placement.tried import Tried
    from replan.model.declared.placement import Placement
    from replan.planning.plans.plan import Plan


def plan(
    *,
    files: PlacementPaths = None,
    output: SavedPlan = None,
    allow: Allow = None,
    within_limits: WithinLimits = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Plan only this topic, glob or partition (orders-7); repeatable.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="OLD",
            help="Say which moves this change causes, and which were pending with the placement before it: another "
            "file or folder, or a git revision.",
        ),
    ] = None,
    rates: ProduceRates = None,
    measure: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=seconds,
            help="Measure the produce rates for so long first, e.g. 30s, and judge by them.",
        ),
    ] = None,
    save_rates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --measure: save the rates, for --rates."),
    ] = None,
    form: PageForm = "text",
    steps: ListSteps = False,
    color: Annotated[Color, COLOR] = "auto",
    annotations: Annotations = None,
    max_size: MaxSize = None,
    max_snapshot_age: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=seconds,
            help="With --snapshot: refuse one that is older, e.g. 24h.",
        ),
    ] = None,
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show what would have to change for the cluster to match the placement.

    Nothing is changed. `json` is the plan file itself, as -o saves it; `html` is one page that needs nothing else, with
    the brokers before and after, the timeline of a rehearsal, and every move to filter.

    Exit codes:
      0  there is nothing to apply: no list differs. Partitions without a leader are named, as no plan of lists leads
         them again; `replan drift` ends with 2 for those that are declared
      1  an error
      2  there are changes to apply (0 with --exit-zero)
      3  a safety rule refuses some partitions, and the plan has the others, or Kafka would refuse new partitions of
         it; or a limit or a throttle at which copies never end refuses the whole plan, or the snapshot is too old
      4  another tool is changing some partitions; the plan has the others

    Examples:
      replan plan --measure 30s --bootstrap-server kafka-1:9092 -o plan.json
      replan plan -f placements/ --snapshot cluster.json --max-snapshot-age 24h --since main --format markdown
    """
    from replan.commands.shared.observed import observed
    from replan.commands.shared.permissions import note_missing
    from replan.commands.shared.plans import (
        PlanView,
        allowed_of,
        check_age,
        context_of,
        note_age,
        pending_since,
        planning,
        present,
        save_plan,
        verdict,
    )
    from replan.commands.shared.rates import chosen_rates
    from replan.placement_file.load import load_placement
    from replan.planning.making.journal_topic import plan_with_journal
    from replan.planning.making.planner import make_plan

    files = placement_files(files, cluster)
    inputs = [*files, cluster.simulated, cluster.snapshot]
    keep_inputs(output, [*inputs, None if rates is None else Path(rates)])
    keep_inputs(save_rates, inputs)
    allowed = allowed_of(allow or ())
    with annotated(annotations, files) as annotated_plan:
        placement = load_placement(files)
        written = chosen_rates(rates, measure, save_rates, cluster)
        observation = observed(cluster, placement, lenient=True)
        check_age(cluster, observation.snapshot, max_snapshot_age)
        make = plan_with_journal if cluster.journal_is_topic else make_plan

        def planned(of: "Placement", *, limited: bool) -> "Plan":
            return make(
                *(of, observation.snapshot, allowed if limited else {}),
                only=only or (),
                rates=written,
                within_limits=within_limits and limited,
            )

        with planning(placement, observation.snapshot):
            made = planned(placement, limited=True)
            unlimited = partial(planned, limited=False)
            pending = pending_since(since, files, unlimited) if since else None
        tried: Sequence[Tried] = ()
        if made.changes and cluster.snapshot is None:
            from replan.commands.placement.tried import tried_changes

            tried = tried_changes(made, cluster, observation.snapshot)
        refused = [t.text for t in tried if t.refused]
        if annotations:
            from replan.reporting.plans.annotations import plan_annotations

            annotated_plan.extend(plan_annotations(made, placement, refused))
    note_age(cluster, observation.snapshot)
    context = context_of(made, observation, cluster, form, written, saved=output, pending=pending)
    shown = PlanView(steps=steps, color=color)
    present(made, form, context, shown=shown, limit=limit_of(max_size, form))
    if output is not None:
        save_plan(made, output, cluster)
    note_missing(made, cluster)
    for one in tried:
        note(one.text)
    return Exit.REFUSED if refused else verdict(made, exit_zero=exit_zero)


def show(
    *,
    plan_file: PlanFile,
    against: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Show only what differs from this earlier plan."),
    ] = None,
    form: PageForm = "text",
    max_size: MaxSize = None,
    everything: Everything = False,
    steps: ListSteps = False,
    color: Annotated[Color, COLOR] = "auto",
    topics: Topics = None,
    brokers: Annotated[
        list[int] | None,
        typer.Option(
            "--broker",
            metavar="ID",
            help="Only moves to, from or within replica lists of this broker; repeatable.",
        ),
    ] = None,
) -> Exit:
    """Show a saved plan, a part of it, or how it differs from another one.

    Exit codes:
      0  shown
      1  an error

    Examples:
      replan show plan.json --topic 'pay*' --broker 4
      replan show plan.json --against last-week.json
    """
    from replan.commands.shared.plans import (
        PlanView,
        plan_about,
        plan_difference_in,
        present,
        present_part,
        read_plan,
    )

    made, shown = read_plan(plan_file), PlanView(everything, steps, color)
    if topics or brokers:
        if form != "text" or against is not None:
            raise BadUsage("--topic and --broker are for text without --against; leave them out")
        present_part(made, plan_about(made, topics or (), brokers or ()), shown)
    elif against is None:
        present(made, form, shown=shown, limit=limit_of(max_size, form))
    elif form == "html":
        raise BadUsage("--against has no html; write --format markdown")
    else:
        result(plan_difference_in(read_plan(against), made, form, everything=everything))
    return Exit.OK
