"""Flags that several commands take, each with its help; what they mean is the business of the commands."""

from pathlib import Path
from typing import Annotated

import typer

from replan.commands.output import Format
from replan.commands.target import BOOTSTRAP_VARIABLE, CONFIG_VARIABLE

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
