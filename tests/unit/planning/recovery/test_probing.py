"""Probing finds each log's end, last epoch and points of parting, whatever history the logs have."""

from collections.abc import Collection, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from tests.builders import TOPIC_ID

from replan.applying.api import probe
from replan.model.api import (
    NO_LEADER_EPOCH,
    BrokerId,
    EpochEnd,
    LogEnd,
    PartitionState,
    ProbeFailure,
    ReplicaLog,
    TopicPartition,
    replicas,
)
from replan.planning.api import candidates, loss, lost, parting
from replan.simulator.api import EpochStart, Log, epoch_end

NAME = TopicPartition("orders", 0)


class Logs(Struct):
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
    brokers = [BrokerId(b) for b in (1, 2, 3, 4)]
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
        assert (log.end, log.last_epoch) == (len(of), of[-1] if of else NO_LEADER_EPOCH)
        for other in records:
            theirs = found[other]
            assert isinstance(theirs, ReplicaLog)
            if other != broker:
                assert parting(log, theirs) == _shared(of, records[other])


@given(histories(), st.sampled_from((1, 2, 3, 4)).map(BrokerId), st.data())
def test_a_loss_is_every_record_that_some_log_has_and_the_leaders_has_not_counted_once(
    history: tuple[dict[BrokerId, Records], int], leader: BrokerId, data: st.DataObject
) -> None:
    """Whatever the logs share; also what was deleted by retention in some of them, where the others begin later."""
    records, epoch = history
    asked = Logs({b: log_of(of) for b, of in records.items()}, epoch)
    starts = {b: data.draw(st.integers(0, len(of)), f"start of {b}") for b, of in records.items()}
    found = {
        b: replace(log, start=starts[b])
        for b, log in probe(asked, {NAME: list(records)})[NAME].items()
        if isinstance(log, ReplicaLog)
    }

    tails = lost(found, leader)

    known = {
        records[b][: offset + 1]
        for b in records
        for offset in range(max(starts[b], starts[leader]), len(records[b]))
        if records[leader][: offset + 1] != records[b][: offset + 1]
    }
    named = [records[t.broker][: o + 1] for t in tails for o in range(t.begin, t.end)]
    assert sorted(named) == sorted(known)


@given(histories(), histories(), st.sampled_from((1, 2, 3, 4)).map(BrokerId))
def test_what_an_earlier_snapshot_knew_of_a_dead_replica_is_part_of_the_loss(
    before: tuple[dict[BrokerId, Records], int],
    grown: tuple[dict[BrokerId, Records], int],
    dead: BrokerId,
) -> None:
    """Each record once, although its log was asked at another time than the others, which have grown since."""
    earlier, epoch = before
    living = {b: of for b, of in earlier.items() if b != dead}
    best = max(living.values(), key=lambda of: (of[-1:], len(of)))
    now = {
        b: of + tuple(epoch + 1 + e for e in grown[0][b]) if of == best else of
        for b, of in living.items()
    }
    latest = epoch + 1 + grown[1]
    told_of = probe(
        Logs({b: log_of(of) for b, of in earlier.items()}, epoch), {NAME: list(earlier)}
    )
    tell = probe(Logs({b: log_of(of) for b, of in now.items()}, latest), {NAME: list(now)}, told_of)
    state = PartitionState(NAME, TOPIC_ID, replicas(1, 2, 3, 4), replicas(), None)

    found = candidates(state, tell[NAME], now.keys(), earlier.keys(), told_of[NAME])

    logs = {**now, dead: earlier[dead]}
    for leader in now:
        gone = {of[: n + 1] for of in logs.values() for n in range(len(of))}
        gone -= {logs[leader][: n + 1] for n in range(len(logs[leader]))}
        assert loss(found, leader).records == len(gone)


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
