"""Commands that act on a cluster: `apply`, `resume`, `abandon`, `throttle clear`."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.target import target
from replan.errors import BadUsage, Exit
from replan.main.options import (
    Bootstrap,
    CommandConfig,
    Journal,
    Settle,
    Simulated,
    Slots,
    SnapshotFile,
)


def apply(
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
    settle: Settle = 15.0,
    slots: Slots = 5,
    faults: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT", help="With --simulated: as for rehearse; repeats."),
    ] = None,
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
    snapshot: SnapshotFile = None,
) -> Exit:
    """Perform a plan; the same command again resumes. 0 done, 3 stopped in part, 4 held, 130 interrupted."""
    from replan.applying.settings import Settings
    from replan.commands.apply import Wish
    from replan.commands.apply import apply as perform

    if (plan_file is None) == (not files):
        raise BadUsage("give either a saved plan (replan apply plan.json) or placement files (-f)")
    chosen = target(bootstrap_server, command_config, simulated, snapshot)
    settings = Settings(settle_seconds=settle, slots_per_broker=slots)
    return perform(
        Wish(chosen, plan_file, files or [], journal, auto_approve, settings, faults or ())
    )


def resume(
    settle: Settle = 15.0,
    slots: Slots = 5,
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
) -> Exit:
    """Go on with the interrupted application, by the plan that the journal keeps; it was approved before."""
    from replan.applying.settings import Settings
    from replan.commands.apply import Wish
    from replan.commands.apply import apply as perform

    chosen = target(bootstrap_server, command_config, simulated, None)
    settings = Settings(settle_seconds=settle, slots_per_broker=slots)
    return perform(Wish(chosen, None, (), journal, True, settings))


def abandon(
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
) -> Exit:
    """Give up an interrupted application: moves stay as they are, throttles are put back."""
    from replan.commands.apply import give_up

    return give_up(target(bootstrap_server, command_config, simulated, None), journal)


def throttle_clear(
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
) -> Exit:
    """Put back the throttles that an interrupted application left behind; what others set stays."""
    from replan.commands.apply import clear_throttles

    return clear_throttles(target(bootstrap_server, command_config, simulated, None), journal)
