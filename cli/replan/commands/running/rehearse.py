"""`rehearse`: perform a plan, or weeks of a loop, on the simulator; nothing is changed anywhere."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import asdict

from replan.commands.frame.output import keep_inputs, write
from replan.commands.shared.options import (
    Every,
    Faults,
    OutputFile,
    Pace,
    PageForm,
    PlacementPaths,
    placement_files,
)
from replan.commands.shared.target import OptionalTarget, seconds
from replan.errors import BadUsage, Exit
from replan.model.declared.reconcile import REST_SECONDS
from replan.wording import DAY_SECONDS

if TYPE_CHECKING:
    from replan.commands.running.loop_rehearsal import LoopOptions
    from replan.reporting.blocks import Block


def _rate(name: str, text: str, *, zero: bool = False) -> Any:
    """An option that takes a rate, in bytes per second; raises BadUsage."""

    def read(written: str) -> float:
        from replan.placement_file.units import parse_rate

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


class SimulatedLoad(Struct, frozen=True):
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
        _rate(
            "--network",
            "Network of each broker, in each direction; by default what the cluster file says, or 100MB/s.",
        ),
    ] = None
    disk: Annotated[
        float | None,
        _rate(
            "--disk",
            "Disks of each broker, reading and writing; by default what the cluster file says, or unlimited.",
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
    plan_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN", help="A plan file, as `replan plan -o` saves it; or use --reconcile."
        ),
    ] = None,
    reconcile: Annotated[
        bool,
        typer.Option(
            "--reconcile",
            help="Rehearse weeks of `replan reconcile` instead of a plan, by its policy.",
        ),
    ] = False,
    length: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            parser=seconds,
            show_default="30d",
            help="With --reconcile: how long, e.g. 30d or 12h.",
        ),
    ] = None,
    files: PlacementPaths = None,
    every: Every = None,
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
            max=1_000_000,
            help="Rehearse COUNT times more with random faults: the spread, and the worst seed.",
        ),
    ] = 0,
    form: PageForm = "text",
    output: OutputFile = None,
    load: SimulatedLoad,
    pace: Pace,
    cluster: OptionalTarget,
) -> Exit:
    """Perform a saved plan, or weeks of `replan reconcile`, on a simulated copy of the cluster.

    Nothing is changed. Of a plan the result says how long it takes, how busy brokers are, how far each partition stays
    above its min ISR, and what faults do; the exit code is that of `apply`. With --reconcile the placement and its
    policy are rehearsed: for how long what differs lasts, what is copied, when the loop holds and why, beside the same
    weeks with doing nothing.

    Exit codes:
      0  the plan completes; of weeks, the loop neither holds nor is refused at the end
      1  an error
      3  some partitions are refused or not done; the result names what stops them
      4  another party is in the way, a dead broker keeps a throttle, or nothing can move any more

    Examples:
      replan rehearse plan.json --fault "kill 3 at 10m for 5m" --format html -o rehearsal.html
      replan rehearse --reconcile --for 30d --fault "release next.yaml at 5d" --cluster eu
    """
    from replan.rehearsal.options import Options

    placements = placement_files(files, cluster) if reconcile else ()
    keep_inputs(output, [plan_file, cluster.simulated, cluster.snapshot, *placements])
    if reconcile is (plan_file is not None):
        raise BadUsage("rehearse either PLAN or, with --reconcile, weeks of the loop")
    options = Options(
        settings=pace.settings(watched=not reconcile),
        **{k: v for k, v in asdict(load).items() if v is not None},
    )
    if plan_file is None:
        if runs:
            raise BadUsage("--runs goes with PLAN; of --reconcile, name one seed after the other")
        from replan.commands.running.loop_rehearsal import LoopOptions
        from replan.placement_file.load import load_placement

        weeks = LoopOptions(
            load_placement(placements),
            length or 30 * DAY_SECONDS,
            every or REST_SECONDS,
            options,
            faults or (),
            seed,
        )
        return _reconcile(weeks, cluster, form, output)
    if files or length is not None or every is not None:
        raise BadUsage("-f, --for and --every go with --reconcile; leave them out")
    from replan.commands.running.rehearsals import rehearsal_of
    from replan.commands.shared.plans import read_plan
    from replan.rehearsal.report.json import render_rehearsal_json
    from replan.rehearsal.report.sections import rehearsal_report

    plan = read_plan(plan_file)
    report = rehearsal_of(plan, cluster, options, faults or (), seed=seed, runs=runs)
    _write(form, output, lambda: rehearsal_report(report), lambda: render_rehearsal_json(report))
    return report.exit_code


def _reconcile(
    weeks: "LoopOptions", cluster: OptionalTarget, form: PageForm, output: Path | None
) -> Exit:
    from replan.commands.running.loop_rehearsal import loop_rehearsal_of
    from replan.rehearsal.report.loop_sections import (
        loop_rehearsal_report,
        render_loop_rehearsal_json,
    )

    rehearsal = loop_rehearsal_of(cluster, weeks)
    _write(
        form,
        output,
        lambda: loop_rehearsal_report(rehearsal),
        lambda: render_loop_rehearsal_json(rehearsal),
    )
    return rehearsal.exit_code


def _write(
    form: PageForm,
    output: Path | None,
    blocks: Callable[[], Iterable["Block"]],
    as_json: Callable[[], str],
) -> None:
    from replan.reporting import markdown, page
    from replan.reporting.blocks import text_lines
    from replan.reporting.lines import drawn

    match form:
        case "text":
            written = drawn(text_lines(blocks()))
        case "markdown":
            written = markdown.markdown_document(blocks())
        case "json":
            written = as_json()
        case "html":
            written = page.html_document(blocks())
    write(written, output)
