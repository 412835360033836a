"""Arguments: one function a command, which declares its flags, makes one call, and returns the exit code.

Nothing is decided here. Heavy modules are imported by the command that needs them, so that `--help` and
`--version` answer at once.
"""

import sys
from pathlib import Path
from typing import Annotated

import click
import typer

from replan import __version__
from replan.commands.cluster import (
    BOOTSTRAP_VARIABLE,
    CONFIG_VARIABLE,
    optional_target,
    target,
)
from replan.commands.output import Format, note, result
from replan.errors import BadUsage, Exit, ReplanError

app = typer.Typer(
    name="replan",
    help="Kafka replica placement as code: plan, apply, drift; never below min ISR.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

fleet = typer.Typer(
    help="The Spark pipeline over many clusters; needs the extra `fleet`.", no_args_is_help=True
)
app.add_typer(fleet, name="fleet")

scenario = typer.Typer(
    help="Stories of a simulated cluster in text files: see docs/scenarios.md.",
    no_args_is_help=True,
)
app.add_typer(scenario, name="scenario")
throttle = typer.Typer(help="What replan throttles.", no_args_is_help=True)
app.add_typer(throttle, name="throttle")

Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT,…",
        help=f"A real cluster. {BOOTSTRAP_VARIABLE} stands in where no cluster is named.",
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(
        "--command-config",
        metavar="FILE",
        help=f"Client properties in librdkafka's spelling (security, timeouts). Or {CONFIG_VARIABLE}.",
    ),
]
Simulated = Annotated[
    Path | None,
    typer.Option("--simulated", metavar="FILE", help="The embedded cluster that lives in FILE."),
]
SnapshotFile = Annotated[
    Path | None,
    typer.Option("--snapshot", metavar="FILE", help="A saved snapshot, read only."),
]
Files = Annotated[
    list[Path],
    typer.Option("-f", "--file", metavar="PATH", help="Placement file or folder; repeats."),
]
DEFAULT_FILES = [Path("placement.yaml")]
HowFormat = Annotated[Format, typer.Option("--format", help="How the result is written.")]
Journal = Annotated[
    Path | None,
    typer.Option(
        "--journal", metavar="FILE", help="The journal file; by default one per cluster and user."
    ),
]
Settle = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="How long all replicas of a target must have stayed in sync before one is dropped. "
        "Longer than the brokers' session timeout (9 s), by which a killed one still counts.",
    ),
]
Slots = Annotated[
    int,
    typer.Option(metavar="COUNT", min=1, help="Copies that a broker sends or receives at once."),
]
Everything = Annotated[bool, typer.Option("--all", help="List everything, however long.")]


def _version(asked: bool) -> None:
    if asked:
        result(f"replan {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def validate(files: Files = DEFAULT_FILES) -> Exit:
    """Check placement files alone; no cluster is asked."""
    from replan.commands import offline

    return offline.validate(files)


@app.command()
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


@app.command("snapshot")
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@throttle.command("clear")
def throttle_clear(
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
) -> Exit:
    """Put back the throttles that an interrupted application left behind; what others set stays."""
    from replan.commands.apply import clear_throttles

    return clear_throttles(target(bootstrap_server, command_config, simulated, None), journal)


@app.command()
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


@app.command()
def abandon(
    journal: Journal = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    simulated: Simulated = None,
) -> Exit:
    """Give up an interrupted application: moves stay as they are, throttles are put back."""
    from replan.commands.apply import give_up

    return give_up(target(bootstrap_server, command_config, simulated, None), journal)


@app.command()
def rehearse(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A saved plan.")],
    faults: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT", help='E.g. "kill 3 at 10m for 5m"; repeats.'),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draw faults by chance, always the same.")
    ] = None,
    runs: Annotated[int, typer.Option(min=0, help="So many runs with faults by chance.")] = 0,
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


@fleet.command("drift")
def fleet_drift(
    snapshots: Annotated[
        Path, typer.Option(metavar="DIR", help="One snapshot (file or folder) a cluster.")
    ],
    placements: Annotated[
        Path, typer.Option(metavar="DIR", help="One placement (file or folder) a cluster.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Publish the tables there.")
    ] = None,
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark master.")] = "local[*]",
) -> Exit:
    """Drift of many clusters at once: 0 none, 2 drift, 1 where a cluster could not be compared."""
    from replan.commands import fleet as command

    return command.drift(snapshots, placements, output, master)


@scenario.command("run")
def scenario_run(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write down what is told now; the diff is the review.")
    ] = False,
) -> Exit:
    """Tell stories again: 0 all as written, 1 where one differs, with a diff."""
    from replan.commands import scenario as command

    return command.run(files, rewrite=rewrite)


def main() -> None:
    """Run a command and leave with its exit code; Click's 2 for wrong usage becomes 1."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command; every failure that replan explains becomes its message and its exit code."""
    try:
        code = app(args=arguments, prog_name="replan", standalone_mode=False)
        return int(code) if isinstance(code, int) else int(Exit.OK)
    except ReplanError as error:
        note(f"replan: {error}")
        return int(error.exit_code)
    except click.ClickException as error:
        error.show()
        return int(Exit.ERROR)
    except (KeyboardInterrupt, click.Abort):
        note("replan: interrupted")
        return int(Exit.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return int(Exit.ERROR)
