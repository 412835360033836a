"""Counts per broker brought within bounds, at the least cost there is: a minimum-cost flow on the graph of brokers.

`carry` is for units that go by `steps`. Many units are swept first: the smallest partitions, each straight from who has
too many to who has too few. What copies nothing goes before all: new replicas that a rule asks for anyhow. Of the
members of a list the broker with most to give gives, and of those that may take it the one that lacks most takes. A
partition is looked at once in a pass, so a pass takes as long as there are partitions. What it leaves, as no straight
step is legal, and few units from the first one on, take the cheapest paths.

Cheapest paths (`bring_within`): an edge from b to c says that one unit (a replica, a leadership) can go from b to c, at
a cost of bytes, then changes. Which unit that is, the `Exchanges` know: `UnitExchanges` here, and those of
`balanced_heads`. Successive shortest paths (Ahuja, Magnanti, Orlin: Network Flows, 9.7): the lists that each partition
has chosen by itself cost the least, so no cycle costs less than nothing, and taking a unit along a shortest path keeps
it so. Where units were taken in another way before, and a cycle does, taking something back counts as free. First every
broker with too much gives along the cheapest path to a broker with room, then every broker with too little gets from
one that has more than its least. Where no path is left, no placement within the bounds exists: the brokers that can be
reached are the proof.

Of paths that cost the same, the one with the fewest steps is taken. Such a path uses no partition in two ways that
exclude each other: it could be cut short between the two. Where an edge between the two takes something back, the cut
would cost more; then taking something back counts as free, too.
"""

from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints
from replan.planning.placing.steps import NO_WAY, Costs, Steps, Way

FEW_OUTSIDE = 64
"""So many units take the cheapest paths from the first one on."""
STEPS_IN_A_BATCH = 256
"""Partitions whose legal steps a sweep finds at a time."""
CHUNK = 64
"""Partitions of a broker that are looked through first; then twice as many each time, as long as there are none."""
MOST = 1 << 12
"""At most so many at a time: it bounds the memory."""
ENDLESS = 1 << 40
"""A tolerance that is never reached: of a broker whose share is nothing."""


class Bounds(Struct, frozen=True):
    """The fewest and the most units of each broker."""

    least: Ints
    most: Ints


class Stuck(Struct, frozen=True):
    """The proof that there is no way: no unit can leave `brokers`, which have too many together, or come to them."""

    brokers: tuple[int, ...]
    over: bool


def carry(steps: Steps, counts: Ints, bounds: Bounds) -> Stuck | None:
    """Bring `counts` of units within bounds: many are swept, few or what is left take the cheapest paths."""
    if _out(counts, bounds) > FEW_OUTSIDE:
        _sweep(counts, bounds, steps)
    while not all_within(counts, bounds):
        exchanges = UnitExchanges(steps)
        stuck = bring_within(counts, bounds, exchanges)
        if not exchanges.stale:
            return stuck
    return None


def _out(counts: Ints, bounds: Bounds) -> int:
    """How many have to come or to go at least."""
    over = np.maximum(counts - bounds.most, 0).sum()
    return int(max(over, np.maximum(bounds.least - counts, 0).sum()))


def all_within(used: Ints, bounds: Bounds) -> bool:
    """Whether all brokers are within their bounds."""
    return bool(((used >= bounds.least) & (used <= bounds.most)).all())


def _sweep(counts: Ints, bounds: Bounds, steps: Steps) -> None:
    """Bring `counts`, which changes, within the bounds as far as straight steps do."""
    passes = (
        (bounds.most, bounds.least),  # from who has too many to who has too few
        (bounds.most, bounds.most),
        (bounds.least, bounds.least),
    )
    for down_to, up_to in passes:
        _Pass(counts, down_to, up_to, steps).run()


class _Pass:
    """From who has more than it shall give down to, to who has less than it shall take up to."""

    def __init__(self, counts: Ints, down_to: Ints, up_to: Ints, steps: Steps) -> None:
        self._counts, self._steps = counts, steps
        self._gives: list[int] = (counts - down_to).tolist()
        self._takes: list[int] = (up_to - counts).tolist()

    def run(self) -> None:
        """Take steps until nobody gives or takes, or none is legal."""
        while self._once() and self._steps.way is Way.MORE:
            pass

    def _once(self) -> bool:
        """Whether any step was taken."""
        order, taken = self._order(), False
        for start in range(0, len(order), STEPS_IN_A_BATCH):
            givers, takers = (np.array(of) > 0 for of in (self._gives, self._takes))
            if not givers.any() or not takers.any():
                break
            taken |= self._take_some(
                order[start : start + STEPS_IN_A_BATCH], givers, np.flatnonzero(takers)
            )
        return taken

    def _order(self) -> Ints:
        """Partitions by what a copy costs; of equal ones the first of each topic, then the second."""
        steps = self._steps
        by_topic = np.argsort(steps.topic, kind="stable")
        topic = steps.topic[by_topic]
        number = np.empty_like(by_topic)
        number[by_topic] = np.arange(len(topic)) - np.searchsorted(topic, topic)
        order: Ints = np.lexsort((number, np.where(steps.new > 0, 0, steps.size)))
        return order

    def _take_some(self, rows: Ints, givers: Flags, takers: Ints) -> bool:
        """Steps of some partitions, one of each at most."""
        lists = self._steps.lists[rows]
        at, slot = np.nonzero((lists >= 0) & givers[lists])
        sources = lists[at, slot]
        legal = self._steps.legal(rows[at], sources, takers)
        some = np.flatnonzero(legal.any(axis=1))
        ways: dict[int, list[tuple[int, list[int]]]] = {}
        for row, source, may in zip(
            rows[at[some]].tolist(), sources[some].tolist(), legal[some], strict=True
        ):
            ways.setdefault(row, []).append((source, takers[may].tolist()))
        taken = False
        for row, of in ways.items():
            taken |= self._take(row, of)
        return taken

    def _take(self, row: int, ways: list[tuple[int, list[int]]]) -> bool:
        """The best step of one partition, if any still brings something."""
        gives, takes = self._gives, self._takes
        allowance = self._steps.spread.allowance_of(int(self._steps.rows[row]))
        ways.sort(key=lambda way: (-gives[way[0]], allowance[way[0]], way[0]))
        for source, targets in ways:
            able = [
                (-takes[b], -allowance[b], b) for b in targets if takes[b] > 0 and allowance[b] > 0
            ]
            if gives[source] > 0 and able:
                target = min(able)[2]
                self._steps.take(row, source, target)
                for broker, more in ((source, -1), (target, 1)):
                    self._counts[broker] += more
                    gives[broker] += more
                    takes[broker] -= more
                return True
        return False


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


Entry = tuple[int, int, int, int]
"""Bytes, changes, row, and the stamp of the row when it was entered."""


class UnitExchanges:
    """The cheapest unit that may go from one broker to another by `steps`, kept up to date while units go.

    What a unit costs depends on the broker alone that gives, but for a broker that the partition comes back to. So each
    broker has its units sorted by cost, and each pair of brokers a mark how far that list was searched. Partitions that
    were changed since are few; all their edges are in heaps, one for each pair, in which outdated entries are dropped
    when they come to the top. A way back is in a heap from the start.

    When a broker may hold no more of a topic, marks on its partitions move on. When it may again, they do not come
    back: the exchanges are `stale`, and whoever finds no way asks new ones.
    """

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


def least_that(holds: Callable[[int], bool], start: int = 0) -> int:
    """The smallest number from `start` on for which it holds; it holds of all above one for which it holds."""
    if holds(start):
        return start
    low, high = start, start + 1
    while not holds(high) and high < ENDLESS:
        low, high = high, 2 * high - start
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
