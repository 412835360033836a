"""The cheapest replica that can go from one broker to another, kept up to date while replicas go.

What a replica costs depends on the broker alone that gives, but for a broker that the partition comes back to. So each
broker has its replicas sorted by cost, and each pair of brokers a mark how far that list was searched. Partitions that
were changed since are few; all their edges are in heaps, one for each pair, in which outdated entries are dropped when
they come to the top. A way back is in a heap from the start.

When a broker may hold no more of a topic, marks on its partitions move on. When it may again, they do not come back:
the exchanges are `stale`, and whoever finds no way asks new ones.
"""

from collections import defaultdict
from heapq import heappop, heappush

import numpy as np

from replan.model.columns import Flags, Ints
from replan.planning.placing.flow import NO_WAY, Costs
from replan.planning.placing.steps import Steps

CHUNK = 64
"""Partitions of a broker that are looked through first; then twice as many each time, as long as there are none."""
MOST = 1 << 12
"""At most so many at a time: it bounds the memory."""

Entry = tuple[int, int, int, int]
"""Bytes, changes, row, and the stamp of the row when it was entered."""


class ReplicaExchanges:
    """Replicas of some partitions that may go elsewhere within their rules; `steps.lists` changes in place."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        count = steps.brokers
        self._stamp = np.zeros(len(steps.lists), dtype=np.int64)
        self._changed = np.zeros(len(steps.lists), dtype=bool)
        self._heaps: list[dict[int, list[Entry]]] = [defaultdict(list) for _ in range(count)]
        self._givers, self._new = self._sorted_by_cost()
        self._sizes = [
            np.append(np.where(new, 0, steps.size[rows]), NO_WAY)
            for rows, new in zip(self._givers, self._new, strict=True)
        ]
        self._mark = np.zeros((count, count), dtype=np.int64)
        self.stale = False
        self._enter(np.flatnonzero(steps.changed_rows()), only_back=True)
        self.costs = Costs(
            np.full((count, count), NO_WAY), np.zeros((count, count), dtype=np.int64)
        )
        for broker in range(count):
            self._search(broker, np.arange(count))
            self._refresh(broker)

    def next_of(self, source: int, target: int) -> int:
        """The row of the cheapest replica that can go from one broker to the other."""
        best = self._cheapest(source, target)
        if best is None:
            raise ValueError(f"nothing can go from {source} to {target}")
        return best[2]

    def carry(self, source: int, target: int) -> None:
        """Take the cheapest replica from one broker to the other."""
        self.take(self.next_of(source, target), source, target)

    def take(self, row: int, source: int, target: int) -> None:
        """Take the replica of one partition from one broker to the other."""
        members, topic = self._steps.members(row), self._steps.topic_of(row)
        fresh = not self._changed[row]
        self._changed[row] = True
        if fresh:
            for broker in members:
                self._search(broker, self._pointing(broker, row))
        self.stale |= bool(topic) and not self._steps.allowance(topic, source)
        self._steps.take(row, source, target)
        self._stamp[row] += 1
        self._enter(np.array([row]))
        for broker in sorted({*members, target}):
            self._refresh(broker)
        if topic and not self._steps.allowance(topic, target):
            self._close(topic, target)

    def _close(self, topic: int, target: int) -> None:
        """Move on what points to a partition of a topic that the target may hold no more of."""
        for broker, rows in enumerate(self._givers):
            mark = self._mark[broker, target]
            if mark < len(rows) and self._steps.topic_of(int(rows[mark])) == topic:
                self._search(broker, np.array([target]))
            self._refresh(broker, target)

    def _sorted_by_cost(self) -> tuple[list[Ints], list[Flags]]:
        """The partitions that each broker holds, the cheapest to give first, and which of them are new there."""
        steps = self._steps
        row, slot = np.nonzero(steps.lists >= 0)
        broker = steps.lists[row, slot]
        new = ~(steps.had[row] == broker[:, None]).any(axis=1)
        order = np.lexsort((row, ~new, np.where(new, 0, steps.size[row]), broker))
        ends = np.searchsorted(broker[order], np.arange(1, steps.brokers))
        return np.split(row[order], ends), np.split(new[order], ends)

    def _pointing(self, broker: int, row: int) -> Ints:
        """To whom this row was the first that the broker could give."""
        rows = self._givers[broker]
        marks = self._mark[broker]
        inside = np.flatnonzero(marks < len(rows))
        pointing: Ints = inside[rows[marks[inside]] == row]
        return pointing

    def _search(self, broker: int, targets: Ints) -> None:
        """Move the marks of some targets on to the first unchanged partition that may go there."""
        rows = self._givers[broker]
        pending, many = targets, CHUNK
        at = int(self._mark[broker, targets].min(initial=len(rows)))
        while len(pending) and at < len(rows):
            some = rows[at : at + many]
            may = self._steps.legal(some, broker)[:, pending] & ~self._changed[some, None]
            may &= np.arange(at, at + len(some))[:, None] >= self._mark[broker, pending]
            ends = may.any(axis=0)
            self._mark[broker, pending[ends]] = at + may.argmax(axis=0)[ends]
            pending = pending[~ends]
            at, many = at + len(some), min(2 * many, MOST)
        self._mark[broker, pending] = len(rows)

    def _enter(self, rows: Ints, *, only_back: bool = False) -> None:
        """Put all edges of some partitions into the heaps, or those that lead back."""
        for slot in range(self._steps.lists.shape[1]):
            some = rows[self._steps.lists[rows, slot] >= 0]
            for broker in np.unique(self._steps.lists[some, slot]).tolist():
                given = some[self._steps.lists[some, slot] == broker]
                may = self._steps.legal(given, broker)
                if only_back:
                    may &= self._steps.held(given)
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

    def _refresh(self, broker: int, only: int | None = None) -> None:
        """Set the costs of all edges from one broker, or of one: of unchanged partitions, then of what costs less."""
        targets = slice(None) if only is None else slice(only, only + 1)
        sizes, marks = self._sizes[broker], self._mark[broker, targets]
        there = marks < len(sizes) - 1
        bytes_ = sizes[marks]
        changes = there & ~np.append(self._new[broker], False)[marks]
        self.costs.bytes[broker, targets], self.costs.changes[broker, targets] = bytes_, changes
        heaps = self._heaps[broker]
        for target in heaps if only is None else [only]:
            top = self._top(heaps[target], target)
            if top and top[:2] < (
                self.costs.bytes[broker, target],
                self.costs.changes[broker, target],
            ):
                self.costs.bytes[broker, target], self.costs.changes[broker, target] = top[:2]

    def _top(self, heap: list[Entry], target: int) -> Entry | None:
        """The cheapest entry that holds still."""
        while heap:
            row = heap[0][2]
            if heap[0][3] == self._stamp[row] and self._steps.allowance(
                self._steps.topic_of(row), target
            ):
                return heap[0]
            heappop(heap)
        return None

    def _cheapest(self, source: int, target: int) -> tuple[int, int, int] | None:
        rows, mark = self._givers[source], int(self._mark[source, target])
        top = self._top(self._heaps[source][target], target)
        ways = [top[:3]] if top else []
        if mark < len(rows):
            new = bool(self._new[source][mark])
            ways.append((int(self._sizes[source][mark]), int(not new), int(rows[mark])))
        return min(ways, default=None)
