"""What to ask replicas about their logs, round by round, until the best log and every point of parting are known. Pure.

A replica answers one question: the largest epoch up to a given one, and where it ends. With that, in rounds in which
each broker gets one request:

1. Where does each log end? With it comes the partition's epoch, above which no log has records.
2. Of which epoch is each log's last record? Downwards from the partition's epoch in growing steps, then by halves. An
   epoch that ends where the epoch before it ends holds no record: whoever led then wrote nothing.
3. Where does each pair of logs part? As a follower finds out (ReplicaFetcherThread, KIP-101, KIP-595): ask one log for
   the last epoch of the other; if it has a smaller one, ask the other for that; until both have it. Of logs that are
   silent now an earlier snapshot may know epochs: every other log is asked for those.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

from msgspec import Struct, field

from replan.model.control_plane import listed_by_broker
from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import (
    NO_LEADER_EPOCH,
    EpochEnd,
    LogEnd,
    ProbedLog,
    ProbedLogs,
    ProbeFailure,
    ReplicaLog,
)

_HIGHEST_EPOCH = 2**31 - 2
"""Where a broker does not know the partition's."""


class _ReplicaAnswers(Struct):
    """What one replica has answered so far."""

    end: LogEnd
    answers: dict[int, EpochEnd] = field(default_factory=dict)
    """By the epoch that was asked for."""

    def at(self, epoch: int) -> EpochEnd | None:
        """The answer for an epoch, if it is known or follows from another one."""
        exact = self.answers.get(epoch)
        if exact is not None:
            return exact
        for requested, answer in self.answers.items():
            if answer.epoch <= epoch <= requested and answer.epoch != NO_LEADER_EPOCH:
                return answer
        if any(
            requested <= epoch
            for requested, answer in self.answers.items()
            if answer.epoch == NO_LEADER_EPOCH
        ):
            return EpochEnd(NO_LEADER_EPOCH)
        return None

    def last(self) -> EpochEnd | int:
        """The epoch of the last record; a number is the next epoch to ask for."""
        highest = self.end.leader_epoch if self.end.leader_epoch >= 0 else _HIGHEST_EPOCH
        above = min(
            (a for a, f in self.answers.items() if f.epoch == NO_LEADER_EPOCH), default=highest + 1
        )
        within = [f for f in self.answers.values() if f.epoch != NO_LEADER_EPOCH]
        if not within:
            step = highest + 1 - above
            return EpochEnd(NO_LEADER_EPOCH) if above == 0 else max(0, above - max(1, step))
        answer = max(within, key=lambda f: f.epoch)
        requested = max(a for a, f in self.answers.items() if f.epoch == answer.epoch)
        if answer.end < self.end.end and requested + 1 < above:
            return (requested + above) // 2
        return self._written(answer)

    def _written(self, answer: EpochEnd) -> EpochEnd | int:
        """The same, or an earlier one where nothing was written in it."""
        while answer.epoch > 0 and answer.end > answer.start:
            before = self.at(answer.epoch - 1)
            if before is None:
                return answer.epoch - 1
            if before.end < answer.end:
                break
            answer = before
        return answer

    def log(self) -> ReplicaLog | None:
        """What is known, once its last epoch is."""
        last = self.last()
        if isinstance(last, int):
            return None
        epochs = {f.epoch: f.end for f in self.answers.values() if 0 <= f.epoch <= last.epoch}
        return ReplicaLog(
            end=self.end.end,
            last_epoch=last.epoch,
            start=max((f.start for f in self.answers.values()), default=0),
            high_watermark=max((f.high_watermark for f in self.answers.values()), default=0),
            leader_epoch=self.end.leader_epoch,
            epochs=dict(sorted(epochs.items())),
        )


class Probing:
    """The questions that are left, and what the answers so far mean; it lives for one probe."""

    def __init__(
        self,
        wanted: Mapping[TopicPartition, Collection[BrokerId]],
        earlier_logs: Mapping[TopicPartition, ProbedLogs],
    ) -> None:
        self._wanted = wanted
        self._earlier = {name: _epochs(earlier_logs.get(name, {})) for name in wanted}
        self._replicas: dict[TopicPartition, dict[BrokerId, _ReplicaAnswers]] = {
            n: {} for n in wanted
        }
        self._failed: dict[TopicPartition, dict[BrokerId, ProbeFailure]] = {n: {} for n in wanted}

    def ends_wanted(self) -> dict[BrokerId, list[TopicPartition]]:
        """The first round: where logs end."""
        return listed_by_broker(self._wanted)

    def with_ends(
        self, answers: Mapping[BrokerId, Mapping[TopicPartition, LogEnd | ProbeFailure]]
    ) -> None:
        """Take in the answers of the first round."""
        for broker, of in answers.items():
            for name, answer in of.items():
                if isinstance(answer, ProbeFailure):
                    self._failed[name][broker] = answer
                else:
                    self._replicas[name][broker] = _ReplicaAnswers(answer)

    def epochs_wanted(self) -> dict[BrokerId, dict[TopicPartition, int]]:
        """The next round: at most one epoch of each replica; empty once all is known."""
        by_broker: dict[BrokerId, dict[TopicPartition, int]] = {}
        for name, replicas in self._replicas.items():
            for broker, epoch in _questions(replicas, self._earlier[name]):
                by_broker.setdefault(broker, {}).setdefault(name, epoch)
        return by_broker

    def with_epochs(
        self,
        epochs: Mapping[BrokerId, Mapping[TopicPartition, int]],
        answers: Mapping[BrokerId, Mapping[TopicPartition, EpochEnd | ProbeFailure]],
    ) -> None:
        """Take in the answers of one round."""
        for broker, of in epochs.items():
            for name, epoch in of.items():
                answer = answers[broker][name]
                if isinstance(answer, ProbeFailure):
                    self._failed[name][broker] = answer
                    del self._replicas[name][broker]
                else:
                    self._replicas[name][broker].answers[epoch] = answer

    def logs(self) -> dict[TopicPartition, ProbedLogs]:
        """What all answers mean."""
        return {name: self._logs_of(name) for name in self._wanted}

    def _logs_of(self, name: TopicPartition) -> ProbedLogs:
        logs: dict[BrokerId, ProbedLog] = dict(self._failed[name])
        for broker, replica in self._replicas[name].items():
            log = replica.log()
            if log is not None:
                logs[broker] = log
        return dict(sorted(logs.items()))


def _epochs(logs: ProbedLogs) -> list[int]:
    """All epochs that are known to be in these logs."""
    return sorted({e for log in logs.values() if isinstance(log, ReplicaLog) for e in log.epochs})


def _questions(
    replicas: Mapping[BrokerId, _ReplicaAnswers], earlier: Collection[int]
) -> Iterator[tuple[BrokerId, int]]:
    """Of the last epochs first; then where logs part; at last of the epochs that logs which are silent now have."""
    last = {broker: of.last() for broker, of in replicas.items()}
    open_ends = [(broker, epoch) for broker, epoch in last.items() if isinstance(epoch, int)]
    if open_ends:
        yield from open_ends
        return
    ends = {b: end.epoch for b, end in last.items() if isinstance(end, EpochEnd)}
    parted = True
    for one, other in combinations(sorted(ends, key=lambda b: (ends[b], b)), 2):
        question = _parting_question(replicas, one, other, ends[one])
        if question is not None:
            yield question
            parted = False
    if parted:
        for broker, of in replicas.items():
            yield from ((broker, epoch) for epoch in earlier if of.at(epoch) is None)


def _parting_question(
    replicas: Mapping[BrokerId, _ReplicaAnswers], one: BrokerId, other: BrokerId, epoch: int
) -> tuple[BrokerId, int] | None:
    """The next question on where two logs part, from the last epoch of the one whose is not the larger."""
    while epoch != NO_LEADER_EPOCH:
        answer = replicas[other].at(epoch)
        if answer is None:
            return other, epoch
        if answer.epoch == epoch:
            mine = replicas[one].at(epoch)
            return None if mine is not None else (one, epoch)
        one, other, epoch = other, one, answer.epoch
    return None
