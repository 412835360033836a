"""What only the passing of time shows: since when replicas have been in sync, what left the ISR, what stands still.

Filled by every look at the cluster and lost with the process, which costs at most the settle time again. Not here:
what is concluded from it (`partitions`, `decide`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from replan.applying.observation.look import Observation
from replan.applying.reasons.copies import Stalled
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.partition import PartitionState, effective_min_isr
from replan.planning.plans.moves import Move


@dataclass(frozen=True, slots=True)
class Loss:
    """An in-sync replica that was lost where the ISR is at or under the minimum."""

    partition: TopicPartition
    lost: Replicas
    loaded: frozenset[BrokerId]
    """The brokers that this partition's copy loads."""


ROUNDING = 1e-6
"""Seconds by which a sum of shares may miss the whole."""
MISSES = 3
"""Readings in a row in which a live broker shows no log that it should have; longer than a dead one lives."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of one new replica is there."""

    bytes: int
    at: float
    moved_at: float
    """When it last changed."""
    bytes_per_second: float | None = None


Replica = tuple[TopicPartition, BrokerId]
Since = Mapping[TopicPartition, float]
Key = TypeVar("Key", bound=Hashable)


AGREEING_LOOKS = 4
"""How many looks in a row show that replicas stay in sync, at least; however long each of them takes."""


def held_since(before: Mapping[Key, float], holding: Iterable[Key], now: float) -> dict[Key, float]:
    """Since when each of these has held in every look; what does not hold now is left out.

    This is how looks agree: something that holds since long enough is believed. `now` is the end of the look: what it
    shows may be as young as that.
    """
    return {key: before.get(key, now) for key in holding}


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """What earlier looks of this process showed of the partitions that it moves.

    How long replicas have stayed in sync counts in seconds that looks vouch for. A look vouches for the time since the
    one before, up to a share of the settle time: so it takes enough looks over enough time, and a look that takes long,
    or a journal that does, delays the end and never prevents it.
    """

    target_in_sync: Since = field(default_factory=dict)
    """Since when, in vouched seconds."""
    new_in_sync: Since = field(default_factory=dict)
    vouched: float = 0.0
    """The seconds that all looks so far vouch for."""
    isr: Mapping[TopicPartition, Replicas] = field(default_factory=dict)
    """Of the last clear look."""
    looked_at: float | None = None
    """When the last look began."""
    sizes: Mapping[Replica, Size] = field(default_factory=dict)
    """Of new replicas."""
    totals: Mapping[TopicPartition, int] = field(default_factory=dict)
    """How big each partition is, as of the last reading."""
    misses: Mapping[Replica, int] = field(default_factory=dict)

    def after(
        self,
        moves: Mapping[TopicPartition, Move],
        seen: Observation,
        began: float,
        ended: float,
        settle_seconds: float,
    ) -> "PartitionHistory":
        """The history after one look at the moves in flight, which began and ended then; others are forgotten."""
        share = settle_seconds / (AGREEING_LOOKS - 1)
        vouched = self.vouched + min(self.gap(began), share)
        seen_at = vouched + min(ended - began, share)
        live = frozenset(b for b, broker in seen.brokers.items() if broker.live)
        shown = {n: _in_sync(seen.partitions.get(n), live) for n in moves if n not in seen.unclear}
        unclear = [n for n in moves if n in seen.unclear]
        return PartitionHistory(
            self._since(self.target_in_sync, unclear, shown, lambda n: moves[n].target, seen_at),
            self._since(self.new_in_sync, unclear, shown, lambda n: moves[n].new, seen_at),
            vouched,
            {n: isr for n in moves if (isr := self._isr_after(n, seen)) is not None},
            began,
            {r: size for r, size in self.sizes.items() if r[0] in moves},
            {n: total for n, total in self.totals.items() if n in moves},
            {r: n for r, n in self.misses.items() if n and r[0] in moves and seen.live(r[1])},
        )

    @staticmethod
    def _since(
        before: Since,
        unclear: Iterable[TopicPartition],
        in_sync: Mapping[TopicPartition, frozenset[BrokerId]],
        wanted: Callable[[TopicPartition], Replicas],
        seen_at: float,
    ) -> Since:
        return held_since(before, _holding(before, unclear, in_sync, wanted), seen_at)

    def moved(self, before: "PartitionHistory") -> bool:
        """Whether bytes have come since the look before, or an ISR is another one."""
        if any(size.moved_at > (before.looked_at or 0.0) for size in self.sizes.values()):
            return True
        return any(before.isr.get(name, isr) != isr for name, isr in self.isr.items())

    def gap(self, began: float) -> float:
        """How many seconds before this the last look began."""
        return 0.0 if self.looked_at is None else began - self.looked_at

    def without_a_look(self) -> "PartitionHistory":
        """The history after a look that failed: nothing is known of what held meanwhile, so agreeing starts again."""
        return replace(self, target_in_sync={}, new_in_sync={})

    def _isr_after(self, name: TopicPartition, seen: Observation) -> Replicas | None:
        state = seen.partitions.get(name)
        return self.isr.get(name) if state is None or name in seen.unclear else state.isr

    def losses(self, moves: Iterable[Move], seen: Observation) -> list[Loss]:
        """The in-sync replicas that a look shows to be lost since the one before."""
        found = [self._loss(move, seen) for move in moves if move.partition not in seen.unclear]
        return [loss for loss in found if loss is not None]

    def _loss(self, move: Move, seen: Observation) -> Loss | None:
        state = seen.partitions.get(move.partition)
        if state is None:
            return None
        before = self.isr.get(move.partition, ())
        if before == state.isr:
            return None
        lost = tuple(b for b in before if b not in state.isr and b in state.replicas)
        settings = seen.topics.get(move.partition.topic)
        m = move.min_insync_replicas if settings is None else settings.min_insync_replicas
        if not lost or len(state.isr) > effective_min_isr(m, len(state.replicas)):
            return None
        loaded = {*move.new} if state.leader is None else {state.leader, *move.new}
        return Loss(move.partition, lost, frozenset(loaded))

    def settled(self, name: TopicPartition, seconds: float) -> bool:
        """Whether the whole target has been in sync in all looks that vouch for the last seconds."""
        return self._held(self.target_in_sync, name, seconds)

    def copied(self, name: TopicPartition, seconds: float) -> bool:
        """Whether all new replicas have been in sync in all looks that vouch for the last seconds."""
        return self._held(self.new_in_sync, name, seconds)

    def _held(self, times: Since, name: TopicPartition, seconds: float) -> bool:
        since = times.get(name)
        return since is not None and self.vouched - since >= seconds - ROUNDING

    def with_sizes(
        self,
        moves: Mapping[TopicPartition, Move],
        read: Mapping[BrokerId, Mapping[TopicPartition, int]],
        now: float,
    ) -> "PartitionHistory":
        """Take in the sizes of the replicas of running copies, and who shows none of a partition that others show."""
        if not read:
            return self
        sizes, totals, misses = dict(self.sizes), dict(self.totals), dict(self.misses)
        for name in {name for of in read.values() for name in of if name in moves}:
            for broker in moves[name].target:
                if broker in read:  # one that does not answer shows nothing of anything
                    shown = name in read[broker]
                    misses[name, broker] = 0 if shown else misses.get((name, broker), 0) + 1
        for broker, of in read.items():
            for name, size in of.items():
                if name not in moves:
                    continue
                if broker in moves[name].new:
                    sizes[name, broker] = _resized(sizes.get((name, broker)), size, now)
                else:
                    totals[name] = max(size, totals.get(name, 0))
        return replace(self, sizes=sizes, totals=totals, misses=misses)

    def shows_no_log(self, name: TopicPartition, broker: BrokerId) -> bool:
        """Whether a broker showed no log of this partition in several readings: that disk may be lost (KIP-858)."""
        return self.misses.get((name, broker), 0) >= MISSES

    def stalled(
        self, move: Move, seen: Observation, now: float, stalled_seconds: float
    ) -> Stalled | None:
        """Where a copy does not move, if so."""
        state = seen.partitions.get(move.partition)
        for broker in move.new:
            if state is not None and broker in state.isr:
                continue
            if not seen.live(broker):
                return Stalled(broker)
            size = self.sizes.get((move.partition, broker))
            if size is not None and now - size.moved_at >= stalled_seconds:
                return Stalled(broker, size.bytes, now - size.moved_at)
        return None


def _in_sync(state: PartitionState | None, live: frozenset[BrokerId]) -> frozenset[BrokerId]:
    """The ISR as far as its brokers live: a broker that was just fenced may still be listed."""
    return frozenset() if state is None else live.intersection(state.isr)


def _holding(
    before: Since,
    unclear: Iterable[TopicPartition],
    in_sync: Mapping[TopicPartition, frozenset[BrokerId]],
    wanted: Callable[[TopicPartition], Replicas],
) -> Iterator[TopicPartition]:
    """The partitions whose wanted replicas are in sync; one that is unclear is as it was."""
    yield from (n for n in unclear if n in before)
    yield from (n for n, found in in_sync.items() if found.issuperset(wanted(n)))


def _resized(before: Size | None, size: int, now: float) -> Size:
    if before is None:
        return Size(size, now, now)
    if now <= before.at:
        return before
    speed = max(0.0, (size - before.bytes) / (now - before.at))
    if before.bytes_per_second is not None:
        speed = 0.5 * speed + 0.5 * before.bytes_per_second
    return Size(size, now, now if size != before.bytes else before.moved_at, speed)
