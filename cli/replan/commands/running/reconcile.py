"""The command `reconcile`."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from replan.commands.frame.output import note
from replan.commands.observing.watchers import Watching
from replan.commands.shared.options import (
    BalanceRates,
    Every,
    Pace,
    PlacementPaths,
    placement_files,
)
from replan.commands.shared.target import Connection, LiveTarget
from replan.errors import BadUsage, Exit
from replan.model.declared.reconcile import REST_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from replan.applying.journal.protocol import SteeredJournal
    from replan.model.control_plane import Clock
    from replan.planning.plans.plan import Plan
    from replan.reconciling.ports import LoopPorts, Read
    from replan.reconciling.status import Observer


def reconcile(
    *,
    files: PlacementPaths = None,
    git: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Read the placement from this git repository, by the command git, instead of from files.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(
            metavar="REF", show_default="main", help="With --git: the branch or tag that is read."
        ),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            show_default=".",
            help="With --git: the file or folder that is read in it.",
        ),
    ] = None,
    every: Every = None,
    once: Annotated[
        bool, typer.Option("--once", help="One round, and end; for a scheduled job.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what it would do, and do nothing: not even the journal is written.",
        ),
    ] = False,
    rates: BalanceRates = None,
    watching: Watching,
    pace: Pace,
    cluster: LiveTarget,
) -> Exit:
    """Keep the cluster as the placement says, by the policy in its section `reconcile`.

    Each round reads the placement, and the --rates, again, compares, and puts right what policy allows: after its time,
    in its windows, within the limits, as `apply` does. Without a policy it only reports. `replan pause`, `resume`,
    `cancel` and `throttle` steer what it applies. A second one elsewhere waits, and takes over within a minute.

    A broken placement, a silent cluster, an application of another process are states with their reasons, and the loop
    goes on; only a signal ends it. The exit codes but 130 are those of --once.

    Exit codes:
      0    nothing differs
      1    an error: the placement, or the cluster, could not be read, or a proposal not be written
      2    something differs, and is not due, or not allowed
      3    it holds, or a safety rule or a limit refuses
      4    another application or loop is at work, or its own application waits: it has not looked
      130  interrupted

    Examples:
      replan reconcile --bootstrap-server kafka-1:9092 --dry-run
      replan reconcile --bootstrap-server kafka-1:9092 --git https://git.example/kafka.git --path payments
    """
    from replan.applying.journal.records import timestamp_now
    from replan.commands.frame.signals import asked_to_stop
    from replan.commands.shared.journals import owner
    from replan.commands.shared.rates import chosen_rates
    from replan.reconciling.loop import Loop, LoopSettings, when_reachable

    given = [] if git is not None else placement_files(files, cluster)
    if git is not None and files:
        raise BadUsage("-f and --git contradict each other; name one of them")
    if git is None and (ref is not None or path is not None):
        raise BadUsage("--ref and --path go with --git")
    applying = pace.settings(watched=False)
    applying = applying.on_a_real_clock() if cluster.is_real else applying
    settings = LoopSettings(
        owner=owner(),
        every=every or REST_SECONDS,
        dry_run=dry_run,
        proposes=watching.proposals is not None,
        applying=replace(applying, moment=timestamp_now),
    )
    with (
        _placements(given, git, ref or "main", path or ".") as (read_placement, places),
        ExitStack() as stack,
    ):
        observer = stack.enter_context(watching.watchers(places, once=once))

        def connect() -> Connection:
            return stack.enter_context(cluster.connect())

        connection = (
            connect()
            if once
            else when_reachable(connect, observer, settings, time.time, time.sleep)
        )
        stop = asked_to_stop(connection.interrupt, note)

        def read() -> "Read":
            return replace(read_placement(), rates=chosen_rates(rates, None, None, cluster))

        loop = Loop(_ports(cluster, connection, read, observer, stop, once=once), settings)
        if not once:
            loop.run()
            return Exit.INTERRUPTED
        code = loop.once()
        stack.close()  # what is proposed is written by now, unless it cannot be
        return Exit.ERROR if observer.unwritten else code


@contextmanager
def _placements(
    files: list[Path], git: str | None, ref: str, path: str
) -> "Iterator[tuple[Callable[[], Read], list[Path]]]":
    """How a round reads its placement, and the files that it is in."""
    from replan.placement_file.load import load_placement
    from replan.reconciling.ports import Read
    from replan.reconciling.status import PlacementSource

    if git is None:
        place = ", ".join(map(str, files))

        def read() -> Read:
            for file in files:
                if file.exists() and not (file.is_file() or file.is_dir()):
                    raise BadUsage(
                        f"-f {file}: a loop reads it again each round; name a file or a folder"
                    )
            placement = load_placement(files)
            return Read(placement, PlacementSource(place, placement.digest))

        yield read, files
        return
    from replan.commands.shared.revisions import checkout

    with checkout(git, ref) as working:

        def read_git() -> Read:
            commit = working.update()
            placement = working.placement(path)
            return Read(
                placement,
                PlacementSource(f"{working.shown} {ref} {path}", placement.digest, commit),
            )

        yield read_git, [working.folder / path]


def _ports(
    cluster: LiveTarget,
    connection: Connection,
    read: "Callable[[], Read]",
    observer: "Observer",
    stop: "Callable[[], bool]",
    *,
    once: bool,
) -> "LoopPorts":
    from replan.commands.shared.journals import (
        journal_topic_of,
        loop_store,
        owned_journal,
        read_journal,
    )
    from replan.commands.shared.permissions import check_allowed
    from replan.reconciling.ports import LoopPorts

    @contextmanager
    def own(plan: "Plan", alive: "Callable[[], object]") -> "Iterator[SteeredJournal]":
        def say(text: str) -> None:
            note(text)
            alive()  # a lock that may be dead is watched for a minute

        check_allowed(plan, cluster, connection)
        with owned_journal(
            cluster, connection, plan.cluster_id, placed=plan.journal_replicas, say=say
        ) as journal:
            yield journal

    place = cluster.journal_place
    topic = journal_topic_of(connection, place) if place.path is None else None

    plane = connection.control_plane
    real = cluster.is_real
    clock = connection.clock if real or once else _InRealTime(connection.clock)
    return LoopPorts(
        reader=plane,
        writer=plane,
        clock=clock,
        lease_clock=None if real else _RealTime(),
        wall=lambda: connection.moment().timestamp(),
        read=read,
        journal=lambda cluster_id: read_journal(cluster, connection, cluster_id, topic),
        own=own,
        store=loop_store(cluster, connection, topic),
        stop=stop,
        observer=observer,
        idle=connection.idle,
    )


class _RealTime:
    """What several processes on one simulated cluster have alike: each has virtual time of its own."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


class _InRealTime:
    """A simulated clock whose seconds take as long as real ones, so that somebody can watch a loop."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self.now = clock.now

    def sleep(self, seconds: float) -> None:
        """Wait, and let virtual time pass."""
        time.sleep(seconds)
        self._clock.sleep(seconds)
