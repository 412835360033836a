"""Commands that change nothing: `validate`, `export`, `snapshot`, `plan`, `show`, `drift`, `status`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.options import AS, DEFAULT_FILES, Everything, Files, Output, PlanFile
from replan.commands.output import note, result, save, write
from replan.commands.target import JournaledTarget, ReadTarget
from replan.errors import Exit
from replan.wording import count

if TYPE_CHECKING:
    from replan.model.names import BrokerId, TopicPartition
    from replan.model.snapshot import Snapshot
    from replan.planning.health import Health
    from replan.planning.plan import Plan

Form = Literal["text", "markdown", "json"]


def validate(files: Files = DEFAULT_FILES) -> Exit:
    """Check placement files alone; no cluster is asked."""
    from replan.manifest.load import load_placement

    placement = load_placement(files)
    topics = len(placement.topics)
    note(
        f"valid: {count(placement.explicit.num_rows, 'partition')} of {count(topics, 'topic')} declared"
    )
    return Exit.OK


def export(
    cluster: ReadTarget,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", help="Name or glob; repeats.")
    ] = None,
    output: Output = None,
) -> Exit:
    """Write the placement file that describes the cluster as it is; planning it changes nothing."""
    from replan.manifest.export import export_placement

    write(export_placement(cluster.observe(), topics or []), output)
    return Exit.OK


def take_snapshot(
    cluster: ReadTarget,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="PATH", help="FILE.json, or a folder of Parquet."),
    ],
) -> Exit:
    """Write the observed state, to plan from it offline or to feed the fleet pipeline."""
    from replan.snapshots.files import write_snapshot

    seen = cluster.observe()
    write_snapshot(seen, output)
    note(
        f"wrote {output}: {count(seen.partitions.num_rows, 'partition')}, {count(len(seen.brokers), 'broker')}"
    )
    if seen.silent:
        note(
            f"no log directories from broker {', '.join(map(str, seen.silent))}: sizes there are not known"
        )
    return Exit.OK


def plan(
    cluster: JournaledTarget,
    files: Files = DEFAULT_FILES,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the plan for apply.")
    ] = None,
    form: Annotated[Form, AS] = "text",
) -> Exit:
    """Compare the placement with the cluster: 0 nothing to do, 2 changes, 3 refused, 4 held."""
    from replan.commands.plans import render, verdict
    from replan.manifest.load import load_placement
    from replan.planning import plan_file
    from replan.planning.planner import make_plan

    seen = _look(cluster)
    made = make_plan(load_placement(files), seen)
    result(render(made, form, rehearsed=_rehearsed(made, seen, form)))
    if output is not None:
        save(plan_file.dumps(made), output)
        if made.moves:
            note(f"saved; perform it with: replan apply {output}")
    return verdict(made)


def show(
    plan_file: PlanFile,
    against: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Say only what differs from this other plan."),
    ] = None,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
) -> Exit:
    """Render a saved plan."""
    from replan.commands.plans import read_plan, render

    made = read_plan(plan_file)
    if against is not None:
        from replan.reporting.plan_difference import render_difference

        result(render_difference(read_plan(against), made))
        return Exit.OK
    result(render(made, form, everything=everything))
    return Exit.OK


def drift(
    cluster: JournaledTarget,
    files: Files = DEFAULT_FILES,
    form: Annotated[Form, AS] = "text",
    everything: Everything = False,
) -> Exit:
    """Show where the cluster differs from the placement: 0 none, 2 drift; changes nothing."""
    from replan.manifest.load import load_placement
    from replan.planning.drift import find_drift
    from replan.reporting.drift_text import render_drift, render_drift_json, render_drift_markdown

    found = find_drift(load_placement(files), _look(cluster))
    forms: dict[Form, Callable[[], str]] = {
        "text": lambda: render_drift(found, everything=everything),
        "markdown": lambda: render_drift_markdown(found),
        "json": lambda: render_drift_json(found),
    }
    result(forms[form]())
    return Exit.OK if found.none else Exit.CHANGES


def status(
    cluster: JournaledTarget,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", help="Only this topic; repeats.")
    ] = None,
    form: Annotated[Literal["text", "json"], AS] = "text",
) -> Exit:
    """Health, running reassignments with their progress, the open application: 0 settled, 2 running."""
    from replan.commands.journals import read_ledger, told
    from replan.reporting.status_text import render_status, render_status_json, replica_progress

    seen, health, sizes = _health(cluster, frozenset(topics or ()))
    known = [] if cluster.snapshot is not None else told(read_ledger(cluster, seen.cluster_id))
    render = render_status_json if form == "json" else render_status
    rows = replica_progress(health, sizes)
    result(render(health, rows, "\n".join(known) or None, seen.observed_at))
    return Exit.CHANGES if health.running else Exit.OK


def _look(cluster: JournaledTarget) -> "Snapshot":
    """The cluster with the orders that the journal remembers; notes what is open there."""
    from replan.commands.journals import read_ledger, told

    seen = cluster.observe()
    if cluster.snapshot is not None:
        return seen
    ledger = read_ledger(cluster, seen.cluster_id)
    for line in told(ledger):
        note(f"note: {line}")
    return replace(seen, remembered={**seen.remembered, **ledger.remembered()})


def _health(
    cluster: JournaledTarget, topics: frozenset[str]
) -> "tuple[Snapshot, Health, dict[tuple[TopicPartition, BrokerId], int]]":
    from replan.planning.health import judge

    if cluster.snapshot is not None:
        seen = cluster.observe()
        return seen, judge(seen, topics), {}
    with cluster.connect() as connection:
        seen = connection.control_plane.observe()
        health = judge(seen, topics)
        running = [s.partition for s in health.running]
        sizes = connection.control_plane.replica_bytes(running) if running else {}
    return seen, health, dict(sizes)


def _rehearsed(made: "Plan", seen: "Snapshot", form: Form) -> Sequence[str]:
    """What a quick rehearsal says of the plan; the plan file does not depend on it."""
    if form == "json" or not made.moves:
        return ()
    from replan.rehearsal.summary import summary_of

    return summary_of(made, seen)
