"""`rehearse`: perform a plan on the simulator; nothing is changed anywhere."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from replan.commands.frame.output import keep_inputs, write
from replan.commands.inputs.options import AS, Faults, Output, Pace, PageForm, PlanFile
from replan.commands.inputs.target import OptionalTarget
from replan.errors import BadUsage, Exit


def _rate(name: str, text: str, *, zero: bool = False) -> Any:
    """An option that takes a rate, in bytes per second; raises BadUsage."""

    def read(written: str) -> float:
        from replan.placement_file.sections.units import parse_rate

        if written == "0" and zero:
            return 0.0
        try:
            rate = parse_rate("0B/s" if written == "0" else written)
        except ValueError as problem:
            raise BadUsage(f"{name}: {problem}") from problem
        if rate is None:
            raise BadUsage(f"{name}: write a rate, e.g. 100MB/s")
        return float(rate)

    return typer.Option(name, metavar="RATE", parser=read, help=text)


@dataclass(frozen=True)
class Load:
    """What the simulated brokers can do, and what producers write meanwhile."""

    produce: Annotated[
        float | None,
        _rate(
            "--produce",
            "What producers write to each partition, e.g. 2MB/s; "
            "by default what the cluster file says, or nothing.",
            zero=True,
        ),
    ] = None
    network: Annotated[
        float | None,
        _rate("--network", "Network of each broker, in each direction; by default 100MB/s."),
    ] = None
    disk: Annotated[
        float | None,
        _rate("--disk", "Disks of each broker, reading and writing; by default unlimited."),
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
    form: Annotated[PageForm, AS] = "text",
    output: Output = None,
    load: Load,
    pace: Pace,
    cluster: OptionalTarget,
) -> Exit:
    """Perform a saved plan on a simulated copy of the cluster.

    Nothing is changed. The result says how long the plan takes, how busy brokers are, how far each partition stays
    above its min ISR, and what faults do. The exit code is that of `apply`.

    Exit codes:
      0  the plan completes
      1  an error
      3  some partitions are refused or not done; the result names what stops them
      4  another party is in the way, a dead broker keeps a throttle, or nothing can move any more

    Examples:
      replan rehearse plan.json --snapshot cluster.json --produce 2MB/s
      replan rehearse plan.json --fault "kill 3 at 10m for 5m" --format html -o rehearsal.html
    """
    from replan.commands.inputs.plans import read_plan
    from replan.commands.performing.rehearsals import rehearsal_of
    from replan.rehearsal.options import Options
    from replan.rehearsal.report.json import render_rehearsal_json
    from replan.rehearsal.report.sections import rehearsal_report
    from replan.reporting import markdown, page
    from replan.reporting.blocks import text_lines
    from replan.reporting.lines import drawn

    keep_inputs(output, [plan_file, cluster.simulated, cluster.snapshot])
    options = Options(
        settings=pace.settings(), **{k: v for k, v in vars(load).items() if v is not None}
    )
    plan = read_plan(plan_file)
    report = rehearsal_of(plan, cluster, options, faults or (), seed=seed, runs=runs)
    match form:
        case "text":
            written = drawn(text_lines(rehearsal_report(report)))
        case "markdown":
            written = markdown.document(rehearsal_report(report))
        case "json":
            written = render_rehearsal_json(report)
        case "html":
            written = page.document(rehearsal_report(report))
    write(written, output)
    return report.exit_code
