"""No broker holds too much of a topic: replicas of topics that crowd brokers go elsewhere, after all were filled.

Partitions are filled one by one, and what a later one leaves is not known before. So a broker may have come to hold
more than its share of a topic (`spread`), or more than a rule allows (`Rule.most`).

Above its share (`respread`): what was filled goes elsewhere. A new replica is copied wherever it comes, so it costs
nothing to change where; a declared broker stays. In turn, each crowded broker of a topic gives one replica to the
broker that may take most. Who takes is never crowded by it, so crowded brokers become fewer. Where a replica may go
depends on its own partition alone: that is found once for all of them, and again for the partition that a step changes.

Above what a rule allows (`thin_out`): what lies there goes elsewhere, new or not. The replicas of one topic are units
that go from broker to broker (`flow`) until none has more than its most: one of a partition where that does, then more,
each time by the way that copies least. Where no way is left, partitions that lie in one rack go to another as a whole.
Where that does not do, those brokers together must hold more than they may, whatever else is done with this topic: that
is proved, and as many of their partitions keep what they have as it takes, those that cannot move now before others.
New partitions go where they can, and are not given up here.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix, same_width
from replan.planning.placing.flow import Bounds, Stuck, carry
from replan.planning.placing.positions import (
    Positions,
    amounts,
    arranged,
    base_lists,
    resulting_lists,
)
from replan.planning.placing.problem import (
    NO_RACK,
    Impossible,
    Layout,
    Obstacle,
    PlacementProblem,
)
from replan.planning.placing.spread import ANY, TopicSpread, most_by_rule
from replan.planning.placing.steps import ReplicaSteps, Way, is_in

STEPS_AT_ONCE = 1 << 14
"""Partitions whose legal steps are found at a time: bounds the memory."""
SURPLUS_LOOKS = 1_000
"""So many partitions of a topic that are given up are looked at again."""


def respread(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, spread: TopicSpread
) -> None:
    """Change `lists`, as ids, of some rows that were filled; `spread`: as filling has left it."""
    crowded = np.flatnonzero((spread.allowance < 0).any(axis=1))
    rows = rows[np.isin(spread.of[rows], crowded)]
    if not len(rows):
        return
    mine, had = at.find(lists[rows]), at.find(problem.partitions.current[rows])
    base = at.find(base_lists(problem)[rows])
    steps = ReplicaSteps(problem, at, rows, mine, had, spread)
    steps.least = np.minimum(steps.least, steps.racks_in(had))
    steps.way = Way.CROWDED  # what a broker may hold is asked at each step
    order = np.argsort(spread.of[rows], kind="stable")
    ends = np.searchsorted(spread.of[rows][order], crowded + 1)
    for topic, of_topic in zip(crowded.tolist(), np.split(order, ends[:-1]), strict=True):
        _respread_topic(steps, base, topic, of_topic)
    lists[rows, : mine.shape[1]] = np.where(mine >= 0, at.ids[mine], lists[rows])


def _respread_topic(steps: ReplicaSteps, base: Matrix, topic: int, rows: Ints) -> None:
    allowance = steps.spread.allowance[topic]
    takers = np.flatnonzero(allowance[: steps.brokers] > 0)
    givers = {}
    for broker in np.flatnonzero(allowance < 0).tolist():
        fixed = _hold(steps.had[rows], broker) | _hold(base[rows], broker)
        filled = _hold(steps.lists[rows], broker) & ~fixed
        givers[broker] = _Giver(steps, rows[filled], broker, takers)
    changed = True
    while changed:
        changed = False
        for broker, giver in givers.items():
            step = giver.best(allowance[takers].tolist()) if allowance[broker] < 0 else None
            if step:
                row, target = step
                members = steps.members(row)
                steps.take(row, broker, target)
                for other in givers.keys() & members:
                    givers[other].look_again(row)
                changed = True


class _Giver:
    """A broker that holds too much of a topic, and where its new replicas may go."""

    def __init__(self, steps: ReplicaSteps, rows: Ints, broker: int, takers: Ints) -> None:
        self._steps, self._broker, self._takers = steps, broker, takers
        self._rows = rows
        self._legal = np.zeros((len(takers), len(rows) + 1), dtype=bool)
        """Shape (takers, partitions and one that ends the search)."""
        self._legal[:, -1] = True
        for start in range(0, len(rows), STEPS_AT_ONCE):
            some = rows[start : start + STEPS_AT_ONCE]
            self._legal[:, start : start + len(some)] = steps.legal(some, broker, takers).T
        self._first: list[int] = self._legal.argmax(axis=1).tolist()

    def best(self, allowance: list[int]) -> tuple[int, int] | None:
        """The replica that goes to who may take most, by the row, and who takes it; the first of equal ones."""
        none = len(self._rows)
        ways = [
            (-more, first, taker)
            for taker, (more, first) in enumerate(zip(allowance, self._first, strict=True))
            if more > 0 and first < none
        ]
        if not ways:
            return None
        _, first, taker = min(ways)
        return int(self._rows[first]), int(self._takers[taker])

    def look_again(self, row: int) -> None:
        """Find again where a partition may go, that has changed."""
        place = int(np.searchsorted(self._rows, row))
        if not (self._rows[place : place + 1] == row).any():
            return
        self._legal[:, place] = False
        if self._broker in self._steps.members(row):
            self._legal[:, place] = self._steps.legal(np.array([row]), self._broker, self._takers)
        for taker, first in enumerate(self._first):
            start = min(first, place)
            self._first[taker] = start + int(self._legal[taker, start:].argmax())


def _hold(lists: Matrix, broker: int) -> Flags:
    return np.asarray((lists == broker).any(axis=1))


def thin_out(
    problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags
) -> tuple[Impossible, ...]:
    """Change `lists`, as ids, of the partitions of topics that have too many replicas on a broker.

    Returns why some cannot; those keep what they have, and `placed` no longer has them.
    """
    partitions = problem.partitions
    most = most_by_rule(problem)[partitions.rule]
    there = (partitions.current != PAD).any(axis=1)
    ruled = placed & there & (most < ANY)
    stays = np.isin(np.arange(len(lists)), problem.staying)
    free, staying = np.flatnonzero(ruled & ~stays), np.flatnonzero(ruled & stays)
    reasons: list[Impossible] = []
    for topic in np.unique(partitions.topic[free]).tolist():
        rows = free[partitions.topic[free] == topic]
        one = _Topic(problem, at, lists, rows, int(most[rows].min()))
        if one.is_crowded:
            reasons += one.thin_out(placed)
    for topic in np.unique(partitions.topic[staying]).tolist():
        rows = staying[partitions.topic[staying] == topic]
        reasons += _too_many_stay(problem, at, rows, int(most[rows].min()))
    return tuple(reasons)


def _too_many_stay(
    problem: PlacementProblem, at: Positions, rows: Ints, most: int
) -> Iterator[Impossible]:
    """Why some partitions of a topic that stay break its rule: more of them lie on a broker than it allows."""
    count, topic = len(problem.brokers.ids), problem.partitions.topic[rows[0]]
    mine = at.find(problem.partitions.current[rows])
    declared = at.find(problem.elsewhere.lists[problem.elsewhere.topic == topic])
    held = _counts(mine, count)
    over = np.minimum(held + _counts(declared, count) - most, held)
    brokers = np.flatnonzero(over > 0).tolist()
    kept = [np.flatnonzero((mine == b).any(axis=1))[-over[b] :] for b in brokers]
    if kept:
        yield Impossible(
            Obstacle.TOPIC_CROWDS_BROKERS,
            tuple(rows[np.unique(np.concatenate(kept))].tolist()),
            brokers=tuple(int(at.ids[b]) for b in brokers),
            needed=int(held[brokers].sum() + _counts(declared, count)[brokers].sum()),
            available=most * len(brokers),
        )


class _Topic:
    """One topic and its partitions that may go elsewhere."""

    def __init__(
        self, problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, most: int
    ) -> None:
        self._problem, self._at, self._lists, self._rows = problem, at, lists, rows
        partitions, count = problem.partitions, len(problem.brokers.ids)
        topic = partitions.topic[rows[0]]
        self._had = at.find(partitions.current[rows])
        others = np.flatnonzero(partitions.topic == topic)
        others = others[~np.isin(others, rows)]
        beside = at.find(resulting_lists(problem, lists, others))
        elsewhere = at.find(problem.elsewhere.lists[problem.elsewhere.topic == topic])
        self._fixed = _counts(beside, count) + _counts(elsewhere, count)
        self._most = np.maximum(most - self._fixed, 0)
        self._mine = at.find(lists[rows])
        self._allowed = most

    @property
    def is_crowded(self) -> bool:
        """Whether a broker has more than it may."""
        return bool((_counts(self._mine, len(self._most)) > self._most).any())

    def thin_out(self, placed: Flags) -> list[Impossible]:
        """Take replicas elsewhere; why some partitions cannot be placed so."""
        before = self._mine.copy()
        stuck = self._carried()
        over = [] if stuck is None else list(stuck.brokers)
        needed = int((_counts(self._mine, len(self._most)) + self._fixed)[over].sum())
        given_up = np.zeros(len(self._rows), dtype=bool)
        if stuck:
            given_up = self._give_up()
            self._take_back(given_up, before)
        self._write(before, given_up)
        if not given_up.any():
            return []
        placed[self._rows[given_up]] = False
        return [
            Impossible(
                Obstacle.TOPIC_CROWDS_BROKERS,
                tuple(self._rows[given_up].tolist()),
                brokers=tuple(int(self._at.ids[b]) for b in over),
                needed=needed,
                available=self._allowed * len(over),
            )
        ]

    def _steps(self) -> ReplicaSteps:
        """The steps that the lists allow by now, which they change."""
        had, mine = same_width(self._had, self._mine)
        self._mine = mine.copy()
        spread = TopicSpread(self._problem, self._at, self._rows, self._lists)
        return ReplicaSteps(self._problem, self._at, self._rows, self._mine, had, spread)

    def _carried(self) -> Stuck | None:
        """Carry replicas until nobody has too many, or no way is left."""
        width, steps = len(self._most), self._steps()
        counts = _counts(self._mine, width)
        bounds = Bounds(np.zeros(width, dtype=np.int64), self._most)
        for steps.way in (Way.ONE_EACH, Way.ANYWHERE):
            stuck = carry(steps, counts, bounds)
        moved: set[int] = set()
        while stuck and self._to_other_racks(steps, counts, stuck.brokers, moved):
            stuck = carry(steps, counts, bounds)
        return stuck

    def _to_other_racks(
        self, steps: ReplicaSteps, counts: Ints, full: Sequence[int], moved: set[int]
    ) -> bool:
        """Take what lies in one rack to others, where brokers are `full`: the fewest bytes first; whether any went.

        Each partition goes once at most (`moved`).
        """
        there = np.isin(steps.lists, full).sum(axis=1)
        kept = (steps.lists != PAD) & is_in(steps.lists, steps.had)
        order = np.lexsort((np.arange(len(there)), kept.sum(axis=1) * steps.size))
        over, before = int((counts - self._most)[list(full)].sum()), len(moved)
        for row in order.tolist():
            if over <= 0 or not there[row] or row in moved:
                continue
            targets = self._in_another_rack(steps, counts, row)
            for source, target in zip(steps.members(row), targets, strict=False):
                steps.take(row, source, target)
                counts[source] -= 1
                counts[target] += 1
                over -= source in full
                moved.add(row)
        return len(moved) > before

    def _in_another_rack(self, steps: ReplicaSteps, counts: Ints, row: int) -> list[int]:
        """The brokers of another rack that can hold one partition more; none where there is no such rack.

        It can, if so many partitions have room there with one replica each on a broker.
        """
        problem, brokers = self._problem, self._problem.brokers
        rule = problem.rules[int(problem.partitions.rule[self._rows[row]])]
        if rule.layout is not Layout.IN_RACK:
            return []
        home, many = brokers.rack[steps.lists.max(axis=1)], (steps.lists != PAD).sum(axis=1)
        held, factor = steps.held(np.array([row]))[0], int(many[row])
        may = rule.candidates & (brokers.open | held)
        takes = np.where(may, self._most, np.minimum(self._most, counts))
        for rack in np.unique(brokers.rack[may & (brokers.rack != home[row])]).tolist():
            of, lie = brokers.rack == rack, home == rack
            able = np.flatnonzero(of & may)
            room = int(np.minimum(takes[of], lie.sum() + 1).sum())
            if len(able) >= factor and room >= many[lie].sum() + factor:
                order = np.lexsort((counts[able] - self._most[able], ~held[able]))
                targets: list[int] = able[order][:factor].tolist()
                return targets
        return []

    def _give_up(self) -> Flags:
        """Which partitions keep what they have, so that the others keep the rule, and no broker gets too many."""
        given = np.zeros(len(self._mine), dtype=bool)
        had, width = same_width(self._had, self._mine)[0], len(self._most)
        while True:
            counts = _counts(self._mine, width)
            held = _counts(self._mine[~given], width)
            for broker in np.flatnonzero(counts > self._most).tolist():
                on = (self._mine == broker).any(axis=1) & ~given
                new = on & ~(had == broker).any(axis=1)
                least = min(int(counts[broker] - self._most[broker]), int(new.sum()))
                least = max(least, int(held[broker] - self._most[broker]))
                if least > 0:
                    last = np.concatenate([np.flatnonzero(on & ~new), np.flatnonzero(new)])[-least:]
                    given[last] = True
                    self._mine[last] = had[last]
                    break
            else:
                return given

    def _take_back(self, given_up: Flags, filled: Matrix) -> None:
        """Give up no partition that can lie, from where it was filled, where the others leave a place by now."""
        steps, most = self._steps(), self._most
        steps.way = Way.ANYWHERE
        filled = same_width(filled, self._mine)[0]
        for row in np.flatnonzero(given_up)[:SURPLUS_LOOKS].tolist():
            kept = self._mine[row].copy()
            self._mine[row] = filled[row]
            counts, held = (_counts(of, len(most)) for of in (self._mine, self._mine[~given_up]))
            for broker in steps.members(row):
                has = held[broker] + 1 if broker in self._had[row] else counts[broker]
                if has > most[broker]:
                    may = steps.legal(np.array([row]), broker)[0] & (counts < most)
                    if not may.any():
                        self._mine[row] = kept
                        break
                    target = int(np.where(may, counts - most, 1).argmin())
                    steps.take(row, broker, target)
                    counts[target] += 1
            else:
                given_up[row] = False

    def _write(self, before: Matrix, given_up: Flags) -> None:
        """Who is new takes the place of one that leaves; who stays keeps the order that the cluster has."""
        rack = self._at.numbers(self._problem.brokers.rack, NO_RACK).tolist()
        before, mine = same_width(before, self._mine)
        for row in np.flatnonzero((mine != before).any(axis=1)).tolist():
            base = [b for b in self._had[row].tolist() if b >= 0]
            stays = {b for b in mine[row].tolist() if b >= 0}
            order = base
            if not given_up[row]:
                order = arranged(base, sorted(stays.difference(base)), stays, rack)
            self._lists[self._rows[row]] = PAD
            self._lists[self._rows[row], : len(order)] = self._at.ids[order]


def _counts(lists: Matrix, brokers: int) -> Ints:
    """How many of some lists each registered broker is in."""
    inside = np.where(lists < brokers, lists, PAD)
    return amounts(inside, np.ones(len(lists), dtype=np.int64), brokers)
