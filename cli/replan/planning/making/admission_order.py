"""In which order moves are admitted: who is in danger first, then what is free, then data spread over its sources.

Classes: heal (under min ISR), instant (nothing is copied), endangered (at min ISR), data, and last the internal topics
that are not under min ISR, unless only an election is asked for: that moves no replica, and Kafka's own rebalance asks
for all of them at once.
Within a class of copies the source broker with the least bytes emitted so far is next, so that no broker has
to send everything one after another.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum

from replan.model.names import is_internal
from replan.model.partition import PartitionState, effective_min_isr
from replan.planning.plans.moves import Move


class Urgency(IntEnum):
    """The class that a move is admitted in; lower is earlier."""

    HEAL = 0
    INSTANT = 1
    ENDANGERED = 2
    DATA = 3
    INTERNAL = 4


def urgency(move: Move, seen: PartitionState) -> Urgency:
    """Judge by the ISR against the effective minimum min(m, assigned) of now."""
    margin = len(seen.isr) - effective_min_isr(move.min_insync_replicas, len(move.original))
    if margin < 0:
        return Urgency.HEAL
    if is_internal(move.partition.topic) and not move.is_leader_only:
        return Urgency.INTERNAL
    if not move.new:
        return Urgency.INSTANT
    return Urgency.ENDANGERED if margin == 0 else Urgency.DATA


def admission_order(judged: Iterable[tuple[Move, PartitionState]]) -> list[Move]:
    """All moves, in the order in which they are admitted; the same whatever the order they come in."""
    classes: dict[Urgency, list[Move]] = defaultdict(list)
    for move, seen in judged:
        classes[urgency(move, seen)].append(move)
    ordered: list[Move] = []
    for kind in sorted(classes):
        moves = sorted(classes[kind], key=lambda m: m.partition)
        ordered.extend(moves if kind is Urgency.INSTANT else _spread(moves))
    return ordered


def _spread(moves: list[Move]) -> Iterable[Move]:
    """Take from the source with the least bytes emitted so far; ties by broker id, then by name."""
    by_source: dict[int, list[Move]] = defaultdict(list)
    for move in reversed(moves):
        by_source[move.source].append(move)
    heap = [(0, source) for source in sorted(by_source)]
    while heap:
        emitted, source = heapq.heappop(heap)
        move = by_source[source].pop()
        yield move
        if by_source[source]:
            heapq.heappush(heap, (emitted + max(move.copies_bytes, 1), source))
