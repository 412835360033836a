"""The cheapest replica that can go from one broker to another, kept up to date while replicas go.

Of partitions that nothing has changed yet the cost depends on the broker alone that gives: each broker has them sorted
by size, and each pair of brokers a mark how far that list was searched. Partitions that were changed since are few; all
their edges are in heaps, one for each pair, in which outdated entries are dropped when they come to the top.
"""

from collections import defaultdict
from heapq import heappop, heappush

import numpy as np

from replan.model.columns import Ints
from replan.planning.placing.flow import FAR, Costs
from replan.planning.placing.legal_steps import LegalSteps

CHUNK = 64
"""Partitions of a broker that are looked through at a time."""

Entry = tuple[int, int, int, int]
"""Bytes, changes, row, and the stamp of the row when it was entered."""


class ReplicaExchanges:
    """Replicas of some partitions that may go elsewhere within their rules; `steps.lists` changes in place."""

    def __init__(self, steps: LegalSteps) -> None:
        self._steps = steps
        count = steps.brokers
        self._stamp = np.zeros(len(steps.lists), dtype=np.int64)
        self._changed = steps.changed()
        self._heaps: list[dict[int, list[Entry]]] = [defaultdict(list) for _ in range(count)]
        self._givers = [self._sorted_by_size(broker) for broker in range(count)]
        self._sizes = [np.append(steps.size[rows], FAR) for rows in self._givers]
        self._mark = np.zeros((count, count), dtype=np.int64)
        self._enter(np.flatnonzero(self._changed))
        self.costs = Costs(np.full((count, count), FAR), np.zeros((count, count), dtype=np.int64))
        for broker in range(count):
            self._search(broker, np.arange(count))
            self._refresh(broker)

    def carry(self, source: int, target: int) -> None:
        """Take the cheapest replica from one broker to the other."""
        best = self._cheapest(source, target)
        if best is None:
            raise ValueError(f"nothing can go from {source} to {target}")
        self.take(best[2], source, target)

    def take(self, row: int, source: int, target: int) -> None:
        """Take the replica of one partition from one broker to the other."""
        members = self._steps.members(row)
        fresh = not self._changed[row]
        self._changed[row] = True
        if fresh:
            for broker in members:
                self._search(broker, self._pointing(broker, row))
        self._steps.take(row, source, target)
        self._stamp[row] += 1
        self._enter(np.array([row]))
        for broker in sorted({*members, target}):
            self._refresh(broker)

    def _sorted_by_size(self, broker: int) -> Ints:
        """Unchanged partitions that a broker holds, the smallest first."""
        rows = np.flatnonzero((self._steps.lists == broker).any(axis=1) & ~self._changed)
        found: Ints = rows[np.argsort(self._steps.size[rows], kind="stable")]
        return found

    def _pointing(self, broker: int, row: int) -> Ints:
        """To whom this row was the first that the broker could give."""
        rows = self._givers[broker]
        marks = self._mark[broker]
        inside = np.flatnonzero(marks < len(rows))
        found: Ints = inside[rows[marks[inside]] == row]
        return found

    def _search(self, broker: int, targets: Ints) -> None:
        """Move the marks of some targets on to the first unchanged partition that may go there."""
        rows = self._givers[broker]
        left = targets
        at = int(self._mark[broker, targets].min(initial=len(rows)))
        while len(left) and at < len(rows):
            some = rows[at : at + CHUNK]
            may = self._steps.legal(some, broker)[:, left] & ~self._changed[some, None]
            may &= np.arange(at, at + len(some))[:, None] >= self._mark[broker, left]
            found = may.any(axis=0)
            self._mark[broker, left[found]] = at + may.argmax(axis=0)[found]
            left = left[~found]
            at += len(some)
        self._mark[broker, left] = len(rows)

    def _enter(self, rows: Ints) -> None:
        """Put all edges of some changed partitions into the heaps."""
        for slot in range(self._steps.lists.shape[1]):
            some = rows[self._steps.lists[rows, slot] >= 0]
            for broker in np.unique(self._steps.lists[some, slot]).tolist():
                given = some[self._steps.lists[some, slot] == broker]
                may = self._steps.legal(given, broker)
                costs = self._steps.costs(given, broker)
                which, targets = np.nonzero(may)
                entries = zip(
                    costs.bytes[which, targets].tolist(),
                    costs.changes[which, targets].tolist(),
                    given[which].tolist(),
                    self._stamp[given[which]].tolist(),
                    strict=True,
                )
                heaps = self._heaps[broker]
                for target, entry in zip(targets.tolist(), entries, strict=True):
                    heappush(heaps[target], entry)

    def _refresh(self, broker: int) -> None:
        """Set the costs of all edges from one broker: of unchanged partitions at once, then of those that cost less."""
        sizes, marks, stamp = self._sizes[broker], self._mark[broker], self._stamp
        bytes_, changes = sizes[marks].tolist(), (marks < len(sizes) - 1).astype(int).tolist()
        for target, heap in self._heaps[broker].items():
            while heap and heap[0][3] != stamp[heap[0][2]]:
                heappop(heap)
            if heap and heap[0][:2] < (bytes_[target], changes[target]):
                bytes_[target], changes[target] = heap[0][:2]
        self.costs.bytes[broker], self.costs.changes[broker] = bytes_, changes

    def _cheapest(self, source: int, target: int) -> tuple[int, int, int] | None:
        rows, mark = self._givers[source], int(self._mark[source, target])
        heap = self._heaps[source][target]
        while heap and heap[0][3] != self._stamp[heap[0][2]]:
            heappop(heap)
        found = [heap[0][:3]] if heap else []
        if mark < len(rows):
            row = int(rows[mark])
            found.append((int(self._steps.size[row]), 1, row))
        return min(found, default=None)
