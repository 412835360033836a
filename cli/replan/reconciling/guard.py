"""Watches over one application of a loop, from within its run: what is down meanwhile, and whether anything moves.

What follows from that is in `steering`; what it asks for are commands, as a person's.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from msgspec.structs import replace

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import SteeredJournal
from replan.applying.journal.records import Command, Verb
from replan.applying.reasons.holds import Paused
from replan.applying.views.progress import Progress
from replan.errors import ReplanError
from replan.model.declared.placement import Placement
from replan.model.declared.reconcile import DeviationKind
from replan.model.names import BrokerId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.reconciling.decision import HoldFacts, down
from replan.reconciling.deviations import facts_of, needs
from replan.reconciling.memory import Begun
from replan.reconciling.ports import LoopPorts
from replan.reconciling.rounds import heals, unhealthy
from replan.reconciling.status import (
    LISTED_DEVIATIONS,
    CopyingReplica,
    LoopReason,
    Running,
    SomebodyPaused,
)
from replan.reconciling.steering import Steered, steer

GUARD_SECONDS = 15.0
"""How often it is looked at what is down while something is applied."""
BY_LOOP = "reconcile: "
"""What the sender of a loop's own commands begins with."""


class Guarded(Protocol):
    """What a guard asks of its loop."""

    ports: LoopPorts
    owner: str

    def remember_cancel(self, by: str = "") -> None:
        """What it applies is cancelled, by the loop itself where nobody is named."""
        ...

    def broker_down(self, broker: int) -> float | None:
        """Since when a broker counts as down whose replicas by rule may go to others."""
        ...

    def lease_is_kept(self) -> bool:
        """Whether this loop still is the one that works."""
        ...

    def shows(self, running: Running, reasons: tuple[LoopReason, ...], *, paused: bool) -> None:
        """Tell how far what is applied is."""
        ...


class Guard:
    """Watches over one application of the loop, from within its run."""

    def __init__(
        self,
        loop: Guarded,
        journal: SteeredJournal,
        placement: Placement,
        steered: Steered,
        begun: Begun,
        plan: Plan,
    ) -> None:
        self._loop, self._journal, self._placement = loop, journal, placement
        self.steered, self._begun = steered, begun
        self.application = ""
        self.waits = ""
        """For what its application waited, if it was given up."""
        self.waits_for_down = False
        """Whether all that it had begun, when nothing moved any more, needed brokers that were down."""
        self.down: tuple[int, ...] = ()
        self._healed = {move.partition: move for move in plan.moves}
        self._takes_back = digest(plan) != begun.plan_digest
        moves = () if self._takes_back else plan.moves
        self.targets = {move.partition: tuple(map(int, move.target)) for move in moves}
        self.down_since: dict[int, float] = {}
        self._holds = False
        self._passed_over: frozenset[int] = frozenset()
        self.facts = self._look_facts()
        self.down = self.facts.down
        self._count_those_down()
        self._looked_at = loop.ports.clock.now()
        self._progress: Progress | None = None
        self._sent: list[Command] = []
        self._number = 0
        self._lost = self._paused_by_another = False
        self._moved: tuple[float, tuple[int, ...]] = (self._looked_at, ())
        self._measured_at = self._looked_at

    def stop(self) -> bool:
        """Whether the process is to leave: it was asked to, another loop works, or nothing moves any more."""
        return self._loop.ports.stop() or self._lost or self.steered.given_up

    def _needs_down(self) -> bool:
        """Whether each partition that has left its list, and is not where it was to be, needs a broker that is down."""
        snapshot = self._loop.ports.reader.observe()
        gone, waits = facts_of(snapshot).down, list[bool]()
        for name, target in self.targets.items():
            state, wanted = snapshot.partition(name), {*target}
            if state is None or {*state.replicas} == {*self._healed[name].original}:
                continue
            if (
                {*state.replicas} != wanted
                or state.running is not None
                or not wanted <= {*state.isr}
            ):
                waits.append(needs(target, gone) is not None)
        return bool(waits) and all(waits)

    def half_way(self, snapshot: Snapshot) -> dict[TopicPartition, tuple[int, ...]]:
        """What stands neither where its move began nor where it was to end: the loop left it so, and nobody else.

        Where its plan takes another one back, that one had left it where this one began.
        """
        lists = {name: snapshot.partition(name) for name in self._healed}
        return {
            name: tuple(map(int, state.replicas))
            for name, state in lists.items()
            if state is not None and self._is_half_way(self._healed[name], {*state.replicas})
        }

    def _is_half_way(self, move: Move, now: set[BrokerId]) -> bool:
        original, target = {*move.original}, {*move.target}
        stood = now == original and not self._takes_back
        return now != target and not stood and now <= original | target

    def arrived(self) -> Sequence[Command]:
        """What others have sent, and what the loop itself asks for."""
        others = list(self._journal.arrived())
        self._note_application()
        for command in others:
            if command.verb is Verb.CANCEL and command.application == self.application:
                self._loop.remember_cancel(command.sender or "somebody")
        answered = (
            {r.key for r in self._journal.read() if isinstance(r, Command) and r.obeyed_by}
            if self._sent
            else set()
        )
        self._sent = [c for c in self._sent if c.key not in answered]
        if self._progress is not None and self.application and not self._sent:
            self._look()
            now = self._loop.ports.wall()
            verb, self.steered = steer(
                self._placement.reconcile,
                self.facts,
                self._progress,
                self.steered,
                now,
                self._still(self._progress),
            )
            if verb is Verb.CANCEL and self.steered.stuck:
                with suppress(ReplanError):
                    self.waits_for_down = self._needs_down()
            if verb is Verb.CANCEL:
                self._moved = (
                    self._loop.ports.clock.now(),
                    self._moved[1],
                )  # the way back has its time
                self._loop.remember_cancel()
            if verb is not None:
                self._number += 1
                sender = BY_LOOP + self._loop.owner
                number = f"{int(now * 1e6):016x}-loop{self._number}"
                self._sent.append(Command(self.application, number, verb, sender=sender))
        return [*others, *self._sent]

    def _note_application(self) -> None:
        if not self.application:
            opened = fold(self._journal.read()).application
            self.application = "" if opened is None else opened.id

    def _look(self) -> None:
        ports = self._loop.ports
        if ports.clock.now() - self._looked_at >= GUARD_SECONDS:
            with suppress(ReplanError):
                self.facts = self._look_facts()
            self._looked_at = ports.clock.now()

    def _look_facts(self) -> HoldFacts:
        """What is down, and what came under min ISR that no move of the plan brings back above it."""
        snapshot = self._loop.ports.reader.observe()
        facts, live = facts_of(snapshot), {b.id for b in snapshot.brokers if b.live}
        under = {
            str(name)
            for name in unhealthy(snapshot)
            if name not in self._healed or not heals(self._healed[name], live)
        }
        return replace(
            facts,
            due_to_be_replaced=self._due(facts),
            under=tuple(sorted(under - {*self._begun.unhealthy})),
        )

    def _due(self, facts: HoldFacts) -> tuple[int, ...]:
        """Brokers that have become due to be replaced since the round began."""
        now, policy = self._loop.ports.wall(), self._placement.reconcile
        held, self._holds = self._holds, any(down(policy.hold, facts))
        over = held and not self._holds  # what is still down counts as down from now on
        before = {} if over else self.down_since
        self.down_since = {broker: before.get(broker, now) for broker in facts.down}
        due = {b for b, at in self.down_since.items() if now - at >= self._after}
        return tuple(sorted(due - self._passed_over - {*self._begun.replaced}))

    def _count_those_down(self) -> None:
        """Since when those are down that were when it began; who is due, or not by rule, was passed over for it."""
        now, down_at = self._loop.ports.wall(), {b: self._loop.broker_down(b) for b in self.down}
        self.down_since |= {b: at for b, at in down_at.items() if at is not None}
        over = (b for b, at in down_at.items() if at is None or now - at >= self._after)
        self._passed_over = frozenset(over)
        self.facts = replace(self.facts, due_to_be_replaced=())

    @property
    def _after(self) -> float:
        """After how long a broker that is down is due to be replaced."""
        return self._placement.reconcile.put_right.get(DeviationKind.BROKER_DOWN, math.inf)

    def _still(self, progress: Progress) -> float:
        """For how long nothing has moved, while nobody else has paused it."""
        at, counts = self._loop.ports.clock.now(), self._moved[1]
        if at - self._measured_at >= GUARD_SECONDS:
            self._measured_at = at
            copied = progress.volume().copied_bytes
            counts = (progress.done, progress.stopped, progress.running, copied)
        unknown = any(
            r.copied_bytes is None and r.broker not in self.facts.down
            for copy in progress.copies
            for r in copy.replicas
        )
        if self._paused_by_another or unknown or counts != self._moved[1]:
            self._moved = at, counts
        return at - self._moved[0]

    def report(self, progress: Progress) -> None:
        """Hears of the progress: it goes on to whoever watches, and into the status."""
        self._progress = progress
        self._loop.ports.report(progress)
        self._lost = not self._loop.lease_is_kept()
        paused = isinstance(progress.admission, Paused) and not progress.admission.by.startswith(
            BY_LOOP
        )
        self._paused_by_another = paused
        by = progress.admission.by if isinstance(progress.admission, Paused) else ""
        reasons: tuple[LoopReason, ...] = self.steered.paused
        if paused:
            reasons = (SomebodyPaused(by, self._loop.ports.wall()),)
        self._loop.shows(
            _running(progress, self._begun, self.application, reasons), reasons, paused=paused
        )


def _running(
    progress: Progress, begun: Begun, application: str, reasons: Sequence[LoopReason]
) -> Running:
    volume = progress.volume()
    copies = tuple(
        CopyingReplica(
            c.partition.topic,
            c.partition.partition,
            r.broker,
            r.copied_bytes,
            r.total_bytes,
            r.bytes_per_second,
            r.seconds_left,
        )
        for c in list(progress.copies)[:LISTED_DEVIATIONS]
        for r in c.replicas
    )
    return Running(
        application=application,
        plan_digest=begun.plan_digest,
        began_at=begun.began_at,
        kinds=begun.kinds,
        total=progress.total,
        done=progress.done,
        stopped=progress.stopped,
        running=progress.running,
        waiting=progress.waiting,
        copied_bytes=volume.copied_bytes,
        total_bytes=volume.total_bytes,
        bytes_per_second=volume.bytes_per_second,
        seconds_left=volume.seconds_left,
        copies=copies,
        nothing_begins=reasons[0] if reasons else None,
    )
