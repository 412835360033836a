"""The program `replan`: the table of its commands, in the order in which `--help` lists them, and its exit codes.

Nothing is decided here. A command is a function in `commands/`; its module is imported, and its arguments are built,
when it is invoked.
"""

import gc
import os
import sys
from typing import Annotated, ClassVar

import click
import typer

from replan.commands.frame.command_line import COMPLETE, CommandGroup, Spelling
from replan.commands.frame.output import note, prepare_streams, result, silence
from replan.commands.frame.signals import keep_result, on_signal, raise_interrupt
from replan.errors import Exit, ReplanError
from replan.model.pandas_hidden import hide_pandas


class Replan(CommandGroup):
    """All commands: by their words, module and function in `replan.commands`."""

    table: ClassVar = {
        "doctor": "cluster.doctor:doctor",
        "status": "cluster.status:status",
        "drift": "placement.drift:drift",
        "explain": "placement.explain:explain",
        "journal show": "running.journal:journal_show",
        "plan": "placement.plan:plan",
        "show": "placement.plan:show",
        "diff": "placement.diff:diff",
        "rehearse": "running.rehearse:rehearse",
        "apply": "running.apply:apply",
        "reconcile": "running.reconcile:reconcile",
        "rollback": "running.rollback:rollback",
        "throttle RATE": "running.throttle:throttle_rate",
        "throttle show": "running.throttle:throttle_show",
        "throttle clear": "running.throttle:throttle_clear",
        "pause": "running.steer:pause",
        "resume": "running.apply:resume",
        "cancel": "running.steer:cancel",
        "abandon": "running.apply:abandon",
        "lock show": "running.journal:lock_show",
        "lock release": "running.journal:lock_release",
        "elect preferred": "elections.elect:elect_preferred",
        "elect best-log": "elections.elect:elect_best_log",
        "elect unclean": "elections.elect:elect_unclean",
        "elect designated": "elections.elect:elect_designated",
        "tails show": "elections.tails:tails_show",
        "tails replay": "elections.tails:tails_replay",
        "fleet run": "fleet.run:run",
        "fleet collect": "fleet.run:collect",
        "fleet rates": "fleet.judge:rates",
        "fleet drift": "fleet.judge:drift",
        "fleet diff": "fleet.judge:diff",
        "fleet classify": "fleet.judge:classify",
        "fleet cost": "fleet.judge:cost",
        "fleet plan": "fleet.judge:plan",
        "fleet history": "fleet.judge:history",
        "fleet report": "fleet.keep:report",
        "fleet watch": "fleet.watch:watch",
        "fleet maintain": "fleet.keep:maintain",
        "init": "placement.init:init",
        "validate": "cluster.inspect:validate",
        "blacklist show": "placement.blacklist:show",
        "blacklist add": "placement.blacklist:add",
        "blacklist remove": "placement.blacklist:remove",
        "schema": "cluster.inspect:schema",
        "export": "cluster.inspect:export",
        "import": "cluster.inspect:import_file",
        "snapshot": "cluster.inspect:take_snapshot",
        "scenario run": "running.scenario:run",
        "help": "frame.about:show_help",
        "docs": "frame.about:docs",
        "completion": "frame.about:completion",
    }
    headings: ClassVar = {
        "doctor": "Look at a cluster",
        "plan": "Change it",
        "throttle": "Steer what is applied",
        "elect": "Elections and recovery",
        "fleet": "Many clusters",
        "init": "Files",
        "help": "Help",
    }
    group_help: ClassVar = {
        "blacklist": "Brokers that lead nothing (KIP-491).",
        "elect": "Leader elections, by topic, partition or file, or of everything.",
        "tails": "Records that were saved before an unclean election dropped them.",
        "throttle": "The throttles that replan sets.",
        "lock": "The lock of a cluster: one process applies at a time.",
        "journal": "What was applied, by whom, and what is open.",
        "scenario": "Scenario files of a simulated cluster; `replan docs scenarios` explains them.",
        "fleet": "Many clusters at once, and their history; `replan docs fleet` explains it.",
    }
    spellings: ClassVar = {
        "elect": Spelling(
            "--election-type",
            {
                "preferred": "preferred",
                "unclean": "unclean",
                "longest_log_balanced": "best-log",
                "longest_log_agressive": "best-log --strategy aggressive",
                "longest_log_aggressive": "best-log --strategy aggressive",
                "designation": "designated --only-leaderless",
            },
            {"--admin.config": "--command-config"},
        )
    }


EPILOG = """
\b
Exit codes:
  0    done, or nothing to do
  1    an error
  2    changes, drift, or a reassignment is running
  3    a safety rule refuses, or a part did not succeed
  4    another application or tool holds it
  130  interrupted; run it again to resume

\b
Examples:
  replan plan --bootstrap-server kafka-1:9092 -o plan.json
  replan apply plan.json --bootstrap-server kafka-1:9092
"""

app = typer.Typer(
    name="replan",
    cls=Replan,
    no_args_is_help=True,
    add_completion=False,  # `replan completion SHELL`
    epilog=EPILOG,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        from replan.commands.frame.about import versions

        result(versions())
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions that a bug report names.",
        ),
    ] = False,
) -> None:
    """Kafka replica placement as code: plan, apply, drift; never below min ISR."""


def main() -> None:
    """Run a command and leave with its exit code; Click's 2 for wrong usage becomes 1."""
    if sys.argv[1:2] != ["fleet"]:
        hide_pandas()
    prepare_streams()
    if COMPLETE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        code = run(sys.argv[1:])
        keep_result(code)
    except KeyboardInterrupt:  # wherever it comes, also while an error is printed
        note("replan: interrupted")
        code = int(Exit.INTERRUPTED)
    gc.freeze()  # the end of a process looks for cycles among all objects: a fifth of what a small plan takes
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run a command; every failure that replan explains becomes its message and its exit code, but ^C is raised."""
    try:
        on_signal(raise_interrupt)
        code = app(args=arguments, prog_name="replan", standalone_mode=False)
        if code == Exit.INTERRUPTED and not isinstance(code, Exit):
            note("replan: interrupted")  # Typer turns a KeyboardInterrupt into this number
        return int(code) if isinstance(code, int) else int(Exit.OK)
    except ReplanError as error:
        note(f"replan: {error}")
        return int(error.exit_code)
    except click.ClickException as error:
        error.show()
        return int(Exit.ERROR)
    except OSError as problem:
        named = f"{problem.filename}: " if problem.filename else ""
        note(f"replan: {named}{problem.strerror or problem}")
        silence(1)
        return int(Exit.ERROR)
