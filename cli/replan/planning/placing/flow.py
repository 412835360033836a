"""Counts per broker brought within bounds, at the least cost there is: a minimum-cost flow on the graph of brokers.

An edge from b to c says that one unit (a replica, a leadership) can go from b to c, at a cost of bytes, then changes.
Which unit that is, the `Exchanges` know. Successive shortest paths (Ahuja, Magnanti, Orlin: Network Flows, 9.7): the
lists that each partition has chosen by itself cost the least, so no cycle costs less than nothing, and taking a unit
along a shortest path keeps it so. Where units were taken in another way before, and a cycle does, taking something back
counts as free. First every broker with too much gives along the cheapest path to a broker with room,
then every broker with too little gets from one that has more than its least. Where no path is left, no placement within
the bounds exists: the brokers that can be reached are the proof.

Of paths that cost the same, the one with the fewest steps is taken. Such a path uses no partition in two ways that
exclude each other: it could be cut short between the two. Where an edge between the two takes something back, the cut
would cost more; then taking something back counts as free, too.
"""

from typing import Protocol

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints

NO_WAY = np.int64(1 << 60)
"""The cost of an edge that does not exist."""


class Costs(Struct, frozen=True):
    """Of the cheapest unit from each broker to each other; shape (brokers, brokers)."""

    bytes: Ints
    """`NO_WAY` where none can go."""
    changes: Ints


class Exchanges(Protocol):
    """Units that can go from one broker to another."""

    @property
    def costs(self) -> Costs:
        """What they cost now."""
        ...

    def next_of(self, source: int, target: int) -> int:
        """Of which partition the cheapest unit from one to the other is."""
        ...

    def carry(self, source: int, target: int) -> None:
        """Take the cheapest unit from one to the other."""
        ...


class Bounds(Struct, frozen=True):
    """The fewest and the most units of each broker."""

    least: Ints
    most: Ints


class Stuck(Struct, frozen=True):
    """The proof that there is no way: no unit can leave `brokers`, which have too many together, or come to them."""

    brokers: tuple[int, ...]
    over: bool


def bring_within(counts: Ints, bounds: Bounds, exchanges: Exchanges) -> Stuck | None:
    """Carry units until `counts` is within the bounds; changes `counts`. None when it is."""
    while (over := counts > bounds.most).any():
        if not _carry_one(counts, over, counts < bounds.most, exchanges):
            ways = exchanges.costs.bytes < NO_WAY
            return Stuck(_reached(ways, int(np.flatnonzero(over)[0])), over=True)
    while (under := counts < bounds.least).any():
        if not _carry_one(counts, counts > bounds.least, under, exchanges):
            ways = exchanges.costs.bytes < NO_WAY
            return Stuck(_reached(ways.T, int(np.flatnonzero(under)[0])), over=False)
    return None


def _carry_one(counts: Ints, sources: Flags, sinks: Flags, exchanges: Exchanges) -> bool:
    """One unit from a source to a sink, if any can be reached."""
    paths = _Paths(exchanges.costs, sources)
    if not (paths.bytes[sinks] < NO_WAY).any():
        return False
    edges = paths.to(paths.nearest(sinks))
    if len({exchanges.next_of(*edge) for edge in edges}) < len(edges):
        paths = _Paths(_without_refunds(exchanges.costs), sources)
        edges = paths.to(paths.nearest(sinks))
    for source, target in edges:
        exchanges.carry(source, target)
        counts[source] -= 1
        counts[target] += 1
    return True


def _without_refunds(costs: Costs) -> Costs:
    """The same where taking something back is free."""
    return Costs(np.maximum(costs.bytes, 0), np.maximum(costs.changes, 0))


def _reached(ways: Flags, start: int) -> tuple[int, ...]:
    """All brokers to which there is a way from one, itself included."""
    reached = np.zeros(len(ways), dtype=bool)
    reached[start] = True
    while True:
        further = reached | ways[reached].any(axis=0)
        if (further == reached).all():
            return tuple(np.flatnonzero(reached).tolist())
        reached = further


class _Paths:
    """The cheapest way from any of the sources to every broker (Bellman and Ford, all edges at a time)."""

    def __init__(self, costs: Costs, sources: Flags) -> None:
        if not self._ended(costs, sources):
            self._ended(_without_refunds(costs), sources)

    def _ended(self, costs: Costs, sources: Flags) -> bool:
        """Whether the ways are found; not where one goes round and round, as each time it costs less."""
        self.bytes = np.where(sources, np.int64(0), NO_WAY)
        self._changes = np.zeros(len(sources), dtype=np.int64)
        self._steps = np.zeros(len(sources), dtype=np.int64)
        self._before = np.full(len(sources), -1)
        nearer = np.flatnonzero(sources)
        for _ in range(len(sources) + 1):
            if not len(nearer):
                return True
            nearer = self._shorter(costs, nearer)
        return False

    def _shorter(self, costs: Costs, via: Ints) -> Ints:
        """One round over all edges from some brokers; to whom the way became shorter."""
        edges = costs.bytes[via]
        bytes_ = np.where(edges < NO_WAY, self.bytes[via, None] + edges, NO_WAY)
        least = bytes_.min(axis=0)
        equal = bytes_ == least
        changes = np.where(equal, self._changes[via, None] + costs.changes[via], NO_WAY)
        fewest = changes.min(axis=0)
        equal &= changes == fewest
        steps = np.where(equal, self._steps[via, None] + 1, NO_WAY)
        first = steps.argmin(axis=0)
        shortest, before = steps[first, np.arange(len(first))], via[first]
        better = (least < self.bytes) | (
            (least == self.bytes)
            & ((fewest < self._changes) | ((fewest == self._changes) & (shortest < self._steps)))
        )
        better &= least < NO_WAY
        self.bytes[better], self._changes[better] = least[better], fewest[better]
        self._steps[better], self._before[better] = shortest[better], before[better]
        shorter: Ints = np.flatnonzero(better)
        return shorter

    def nearest(self, sinks: Flags) -> int:
        """The sink with the cheapest way; the first of equal ones."""
        at = np.flatnonzero(sinks)
        order = np.lexsort((at, self._steps[at], self._changes[at], self.bytes[at]))
        return int(at[order[0]])

    def to(self, sink: int) -> list[tuple[int, int]]:
        """The edges of the way there, from its end: so that each leaves the others as they were."""
        edges = []
        while self._before[sink] >= 0:
            before = int(self._before[sink])
            edges.append((before, sink))
            sink = before
        return edges
