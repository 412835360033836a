"""Commands on simulated clusters alone: `rehearse`, `scenario run`."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.target import optional_target
from replan.errors import Exit
from replan.main.options import Bootstrap, CommandConfig, Simulated, SnapshotFile


def rehearse(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A saved plan.")],
    faults: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT", help='E.g. "kill 3 at 10m for 5m"; repeats.'),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draw faults by chance; the same seed, the same ones.")
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            min=0,
            help="So many runs with faults by chance: how they are spread, and the worst seed.",
        ),
    ] = 0,
    produce: Annotated[
        str | None, typer.Option(metavar="RATE", help="Written to each partition, e.g. 2MB/s.")
    ] = None,
    network: Annotated[
        str, typer.Option(metavar="RATE", help="Of each broker, in each direction.")
    ] = "100MB/s",
    disk: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Of each broker, reading and writing copies together."),
    ] = None,
    settle: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="As for apply.")] = 15.0,
    slots: Annotated[int, typer.Option(metavar="COUNT", min=1, help="As for apply.")] = 5,
    how: Annotated[
        str, typer.Option("--format", help="text, markdown, json or html.", metavar="FORM")
    ] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE")] = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Perform a plan on the simulator: duration, peaks, margin over min ISR, what faults do. Changes nothing.

    0 it arrives, 3 it does not, naming what stopped. Without a cluster it is rehearsed on the partitions of the plan
    alone. The faults are listed in docs/faults.md, and where one is not understood.
    """
    from replan.applying.settings import Settings
    from replan.commands import rehearse as command

    chosen = (bootstrap_server, command_config, simulated, snapshot)
    named = optional_target(*chosen)
    settings = Settings(settle_seconds=settle, slots_per_broker=slots)
    return command.rehearse(
        command.Wish(
            plan_file,
            named,
            faults or [],
            seed,
            runs,
            produce,
            network,
            disk,
            command.form(how),
            output,
            settings,
        )
    )


def scenario_run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write down what is told now; the diff is the review.")
    ] = False,
) -> Exit:
    """Tell stories again: 0 all as written, 1 where one differs, with a diff."""
    from replan.commands import scenario as command

    return command.run(files, rewrite=rewrite)
