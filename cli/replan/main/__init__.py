"""Arguments: one function a command, which declares its flags, makes one call, and returns the exit code.

Here belong the table of all commands, in the order in which `--help` lists them, and the exit. Nothing is decided here,
nor in the modules beside. Heavy modules are imported by the command that needs them, so that `--help` and `--version`
answer at once.
"""

import sys
from typing import Annotated

import click
import typer

from replan import __version__
from replan.commands.output import note, result
from replan.errors import Exit, ReplanError
from replan.main.fleets import fleet_drift
from replan.main.looking import drift, export, plan, show, status, take_snapshot, validate
from replan.main.performing import abandon, apply, resume, throttle_clear
from replan.main.simulating import rehearse, scenario_run

app = typer.Typer(
    name="replan",
    help="Kafka replica placement as code: plan, apply, drift; never below min ISR.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("validate")(validate)
app.command("export")(export)
app.command("snapshot")(take_snapshot)
app.command("plan")(plan)
app.command("show")(show)
app.command("rehearse")(rehearse)
app.command("apply")(apply)
app.command("status")(status)
app.command("resume")(resume)
app.command("abandon")(abandon)
app.command("drift")(drift)

throttle = typer.Typer(help="What replan throttles.", no_args_is_help=True)
throttle.command("clear")(throttle_clear)
app.add_typer(throttle, name="throttle")

scenario = typer.Typer(
    help="Stories of a simulated cluster in text files: see docs/scenarios.md.",
    no_args_is_help=True,
)
scenario.command("run")(scenario_run)
app.add_typer(scenario, name="scenario")

fleet = typer.Typer(
    help="The Spark pipeline over many clusters; needs the extra `fleet`.", no_args_is_help=True
)
fleet.command("drift")(fleet_drift)
app.add_typer(fleet, name="fleet")


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
