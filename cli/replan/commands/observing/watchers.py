"""Who watches a loop, as the command line asks for it: a log always; a server, a web hook and a folder where named."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct

from replan.commands.frame.output import event, notes_as_json

if TYPE_CHECKING:
    from replan.commands.observing.loop_log import LoopLog
    from replan.commands.observing.loop_server import LoopServer
    from replan.commands.observing.notify import Notifier
    from replan.commands.observing.proposals import Proposals
    from replan.model.snapshot import Snapshot
    from replan.planning.plans.plan import Plan
    from replan.reconciling.status import LoopState, LoopStatus, Proposal
    from replan.reporting.loop.loop_metrics import LoopCounts

NOTIFY_VARIABLE = "REPLAN_NOTIFY_URL"


class Watching(Struct, frozen=True):
    """Where a loop is seen."""

    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Serve a page, /status.json, /metrics, /healthz and /readyz there, e.g. at 127.0.0.1:9464.",
        ),
    ] = None
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar=NOTIFY_VARIABLE,
            help="Post each change of its state to this web hook, as JSON with a `text`; @FILE reads it from a file.",
        ),
    ] = None
    proposals: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write there what it may not do itself: the plan, its page, and changed lists as a patch.",
        ),
    ] = None
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option("--log-format", help="How the log is written to stderr: text, or JSON lines."),
    ] = "text"

    @contextmanager
    def watchers(self, files: Sequence[Path], *, once: bool = False) -> "Iterator[Watchers]":
        """All of them, until the block ends; `files`: of the placement, for patches; `once`: for one round.

        Raises BadUsage and BadFile, and ReplanError where nobody can listen.
        """
        from replan.commands.observing.loop_log import LoopLog
        from replan.reporting.loop.loop_metrics import LoopCounts

        if self.log_format == "json":
            notes_as_json()
        with ExitStack() as stack:
            watchers = Watchers(LoopLog(), LoopCounts())
            if self.notify:
                from replan.commands.observing.notify import Notifier, web_hook

                watchers.notifier = stack.enter_context(Notifier(web_hook(self.notify)))
            if self.proposals is not None:
                from replan.commands.observing.proposals import Proposals

                watchers.proposals = stack.enter_context(
                    Proposals(self.proposals, files, once=once)
                )
            if self.listen:
                from replan.commands.observing.http_server import listen_address, serving
                from replan.commands.observing.loop_server import LoopServer

                watchers.server = LoopServer(watchers.counts)
                url = stack.enter_context(
                    serving(listen_address(self.listen), watchers.server.respond)
                )
                event("listening", f"listening at {url}", {"url": url})
            yield watchers


class Watchers:
    """The observer of a loop: hands on what it hears, and waits for nobody."""

    def __init__(self, log: "LoopLog", counts: "LoopCounts") -> None:
        self.log, self.counts = log, counts
        self.server: LoopServer | None = None
        self.notifier: Notifier | None = None
        self.proposals: Proposals | None = None
        self._status: LoopStatus | None = None
        self._posted: LoopState | None = None

    @property
    def unwritten(self) -> bool:
        """Whether a proposal could not be written."""
        return self.proposals is not None and self.proposals.failed > 0

    def changed(self, status: "LoopStatus") -> None:
        """A new status."""
        before, self._status = self._status, status
        if self.notifier is not None:
            self.counts.notifications_failed = self.notifier.failed
        if self.proposals is not None:
            self.counts.proposals_failed = self.proposals.failed
        ended = self.counts.add(status)
        if self.server is not None:
            self.server.changed(status)
        self.log.changed(status, ended)
        self._notify(before, status)

    def planned(self, plan: "Plan", snapshot: "Snapshot | None") -> None:
        """A plan that a round is going to apply."""
        if self.server is not None:
            self.server.planned(plan, snapshot)

    def proposed(self, proposal: "Proposal") -> None:
        """What the loop may not do."""
        if self.proposals is None:
            return
        self.proposals.propose(proposal)
        if self._status is not None:
            lists = sum(len(of) for of in proposal.lists.values())
            self.log.proposed(self._status, len(proposal.plan.moves), lists)

    def _notify(self, before: "LoopStatus | None", status: "LoopStatus") -> None:
        from replan.reconciling.status import LoopState
        from replan.reporting.loop.loop_text import message

        if self.notifier is None or status.state in {self._posted, LoopState.STARTING}:
            return
        self._posted = status.state
        self.notifier.send(message(before, status))
