"""Sends what a tick decided: at most one request of each kind, and none that rests on too old a look.

What was seen may not hold any more, and the intent may have been overtaken: another process could have taken the
journal over since.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from replan.applying.journal.ledger import Ledger
from replan.applying.journal.records import Record
from replan.applying.tick.next_state import Decision
from replan.applying.tick.run_state import Answers
from replan.errors import ClusterRefused, ClusterUnreachable
from replan.model.configs import ConfigChange, ConfigScope
from replan.model.control_plane import (
    Answer,
    Clock,
    ClusterWriter,
    ElectionType,
    OutcomeUnknown,
)
from replan.model.names import Replicas, TopicPartition

Subject = TypeVar("Subject")


def intents(decision: Decision, ledger: Ledger) -> Sequence[Record]:
    """What to append before sending: restoring needs no record, but an append of this process, since that is the fence.

    A process whose journal was taken over learns it from its append and from nothing else; so something that is written
    there already is written again.
    """
    if decision.records or not decision.asks:
        return decision.records
    standing = (
        ledger.application,
        *ledger.entries.values(),
        *ledger.rates.values(),
        *ledger.creates.values(),
        *ledger.standing.values(),
        *ledger.recoveries.values(),
        *ledger.log_moves.values(),
    )
    return next(([record] for record in standing if record is not None), [])


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the requests of one tick."""

    writer: ClusterWriter
    clock: Clock
    until: float
    """On the clock: when the look of this tick is too old."""

    def send(self, decision: Decision) -> Answers:
        """Send everything; what is removed before what is added, so that no key comes twice in a request."""
        answers = Answers()
        for changes in (decision.throttles.removals, decision.throttles.additions):
            answers.configs.update(self._configure(changes))
        answers.standing.update(self._configure(decision.standing.changes))
        paths = decision.log_moves.asks
        answers.log_moves.update(self._sent(list(paths), lambda: self.writer.move_logs(paths)))
        asks = decision.creates.asks
        answers.creates.update(self._sent(list(asks), lambda: self.writer.create_partitions(asks)))
        answers.partitions.update(self._reassign(decision.resizing, may_resize=True))
        answers.partitions.update(self._reassign(decision.same_size, may_resize=False))
        answers.partitions.update(self._elect(decision.elections, ElectionType.PREFERRED))
        answers.recoveries.update(self._reassign(decision.recoveries.lists, may_resize=True))
        for partitions, kind in (
            (decision.recoveries.unclean, ElectionType.UNCLEAN),
            (decision.recoveries.clean, ElectionType.PREFERRED),
        ):
            answers.recoveries.update(self._elect(partitions, kind))
        return answers

    def _configure(
        self, changes: Sequence[ConfigChange]
    ) -> Mapping[tuple[ConfigScope, str], Answer]:
        subjects = list(dict.fromkeys((c.scope, c.name) for c in changes))
        return self._sent(subjects, lambda: self.writer.alter_configs(changes))

    def _reassign(
        self, lists: Mapping[TopicPartition, Replicas | None], *, may_resize: bool
    ) -> Mapping[TopicPartition, Answer]:
        return self._sent(
            list(lists),
            lambda: self.writer.reassign(lists, allow_replication_factor_change=may_resize),
        )

    def _elect(
        self, partitions: Sequence[TopicPartition], kind: ElectionType
    ) -> Mapping[TopicPartition, Answer]:
        return self._sent(partitions, lambda: self.writer.elect(partitions, kind))

    def _sent(
        self, subjects: Sequence[Subject], request: Callable[[], Mapping[Subject, Answer]]
    ) -> Mapping[Subject, Answer]:
        if not subjects or self.clock.now() > self.until:
            return {}
        unknown: dict[Subject, Answer] = dict.fromkeys(subjects, OutcomeUnknown("no answer"))
        try:
            return {**unknown, **request()}
        except ClusterUnreachable as error:
            return dict.fromkeys(subjects, OutcomeUnknown(str(error)))
        except ClusterRefused as error:
            return dict.fromkeys(subjects, OutcomeUnknown(str(error), refused=True))
