"""Who leads where `preferredLeaders` says `balanced`: as even as the lists allow, with the fewest changes. Exact.

Not a part of `choose`: the lists are given, of the partitions of one entry, and whoever made them (`leaders` is the
balance by share and tolerance).

Wanted is a first replica for each partition so that the brokers lead as many each, within one. Where the lists do not
allow that, the broker that leads most leads as few as possible, and then the one that leads least as many as possible.
The units of the flow are leaderships: an edge from b to c is a partition that b leads and c holds.
"""

from collections import defaultdict
from heapq import heapify, heappop, heappush

import numpy as np

from replan.model.columns import Flags, Ints, Matrix
from replan.planning.placing.flow import Bounds, bring_within, least_that
from replan.planning.placing.steps import NO_WAY, Costs


def balanced_heads(lists: Matrix, may_lead: Flags) -> Ints:
    """Who shall come first in each list, as broker ids; shape (lists,).

    `may_lead`, in the shape of `lists`: which members may. A list none of whose members may keeps its first. The first
    member that may is who leads without a change.
    """
    heads: Ints = lists[np.arange(len(lists)), may_lead.argmax(axis=1)].astype(np.int64)
    rows = np.flatnonzero(may_lead.sum(axis=1) > 1)
    brokers = np.unique(lists[may_lead])
    if not len(rows):
        return heads
    at = np.searchsorted(brokers, lists[rows]).astype(np.int64)
    fixed = np.setdiff1d(np.flatnonzero(may_lead.any(axis=1)), rows)
    others = np.bincount(np.searchsorted(brokers, heads[fixed]), minlength=len(brokers))
    group = _Group(at, may_lead[rows], others)
    share = (len(rows) + len(fixed)) // len(brokers)
    uneven = (len(rows) + len(fixed)) % len(brokers) > 0
    most = least_that(lambda high: group.heads(0, high) is not None, share + uneven)
    short = least_that(lambda less: group.heads(share - less, most) is not None)
    best = group.heads(share - short, most)
    if best is not None:
        heads[rows] = brokers[best]
    return heads


class _Group:
    """Partitions whose leaders are balanced together; brokers are counted from 0."""

    def __init__(self, lists: Ints, may_lead: Flags, others: Ints) -> None:
        self._lists, self._may = lists, may_lead
        self._first = lists[np.arange(len(lists)), may_lead.argmax(axis=1)]
        self._counts = others + np.bincount(self._first, minlength=len(others))

    def heads(self, least: int, most: int) -> Ints | None:
        """Who leads each, with the fewest changes, so that every broker leads so many; None: impossible."""
        counts = self._counts.copy()
        number = len(counts)
        flips = _Leaderships(self._lists, self._may, self._first.copy(), number)
        stuck = bring_within(counts, Bounds(np.full(number, least), np.full(number, most)), flips)
        return None if stuck else flips.heads


class _Leaderships:
    """Partitions that one broker leads and another could."""

    def __init__(self, lists: Ints, may_lead: Flags, heads: Ints, brokers: int) -> None:
        self._lists, self._may, self.heads = lists, may_lead, heads
        self._first = heads.copy()
        self._heaps: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self.costs = Costs(
            np.full((brokers, brokers), NO_WAY), np.zeros((brokers, brokers), dtype=np.int64)
        )
        for slot in range(lists.shape[1]):
            rows = np.flatnonzero(may_lead[:, slot] & (lists[:, slot] != heads))
            for row, head, other in zip(
                rows.tolist(), heads[rows].tolist(), lists[rows, slot].tolist(), strict=True
            ):
                self._heaps[head, other].append((1, row))
        for pair, heap in self._heaps.items():
            heapify(heap)
            self._refresh(*pair)

    def next_of(self, source: int, target: int) -> int:
        """The partition of `source` that costs the least changes if `target` leads it."""
        return self._heaps[source, target][0][1]

    def carry(self, source: int, target: int) -> None:
        """Let `target` lead the partition of `source` that costs the least changes."""
        _, row = heappop(self._heaps[source, target])
        members = [int(b) for b, may in zip(self._lists[row], self._may[row], strict=True) if may]
        self.heads[row] = target
        first = int(self._first[row])
        for other in members:
            if other != target:
                changes = int(other != first) - int(target != first)
                heappush(self._heaps[target, other], (changes, row))
                self._refresh(target, other)
            if other != source:
                self._refresh(source, other)

    def _refresh(self, source: int, target: int) -> None:
        """Drop what `source` leads no more, and set the cost of the edge."""
        heap = self._heaps[source, target]
        while heap and self.heads[heap[0][1]] != source:
            heappop(heap)
        self.costs.bytes[source, target] = 0 if heap else NO_WAY
        self.costs.changes[source, target] = heap[0][0] if heap else 0
