"""What of a decision is sent once more, while nobody knows what became of it: settings, and copies in a broker. Pure.

A tick decides from what it sees what is to be asked for, however often that was asked before. The same goes again at
once, then after pauses that grow to half a minute; anything else goes at once. A copy between log directories that is
refused and still to be asked for, as one that is cancelled may be, pauses likewise. Lists and elections have their own
pauses (`RunState.repeats`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from replan.applying.tick.next_state import Decision
from replan.applying.tick.run_state import Answers, Repeat, again
from replan.model.configs import ConfigChange
from replan.model.control_plane import Accepted, Answer, OutcomeUnknown, ReplicaName

Asked = ConfigChange | tuple[ReplicaName, str]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What was asked for without a known outcome, by this process."""

    waiting: Mapping[Asked, Repeat] = field(default_factory=dict)

    def due(self, decision: Decision, now: float) -> Decision:
        """What of a decision is to be sent now."""
        early = {asked for asked, repeat in self.waiting.items() if repeat.at > now}
        if not early:
            return decision
        throttles, standing, within = decision.throttles, decision.standing, decision.log_moves
        return replace(
            decision,
            throttles=replace(
                throttles,
                removals=tuple(c for c in throttles.removals if c not in early),
                additions=tuple(c for c in throttles.additions if c not in early),
            ),
            standing=replace(standing, changes=[c for c in standing.changes if c not in early]),
            log_moves=replace(
                within, asks={r: to for r, to in within.asks.items() if (r, to) not in early}
            ),
        )

    def after(self, decision: Decision, sent: Decision, answers: Answers, now: float) -> "Repeats":
        """What waits once `sent` of a decision was answered; what is not to be asked for any more does not."""
        wanted = {asked for asked, _ in _asked(decision, answers)}
        found = {asked: repeat for asked, repeat in self.waiting.items() if asked in wanted}
        for asked, answer in _asked(sent, answers):
            known = found.pop(asked, Repeat(0, now))
            if answer is None:
                found[asked] = known
            elif isinstance(answer, OutcomeUnknown) or (
                not isinstance(asked, ConfigChange) and not isinstance(answer, Accepted)
            ):
                found[asked] = again(known, now)
        return Repeats(found)


def _asked(decision: Decision, answers: Answers) -> Iterator[tuple[Asked, Answer | None]]:
    """What a decision asks for, each with its answer, if there is one."""
    for change in (*decision.throttles.removals, *decision.throttles.additions):
        yield change, answers.configs.get((change.scope, change.name))
    for change in decision.standing.changes:
        yield change, answers.standing.get((change.scope, change.name))
    for replica, path in decision.log_moves.asks.items():
        yield (replica, path), answers.log_moves.get(replica)
