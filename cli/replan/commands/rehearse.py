"""`rehearse`: perform a plan on the simulator; nothing is changed anywhere."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from replan.commands.options import AS, Output, Pace, PlanFile
from replan.commands.output import write
from replan.commands.target import OptionalTarget
from replan.errors import BadUsage, Exit


def _rate_of(option: str, *, zero: bool = False) -> Callable[[str], float]:
    """What reads the rate of an option; raises BadUsage."""

    def read(text: str) -> float:
        from replan.manifest.units import parse_rate

        if text == "0":
            if zero:
                return 0.0
            raise BadUsage(f"{option} 0: nothing could ever be copied; write a rate, e.g. 100MB/s")
        try:
            rate = parse_rate(text)
        except ValueError as problem:
            raise BadUsage(f"{option}: {problem}") from problem
        if rate is None:
            raise BadUsage(f"{option}: write a rate, e.g. 100MB/s")
        return float(rate)

    return read


@dataclass(frozen=True)
class Load:
    """What the simulated brokers can do, and what producers write meanwhile."""

    produce: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            parser=_rate_of("--produce", zero=True),
            help="Written to each partition, e.g. 2MB/s.",
        ),
    ] = None
    network: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            parser=_rate_of("--network"),
            show_default="100MB/s",
            help="Of each broker, in each direction.",
        ),
    ] = 100_000_000.0
    disk: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            parser=_rate_of("--disk"),
            show_default="unlimited",
            help="Of each broker, reading and writing copies together.",
        ),
    ] = math.inf


def rehearse(
    plan_file: PlanFile,
    cluster: OptionalTarget,
    load: Load,
    pace: Pace,
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
    form: Annotated[Literal["text", "markdown", "json", "html"], AS] = "text",
    output: Output = None,
) -> Exit:
    """Perform a plan on the simulator: duration, peaks, margin over min ISR, what faults do. Changes nothing.

    0 it arrives, 3 it does not, naming what stopped. Without a cluster it is rehearsed on the partitions of the plan
    alone. The faults are listed in docs/faults.md, and where one is not understood.
    """
    from replan.commands.plans import read_plan
    from replan.commands.rehearsals import rehearsal_of
    from replan.rehearsal.options import Options
    from replan.rehearsal.report.html import render_rehearsal_page
    from replan.rehearsal.report.json import render_rehearsal_json
    from replan.rehearsal.report.markdown import render_rehearsal_markdown
    from replan.rehearsal.report.text import render_rehearsal

    options = Options(
        produce=load.produce, network=load.network, disk=load.disk, settings=pace.settings()
    )
    plan = read_plan(plan_file)
    report = rehearsal_of(plan, cluster, options, faults or (), seed=seed, runs=runs)
    renderers = {
        "text": render_rehearsal,
        "markdown": render_rehearsal_markdown,
        "json": render_rehearsal_json,
        "html": render_rehearsal_page,
    }
    write(renderers[form](report), output)
    return Exit.OK if report.arrives else Exit.REFUSED
