"""Commands that look and change nothing: `validate`, `export`, `snapshot`, `plan`, `show`, `drift`, `status`."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.output import Format
from replan.commands.target import target
from replan.errors import Exit
from replan.main.options import (
    DEFAULT_FILES,
    Bootstrap,
    CommandConfig,
    Everything,
    Files,
    HowFormat,
    Journal,
    Simulated,
    SnapshotFile,
)


def validate(files: Files = DEFAULT_FILES) -> Exit:
    """Check placement files alone; no cluster is asked."""
    from replan.commands import offline

    return offline.validate(files)


def export(
    topics: Annotated[
        list[str] | None, typer.Option("--topic", help="Name or glob; repeats.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE")] = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Write the placement file that describes the cluster as it is; planning it changes nothing."""
    from replan.commands import offline

    chosen = target(bootstrap_server, command_config, simulated, snapshot)
    return offline.export(chosen, topics or [], output)


def take_snapshot(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="PATH", help="FILE.json, or a folder of Parquet."),
    ],
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Write the observed state, to plan from it offline or to feed the fleet pipeline."""
    from replan.commands import offline

    return offline.take_snapshot(
        target(bootstrap_server, command_config, simulated, snapshot), output
    )


def plan(
    files: Files = DEFAULT_FILES,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Save the plan for apply.")
    ] = None,
    how: HowFormat = Format.TEXT,
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Compare the placement with the cluster: 0 nothing to do, 2 changes, 3 refused, 4 held."""
    from replan.commands import plan as command

    chosen = target(bootstrap_server, command_config, simulated, snapshot)
    return command.plan(chosen, files, output, how, journal)


def show(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN")],
    against: Annotated[
        Path | None,
        typer.Option(metavar="PLAN", help="Say only what differs from this other plan."),
    ] = None,
    how: HowFormat = Format.TEXT,
    everything: Everything = False,
) -> Exit:
    """Render a saved plan."""
    from replan.commands import offline

    return offline.show(plan_file, against, how, everything=everything)


def drift(
    files: Files = DEFAULT_FILES,
    how: HowFormat = Format.TEXT,
    everything: Everything = False,
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Tell what moved by itself: 0 none, 2 drift; changes nothing."""
    from replan.commands import plan as command

    chosen = target(bootstrap_server, command_config, simulated, snapshot)
    return command.drift(chosen, files, how, journal, everything=everything)


def status(
    topics: Annotated[
        list[str] | None, typer.Option("--topic", help="Only this topic; repeats.")
    ] = None,
    how: HowFormat = Format.TEXT,
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Health, running reassignments with their progress, the open application: 0 settled, 2 running."""
    from replan.commands import status as command

    chosen = target(bootstrap_server, command_config, simulated, snapshot)
    return command.status(chosen, topics or [], how, journal)
