"""What only the passing of time shows: since when replicas have been in sync, what left the ISR, what stands still.

Filled by every look at the cluster and lost with the process, which costs at most the settle time again. Not here:
what is concluded from it (`partitions`, `decide`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from replan.applying.observation.look import Observation
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState
from replan.planning.moves import Move


@dataclass(frozen=True, slots=True)
class Loss:
    """An in-sync replica that was lost where the ISR is at or under the minimum."""

    partition: TopicPartition
    lost: Replicas
    loaded: frozenset[BrokerId]
    """The brokers that this partition's copy loads."""


MISSES = 3
"""Readings in a row in which a live broker tells of no log that it should have; longer than a dead one lives."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of one new replica is there."""

    bytes: int
    at: float
    moved_at: float
    """When it last changed."""
    bytes_per_second: float | None = None


class PartitionHistory:
    """The memory of one process about the partitions that it moves."""

    def __init__(self) -> None:
        self._target_in_sync: dict[TopicPartition, float] = {}
        self._new_in_sync: dict[TopicPartition, float] = {}
        self._isr: dict[TopicPartition, Replicas] = {}
        self._looked_at: float | None = None
        self._sizes: dict[tuple[TopicPartition, BrokerId], Size] = {}
        self._totals: dict[TopicPartition, int] = {}
        self._misses: dict[tuple[TopicPartition, BrokerId], int] = {}

    def note(
        self,
        moves: Mapping[TopicPartition, Move],
        seen: Observation,
        now: float,
        settle_seconds: float,
    ) -> list[Loss]:
        """Take in one look at the moves in flight; tells what was lost since the one before.

        Looks that are further apart than half the settle time do not count as "in all polls".
        """
        if self._looked_at is not None and now - self._looked_at > settle_seconds / 2:
            self._target_in_sync.clear()
            self._new_in_sync.clear()
        self._looked_at = now
        self._misses = {r: n for r, n in self._misses.items() if n and seen.live(r[1])}
        losses: list[Loss] = []
        for name, move in moves.items():
            if name in seen.unclear:
                continue
            state = seen.partitions.get(name)
            in_sync = _in_sync(state, seen)
            _since(self._target_in_sync, name, now, holds=in_sync.issuperset(move.target))
            _since(self._new_in_sync, name, now, holds=in_sync.issuperset(move.new))
            if state is not None:
                losses.extend(self._loss(move, state, seen))
                self._isr[name] = state.isr
        self._forget_all_but(moves)
        return losses

    def _loss(self, move: Move, state: PartitionState, seen: Observation) -> Iterable[Loss]:
        before = self._isr.get(move.partition, ())
        lost = tuple(b for b in before if b not in state.isr and b in state.replicas)
        settings = seen.topics.get(move.partition.topic)
        m = move.min_insync_replicas if settings is None else settings.min_insync_replicas
        if lost and len(state.isr) <= min(m, len(state.replicas)):
            loaded = {*move.new} if state.leader is None else {state.leader, *move.new}
            yield Loss(move.partition, lost, frozenset(loaded))

    def _forget_all_but(self, moves: Mapping[TopicPartition, Move]) -> None:
        for name in [n for n in self._isr if n not in moves]:
            del self._isr[name]
            self._target_in_sync.pop(name, None)
            self._new_in_sync.pop(name, None)
            self._totals.pop(name, None)
        for replica in [r for r in self._sizes if r[0] not in moves]:
            del self._sizes[replica]
        for replica in [r for r in self._misses if r[0] not in moves]:
            del self._misses[replica]

    def settled(self, name: TopicPartition, now: float, settle_seconds: float) -> bool:
        """Whether the whole target has been in sync in all looks of the settle time."""
        return _held(self._target_in_sync, name, now, settle_seconds)

    def copied(self, name: TopicPartition, now: float, settle_seconds: float) -> bool:
        """Whether all new replicas have been in sync in all looks of the settle time."""
        return _held(self._new_in_sync, name, now, settle_seconds)

    def last_isr(self, name: TopicPartition) -> Replicas | None:
        """The ISR of the last clear look."""
        return self._isr.get(name)

    def note_sizes(
        self,
        moves: Mapping[TopicPartition, Move],
        sizes: Mapping[tuple[TopicPartition, BrokerId], int],
        now: float,
    ) -> None:
        """Take in the sizes of the replicas of running copies, and who tells none of a partition that others tell."""
        for name in {name for name, _ in sizes}:
            for broker in moves[name].target if name in moves else ():
                told = (name, broker) in sizes
                self._misses[name, broker] = 0 if told else self._misses.get((name, broker), 0) + 1
        for (name, broker), size in sizes.items():
            move = moves.get(name)
            if move is None:
                continue
            if broker in move.new:
                self._sizes[name, broker] = _resized(self._sizes.get((name, broker)), size, now)
            else:
                self._totals[name] = max(size, self._totals.get(name, 0))

    def shows_no_log(self, name: TopicPartition, broker: BrokerId) -> bool:
        """Whether a broker told of no log of this partition in several readings: that disk may be lost (KIP-858)."""
        return self._misses.get((name, broker), 0) >= MISSES

    def size(self, name: TopicPartition, broker: BrokerId) -> Size | None:
        """How much of a new replica is there, as of the last reading."""
        return self._sizes.get((name, broker))

    def total(self, name: TopicPartition) -> int | None:
        """How big the partition is, as of the last reading."""
        return self._totals.get(name)

    def stalled(
        self, move: Move, seen: Observation, now: float, stalled_seconds: float
    ) -> str | None:
        """Why a copy stands still, if it does; measure and way out."""
        state = seen.partitions.get(move.partition)
        missing = [b for b in move.new if state is None or b not in state.isr]
        for broker in missing:
            if not seen.live(broker):
                return f"broker {broker} is fenced; the copy goes on when it is back"
            size = self._sizes.get((move.partition, broker))
            if size is not None and now - size.moved_at >= stalled_seconds:
                return (
                    f"the replica on broker {broker} has stood at {size.bytes} bytes for "
                    f"{now - size.moved_at:.0f} s; look at its log and at the throttle"
                )
        return None


def _in_sync(state: PartitionState | None, seen: Observation) -> frozenset[BrokerId]:
    """The ISR as far as its brokers live: a broker that was just fenced may still be listed."""
    return frozenset() if state is None else frozenset(b for b in state.isr if seen.live(b))


def _since(
    times: dict[TopicPartition, float], name: TopicPartition, now: float, *, holds: bool
) -> None:
    if holds:
        times.setdefault(name, now)
    else:
        times.pop(name, None)


def _held(
    times: Mapping[TopicPartition, float], name: TopicPartition, now: float, seconds: float
) -> bool:
    since = times.get(name)
    return since is not None and now - since >= seconds


def _resized(before: Size | None, size: int, now: float) -> Size:
    if before is None:
        return Size(size, now, now)
    if now <= before.at:
        return before
    speed = max(0.0, (size - before.bytes) / (now - before.at))
    if before.bytes_per_second is not None:
        speed = 0.5 * speed + 0.5 * before.bytes_per_second
    return Size(size, now, now if size != before.bytes else before.moved_at, speed)
