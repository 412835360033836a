"""Which cluster a command speaks to: exactly one of a real one, a simulated one, a snapshot file; and its connection.

The options that name a cluster and its journal, and the environment. A command has one parameter of one of these types.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct, field
from msgspec.structs import force_setattr

from replan.errors import BadUsage
from replan.model.access import TIMEOUT_SECONDS
from replan.model.declared.policy import Prices
from replan.model.names import JOURNAL_TOPIC

if TYPE_CHECKING:
    from replan.applying.journal.ledger import Ledger
    from replan.applying.views.by_journal import OpenApplication
    from replan.kafka.journal.topic import JournalTopic
    from replan.kafka.tails import Tails
    from replan.model.access import Access, ClockDifference
    from replan.model.control_plane import Clock, ControlPlane
    from replan.model.names import TopicPartition
    from replan.model.snapshot import Snapshot


class JournalPlace(Struct, frozen=True):
    """A file on this machine, or else a topic on the cluster."""

    topic: str = JOURNAL_TOPIC
    path: Path | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        """Those that are written: that of the lock, which is the same for all journals of a cluster, and its own."""
        return () if self.path is not None else tuple(dict.fromkeys([JOURNAL_TOPIC, self.topic]))

    def __str__(self) -> str:
        return f"topic:{self.topic}" if self.path is None else f"file:{self.path}"


def journal_place(text: str | JournalPlace) -> JournalPlace:
    """Read what `--journal` says. Raises BadParameter."""
    from replan.placement_file.units import check_topic

    if isinstance(text, JournalPlace):
        return text
    kind, colon, name = text.partition(":")
    if kind == "topic":
        with suppress(ValueError):
            check_topic(name)
            return JournalPlace(name)
    if kind == "file" and name:
        return JournalPlace(path=Path(name))
    raise typer.BadParameter(
        f"{text!r} is no place of a journal; write topic:NAME or file:PATH"
        + ("" if colon else f", e.g. file:{text}")
    )


FLEET_FILE = Path("fleet.yaml")
BOOTSTRAP_VARIABLE = "REPLAN_BOOTSTRAP_SERVER"
SIMULATED_VARIABLE = "REPLAN_SIMULATED"
CONFIG_VARIABLE = "REPLAN_COMMAND_CONFIG"
_REAL = f"--bootstrap-server HOST:PORT (a real one; or set {BOOTSTRAP_VARIABLE})"
_EMBEDDED = "--simulated FILE (the embedded one)"
_SAVED = "--snapshot FILE (read only)"
_LISTED = "--cluster NAME (of a fleet file)"


def _variable(name: str) -> str | None:
    """A variable of the environment; an empty one, as a pipeline makes it of what is not given, is none."""
    return os.environ.get(name) or None


def seconds(text: str | float) -> float:
    """Read a duration: a number of seconds, or one with ms, s, m, h or d. Raises BadParameter."""
    from replan.placement_file.units import LONGEST_DAYS, parse_seconds

    word = str(text).strip()
    try:
        parsed = parse_seconds(f"{word}s" if word.replace(".", "", 1).isdecimal() else word)
    except ValueError as problem:
        raise typer.BadParameter(str(problem)) from problem
    if parsed == 0:
        raise typer.BadParameter(f"{text!r} is too short; write e.g. 3s, 500ms or 2m")
    if parsed > LONGEST_DAYS * 86_400:
        raise typer.BadParameter(f"{text!r} is too long; write at most {LONGEST_DAYS}d")
    return parsed


def _local(cluster: str, field: str, value: object) -> object:
    """What the fleet file says of a cluster; raises BadUsage where it is in a store, which fleets alone read."""
    if isinstance(value, str) and field in {"snapshot", "placement"}:
        raise BadUsage(
            f"the {field} of cluster {cluster} is {value}, which only `replan fleet` reads; "
            "copy it here, and name the copy instead of --cluster"
        )
    return value


class Connection(Struct, frozen=True):
    """An open control plane and the clock that its time runs by."""

    control_plane: "ControlPlane"
    clock: "Clock"
    interrupt: Callable[[], None] = lambda: None
    """Ends what is waited for at this moment, from a signal handler."""
    idle: Callable[[], bool] = lambda: False
    """Whether nothing will happen to the cluster by itself any more, as only an embedded one knows."""
    journal_topic: "Callable[[str], JournalTopic] | None" = None
    """The topic of a name that may hold the journal; None on a simulated cluster."""
    access: "Callable[[Collection[str], Collection[str] | None], Access] | None" = None
    """What this user may do, given the topic of the journal, and the topics that are asked about (None: all); None on
    a simulated cluster, which has no users."""
    clock_difference: "Callable[[], ClockDifference | None]" = lambda: None
    """How this machine's clock compares with the cluster's, where that says its time."""
    observe_allowed: "Callable[[], Snapshot] | None" = None
    """What `observe` has, without the settings that this user may not read; None on a simulated cluster."""
    tails: "Callable[[], Tails] | None" = None
    """The records at the ends of its logs; None on a simulated cluster."""
    moment: Callable[[], datetime] = lambda: datetime.now(UTC)
    """What time it is where the cluster is; of a simulated one, by its own clock."""


class Observed(Struct, frozen=True):
    """What there is to plan from, or to compare with: a snapshot, or a cluster with what its journal says of it."""

    snapshot: "Snapshot"
    """As `as_planned_from` has it: without the throttles that moves have set."""
    application: "OpenApplication | None" = None
    """The one that is open there."""
    ledger: "Ledger | None" = None
    """What its journal says; a snapshot has none."""
    journal_unread: bool = False
    """It could not be read, or an application is open in another one: nobody knows what is open, or what that moves."""
    log_ends: "Mapping[TopicPartition, int]" = field(default_factory=dict)
    """Where the leaders' logs end, where that was asked for."""


class Target(Struct, frozen=True):
    """The cluster that the options name. Raises BadUsage unless it is exactly one."""

    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT,…",
            help=f"A real cluster: its bootstrap servers. Or set {BOOTSTRAP_VARIABLE}.",
        ),
    ] = None
    command_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Client properties for --bootstrap-server, in librdkafka's spelling or the Java client's. "
            f"Or set {CONFIG_VARIABLE}.",
        ),
    ] = None
    simulated: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"The embedded cluster whose state is FILE, e.g. a snapshot. Or set {SIMULATED_VARIABLE}.",
        ),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=seconds,
            show_default=f"{TIMEOUT_SECONDS:.0f}s",
            help="How long a real cluster may take to answer, e.g. 3s or 2m: for connecting, and for each request with "
            "all its attempts. Waits are not limited by it.",
        ),
    ] = None
    fleet_cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help="A cluster of the fleet file: its address, properties, placement, timeout and prices come from there.",
        ),
    ] = None
    fleet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"The fleet file of --cluster; by default {FLEET_FILE}."),
    ] = None
    snapshot: Path | None = None
    journal: JournalPlace | None = None
    placement: Path | None = None
    """Where the fleet file says that its placement is."""
    prices: Prices | None = None
    """What copies and storage cost there, by the fleet file."""

    note: ClassVar[str] = f"Name exactly one cluster: {_REAL}, {_EMBEDDED}, or {_LISTED}."
    """A paragraph of the help of each command that takes such a target."""
    optional: ClassVar[bool] = False
    """Whether a command can do without a cluster."""

    def __post_init__(self) -> None:
        if self.fleet_cluster is not None:
            self._take_from_fleet(self.fleet_cluster)
        elif self.fleet is not None:
            raise BadUsage("--fleet goes with --cluster")
        files = [flag for flag in (self.simulated, self.snapshot) if flag is not None]
        if self.bootstrap_server is None and not files:
            self._set("bootstrap_server", _variable(BOOTSTRAP_VARIABLE))
            embedded = _variable(SIMULATED_VARIABLE)
            self._set("simulated", None if embedded is None else Path(embedded))
            files = [self.simulated] if self.simulated is not None else []
        named = len(files) + (self.bootstrap_server is not None)
        if named > 1 or (named == 0 and not (self.optional and self.command_config is None)):
            raise BadUsage(f"n{self.note.partition('. ')[0].rstrip('.')[1:]}")
        if self.bootstrap_server is None and self.command_config is not None:
            raise BadUsage("--command-config goes with --bootstrap-server")
        in_topic = self.journal is not None and self.journal.path is None
        if in_topic and self.bootstrap_server is None:
            raise BadUsage("--journal topic:NAME goes with --bootstrap-server; write file:PATH")
        # The properties of the environment are not those of a cluster of the fleet file.
        listed = self.fleet_cluster is not None
        if self.bootstrap_server is not None and self.command_config is None and not listed:
            properties = _variable(CONFIG_VARIABLE)
            self._set("command_config", None if properties is None else Path(properties))

    def _take_from_fleet(self, name: str) -> None:
        """Become the cluster of that name. Raises BadUsage where options name another one, or it cannot be asked."""
        from replan.fleet.fleet_file import read_fleet

        if self.is_named or self.command_config is not None:
            raise BadUsage("--cluster names a cluster already; leave the other options out")
        file = self.fleet or FLEET_FILE
        cluster = read_fleet(file).cluster(name)
        if not cluster.is_asked:
            raise BadUsage(f"{file} does not say how cluster {name} is reached")
        if cluster.snapshot is not None and not isinstance(self, ReadTarget):
            raise BadUsage(
                f"cluster {name} is a snapshot in {file}: it has no journal, and can only be read"
            )
        self._set("bootstrap_server", cluster.bootstrap_servers)
        for option in ("command_config", "simulated", "snapshot", "placement", "prices"):
            self._set(option, _local(name, option, getattr(cluster, option)))
        if self.timeout is None:
            self._set("timeout", cluster.timeout_seconds)

    @property
    def timeout_seconds(self) -> float:
        """How long the cluster may take to answer."""
        return TIMEOUT_SECONDS if self.timeout is None else self.timeout

    def _set(self, name: str, value: object) -> None:
        force_setattr(self, name, value)

    def words(self) -> list[str]:
        """The options to type for a later command on this cluster; what the environment says need not be typed."""
        if self.fleet_cluster is not None:
            named = {
                "--cluster": self.fleet_cluster,
                "--fleet": self.fleet,
                "--journal": self.journal,
            }
            return [w for name, value in named.items() if value for w in (name, str(value))]
        options = (
            ("--bootstrap-server", self.bootstrap_server, BOOTSTRAP_VARIABLE),
            ("--command-config", self.command_config, CONFIG_VARIABLE),
            ("--simulated", self.simulated, SIMULATED_VARIABLE),
            ("--journal", self.journal, ""),
        )
        return [
            word
            for name, value, variable in options
            if value is not None and str(value) != os.environ.get(variable)
            for word in (name, str(value))
        ]

    @property
    def is_named(self) -> bool:
        """Whether there is a cluster at all; only commands that can do without one need to ask."""
        return not (
            self.bootstrap_server is None and self.simulated is None and self.snapshot is None
        )

    @property
    def journal_place(self) -> JournalPlace:
        """Where the journal of the cluster is."""
        if self.journal is not None:
            return self.journal
        if self.simulated is not None:
            return JournalPlace(path=self.simulated.with_name(self.simulated.name + ".journal"))
        return JournalPlace()

    @property
    def journal_is_topic(self) -> bool:
        """Whether the journal is on the cluster itself, so that applying a plan makes its topic."""
        return self.is_real and self.journal_place.path is None

    @property
    def is_real(self) -> bool:
        """Whether it is a real cluster rather than a file."""
        return self.bootstrap_server is not None

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Open the cluster for reading and acting; heavy clients are imported only here."""
        if self.simulated is not None:
            from replan.simulator.control_plane import open_simulated

            simulated = open_simulated(self.simulated)
            try:
                yield Connection(
                    simulated, simulated.clock, idle=simulated.idle, moment=simulated.moment
                )
            finally:
                simulated.close()
            return
        if self.bootstrap_server is None:
            raise BadUsage("this command acts on a cluster; --snapshot can only be read")
        from replan.kafka.clock import SystemClock, process_seconds
        from replan.kafka.control_plane import open_cluster

        clock = SystemClock()
        real = open_cluster(
            self.bootstrap_server,
            self.command_config,
            clock=clock,
            timeout_seconds=self.timeout_seconds,
            spent_seconds=process_seconds(),
        )
        try:
            yield Connection(
                real,
                clock,
                clock.interrupt,
                journal_topic=real.journal,
                access=real.access,
                clock_difference=real.clock_difference,
                observe_allowed=lambda: real.observe(lenient=True),
                tails=real.tails,
            )
        finally:
            real.close()

    def observe(self) -> "Snapshot":
        """Everything at this moment, from wherever the options say."""
        if self.snapshot is not None:
            from replan.snapshots.files import read_snapshot

            return read_snapshot(self.snapshot)
        with self.connect() as connection:
            return connection.control_plane.observe()


_SNAPSHOT = typer.Option(metavar="PATH", help="A snapshot that `replan snapshot` saved; read only.")
_JOURNAL = typer.Option(
    metavar="topic:NAME|file:PATH",
    parser=journal_place,
    help=f"Where the journal is. By default topic:{JOURNAL_TOPIC} on a real cluster, "
    "and a file beside the --simulated FILE.",
)


class AnsweringTarget(Target, frozen=True):
    """A cluster that answers, and the journal of it."""

    journal: Annotated[JournalPlace | None, _JOURNAL] = None


class LiveTarget(AnsweringTarget, frozen=True):
    """A cluster to change, and the lock of it."""

    lock_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="DURATION",
            parser=seconds,
            help="How long to wait while another process has the lock and is at work, e.g. 10m. By default not at all. "
            "A lock without a sign of life for 60 s is taken over in any case.",
        ),
    ] = None
    unlocked: Annotated[
        bool,
        typer.Option(
            "--unlocked",
            help="For emergencies, with --journal file:PATH on a real cluster: no other machine is locked out.",
        ),
    ] = False


class ReadTarget(Target, frozen=True):
    """A cluster that is only read: a live one, or a snapshot."""

    snapshot: Annotated[Path | None, _SNAPSHOT] = None

    note: ClassVar[str] = f"Name exactly one cluster: {_REAL}, {_EMBEDDED}, {_SAVED}, or {_LISTED}."


class JournaledTarget(ReadTarget, frozen=True):
    """A cluster that is only read, and the journal of it."""

    journal: Annotated[JournalPlace | None, _JOURNAL] = None


class OptionalTarget(JournaledTarget, frozen=True):
    """A cluster to read, or none: see `is_named`."""

    note: ClassVar[str] = (
        f"Name one cluster: {_REAL}, {_EMBEDDED}, {_SAVED}, or {_LISTED}. "
        "Without one, only the partitions of the plan are simulated, as it knows them."
    )
    optional: ClassVar[bool] = True
