"""Commands that change nothing: `validate`, `schema`, `export`, `snapshot`, `plan`, `show`, `drift`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from replan.commands.options import (
    AS,
    DEFAULT_FILES,
    Allow,
    Everything,
    ExitZero,
    Files,
    Form,
    Output,
    PlanFile,
    Topics,
)
from replan.commands.output import keep_inputs, note, result, save, write
from replan.commands.target import JournaledTarget, ReadTarget
from replan.errors import BadUsage, Exit
from replan.wording import count


def validate(*, files: Files = DEFAULT_FILES) -> Exit:
    """Check placement files.

    No cluster is asked. All errors are listed, each with file, line and column.

    Exit codes:
      0  the files are valid
      1  they are not, or cannot be read

    Examples:
      replan validate
      replan validate -f placements/
    """
    from replan.manifest.merge import explicit_topics
    from replan.manifest.read import read_files

    topics = explicit_topics(read_files(files))
    declared = count(sum(len(topic.rows) for topic in topics), "partition")
    note(f"valid: {declared} of {count(len(topics), 'topic')} declared")
    return Exit.OK


def schema(
    *,
    name: Annotated[
        Literal["placement", "plan", "snapshot", "journal"],
        typer.Argument(metavar="NAME", help="placement, plan, snapshot or journal."),
    ],
    output: Output = None,
) -> Exit:
    """Print the JSON Schema of a file that replan reads or writes.

    Editors check a placement file as you type: save the schema beside it, and begin the file with
    `# yaml-language-server: $schema=placement.v1.json`, as `replan export` does.

    Exit codes:
      0  printed
      1  an error

    Examples:
      replan schema placement -o placement.v1.json
      replan schema plan
    """
    from replan.manifest.schema.schemas import directory

    found = next(file for file in directory().iterdir() if file.name.startswith(f"{name}.v"))
    write(found.read_text(encoding="utf-8"), output)
    return Exit.OK


def export(
    *,
    topics: Topics = None,
    output: Output = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the FILE of -o.")] = False,
    cluster: ReadTarget,
) -> Exit:
    """Write the placement file that describes the cluster as it is.

    A plan that is made from this file changes nothing. `replan schema placement` prints the schema that it names.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan export --bootstrap-server kafka-1:9092 -o placement.yaml
      replan export --snapshot cluster.json --topic 'orders*'
    """
    from replan.manifest.export import export_placement

    keep_inputs(output, [cluster.simulated, cluster.snapshot])
    write(export_placement(cluster.observe(), topics or []), output, force=force)
    return Exit.OK


def take_snapshot(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="PATH", help="FILE.json, or a folder for Parquet files."
        ),
    ],
    cluster: JournaledTarget,
) -> Exit:
    """Save the state of the cluster, to plan from it offline.

    Every command that only reads a cluster accepts the file with --snapshot; `replan fleet` reads folders of them. The
    orders that the journal remembers for the leader blacklist are in it.

    Exit codes:
      0  written
      1  an error

    Examples:
      replan snapshot --bootstrap-server kafka-1:9092 -o cluster.json
      replan snapshot --simulated cluster.json -o snapshots/eu-1/
    """
    from replan.snapshots.files import write_snapshot

    keep_inputs(output, [cluster.simulated, cluster.snapshot])
    if cluster.snapshot is not None:
        seen = cluster.observe()
    else:
        from replan.commands.observed import observed

        seen = observed(cluster).snapshot
    write_snapshot(seen, output)
    partitions, brokers = seen.partitions.num_rows, len(seen.brokers)
    note(f"wrote {output}: {count(partitions, 'partition')}, {count(brokers, 'broker')}")
    if seen.silent:
        silent = ", ".join(map(str, seen.silent))
        note(f"no answer about log directories from broker {silent}: sizes there are unknown")
    return Exit.OK


def plan(
    *,
    files: Files = DEFAULT_FILES,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Save the plan, for `replan apply`."),
    ] = None,
    allow: Allow = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Plan only this topic, glob or partition (orders-7); repeatable.",
        ),
    ] = None,
    form: Annotated[Form, AS] = "text",
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show what would have to change for the cluster to match the placement.

    Nothing is changed. `json` is the plan file itself, as -o saves it.

    Exit codes:
      0  the cluster matches the placement
      1  an error
      2  there are changes to apply (0 with --exit-zero)
      3  a safety rule refuses some partitions, and the plan has the others; or a limit refuses the whole plan
      4  another tool is changing some partitions; the plan has the others

    Examples:
      replan plan --bootstrap-server kafka-1:9092 -o plan.json
      replan plan -f placements/ --snapshot cluster.json --format markdown
    """
    from replan.applying.outcome import left_out_text
    from replan.commands.observed import observed
    from replan.commands.plans import allowed_of, apply_command, rehearsed, render, verdict
    from replan.manifest.load import load_placement
    from replan.planning import plan_file
    from replan.planning.planner import make_plan
    from replan.reporting.price_text import price_lines

    keep_inputs(output, [*files, cluster.simulated, cluster.snapshot])
    allowed = allowed_of(allow or ())
    placement = load_placement(files)
    seen = observed(cluster)
    heading = {} if seen.application is None else seen.application.targets
    made = make_plan(placement, seen.snapshot, allowed, only=only or (), heading=heading)
    found = [*rehearsed(made, seen.snapshot, form), *price_lines(made, placement.prices)]
    result(render(made, form, rehearsed=found, own=seen.application))
    if output is not None:
        save(plan_file.dumps(made), output)
        if made.changes:
            note(f"saved; apply it with: {apply_command(output, cluster)}")
            if made.refusals:
                note(
                    f"it leaves out what is refused ({left_out_text(made.refusals)}) and ends with {made.left_out:d}"
                )
    return verdict(made, exit_zero=exit_zero)


def show(
    *,
    plan_file: PlanFile,
    against: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Show only what differs from this earlier plan."),
    ] = None,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
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
    from replan.commands.plans import read_plan, render, render_difference, render_filtered

    made = read_plan(plan_file)
    if topics or brokers:
        if form != "text" or against is not None:
            raise BadUsage("--topic and --broker are for text without --against; leave them out")
        result(render_filtered(made, topics or (), brokers or (), everything=everything))
    elif against is None:
        result(render(made, form, everything=everything))
    else:
        result(render_difference(read_plan(against), made, form, everything=everything))
    return Exit.OK


def drift(
    *,
    files: Files = DEFAULT_FILES,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
    exit_zero: ExitZero = False,
    cluster: JournaledTarget,
) -> Exit:
    """Show where the cluster differs from the placement.

    Nothing is changed and nothing is planned: replicas, orders, leaders and throttles are compared. What a running
    `replan apply` is moving to the declared list is no drift.

    Exit codes:
      0  no drift
      1  an error
      2  drift (0 with --exit-zero)

    Examples:
      replan drift --bootstrap-server kafka-1:9092
      replan drift -f placements/ --snapshot cluster.json --format json
    """
    from replan.commands.observed import observed
    from replan.manifest.load import load_placement
    from replan.planning.drift import find_drift
    from replan.reporting.drift_text import render_drift, render_drift_json, render_drift_markdown

    seen = observed(cluster)
    own = seen.application
    heading = {} if own is None else own.targets
    at_work = own is not None and own.process is not None
    found = find_drift(load_placement(files), seen.snapshot, heading, at_work=at_work)
    match form:
        case "text":
            result(render_drift(found, everything=everything))
        case "markdown":
            result(render_drift_markdown(found))
        case "json":
            result(render_drift_json(found))
    return Exit.OK if found.none or exit_zero else Exit.CHANGES
