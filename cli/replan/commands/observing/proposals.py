"""What a loop may not do, as files that a pipeline turns into a pull request: the plan, its page, a changed placement.

A folder has one proposal: `proposal.md` (what it is, for people; its first line is a marker), `plan.json`, `plan.html`
and, where a list of the placement must change, `placement.patch` for `git apply`. `proposal.md` is written last and
taken away first, so whoever finds it finds the rest; without it nothing is proposed. It changes with its proposal, not
with the time of day.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType

from replan.commands.frame.output import note, save
from replan.documents.files import cannot
from replan.errors import BadFile, ReplanError
from replan.placement_file.text_edit import patch_of
from replan.planning.plans.plan_file import dumps
from replan.reconciling.status import Proposal
from replan.reporting.loop.loop_proposal import render_proposal
from replan.reporting.page import html_document
from replan.reporting.plans.plan_context import PlanContext
from replan.reporting.plans.plan_report import plan_report

PROPOSAL, PLAN, PLAN_PAGE, PATCH = "proposal.md", "plan.json", "plan.html", "placement.patch"
PROPOSAL_RETRY_SECONDS = 60.0
"""After so long one that could not be written is tried again, unless there is another one."""
LAST_PROPOSAL_SECONDS = 30.0
"""How long a process that ends waits for a proposal that is being written."""


def write_proposal(proposal: Proposal, folder: Path, files: Sequence[Path]) -> None:
    """Write the files of a proposal, or take those of the last one away where nothing is proposed; raises BadFile."""
    patch, by_hand = _patch(proposal, files)
    _remove(folder / PROPOSAL)
    has_plan = not proposal.plan.empty
    context = PlanContext(snapshot=proposal.snapshot)
    for name, text in (
        (PLAN, dumps(proposal.plan) if has_plan else ""),
        (PLAN_PAGE, html_document(plan_report(proposal.plan, context)) if has_plan else ""),
        (PATCH, patch),
    ):
        if text:
            save(text, folder / name)
        else:
            _remove(folder / name)
    if has_plan or proposal.lists:
        save(render_proposal(proposal, by_hand, patched=bool(patch)), folder / PROPOSAL)


def _patch(proposal: Proposal, files: Sequence[Path]) -> tuple[str, str]:
    """The patch, and why there is none although lists must change."""
    if not proposal.lists:
        return "", ""
    try:
        return patch_of(files, proposal.placement, proposal.lists, _root(files)), ""
    except ReplanError as problem:
        return "", str(problem)


def _root(files: Sequence[Path]) -> Path:
    """The checkout that the placement is in; without one the folder of the first file."""
    first = files[0].resolve()
    around = [first, *first.parents]
    checkout = next((folder for folder in around if (folder / ".git").exists()), None)
    return checkout or (first if first.is_dir() else first.parent)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise cannot("remove", path, problem) from problem


class Proposals:
    """A context: writes the latest proposal on a thread of its own, so that nobody waits for it.

    `once`: for one round, after which nothing is tried again.
    """

    def __init__(
        self,
        folder: Path,
        files: Sequence[Path],
        retry_seconds: float = PROPOSAL_RETRY_SECONDS,
        last_seconds: float = LAST_PROPOSAL_SECONDS,
        *,
        once: bool = False,
    ) -> None:
        self._folder, self._files = folder, files
        self._retry_seconds, self._last_seconds = retry_seconds, last_seconds
        self._again = "" if once else "; it is tried again every minute"
        self._changed = Condition()
        self._latest: Proposal | None = None
        self._ends = False
        self._thread = Thread(target=self._run, name="proposals", daemon=True)
        self.failed = 0
        """Proposals that could not be written."""

    def __enter__(self) -> "Proposals":
        """Raises BadFile where the folder cannot be made."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot("make", self._folder, problem) from problem
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for what is being written; not at all for who interrupts."""
        if isinstance(problem, KeyboardInterrupt):
            return
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        self._thread.join(self._last_seconds)
        if self._thread.is_alive():
            self.failed += 1
            note(f"note: --proposals: {self._folder}: not written within {self._last_seconds:g} s")

    def propose(self, proposal: Proposal) -> None:
        """Write this, soon; one that was not begun is left out for it."""
        with self._changed:
            self._latest = proposal
            self._changed.notify_all()

    def _run(self) -> None:
        said = ""
        while (proposal := self._next()) is not None:
            try:
                write_proposal(proposal, self._folder, self._files)
                said = ""
            except BadFile as problem:
                self.failed += 1
                if str(problem) != said:
                    said = str(problem)
                    note(f"note: --proposals: {said}{self._again}")
                self._try_again(proposal)

    def _try_again(self, proposal: Proposal) -> None:
        """Wait, and take the same one, where no other one came meanwhile and nothing ends."""
        with self._changed:
            if self._latest is None and not self._ends:
                self._changed.wait(self._retry_seconds)
            if self._latest is None and not self._ends:
                self._latest = proposal

    def _next(self) -> Proposal | None:
        with self._changed:
            while self._latest is None:
                if self._ends:
                    return None
                self._changed.wait()
            latest, self._latest = self._latest, None
            return latest
