"""`rehearse`: perform a plan on the simulator, and tell how it goes; nothing is changed anywhere."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from replan.applying.progress import Progress
from replan.applying.settings import Settings
from replan.commands.cluster import observe
from replan.commands.output import note, passing, result, save
from replan.commands.plan import read_plan
from replan.commands.target import Target
from replan.errors import BadFile, BadUsage, Exit
from replan.faults.read import read_fault
from replan.manifest.units import parse_rate
from replan.planning.plan import Plan
from replan.rehearsal.chance import drawn_faults
from replan.rehearsal.document import render_rehearsal_json
from replan.rehearsal.markdown import render_rehearsal_markdown
from replan.rehearsal.options import Options
from replan.rehearsal.page import render_rehearsal_page
from replan.rehearsal.rehearse import rehearse_on
from replan.rehearsal.report import Chanced, Report, report_on
from replan.rehearsal.stage import cluster_of, snapshot_of, surroundings
from replan.rehearsal.text import render_rehearsal
from replan.reporting.progress_text import counts
from replan.simulator.world import Simulation

SHOWN_SECONDS = 0.2
ALONE = (
    "no cluster is named: rehearsed on the partitions of the plan alone, all of them in sync; "
    "--snapshot FILE makes it more exact"
)


class RehearsalFormat(StrEnum):
    """How a rehearsal is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    HTML = "html"


def form(text: str) -> RehearsalFormat:
    """Read `--format`; raises BadUsage."""
    try:
        return RehearsalFormat(text)
    except ValueError as problem:
        known = ", ".join(RehearsalFormat)
        raise BadUsage(f"--format {text}: a rehearsal is written as one of {known}") from problem


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks of `rehearse`."""

    plan_file: Path
    target: Target | None
    """None: a cluster that is put together from the plan alone."""
    faults: Sequence[str]
    seed: int | None
    runs: int
    produce: str | None
    network: str
    disk: str | None
    how: RehearsalFormat
    output: Path | None
    settings: Settings


def rehearse(wish: Wish) -> Exit:
    """Rehearse a plan. 0 it arrives, 3 it does not."""
    plan = read_plan(wish.plan_file)
    options = _options(wish)
    stage = _stage(plan, wish)
    around = surroundings(stage)
    options = replace(options, faults=tuple(read_fault(text, around) for text in wish.faults))
    if wish.target is None:
        note(ALONE)
    try:
        report = _report(plan, stage, options, wish)
    finally:
        passing("")
    text = _render(report, wish.how)
    if wish.output is None:
        result(text)
    else:
        save(text, wish.output)
        note(f"wrote {wish.output}")
    return Exit.OK if report.arrives else Exit.REFUSED


def _options(wish: Wish) -> Options:
    return Options(
        produce=None if wish.produce is None else _rate("--produce", wish.produce),
        network=_speed("--network", wish.network),
        disk=math.inf if wish.disk is None else _speed("--disk", wish.disk),
        settings=wish.settings,
    )


def _speed(flag: str, text: str) -> float:
    speed = _rate(flag, text)
    if not speed:
        raise BadUsage(f"{flag} {text}: nothing could ever be copied; write a rate, e.g. 100MB/s")
    return speed


def _rate(flag: str, text: str) -> float:
    if text == "0":
        return 0.0
    try:
        rate = parse_rate(text)
    except ValueError as problem:
        raise BadUsage(f"{flag}: {problem}") from problem
    if rate is None:
        raise BadUsage(f"{flag}: write a rate, e.g. 100MB/s")
    return float(rate)


def _stage(plan: Plan, wish: Wish) -> Simulation:
    """The cluster to rehearse on, without the assumptions yet."""
    chosen = wish.target
    if chosen is None:
        return cluster_of(snapshot_of(plan))
    if chosen.simulated is not None:
        from replan.simulator.state_file import open_simulated

        return open_simulated(chosen.simulated).simulation
    seen = observe(chosen)
    try:
        return cluster_of(seen)
    except ValueError as problem:
        raise BadFile(f"the snapshot cannot be simulated: {problem}") from problem


def _report(plan: Plan, stage: Simulation, options: Options, wish: Wish) -> Report:
    """The run as asked for, and those with faults by chance; a seed without --runs makes the one run a chanced one."""
    rehearsed = rehearse_on(plan, stage, options, _Shown("").show)
    if wish.seed is None and wish.runs == 0:
        return report_on(plan, options, rehearsed)
    first, horizon = wish.seed or 0, rehearsed.seconds

    def chanced(seed: int) -> Options:
        drawn = drawn_faults(seed, plan, horizon, surroundings(stage))
        return replace(options, faults=(*options.faults, *drawn))

    if wish.runs == 0:
        drawn = chanced(first)
        again = rehearse_on(plan, stage, drawn, _Shown(f"seed {first}: ").show)
        return report_on(plan, drawn, again)
    runs = list[Chanced]()
    for seed in range(first, first + wish.runs):
        shown = _Shown(f"run {len(runs) + 1:,} of {wish.runs:,}, seed {seed}: ")
        runs.append(Chanced(seed, rehearse_on(plan, stage, chanced(seed), shown.show)))
    return report_on(plan, options, rehearsed, tuple(runs))


class _Shown:
    """Shows a person at a terminal how far a rehearsal is, in virtual time, some times a second."""

    def __init__(self, before: str) -> None:
        self._before = before
        self._shown_at = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Show it, if it is time."""
        now = time.monotonic()
        if now - self._shown_at >= SHOWN_SECONDS:
            self._shown_at = now
            passing(f"{self._before}{counts(progress)}")


def _render(report: Report, how: RehearsalFormat) -> str:
    forms: dict[RehearsalFormat, Callable[[Report], str]] = {
        RehearsalFormat.TEXT: render_rehearsal,
        RehearsalFormat.MARKDOWN: render_rehearsal_markdown,
        RehearsalFormat.JSON: render_rehearsal_json,
        RehearsalFormat.HTML: render_rehearsal_page,
    }
    return forms[how](report)
