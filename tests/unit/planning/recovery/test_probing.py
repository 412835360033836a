"""Probing finds each log's end, last epoch and points of parting, whatever history the logs have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from replan.applying.steps.probing import probe
from replan.model.names import BrokerId, TopicPartition
from replan.model.replica_logs import (
    NO_EPOCH,
    EpochEnd,
    LogEnd,
    ProbeFailure,
    ReplicaLog,
)
from replan.planning.recovery.candidates import parting
from replan.simulator.cluster.replica_logs import EpochStart, Log, epoch_end

NAME = TopicPartition("orders", 0)


@dataclass
class Logs:
    """Replicas that answer as brokers do, and count what they are asked."""

    logs: Mapping[BrokerId, Log]
    leader_epoch: int
    rounds: int = 0

    def log_ends(
        self, wanted: Mapping[BrokerId, Collection[TopicPartition]]
    ) -> dict[BrokerId, dict[TopicPartition, LogEnd | ProbeFailure]]:
        return {
            b: dict.fromkeys(of, LogEnd(int(self.logs[b].bytes), self.leader_epoch))
            for b, of in wanted.items()
        }

    def epoch_ends(
        self, wanted: Mapping[BrokerId, Mapping[TopicPartition, int]]
    ) -> dict[BrokerId, dict[TopicPartition, EpochEnd | ProbeFailure]]:
        self.rounds += 1
        assert all(0 <= e <= self.leader_epoch for of in wanted.values() for e in of.values())
        return {
            b: {n: epoch_end(self.logs[b], e, 1) for n, e in of.items()} for b, of in wanted.items()
        }


Records = tuple[int, ...]
"""The epoch of each record."""


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[BrokerId, Records], int]:
    """Logs as leaders and followers make them: a leader appends in a new epoch, a follower takes on its log."""
    brokers = [BrokerId(b) for b in (1, 2, 3)]
    logs: dict[BrokerId, Records] = dict.fromkeys(brokers, ())
    epoch = 0
    for _ in range(draw(st.integers(0, 6))):
        leader = draw(st.sampled_from(brokers))
        logs[leader] += (epoch,) * draw(st.integers(0, 4))
        for follower in brokers:
            if follower != leader and draw(st.booleans()):
                upto = draw(st.integers(0, len(logs[leader])))
                shared = _shared(logs[follower], logs[leader])
                logs[follower] = logs[leader][: max(upto, shared)]
        epoch += draw(st.integers(1, 40))
    return logs, epoch


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    found = 0
    while found < min(len(one), len(other)) and one[found] == other[found]:
        found += 1
    return found


def log_of(records: Records) -> Log:
    starts = [EpochStart(e, n) for n, e in enumerate(records) if n == 0 or records[n - 1] != e]
    return Log(tuple(starts), len(records))


@given(histories())
def test_what_is_found_is_what_the_logs_hold(history: tuple[dict[BrokerId, Records], int]) -> None:
    records, epoch = history
    asked = Logs({b: log_of(of) for b, of in records.items()}, epoch)

    found = probe(asked, {NAME: list(records)})[NAME]

    for broker, of in records.items():
        log = found[broker]
        assert isinstance(log, ReplicaLog)
        assert (log.end, log.last_epoch) == (len(of), of[-1] if of else NO_EPOCH)
        for other in records:
            theirs = found[other]
            assert isinstance(theirs, ReplicaLog)
            if other != broker:
                assert parting(log, theirs) == _shared(of, records[other])


def test_rounds_grow_with_the_logarithm_of_the_epochs() -> None:
    asked = Logs({BrokerId(1): log_of((7,) * 5), BrokerId(2): log_of((3,) * 9)}, 100_000)

    probe(asked, {NAME: list(asked.logs)})

    assert asked.rounds < 40


def test_an_epoch_in_which_nothing_was_written_does_not_count() -> None:
    """A broker led in epoch 5 and wrote nothing: its log is as old as the one that it took over."""
    led = Log((EpochStart(0, 0), EpochStart(5, 3)), 3)

    found = probe(Logs({BrokerId(1): led}, 6), {NAME: [BrokerId(1)]})[NAME][BrokerId(1)]

    assert isinstance(found, ReplicaLog)
    assert found.last_epoch == 0
