"""`rehearse`: perform a plan on the simulator; nothing is changed anywhere."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from replan.commands.options import AS, Faults, Output, Pace, PlanFile
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
            help="What producers write to each partition, e.g. 2MB/s; by default "
            "what the cluster file says, or nothing.",
        ),
    ] = None
    network: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            parser=_rate_of("--network"),
            help="Network of each broker, in each direction; by default 100MB/s.",
        ),
    ] = None
    disk: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            parser=_rate_of("--disk"),
            help="Disks of each broker, copies read and written together; by default unlimited.",
        ),
    ] = None
    version: Annotated[
        str | None,
        typer.Option(
            "--kafka-version",
            metavar="VERSION",
            help="Kafka version whose rules are simulated, e.g. 4.3; by default that of the simulated "
            "cluster, or the oldest with the features of the snapshot.",
        ),
    ] = None


def rehearse(
    *,
    plan_file: PlanFile,
    faults: Faults = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Inject random faults; the same seed gives the same ones."
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            metavar="COUNT",
            min=0,
            help="Rehearse COUNT times more with random faults: the spread, and the worst seed.",
        ),
    ] = 0,
    form: Annotated[Literal["text", "markdown", "json", "html"], AS] = "text",
    output: Output = None,
    load: Load,
    pace: Pace,
    cluster: OptionalTarget,
) -> Exit:
    """Perform a saved plan on a simulated copy of the cluster.

    Nothing is changed. The result says how long the plan takes, how busy brokers are, how far each partition stays
    above its min ISR, and what faults do.

    Exit codes:
      0  the plan completes
      1  an error
      3  the plan does not complete; the result names what stops it

    Examples:
      replan rehearse plan.json --snapshot cluster.json --produce 2MB/s
      replan rehearse plan.json --fault "kill 3 at 10m for 5m" --format html -o rehearsal.html
    """
    from replan.commands.plans import read_plan
    from replan.commands.rehearsals import rehearsal_of
    from replan.rehearsal.options import Options
    from replan.rehearsal.report.html import render_rehearsal_page
    from replan.rehearsal.report.json import render_rehearsal_json
    from replan.rehearsal.report.markdown import render_rehearsal_markdown
    from replan.rehearsal.report.text import render_rehearsal

    options = Options(
        settings=pace.settings(), **{k: v for k, v in vars(load).items() if v is not None}
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
    return Exit.OK if report.completes else Exit.REFUSED
