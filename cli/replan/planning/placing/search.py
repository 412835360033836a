"""Measures of brokers brought within the tolerance of their shares, one after the other, by steps of one kind.

The first measure counts most: the steps for a later one keep an earlier one within its bounds, or as near as it has
come. A measure that counts units alone, and is the first, is exact (`flow`): where no steps bring all brokers within
their bounds, the bounds give way, as little as can be, to those that nothing can leave, or nothing can come to. All
others are searched for (`packing`), and the search keeps what it has found.

Many units are swept first: the smallest partitions, each straight from who has too many to who has too few. What copies
nothing goes before all: new replicas that a rule asks for anyhow. Of the members of a list the broker with most to give
gives, and of those that may take it the one that lacks most takes. A partition is looked at once in a pass, so a pass
takes as long as there are partitions. What it leaves, as no straight step is legal, is for the flow.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints
from replan.model.declared.rules import Tolerance
from replan.planning.placing.exchanges import ReplicaExchanges
from replan.planning.placing.flow import Bounds, Stuck, bring_within
from replan.planning.placing.loads import amounts
from replan.planning.placing.packing import BrokerTotals, Packed, Packing
from replan.planning.placing.problem import NO_LIMIT, Imbalance
from replan.planning.placing.shares import PARTS, Aim, TopMost
from replan.planning.placing.steps import Steps, Way

FEW_OUTSIDE = 64
"""So many units take the cheapest paths from the first one on."""
STEPS_IN_A_BATCH = 256
"""Partitions whose legal steps a sweep finds at a time."""


class Goal(Struct, frozen=True):
    """One measure of the balance."""

    tolerance: Tolerance
    units: Ints
    """What one unit of each partition counts."""
    aim: Aim | TopMost
    most: Ints | None = None
    """What each broker can have at most, whatever its share is; None: anything."""

    @property
    def bounds(self) -> Bounds:
        """What each broker shall have."""
        return fit(self.aim.bounds, self.most)

    def full(self, used: Ints) -> Flags:
        """Which brokers can have no more, or less than their share, though the share would allow more."""
        if self.most is None:
            return np.zeros(len(used), dtype=bool)
        bounds = self.aim.bounds
        full = (used >= self.most) | (self.most < bounds.least)
        return np.asarray(full & (self.most < bounds.most))

    @property
    def counts_alone(self) -> bool:
        """Whether every unit counts one, and nothing but the shares bounds them."""
        return self.most is None and bool((self.units == 1).all())


class Search:
    """Takes units elsewhere; `steps.lists` changes in place."""

    def __init__(self, steps: Steps, budget: int, ids: Ints) -> None:
        """`ids`: of the brokers."""
        self._steps, self._budget, self._ids = steps, budget, ids
        self.spent = 0
        """Steps of the searches so far."""

    def run(self, goals: Sequence[Goal]) -> list[Imbalance]:
        """Come as near as can be; how near, where that is not as asked."""
        held: list[BrokerTotals] = []
        searched: list[int | None] = []
        for goal in goals:
            before = self.spent
            if goal.counts_alone and all((of.units == 1).all() for of in held):
                self._count(goal, held)
                searched.append(None)
            else:
                self.pack(goal.units, goal.bounds, held, list(Way)[:2])
                searched.append(self.spent - before)
            held.append(self.held(goal))
        imbalances = []
        for goal, steps in zip(goals, searched, strict=True):
            imbalances += self._imbalance(goal, steps)
        return imbalances

    def held(self, goal: Goal) -> BrokerTotals:
        """What brokers have of a measure, which they keep within its bounds, or no further from them than now."""
        used, bounds = self._used(goal.units), goal.bounds
        loose = Bounds(np.minimum(bounds.least, used), np.maximum(bounds.most, used))
        return BrokerTotals(goal.units, used, loose)

    def pack(
        self, units: Ints, bounds: Bounds, held: Sequence[BrokerTotals], ways: Sequence[Way]
    ) -> bool:
        """Search for a measure, with what is held as it is by now; whether it is within its bounds."""
        aimed = BrokerTotals(units, self._used(units), bounds)
        if not aimed.excess.any():
            return True
        for measured in held:
            measured.used[:] = self._used(measured.units)
        packing, ended = Packing(self._steps, aimed, held), Packed(False, 0)
        for self._steps.way in ways:
            if not ended.within:
                more = packing.pack(self._budget - ended.steps)
                ended = Packed(more.within, ended.steps + more.steps)
        self.spent += ended.steps
        return ended.within

    def _count(self, goal: Goal, held: Sequence[BrokerTotals]) -> None:
        """Exact; what would come no nearer than it is stays as it is, so that no two ends change places for ever."""
        before, lists = self._used(goal.units), self._steps.lists.copy()
        self._come_near(goal, held)
        if isinstance(goal.aim, Aim):
            now = goal.aim.beyond(self._used(goal.units), goal.tolerance.within)
            was = goal.aim.beyond(before, goal.tolerance.within) if now else {}
            if now and sorted(was.values(), reverse=True) <= sorted(now.values(), reverse=True):
                self._steps.put_back(lists)

    def _come_near(self, goal: Goal, held: Sequence[BrokerTotals]) -> None:
        counts, aim = self._used(goal.units), goal.aim
        bounds = _inside(aim.bounds, held)
        while stuck := self._brought_within(counts, bounds):
            give_way = aim.give_way_above if stuck.over else aim.give_way_below
            give_way(stuck.brokers, counts)
            before, bounds = bounds, _inside(aim.bounds, held)
            if (bounds.most == before.most).all() and (bounds.least == before.least).all():
                break  # what is held leaves no more

    def _brought_within(self, counts: Ints, bounds: Bounds) -> Stuck | None:
        """One unit of each partition as far as that does, then more."""
        for way in (Way.ONE_EACH, Way.MORE):
            self._steps.way = way
            stuck = self.carry(counts, bounds)
            if stuck and stuck.over and way is Way.ONE_EACH:
                self.carry(counts, Bounds(bounds.least, np.maximum(bounds.most, counts)))
            if not stuck:
                break
        return stuck

    def carry(self, counts: Ints, bounds: Bounds) -> Stuck | None:
        """Bring `counts` of units within bounds: many are swept, few or what is left take the cheapest paths."""
        if _out(counts, bounds) > FEW_OUTSIDE:
            _sweep(counts, bounds, self._steps)
        while not all_within(counts, bounds):
            exchanges = ReplicaExchanges(self._steps)
            stuck = bring_within(counts, bounds, exchanges)
            if not exchanges.stale:
                return stuck
        return None

    def _used(self, units: Ints) -> Ints:
        return amounts(self._steps.lists, units, self._steps.brokers)

    def _imbalance(self, goal: Goal, steps: int | None) -> list[Imbalance]:
        if isinstance(goal.aim, TopMost):
            return self._too_many(goal, goal.aim.elsewhere)
        within = goal.tolerance.within
        used = self._used(goal.units)
        reached = goal.aim.beyond(used, within)
        if not reached:
            return []
        brokers, full = (
            tuple(self._ids[of].tolist()) for of in (list(reached), np.flatnonzero(goal.full(used)))
        )
        nearest = Fraction(max(reached.values()), PARTS)
        return [Imbalance(goal.tolerance.measure, within, nearest, brokers, steps, full)]

    def _too_many(self, goal: Goal, elsewhere: Ints) -> list[Imbalance]:
        within, has = goal.tolerance.within, self._used(goal.units) + elsewhere
        far = np.flatnonzero(has > int(within))
        if not len(far):
            return []
        brokers = tuple(int(b) for b in self._ids[far])
        return [Imbalance(goal.tolerance.measure, within, Fraction(int(has.max())), brokers, None)]


def _inside(bounds: Bounds, held: Sequence[BrokerTotals]) -> Bounds:
    """Bounds of a number within those of others that are held."""
    least, most = bounds.least, bounds.most
    for of in held:
        most = np.minimum(most, of.bounds.most)
        least = np.maximum(least, of.bounds.least)
    return Bounds(np.minimum(least, most), most)


def all_within(used: Ints, bounds: Bounds) -> bool:
    """Whether all brokers are within their bounds."""
    return bool(((used >= bounds.least) & (used <= bounds.most)).all())


def fit(bounds: Bounds, most: Ints | None) -> Bounds:
    """The bounds, where brokers can have less."""
    if most is None:
        return bounds
    return Bounds(np.minimum(bounds.least, most), np.minimum(bounds.most, most))


def no_bounds(brokers: int) -> Bounds:
    """Anything."""
    return Bounds(np.zeros(brokers, dtype=np.int64), np.full(brokers, NO_LIMIT))


def _out(counts: Ints, bounds: Bounds) -> int:
    """How many have to come or to go at least."""
    over = np.maximum(counts - bounds.most, 0).sum()
    return int(max(over, np.maximum(bounds.least - counts, 0).sum()))


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
