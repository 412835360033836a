"""The loop that performs a plan: look, decide, write, send, and again until nothing is left.

This is the only place where an application meets the outside. It holds no rule of its own beyond patience: how long a
silent cluster or journal is borne, when to leave, and what is said then.
"""

from collections.abc import Callable
from dataclasses import dataclass

from replan.applying.copies import expanding, lingering
from replan.applying.decide import Decision, decide
from replan.applying.journal.ledger import Ledger, fold
from replan.applying.journal.protocol import Journal
from replan.applying.journal.records import ApplicationStatus, Record, Status
from replan.applying.observation.look import look
from replan.applying.opening import check_cluster, closing, finished, opening
from replan.applying.outcome import (
    Outcome,
    PartitionResult,
    Result,
    exit_code_of,
    results_of,
    summary,
)
from replan.applying.progress import Progress, Report, copies_in_progress
from replan.applying.run_state import RunState, refusals_in_words
from replan.applying.sending import Sender, intents
from replan.applying.settings import Settings
from replan.applying.throttles.broker_rates import leftovers
from replan.applying.tick_input import TickInput
from replan.errors import BadFile, ClusterUnreachable, Exit
from replan.model.control_plane import Clock, ControlPlane
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot
from replan.planning.plan import Plan

AGAIN = "Run the same command again to go on from here."


def apply_plan(
    plan: Plan,
    control_plane: ControlPlane,
    journal: Journal,
    clock: Clock,
    *,
    plan_digest: str,
    settings: Settings,
    report: Report,
    stop: Callable[[], bool],
) -> Outcome:
    """Perform a plan, or go on with it, until nothing is left or `stop` says so.

    Raises WrongCluster, Held (another application is open, or another process took over), ClusterRefused, and
    ClusterUnreachable or BadFile where cluster or journal cannot be read at the beginning, within the patience.
    """
    snapshot = _observed(control_plane, clock, settings, stop)
    check_cluster(plan, snapshot.cluster_id)
    ledger = fold(journal.read())
    if ledger.application is None and finished(plan, plan_digest, ledger, control_plane):
        results = tuple(PartitionResult(m.partition, Result.DONE) for m in plan.moves)
        if not ledger.entries and not ledger.rates:
            return Outcome(Exit.OK, "nothing to do: the cluster is as the plan wants it", results)
    opened = opening(plan, plan_digest, ledger, settings.owner)
    journal.append(opened)
    ports = _Ports(control_plane, journal, clock, report, stop)
    return ApplicationRun(plan, ledger.after(opened), ports, settings, snapshot).to_end()


def _observed(
    control_plane: ControlPlane, clock: Clock, settings: Settings, stop: Callable[[], bool]
) -> Snapshot:
    """The first look; a cluster that does not answer is asked again for a while."""
    until = clock.now() + settings.patience_seconds
    while True:
        try:
            return control_plane.observe()
        except ClusterUnreachable:
            if clock.now() >= until or stop():
                raise
        clock.sleep(settings.poll_seconds)


@dataclass(frozen=True, slots=True)
class _Ports:
    """The outside of one run."""

    control_plane: ControlPlane
    journal: Journal
    clock: Clock
    report: Report
    stop: Callable[[], bool]


class ApplicationRun:
    """One process's part of an application."""

    def __init__(
        self, plan: Plan, ledger: Ledger, ports: _Ports, settings: Settings, snapshot: Snapshot
    ) -> None:
        now = ports.clock.now()
        self._plan, self._ledger, self._ports, self._settings = plan, ledger, ports, settings
        self._features = snapshot.features
        self._memory = RunState(plan, ledger, now, settings)
        self._memory.read_disks(snapshot, ledger)
        self._began = self._seen_at = self._moved_at = self._disks_at = now
        self._written_at: float | None = now
        self._sizes_at = float("-inf")
        self._ended_at: float | None = None
        self._stopping: tuple[float, str] | None = None
        self._answering: frozenset[BrokerId] = frozenset()

    def to_end(self) -> Outcome:
        """Tick until there is an outcome."""
        while True:
            outcome = self._tick()
            if outcome is not None:
                return outcome
            self._ports.clock.sleep(self._settings.poll_seconds)

    def _tick(self) -> Outcome | None:
        now = self._ports.clock.now()
        self._note_stop(now)
        try:
            view = self._look(now)
        except ClusterUnreachable as error:
            return self._unreachable(now, error)
        self._seen_at = now
        decision = decide(view)
        began = self._ports.clock.now()
        try:
            self._ports.journal.append(intents(decision, self._ledger))
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(now, error)
        self._written_at = now
        self._ledger = view.ledger.after(decision.records)
        self._memory.decided(view, decision, self._ledger)
        until = began + self._settings.intent_seconds
        sender = Sender(self._ports.control_plane, self._ports.clock, until)
        self._memory.answered(sender.send(decision), self._ports.clock.now())
        self._report(view, decision)
        return self._outcome(view, decision)

    def _note_stop(self, now: float) -> None:
        if self._stopping is not None:
            return
        if self._ports.stop():
            self._stopping = now, "interrupted"
        limit = self._settings.give_up_seconds
        if limit is not None and now - self._moved_at >= limit:
            self._stopping = now, f"nothing has moved for {limit:.0f} s"

    def _look(self, now: float) -> TickInput:
        memory, plane = self._memory, self._ports.control_plane
        memory.forget_old_unknowns(now)
        admitting = self._stopping is None
        candidates = memory.candidates(self._ledger, now) if admitting else ()
        seen = look(plane, memory.wanted(self._ledger, candidates), self._features)
        self._answering = frozenset(seen.configs)
        self._read_sizes(now)
        self._read_disks(now)
        return memory.view(self._ledger, seen, now, candidates, admitting=admitting)

    def _read_sizes(self, now: float) -> None:
        copying = [n for n, own in self._ledger.open.items() if expanding(own)]
        if copying and now - self._sizes_at >= self._settings.sizes_seconds:
            sizes = self._ports.control_plane.replica_bytes(copying)
            self._memory.watch.note_sizes(self._memory.moves, sizes, now)
            self._sizes_at = now

    def _read_disks(self, now: float) -> None:
        due = now - self._disks_at >= self._settings.disk_seconds
        if due and self._memory.copies_wait() and self._stopping is None:
            self._memory.read_disks(self._ports.control_plane.observe(), self._ledger)
            self._disks_at = now

    def _report(self, view: TickInput, decision: Decision) -> None:
        owned = self._ledger.owned.values()
        done = sum(1 for own in owned if own.status is Status.DONE)
        notes = self._memory.new_notes(decision)
        if decision.asks or notes:
            self._moved_at = view.now
        copies = copies_in_progress(view, decision.holds)
        if any(r.bytes_per_second for c in copies for r in c.replicas):
            self._moved_at = view.now
        self._ports.report(
            Progress(
                at_seconds=view.now - self._began,
                total=len(self._plan.moves),
                done=done,
                stopped=len(owned) - len(self._ledger.open) - done,
                running=len(self._ledger.open),
                waiting=len(self._plan.moves) - len(owned),
                copies=copies,
                holds=decision.holds,
                admission=decision.admission,
                notes=notes,
            )
        )

    def _outcome(self, view: TickInput, decision: Decision) -> Outcome | None:
        restored = decision.throttles.quiet
        if self._stopping is not None:
            late = view.now - self._stopping[0] >= self._settings.patience_seconds
            return self._interrupted(self._stopping[1]) if restored or late else None
        if self._ledger.open or self._memory.admitted or len(self._memory.waiting):
            return None
        if lingering(view):
            return None
        if not self._ledger.entries and not self._ledger.rates:
            return self._closed()
        if self._ended_at is None or self._memory.configs_may_arrive():
            self._ended_at = view.now
        if view.now - self._ended_at < self._settings.patience_seconds:
            return None
        return self._left_open()

    def _closed(self) -> Outcome | None:
        results = self._results()
        text = summary(results)
        try:
            self._append(closing(self._ledger, ApplicationStatus.CLOSED, text))
        except (BadFile, ClusterUnreachable) as error:
            return self._unwritable(self._ports.clock.now(), error)
        code = exit_code_of(results, ())
        return Outcome(code, text, results, notes=tuple(self._memory.notes))

    def _append(self, records: tuple[Record, ...]) -> None:
        self._ports.journal.append(records)
        self._ledger = self._ledger.after(records)

    def _results(self) -> tuple[PartitionResult, ...]:
        order = [m.partition for m in self._plan.moves]
        return results_of(order, self._ledger, self._memory.holds)

    def _leftovers(self) -> tuple[str, ...]:
        """What of ours still stands and is not needed for what runs."""
        dead = leftovers(self._ledger.rates, self._answering)
        return (*dead, *refusals_in_words(self._memory.refused_configs))

    def _left_open(self) -> Outcome:
        results, left = self._results(), self._leftovers()
        named = "\n".join(left) or "throttles of ours are still in place; " + AGAIN
        text = f"{summary(results)}; the application stays open:\n{named}"
        return Outcome(Exit.HELD, text, results, left, tuple(self._memory.notes))

    def _interrupted(self, why: str) -> Outcome:
        results, left = self._results(), self._leftovers()
        running = [str(n) for n, own in sorted(self._ledger.open.items()) if expanding(own)]
        lines = [f"{why}: {summary(results)}"]
        if running:
            throttled = " under their throttle" if self._plan.throttle is not None else ""
            lines.append(f"Copies that run go on by themselves{throttled}: {', '.join(running)}.")
        lines += left
        lines.append(AGAIN)
        return self._left(Exit.INTERRUPTED, "\n".join(lines), results, left)

    def _unreachable(self, now: float, error: ClusterUnreachable) -> Outcome | None:
        silent = now - self._seen_at
        if silent < self._settings.patience_seconds and self._stopping is None:
            return None
        results = self._results()
        text = (
            f"the cluster has not answered for {silent:.0f} s: {error}\n{summary(results)}\n{AGAIN}"
        )
        code = Exit.ERROR if self._stopping is None else Exit.INTERRUPTED
        return self._left(code, text, results, ())

    def _unwritable(self, now: float, error: BadFile | ClusterUnreachable) -> Outcome | None:
        since = now if self._written_at is None else self._written_at
        silent = now - since
        if silent < self._settings.journal_patience_seconds and self._stopping is None:
            return None
        results = self._results()
        text = (
            f"the journal could not be written for {silent:.0f} s, so nothing more was asked: {error}\n"
            f"{summary(results)}\n{AGAIN}"
        )
        code = Exit.ERROR if self._stopping is None else Exit.INTERRUPTED
        return self._left(code, text, results, ())

    def _left(
        self,
        code: Exit,
        text: str,
        results: tuple[PartitionResult, ...],
        left: tuple[str, ...],
    ) -> Outcome:
        return Outcome(code, text, results, left, tuple(self._memory.notes), interrupted=True)
