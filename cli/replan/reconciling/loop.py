"""The shell of a loop: reads, asks `decide_loop`, applies, remembers, says what it does, rests.

It holds no rule of its own. Every failure that replan explains becomes a state with its reason, and the next round
begins as if none had been.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.abandoning import RunningCopies, abandon_application, clear_throttles
from replan.applying.journal.ledger import JournalState, Ledger
from replan.applying.journal.protocol import SteeredJournal
from replan.applying.journal.records import Application, Verb, moment_of
from replan.applying.run.loop import apply_plan
from replan.applying.run.opening import open_plan
from replan.applying.settings import Settings
from replan.applying.views.by_journal import as_planned_from
from replan.applying.views.outcome import Ending, Outcome, Result
from replan.errors import (
    BadFile,
    BadPlacement,
    BadUsage,
    ClusterRefused,
    ClusterUnreachable,
    Exit,
    Held,
    ReplanError,
    UnsafePlan,
    WrongCluster,
)
from replan.model.declared.reconcile import REST_SECONDS, DeviationKind
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.findings.drift_classes import DriftRule
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.reconciling.decision import (
    Act,
    Deviation,
    Holds,
    Judged,
    Rest,
    decide_loop,
    down,
    holding_state,
    judged_by_policy,
)
from replan.reconciling.deviations import (
    Looked,
    deviations,
    differing_lists,
    facts_of,
    for_balance,
    look_at_cluster,
    replaced,
)
from replan.reconciling.guard import BY_LOOP, Guard
from replan.reconciling.history import Differs, History, remembered
from replan.reconciling.memory import Begun, Memory
from replan.reconciling.ports import LoopPorts, Read
from replan.reconciling.rounds import (
    Refusals,
    first_part,
    proposable,
    proposal_of,
    unhealthy,
)
from replan.reconciling.status import (
    LISTED_DEVIATIONS,
    DryRun,
    Failed,
    ListedDeviation,
    LockHeld,
    LoopHolds,
    LoopReason,
    LoopState,
    LoopStatus,
    Next,
    NextStage,
    NoWindow,
    Observer,
    OtherApplication,
    Refused,
    Round,
    RoundResult,
    RoundsFail,
    Running,
    SomebodyPaused,
    Tally,
    TooEarly,
    WindowClosed,
)
from replan.reconciling.steering import STUCK_SECONDS, Steered
from replan.reconciling.store import (
    LeaseKeeper,
    history_records,
    load,
    loop_obeyed_records,
    memory_records,
    waiting_commands,
)
from replan.reconciling.windows import opens_at
from replan.wording import duration

LONGEST_REST_SECONDS = 86_400.0
"""Of a rest in which nothing happens: dates pass by themselves."""
SLICE_SECONDS = 2.0
"""How long a rest goes on before the lease is renewed, and a signal heeded."""


class LoopSettings(Struct, frozen=True, kw_only=True):
    """How a loop runs; times in seconds."""

    owner: str
    every: float = REST_SECONDS
    dry_run: bool = False
    proposes: bool = False
    """Whether somebody wants to hear what it proposes; planning that takes as long as any plan."""
    leased: bool = True
    """Whether another loop may work on the same cluster."""
    slice_seconds: float = SLICE_SECONDS
    applying: Settings = field(default_factory=Settings)


_Opened = TypeVar("_Opened")


def when_reachable(
    connect: Callable[[], _Opened],
    observer: Observer,
    settings: LoopSettings,
    wall: Callable[[], float],
    sleep: Callable[[float], None],
) -> _Opened:
    """What `connect` opens, once the cluster answers: until then the loop is unreachable, and tries it each round."""
    status = _starting(settings, wall())
    while True:
        try:
            return connect()
        except ClusterUnreachable as problem:
            reasons = (Failed(str(problem), status.since),)
            status = replace(status, at=wall(), state=LoopState.UNREACHABLE, reasons=reasons)
            observer.changed(status)
            sleep(settings.every)


def _starting(settings: LoopSettings, now: float) -> LoopStatus:
    """Before anything is known."""
    return LoopStatus(
        at=now,
        instance=settings.owner,
        state=LoopState.STARTING,
        since=now,
        dry_run=settings.dry_run,
        every_seconds=settings.every,
    )


class _Said(Struct):
    """What a round came to, for the status."""

    state: LoopState
    reasons: tuple[LoopReason, ...] = ()
    looked: Looked | None = None
    judged: tuple[Judged, ...] = ()
    """What differs."""
    refusals: Refusals | None = None
    until: float | None = None


_ProposedFor = tuple[str, frozenset[tuple[object, ...]]]
"""What a proposal was made for: the digest of the placement, and of each deviation what a proposal goes by."""


class Loop:
    """One process's loop."""

    def __init__(self, ports: LoopPorts, settings: LoopSettings) -> None:
        self.ports, self._settings, self.owner = ports, settings, settings.owner
        self._memory, self._history = Memory(), History()
        self._loaded = False
        moment = moment_of(ports.wall())
        self._lease_clock = ports.lease_clock or ports.clock
        self._lease = LeaseKeeper(ports.store, self._lease_clock, settings.owner, moment)
        self._status = _starting(settings, ports.wall())
        self._failing_since: float | None = None
        self._proposed: _ProposedFor | None = None

    @property
    def status(self) -> LoopStatus:
        """As it was said last."""
        return self._status

    @property
    def lasting_since(self) -> Mapping[str, float]:
        """Since when each deviation lasts, by its key, as of the last look."""
        return self._memory.since

    def run(self) -> None:
        """Round after round, until `stop` says so."""
        while not self.ports.stop():
            if not self.round():
                self._rest()
        if self._lease.held:
            with suppress(ReplanError):
                self._lease.release()
        self._say(_Said(LoopState.ENDED))

    def once(self) -> Exit:
        """One round; after one that applied something, another look says how it stands.

        A lease that may be dead is watched first, as long as it takes to know. A round that has not looked, since its
        own application waits, comes to HELD.
        """
        with suppress(ReplanError):
            while not (self._may_work() or self._lease.alive or self.ports.stop()):
                self._lease_clock.sleep(SLICE_SECONDS)
        if self.round():
            self.round(acts=False)
        code = _CODES[self._status.state]
        refused = any(isinstance(d.why_not, Refused) for d in self._status.deviations)
        if self._lease.held:
            with suppress(ReplanError):
                self._lease.release()
        if code in {Exit.CHANGES, Exit.REFUSED} and self._status.looked_at is None:
            return Exit.HELD
        return Exit.REFUSED if code is Exit.CHANGES and refused else code

    def round(self, *, acts: bool = True) -> bool:
        """One round; whether it applied something, so that the next one follows at once."""
        try:
            return self._round(acts=acts)
        except (BadPlacement, BadUsage, WrongCluster) as error:
            self._fails(LoopState.BROKEN_PLACEMENT, error)
        except Held as error:
            self._say(_Said(LoopState.HELD_BY_ANOTHER, (LockHeld(str(error)),)))
        except (ClusterUnreachable, ClusterRefused, BadFile) as error:
            self._fails(LoopState.UNREACHABLE, error)
        except ReplanError as error:
            self._fails(LoopState.BROKEN_PLACEMENT, error)
        return False

    def _fails(self, state: LoopState, error: ReplanError) -> None:
        now = self.ports.wall()
        if self._failing_since is None or self._status.state is not state:
            self._failing_since = now
        self._say(_Said(state, (Failed(str(error), self._failing_since),)))

    def _round(self, *, acts: bool) -> bool:
        ports = self.ports
        if not self._may_work():
            return False
        if not self._loaded:
            self._memory, self._history = load(ports.store.read())
            self._loaded = True
        self._obey()
        self._status = replace(self._status, rounds_begun=self._status.rounds_begun + 1)
        try:
            read = ports.read()
        except BadFile as error:
            self._fails(LoopState.BROKEN_PLACEMENT, error)
            return False
        snapshot = ports.reader.observe()
        journal = ports.journal(snapshot.cluster_id)
        now = ports.wall()
        self._status = replace(
            self._status,
            cluster_id=snapshot.cluster_id,
            cluster_name=read.placement.cluster_name or "",
            source=read.source,
            looked_at=now if self._status.looked_at is not None else None,
        )
        opened = journal.ledger.application
        if journal.elsewhere:
            self._say(_Said(LoopState.HELD_BY_ANOTHER, (LockHeld(journal.elsewhere),)))
            return False
        if opened is not None:
            return self._with_open(opened, journal, read, acts=acts)
        self._forget_begun(journal.ledger)
        if self._memory.owes and acts and not self._settings.dry_run:
            self._put_back_owed(journal, snapshot)
        looked = look_at_cluster(
            read.placement, as_planned_from(snapshot, journal.ledger), read.rates
        )
        self._failing_since = None
        return self._decided(looked, read, journal.ledger, now, acts=acts)

    def _decided(
        self, looked: Looked, read: Read, ledger: Ledger, now: float, *, acts: bool
    ) -> bool:
        self._status = replace(self._status, looked_at=now)  # not before: nobody knew what differs
        policy, differing = read.placement.reconcile, self._remember(looked, read, now)
        decision = decide_loop(policy, differing, self._memory, facts_of(looked.snapshot), now)
        judged = judged_by_policy(policy, differing, self._memory, now)
        if self._settings.proposes:
            self._propose(looked, judged, read, now)
        said = _Said(LoopState.AT_REST, looked=looked, judged=judged)
        match decision:
            case Act(due) if acts:
                return self._act(due, read, ledger, said)
            case Act():
                said.state = LoopState.DIFFERS
            case Holds(reasons, until):
                said.reasons, said.until = reasons, until
                said.state = holding_state(reasons)
            case Rest(until):
                said.state, said.until = _resting(said.judged), until
                if said.state is LoopState.OUTSIDE_WINDOW:
                    said.reasons = (NoWindow(opens_at(policy.windows.open, now)),)
        self._say(said)
        return False

    def _propose(self, looked: Looked, judged: Sequence[Judged], read: Read, now: float) -> None:
        """Propose what policy does not allow, where that is something else than before."""
        wanted = proposable(read.placement, judged, now)
        changes = frozenset((f.key, f.declared, f.observed, f.partitions) for f in wanted)
        made_for = (read.placement.digest, changes)
        if made_for == self._proposed:
            return
        self._proposed = made_for
        with suppress(UnsafePlan, BadPlacement):  # of which `plan` says more, to whoever asks it
            proposal = proposal_of(read.placement, looked, wanted, read.source.commit)
            self.ports.observer.proposed(proposal)

    def _may_work(self) -> bool:
        """Whether this is the loop that works on the cluster."""
        if not self._settings.leased or self._settings.dry_run:
            return True
        waits = self._lease.keep(self.ports.wall())
        if waits is None:
            return True
        self._loaded = False  # the other one goes on remembering
        self._say(_Said(LoopState.WAITING_FOR_LEASE, (waits,)))
        return False

    def _obey(self) -> None:
        """Do what people ask of the loop; what they ask of its application, that one does."""
        settings, store = self._settings, self.ports.store
        if settings.dry_run or (settings.leased and not self._lease.waiting):
            return
        before = store.read()
        commands = waiting_commands(before)
        memory = self._memory
        for command in commands:
            memory = memory.obeyed(command, self.ports.wall())
        if commands:
            self._keep(memory)
            store.write(loop_obeyed_records(commands, settings.owner, before))

    def _remember(self, looked: Looked, read: Read, now: float) -> tuple[Deviation, ...]:
        """What differs, and since when; and what is as it is declared, for later."""
        rules, bad = {d.rule for d in looked.drift.differences}, unhealthy(looked.snapshot)
        differing = deviations(looked, self._history)
        differs = Differs(
            differing_lists(looked),
            for_balance(looked.comparison),
            standing=DriftRule.THROTTLE_DIFFERS in rules,
            log_dirs=DriftRule.LOG_DIR_DRAINED in rules,
        )
        history = remembered(self._history, looked.comparison, differs)
        memory = self._memory.healed({str(name) for name in bad})
        memory = memory.with_since({f.key: now for f in differing})
        much = any(down(read.placement.reconcile.hold, facts_of(looked.snapshot)))
        memory = memory.with_hold(now, holds=much)
        if history is not self._history:
            had_history = self._history.is_known
            self._history = history
            if (
                not had_history
            ):  # it begins now: what differs is not known to have been changed by anybody
                differing = deviations(looked, history)
                memory = memory.with_since({f.key: now for f in differing})
            self._keep_history()
        self._keep(memory)
        return differing

    def _keep(self, memory: Memory) -> None:
        if memory is not self._memory:
            self._memory = memory
            if not self._settings.dry_run:
                before = self.ports.store.read()
                self.ports.store.write(memory_records(memory, before))

    def _keep_history(self) -> None:
        if not self._settings.dry_run:
            before = self.ports.store.read()
            self.ports.store.write(history_records(self._history, before))

    def _keep_arrived(
        self, snapshot: Snapshot, targets: Mapping[TopicPartition, tuple[int, ...]]
    ) -> None:
        """Remember as declared what stands where the plan of a round wanted it."""
        state = {name: snapshot.partition(name) for name in targets}
        there = {n: t for n, t in targets.items() if (p := state[n]) and tuple(p.replicas) == t}
        history = self._history.after(there)
        if history is not self._history:
            self._history = history
            self._keep_history()

    def _forget_begun(self, ledger: Ledger) -> None:
        """A round whose application is not open: it was closed by another process, or never opened."""
        begun = self._memory.begun
        if begun is not None:
            opened = ledger.applications(begun.plan_digest)
            for last in [a for a in opened if a.id not in begun.earlier][-1:]:
                self._note_cancel(begun, last.cancelled_by)
            self._keep(replace(self._memory, begun=None))

    def _note_cancel(self, begun: Begun, cancelled_by: str) -> None:
        """Take in that what the loop applied was cancelled while it was not at work."""
        if cancelled_by and not begun.cancelled:
            self.remember_cancel("" if cancelled_by.startswith(BY_LOOP) else cancelled_by)

    def _with_open(
        self, opened: Application, journal: JournalState, read: Read, *, acts: bool
    ) -> bool:
        """Go on with an application that is this loop's own; another's is its own."""
        begun = self._memory.begun
        own = begun is not None and begun.opened(opened)
        other = OtherApplication(opened.id, opened.owner, journal.holder is not None)
        if not own or begun is None or self._settings.dry_run:
            self._say(_Said(LoopState.HELD_BY_ANOTHER, (other,)))
            return False
        if opened.paused_by and not opened.paused_by.startswith(BY_LOOP):
            self._say(_Said(LoopState.PAUSED, (SomebodyPaused(opened.paused_by, self._since()),)))
            return False
        plan = open_plan(journal.ledger)
        if plan is None or not acts:
            self._say(_Said(LoopState.HELD_BY_ANOTHER, (other,)))
            return False
        first = journal.ledger.kept_application(opened.takes_back) or opened
        self._note_cancel(begun, first.cancelled_by)
        if self._memory.backs_off(self.ports.wall()):
            return self._backs_off(_Said(LoopState.BACKING_OFF))
        return self._apply(plan, begun, read, opened)

    def _since(self) -> float:
        return self._status.since if self._status.state is LoopState.PAUSED else self.ports.wall()

    def _act(self, due: tuple[Deviation, ...], read: Read, ledger: Ledger, said: _Said) -> bool:
        if said.looked is None:
            return False
        try:
            due, plan, said.refusals = first_part(read.placement, said.looked, due)
        except (UnsafePlan, BadPlacement) as error:
            return self._failed_round(str(error), said)
        plan = replace(plan, placement_commit=read.source.commit)
        if plan.changes:
            self.ports.observer.planned(plan, said.looked.snapshot)
        if not plan.changes or self._settings.dry_run:
            said.state = LoopState.DIFFERS
            self._say(said)
            return False
        now = self.ports.wall()
        begun = Begun(
            number=self._memory.number + 1,
            began_at=now,
            kinds=tuple(k for k in DeviationKind if any(f.kind is k for f in due)),
            plan_digest=digest(plan),
            unhealthy=tuple(sorted(map(str, unhealthy(said.looked.snapshot)))),
            moves=len(plan.moves) + len(plan.log_moves),
            bytes=sum(m.copies_bytes for m in plan.moves) + sum(m.bytes for m in plan.log_moves),
            placement_digest=read.placement.digest,
            commit=read.source.commit,
            replaced=tuple(map(int, replaced(due))),
            earlier=tuple(a.id for a in ledger.applications(digest(plan))),
        )
        self._keep(self._memory.began(begun))
        said.state = LoopState.ACTING
        self._say(said)
        return self._apply(plan, begun, read)

    def _failed_round(self, text: str, said: _Said) -> bool:
        self._keep(self._memory.failed(text, self.ports.wall()))
        return self._backs_off(said)

    def _backs_off(self, said: _Said) -> bool:
        memory = self._memory
        said.state = LoopState.BACKING_OFF
        said.reasons = (RoundsFail(memory.failures, memory.failure, memory.retry_at),)
        said.until = memory.retry_at
        self._say(said)
        return False

    def _apply(
        self, plan: Plan, begun: Begun, read: Read, opened: Application | None = None
    ) -> bool:
        """Perform a plan as `apply` does, or go on with what is open; whether it came to an end."""
        ports, settings, resumes = self.ports, self._settings, opened is not None
        down_before = facts_of(ports.reader.observe()).down if resumes else ()
        steered = Steered(
            begun.kinds,
            tuple(b for b in begun.replaced if not resumes or b in down_before),
            cancelled=opened is not None and opened.is_cancelled,
        )
        try:
            with ports.own(plan, self.lease_is_kept) as journal:
                guard = Guard(self, journal, read.placement, steered, begun, plan)
                outcome = apply_plan(
                    plan,
                    ports.reader,
                    ports.writer,
                    journal,
                    ports.pace or ports.clock,
                    plan_digest=digest(plan),
                    settings=replace(settings.applying, owner=settings.owner),
                    report=guard.report,
                    stop=guard.stop,
                    idle=ports.idle,
                    arrived=guard.arrived,
                    verb=Verb.RESUME if resumes else None,
                    silent_since=journal.silent_since,
                )
                outcome = self._given_up(outcome, journal, guard)
        except Held:
            self._status = replace(self._status, running=None)
            raise
        except ReplanError as error:
            self._status = replace(self._status, running=None)
            return self._failed_round(str(error), _Said(LoopState.BACKING_OFF))
        self._status = replace(self._status, running=None)
        self._ended(begun, outcome, guard)
        return not outcome.interrupted

    def _given_up(self, outcome: Outcome, journal: SteeredJournal, guard: Guard) -> Outcome:
        """End an application whose open work waits for a broker that is down: everything else would wait with it.

        Its running copies are cancelled, lists stay as they are, and what it set on that broker is written down until
        it serves again.
        """
        stays = outcome.ending is Ending.STAYS_OPEN
        if not stays and not (outcome.interrupted and guard.steered.given_up):
            return outcome
        if not stays:
            guard.waits = _waiting_text(outcome)
        ports, settings = self.ports, self._settings
        ended = abandon_application(
            ports.reader,
            ports.writer,
            journal,
            ports.pace or ports.clock,
            settings=replace(settings.applying, owner=settings.owner),
            copies=RunningCopies.CANCELLED,
        )
        if ended.leftovers:
            self._keep(replace(self._memory, owes=True))
        if not stays:
            return ended
        done = all(r.result is Result.DONE for r in outcome.results)
        code = Exit.OK if done else Exit.CHANGES
        return replace(outcome, ending=Ending.COMPLETE, exit_code=code)

    def _put_back_owed(self, state: JournalState, snapshot: Snapshot) -> None:
        """Put back what a round could not, since a broker was down, once that serves again."""
        live = {b.id for b in snapshot.brokers if b.live}
        owed = {broker for broker, _ in state.ledger.rates}
        if state.ledger.throttles and not owed & live:
            return
        if state.ledger.throttles:
            ports, settings = self.ports, self._settings
            racks = {b.id: b.rack for b in snapshot.brokers}
            with ports.own(Plan(snapshot.cluster_id, "", racks, ()), self.lease_is_kept) as journal:
                leftovers = clear_throttles(
                    ports.reader,
                    ports.writer,
                    journal,
                    ports.pace or ports.clock,
                    settings=replace(settings.applying, owner=settings.owner),
                    silent_since=journal.silent_since,
                ).leftovers
            if leftovers:
                return
        self._keep(replace(self._memory, owes=False))

    def _ended(self, begun: Begun, outcome: Outcome, guard: Guard) -> None:
        now = self.ports.wall()
        result = _result(outcome)
        if result is RoundResult.LEFT:  # it is open, and known as this loop's own
            if outcome.ending is Ending.GAVE_UP:
                self._failed_round(_waiting_text(outcome), _Said(LoopState.BACKING_OFF))
            return
        done = Round(
            number=begun.number,
            began_at=begun.began_at,
            ended_at=now,
            result=result,
            kinds=begun.kinds,
            moves=begun.moves,
            bytes=begun.bytes if outcome.performed is None else outcome.performed.copied_bytes,
            plan_digest=begun.plan_digest,
            application=guard.application,
            placement_digest=begun.placement_digest,
            commit=begun.commit,
            text=_ending_text(outcome),
        )
        moved = {str(r.partition): now for r in outcome.partitions if r.result is Result.DONE}
        moved |= {str(r.partition): now for r in outcome.log_moves if r.result is Result.DONE}
        snapshot = self.ports.reader.observe()
        self._keep_arrived(snapshot, guard.targets)
        if DeviationKind.CHANGED_ELSEWHERE not in begun.kinds:
            self._keep_arrived(snapshot, guard.half_way(snapshot))
        bad = {str(name) for name in unhealthy(snapshot)}
        under = bad & {*guard.facts.under} if guard.steered.cancelled else set[str]()
        if set(facts_of(snapshot).down) - set(guard.down):
            bad &= {*begun.unhealthy}  # a broker died meanwhile: that is not the round's doing
        failure = self._failure(done, guard, moved)
        memory = self._memory.ended(done, moved, bad, under, failure)
        self._keep(memory.down_since(guard.down_since))

    def _failure(self, done: Round, guard: Guard, moved: Collection[str]) -> str:
        """How a round failed, so that the next one comes later; what waits for brokers that are down has not."""
        if done.result is RoundResult.FAILED:
            return done.text
        if guard.waits_for_down:
            return ""
        if guard.waits:
            return guard.waits
        if guard.steered.stuck:
            return f"nothing had moved for {duration(STUCK_SECONDS)}; {done.text}"
        before = self._memory.rounds[:1]
        again = before and {done.result, before[0].result} == {RoundResult.CANCELLED}
        cancelled = f"two rounds were cancelled, one after the other; {done.text}"
        return cancelled if again and not moved else ""

    def _rest(self) -> None:
        """Until the next round: `every`, or earlier where something is due before."""
        ports, settings = self.ports, self._settings
        began, until = ports.clock.now(), self._rest_seconds()
        if ports.rest is not None and self._status.state in _STILL:
            due = self._status.next.acts_at if self._status.next is not None else None
            longest = LONGEST_REST_SECONDS if due is None else due - ports.wall()
            ports.rest(until, max(until, min(longest, LONGEST_REST_SECONDS)))
            return
        while not ports.stop() and ports.clock.now() - began < until:
            seconds_left = until - (ports.clock.now() - began)
            ports.clock.sleep(min(settings.slice_seconds, seconds_left))
            if settings.leased and not settings.dry_run:
                held = self._lease.held
                try:
                    kept = self._lease.keep(ports.wall()) is None
                except BadFile as error:  # the journal was deleted: nobody says so twice
                    self._fails(LoopState.UNREACHABLE, error)
                except ReplanError:  # the next round says so
                    continue
                else:
                    if kept is not held or (kept and self._lease.waiting):
                        return

    def _rest_seconds(self) -> float:
        at = self._status.next
        soon = None if at is None or at.acts_at is None else at.acts_at - self.ports.wall()
        every = self._settings.every
        return every if soon is None else max(min(1.0, every), min(every, soon))

    def _say(self, said: _Said) -> None:
        """Tell the observer how the loop stands."""
        now, before = self.ports.wall(), self._status
        listed = [self._deviation(j, said) for j in said.judged]
        reaches = said.looked is not None
        since = before.since if before.state is said.state else now
        self._status = replace(
            before,
            at=now,
            state=said.state,
            since=since,
            reasons=said.reasons,
            differs=_tallies(said.judged) if reaches else before.differs,
            deviations=tuple(listed[:LISTED_DEVIATIONS])
            if reaches
            else _known_from_before(before, said, now),
            rounds=self._memory.rounds,
            next=self._next(said, now),
        )
        self.ports.observer.changed(self._status)

    def _next(self, said: _Said, now: float) -> Next:
        coming = [j for j in said.judged if j.acts_at is not None]
        stuck = said.state in _NOT_BY_DUE
        at = said.until if stuck else min((j.acts_at for j in coming if j.acts_at), default=None)
        first = [j for j in coming if at is not None and j.acts_at is not None and j.acts_at <= at]
        kinds = tuple(k for k in DeviationKind if any(j.deviation.kind is k for j in first))
        rest = self._settings.every if at is None else min(self._settings.every, max(0, at - now))
        return Next(now + rest, at, kinds, len(first))

    def _deviation(self, one: Judged, said: _Said) -> ListedDeviation:
        deviation, why = one.deviation, one.why_not
        if why is None and said.refusals is not None:
            why = said.refusals.why(deviation)
        if why is None and one.why_not is None:
            if self._settings.dry_run:
                why = DryRun()
            elif said.reasons:
                why = LoopHolds()
            elif said.state is LoopState.DIFFERS:
                why = NextStage()
        return ListedDeviation(
            deviation.kind,
            deviation.subject,
            one.since,
            one.due_at,
            why,
            deviation.declared,
            deviation.observed,
            deviation.drift,
        )

    def remember_cancel(self, by: str = "") -> None:
        """What it applies is cancelled; a person who did that pauses the loop, until somebody resumes it."""
        begun, paused = self._memory.begun, SomebodyPaused(by, self.ports.wall())
        if begun is not None:
            memory = replace(self._memory, begun=replace(begun, cancelled=True))
            with suppress(ReplanError):  # whoever goes on reads it in the journal
                self._keep(replace(memory, paused=paused) if by else memory)

    def broker_down(self, broker: int) -> float | None:
        """Since when a broker counts as down whose replicas by rule may go to others."""
        return self._memory.broker_down(broker)

    def lease_is_kept(self) -> bool:
        """Whether this loop still is the one that works; asked while it applies."""
        if not self._settings.leased:
            return True
        try:
            return self._lease.keep(self.ports.wall()) is None
        except ReplanError:
            return True  # the journal that the applier writes says whether it may go on

    def shows(self, running: Running, reasons: tuple[LoopReason, ...], *, paused: bool) -> None:
        """Tell how far what is applied is."""
        state = LoopState.PAUSED if paused else LoopState.ACTING
        now = self.ports.wall()
        since = self._status.since if self._status.state is state else now
        self._status = replace(
            self._status, at=now, state=state, since=since, reasons=reasons, running=running
        )
        self.ports.observer.changed(self._status)


_STILL = frozenset(
    {
        LoopState.AT_REST,
        LoopState.DIFFERS,
        LoopState.WAITING,
        LoopState.OUTSIDE_WINDOW,
        LoopState.HOLDING,
    }
)
_NOT_BY_DUE = frozenset(
    {LoopState.DIFFERS, LoopState.HOLDING, LoopState.PAUSED, LoopState.BACKING_OFF}
)
"""In which it does not act when the next deviation is due, but when what keeps it from that is over."""
_CODES = {
    LoopState.AT_REST: Exit.OK,
    LoopState.DIFFERS: Exit.CHANGES,
    LoopState.WAITING: Exit.CHANGES,
    LoopState.OUTSIDE_WINDOW: Exit.CHANGES,
    LoopState.ACTING: Exit.CHANGES,
    LoopState.HOLDING: Exit.REFUSED,
    LoopState.BACKING_OFF: Exit.REFUSED,
    LoopState.PAUSED: Exit.REFUSED,
    LoopState.HELD_BY_ANOTHER: Exit.HELD,
    LoopState.WAITING_FOR_LEASE: Exit.HELD,
    LoopState.UNREACHABLE: Exit.ERROR,
    LoopState.BROKEN_PLACEMENT: Exit.ERROR,
    LoopState.STARTING: Exit.ERROR,
    LoopState.ENDED: Exit.OK,
}


def _known_from_before(status: LoopStatus, said: _Said, at: float) -> tuple[ListedDeviation, ...]:
    """Where nobody has looked again; what was to be put right waits for the reason of the loop, if it has one."""
    if not said.reasons:
        return status.deviations
    return tuple(
        replace(one, why_not=LoopHolds()) if _waited(one, at) else one for one in status.deviations
    )


def _waited(one: ListedDeviation, at: float) -> bool:
    """Whether nothing of its own is in the way of a deviation at a moment."""
    match one.why_not:
        case TooEarly():
            return one.due_at is not None and one.due_at <= at
        case WindowClosed(opens_at):
            return opens_at is not None and opens_at <= at
        case why:
            return why is None


def _resting(judged: Sequence[Judged]) -> LoopState:
    if not judged:
        return LoopState.AT_REST
    coming = [j for j in judged if j.acts_at is not None]
    if not coming:
        return LoopState.DIFFERS
    late = any(isinstance(j.why_not, WindowClosed) for j in coming)
    return LoopState.OUTSIDE_WINDOW if late else LoopState.WAITING


def _tallies(judged: Sequence[Judged]) -> tuple[Tally, ...]:
    kinds: dict[DeviationKind | None, list[Judged]] = {}
    for one in judged:
        kinds.setdefault(one.deviation.kind, []).append(one)
    return tuple(
        Tally(
            kind,
            len(of),
            min(j.since for j in of),
            min((j.due_at for j in of if j.due_at is not None), default=None),
        )
        for kind, of in kinds.items()
    )


def _result(outcome: Outcome) -> RoundResult:
    if outcome.ending in {Ending.UNREACHABLE, Ending.REFUSED, Ending.NOT_WRITTEN}:
        return RoundResult.LEFT
    if outcome.interrupted or outcome.ending in {Ending.STAYS_OPEN, Ending.LEFT_TO_ANOTHER}:
        return RoundResult.LEFT
    if outcome.cancelled or outcome.abandoned:
        return RoundResult.CANCELLED
    if outcome.exit_code is Exit.OK:
        return RoundResult.DONE
    return RoundResult.PARTLY if outcome.exit_code is not Exit.ERROR else RoundResult.FAILED


def _ending_text(outcome: Outcome) -> str:
    done = outcome.count(Result.DONE)
    parts = [f"{done} of {len(outcome.partitions)} partitions done"]
    if outcome.log_moves:
        there = sum(r.result is Result.DONE for r in outcome.log_moves)
        moved = f"{there} of {len(outcome.log_moves)} replicas in their directories"
        parts = [*(parts if outcome.partitions else []), moved]
        unmoved = [r for r in outcome.log_moves if r.result is not Result.DONE]
        parts += [f"{r.subject}: {r.message or r.hold}" for r in unmoved[:1] if r.message or r.hold]
    return "; ".join([*parts, *([outcome.error] if outcome.error else [])])


def _waiting_text(outcome: Outcome) -> str:
    """What an application waits for that has not moved for long."""
    waits = [f"{r.partition}: {r.hold}" for r in outcome.partitions if r.hold is not None]
    more = f" (and {len(waits) - 1} more)" if len(waits) > 1 else ""
    return f"its application does not move. {waits[0]}{more}" if waits else _ending_text(outcome)
