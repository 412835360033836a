"""In which order moves are admitted: who is in danger first, then what is free, then data by what brokers have left.

Classes: heal (under min ISR), instant (nothing is copied), endangered (at min ISR), data, and last the internal topics
that are not under min ISR, unless only an election is asked for: that moves no replica, and Kafka's own rebalance asks
for all of them at once.
Within a class of copies the broker that has most bytes left to send, or to receive, is next, with the first of its
moves by name. So who has most to do is busy from the beginning to the end, as no application ends before it has done
that, and all end together.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import IntEnum

from replan.model.names import BrokerId, TopicPartition, is_internal
from replan.model.partition import PartitionState, effective_min_isr
from replan.planning.plans.moves import Move, ObservedMove


class Urgency(IntEnum):
    """The class that a move is admitted in; lower is earlier."""

    HEAL = 0
    INSTANT = 1
    ENDANGERED = 2
    DATA = 3
    INTERNAL = 4


_SENDS, _RECEIVES = range(2)
_Side = tuple[int, BrokerId]
"""What a broker sends, or what it receives."""


def urgency(move: Move, state: PartitionState) -> Urgency:
    """Judge by the ISR against the effective minimum min(m, assigned) of now."""
    margin = len(state.isr) - effective_min_isr(move.min_insync_replicas, len(move.original))
    if margin < 0:
        return Urgency.HEAL
    if is_internal(move.partition.topic) and not move.is_leader_only:
        return Urgency.INTERNAL
    if not move.new:
        return Urgency.INSTANT
    return Urgency.ENDANGERED if margin == 0 else Urgency.DATA


def admission_order(judged: Iterable[ObservedMove]) -> list[Move]:
    """All moves, in the order in which they are admitted; the same whatever the order they come in."""
    classes: dict[Urgency, list[Move]] = defaultdict(list)
    for move, state in judged:
        classes[urgency(move, state)].append(move)
    ordered: list[Move] = []
    for kind in sorted(classes):
        moves = sorted(classes[kind], key=lambda m: m.partition)
        ordered.extend(moves if kind is Urgency.INSTANT else _by_bytes_left(moves))
    return ordered


def _by_bytes_left(moves: list[Move]) -> Iterable[Move]:
    """Take from the broker with most left; of equal ones who sends, then by broker id."""
    bytes_left: Counter[_Side] = Counter()
    of_side: dict[_Side, list[Move]] = defaultdict(list)
    for move in reversed(moves):
        for side, size in _loads(move):
            bytes_left[side] += size
            of_side[side].append(move)
    heap = [(-size, side) for side, size in bytes_left.items()]
    heapq.heapify(heap)
    taken: set[TopicPartition] = set()
    while heap:
        size, side = heap[0]
        waiting = of_side[side]
        while waiting and waiting[-1].partition in taken:
            waiting.pop()
        if not waiting:
            heapq.heappop(heap)
        elif -size > bytes_left[side]:  # others have taken some of it
            heapq.heapreplace(heap, (-bytes_left[side], side))
        else:
            move = waiting.pop()
            taken.add(move.partition)
            for touched, less in _loads(move):
                bytes_left[touched] -= less
            yield move


def _loads(move: Move) -> Iterator[tuple[_Side, int]]:
    """What a move asks of each broker; at least one byte, so that empty partitions spread, too."""
    yield (_SENDS, move.source), max(move.copies_bytes, 1)
    for broker in move.new:
        yield (_RECEIVES, broker), max(move.bytes, 1)
