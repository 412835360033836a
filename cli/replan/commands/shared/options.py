"""Options that several commands take, each with its help."""

from contextlib import suppress
from datetime import datetime, time, timedelta
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct

from replan.commands.shared.target import Target, seconds
from replan.errors import BadUsage
from replan.planning.plans.requests import SETTLE_SECONDS, SLOTS

if TYPE_CHECKING:
    from replan.applying.settings import Settings

DEFAULT_FILES = [Path("placement.yaml")]
PlacementPaths = Annotated[
    list[Path] | None,
    typer.Option(
        "-f",
        "--file",
        metavar="PATH",
        help="Placement file, or a folder of them; repeatable.",
        show_default=str(DEFAULT_FILES[0]),
    ),
]


def placement_files(files: list[Path] | None, cluster: Target | None = None) -> list[Path]:
    """The files that count: those of -f; without it that of the fleet file's cluster, or the usual one."""
    if files is not None:
        return files
    listed = None if cluster is None else cluster.placement
    return DEFAULT_FILES if listed is None else [listed]


PlanFile = Annotated[
    Path, typer.Argument(metavar="PLAN", help="A plan file, as `replan plan -o` saves it.")
]
OutputFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to FILE instead of stdout."),
]
SavedPlan = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Save the plan, for `replan apply`."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the FILE of -o.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="NAME", help="Only topics of this name or glob; repeatable."),
]
Every = Annotated[
    float | None,
    typer.Option(
        metavar="DURATION",
        parser=seconds,
        show_default="5m",
        help="How long the loop rests between two rounds, if nothing is due before.",
    ),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="TEXT",
        help='Inject a fault into the simulated cluster, e.g. "kill 3 at 10m for 5m" '
        "(`replan docs faults` lists them); repeatable.",
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="List everything, however long; only text is shortened.")
]
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit 0 instead of 2, for scripts under `set -e`.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="LIMIT=VALUE",
        help="Raise a limit of the placement for this plan alone, e.g. bytes=3TB; repeatable.",
    ),
]

WithinLimits = Annotated[
    bool,
    typer.Option(
        "--within-limits",
        help="Plan the part that the limits allow, the most urgent first, instead of refusing the whole.",
    ),
]


ProduceRates = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="FILE|URI",
        help="What producers write (`replan schema rates`), from a file or a lake (`replan docs fleet`): for a balance "
        "that goes by it, and to judge whether the throttle lets the copies end.",
    ),
]


BalanceRates = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="FILE|URI",
        help="What producers write (`replan schema rates`), from a file or a lake (`replan docs fleet`), for a balance "
        "that goes by it.",
    ),
]


class Deadline(Struct, frozen=True):
    """A time of day, the next one, or a moment."""

    text: str
    at: time | datetime

    def seconds_from(self, now: datetime) -> float:
        """In how many seconds it comes. Raises BadUsage where it is over."""
        until = self.at
        if isinstance(until, time):
            local = now.astimezone()
            until = datetime.combine(local, until.replace(tzinfo=until.tzinfo or local.tzinfo))
            until += timedelta(days=until <= now)
        if until <= now:
            raise BadUsage(f"--until {self.text} is over; it is {now:%Y-%m-%dT%H:%M:%SZ}")
        return (until - now).total_seconds()


def parse_deadline(text: str | Deadline) -> Deadline:
    """Read a time of day, or a moment with its time zone. Raises BadParameter."""
    if isinstance(text, Deadline):
        return text
    with suppress(ValueError):  # it is no time of day
        return Deadline(text, time.fromisoformat(text))
    with suppress(ValueError):  # nor a moment
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return Deadline(text, moment)
    raise typer.BadParameter(
        f"{text!r} is no time; write e.g. 06:00 (local), or 2026-11-22T06:00:00Z"
    )


Until = Annotated[
    Deadline | None,
    typer.Option(
        metavar="TIME",
        parser=parse_deadline,
        help="Begin nothing after this time, and leave, resumable, with 130: 06:00 (local time, the next one) or "
        "2026-11-22T06:00:00Z; with --simulated on the clock of that cluster. Copies that run go on, throttled.",
    ),
]
COLOR = typer.Option(
    "--color",
    help="Colours in text; auto: at a terminal, unless NO_COLOR is set, or with FORCE_COLOR.",
)
"""`--color`: `Annotated[Color, COLOR]`."""
ListSteps = Annotated[
    bool,
    typer.Option("--steps", help="List each move with its steps, in the order of the plan."),
]
AS = typer.Option("--format", help="How the result is written.")
TextOrJson = Annotated[Literal["text", "json"], AS]
ReportForm = Annotated[Literal["text", "markdown", "json"], AS]
PageForm = Annotated[Literal["text", "markdown", "html", "json"], AS]


def _bytes(text: str | int) -> int:
    """Read a size: a number of bytes, or one with a unit. Raises BadParameter."""
    from replan.placement_file.units import parse_size

    try:
        return int(text) if str(text).isdecimal() else parse_size(str(text))
    except ValueError as problem:
        raise typer.BadParameter(f"{text!r} is no size; write e.g. 60kB") from problem


MaxSize = Annotated[
    int | None,
    typer.Option(
        metavar="SIZE",
        parser=_bytes,
        help="With --format markdown: never write more than this, e.g. 60kB (the default: what a comment holds) or "
        "1MB (a step summary). What is left out is counted.",
    ),
]


def limit_of(max_size: int | None, form: str) -> int | None:
    """How many bytes of markdown may be written; None: as many as usual. Raises BadUsage where it means nothing."""
    if max_size is None:
        return None
    from replan.reporting.markdown import SMALLEST

    if form != "markdown":
        raise BadUsage("--max-size goes with --format markdown; leave it out")
    if max_size < SMALLEST:
        raise BadUsage(f"--max-size: too little to say anything; write {SMALLEST:,} or more")
    return max_size


LONGEST_SETTLE_SECONDS = 86_400.0
UNWATCHED_SECONDS = 3_600.0
"""How long `apply` waits while nothing moves where nobody sees it."""


def patience(text: str | float) -> float:
    """Read how long to wait: a duration, or `never`. Raises BadParameter."""
    return inf if text == "never" else seconds(text)


class Pace(Struct, frozen=True):
    """How cautiously and how broadly a plan is performed. Raises BadUsage where it would never end."""

    settle: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1,
            show_default=f"{SETTLE_SECONDS:.0f}",
            help="How long all replicas of a target must stay in sync before a replica is removed. "
            "Keep it above the brokers' session timeout (9 s): until then a dead broker counts as in sync.",
        ),
    ] = SETTLE_SECONDS
    slots: Annotated[
        int,
        typer.Option(
            metavar="COUNT",
            min=1,
            help="How many copies a broker sends, and how many it receives, at the same time.",
        ),
    ] = SLOTS
    give_up_after: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=patience,
            help="End, resumable, when nothing has moved for so long: no byte, no replica that came in sync. "
            "`never` waits for ever: the default at a terminal; elsewhere `apply` and `resume` take 1h. A wait that "
            "`recovery` declares is over first.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if not isfinite(self.settle):
            raise BadUsage("--settle: write how many seconds, e.g. 15")
        if self.settle > LONGEST_SETTLE_SECONDS:
            raise BadUsage(
                f"--settle: {self.settle:g} s is too long; write at most {LONGEST_SETTLE_SECONDS:.0f}, a day"
            )

    def settings(self, *, watched: bool = True) -> "Settings":
        """The applier's settings; `watched`: whether somebody sees it wait."""
        from replan.applying.settings import Settings

        limit = self.give_up_after
        if limit is None and not watched:
            limit = UNWATCHED_SECONDS
        return Settings(
            settle_seconds=self.settle, slots_per_broker=self.slots, give_up_seconds=limit
        )


class Detail(Struct, frozen=True):
    """How much is said on stderr while a plan is performed. Raises BadUsage where both options are given."""

    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, only errors and the result.")
    ] = False
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every copy and every wait in the log.")
    ] = False
    metrics_file: Annotated[
        Path | None,
        typer.Option(
            "--metrics-file",
            metavar="FILE",
            help="Keep this file up to date, every 5 s, in Prometheus' text format, for its textfile collector.",
        ),
    ] = None
    junit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write how each partition ended as JUnit's XML, for reports of CI."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise BadUsage("--quiet and --verbose contradict each other; pass one of them")
