"""What a tick has decided of partitions so far: their phases, why they wait, what is to be written down.

Here belong the ways in which a partition comes from one phase to the next, all of which `phase` allows; who takes which
way is in `decide`.
"""

from replan.applying.journal.records import Record, changed
from replan.applying.journal.steps import MoveRecord, Status
from replan.applying.partitions.intents import begun, forgetting, left_behind, no_more_left
from replan.applying.partitions.judge import End, Suspect, Verdict
from replan.applying.partitions.phase import Deferred, Ended, InFlight, Phase, Waiting
from replan.applying.reasons.ends import EndReason
from replan.applying.reasons.notes import Note
from replan.applying.reasons.waits import HoldReason
from replan.applying.tick.run_state import RunState
from replan.applying.tick.verdicts import agreed
from replan.applying.tick_input import TickInput
from replan.model.names import TopicPartition
from replan.planning.plans.requests import Request


class Draft:
    """A decision about partitions in the making."""

    def __init__(self, tick: TickInput, state: RunState) -> None:
        self._tick, self._state = tick, state
        self.phases: dict[TopicPartition, Phase] = {}
        """Those that change."""
        self.records: list[Record] = []
        """Beside those of the phases."""
        self.holds: dict[TopicPartition, HoldReason] = {}
        self.notes: list[Note] = []
        self.suspected: list[tuple[TopicPartition, Request | End]] = []

    def hold(self, name: TopicPartition, reason: HoldReason, *, soon: bool) -> None:
        """Let a partition wait; one that has not begun is looked at again `soon`, or after some seconds."""
        self.holds[name] = reason
        if not soon and isinstance(self.phase(name), Waiting):
            self.phases[name] = self._deferred()

    def concluded(self, name: TopicPartition, verdict: Verdict) -> Verdict:
        """A suspicion becomes its conclusion once looks have agreed on it for long enough."""
        if not isinstance(verdict, Suspect):
            return verdict
        self.suspected.append((name, verdict.conclusion))
        return verdict.conclusion if agreed(self._tick, self._state, name, verdict) else verdict

    def phase(self, name: TopicPartition) -> Phase:
        """The phase of a partition as it is now."""
        return self.phases.get(name) or self._state.phase(name)

    def _deferred(self) -> Deferred:
        return Deferred(self._tick.now + self._tick.settings.retry_seconds)

    def defer(self, name: TopicPartition, reason: HoldReason) -> None:
        """Let a partition wait until its gates are asked again, after some seconds; what is in flight stays so."""
        self.put_back(name, self._deferred(), reason)

    def put_back(self, name: TopicPartition, phase: Phase, reason: HoldReason) -> None:
        """Let a partition wait; what is in flight stays so."""
        self.holds[name] = reason
        if not isinstance(self.phase(name), InFlight):
            self.phases[name] = phase

    def end(self, name: TopicPartition, status: Status, reason: EndReason | None) -> None:
        """Ask nothing more for a partition, and write down how it ended and what stays behind."""
        job, ledger = self._tick.job, self._state.ledger
        message = "" if reason is None else job.end_text(name, reason)
        record = changed(self.record(name), status=status, message=message)
        self.holds.pop(name, None)
        self.phases[name] = Ended(record)
        found = self._tick.seen.partitions.get(name)
        if status is not Status.DONE:
            if found is not None and found.topic_id == record.topic_id:
                rests = found.running is None and found.replicas == record.original
                left = no_more_left if rests else left_behind
                self.records.extend(left(record, ledger))
        elif name not in job.plan.remember:
            self.records.extend(forgetting(job.moves[name], ledger))

    def record(self, name: TopicPartition) -> MoveRecord:
        """The record of a partition so far."""
        phase = self.phase(name)
        if isinstance(phase, InFlight | Ended):
            return phase.record
        return begun(self._tick.job.moves[name], self._state.ledger)
