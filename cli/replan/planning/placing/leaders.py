"""Who comes first in the lists that were chosen, and so leads them: the order of lists alone changes.

Where the first of a list has left, its place is that of who came for it, unless that one would lead too much of the
topic (`spread`): then of the first live one in the list that would not, or else that leads least of it. Declared lists
and those of new partitions keep their order.

Leaders that shall be balanced are brought within the tolerance of each broker's share, by number, bytes or load.
Counted are the partitions that are placed by rule and whose order nothing declares; who leads one is who comes first in
its list, and may lead. A broker's share is by weight, and no more than what it holds and may lead. First each topic is
spread: no broker leads more of it than its share, rounded up, and one, where the lists allow that. Then the brokers are
balanced (`goals`), with steps that keep topics spread: each is a change of order, which copies nothing. Who is fenced
keeps what it leads, and gets nothing. The order is static, so that a restart changes nothing.
"""

from fractions import Fraction

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix
from replan.model.declared.rules import Tolerance
from replan.planning.placing.balance import every_candidate, placed_by_rule, units_of
from replan.planning.placing.goals import Aim, Goal, Search
from replan.planning.placing.positions import Positions, amounts, base_lists
from replan.planning.placing.problem import Imbalance, Leading, PlacementProblem
from replan.planning.placing.shares import shared_out
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import Steps, Way, has


def spread_heads(problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags) -> None:
    """Change the order of `lists`, as ids, where a new first one leads too much."""
    base = base_lists(problem)[:, 0]
    free = ~problem.listed & placed & (base >= 0)
    rows = np.flatnonzero(free & (lists[:, 0] != base))
    if not len(rows):
        return
    fenced = at.flags(problem.brokers.fenced, others=True, padding=True)
    spread = TopicSpread(problem, at, rows, lists, heads=True)
    for row, members in zip(rows.tolist(), at.find(lists[rows]).tolist(), strict=True):
        allowance = spread.allowance_of(row)
        if allowance[members[0]] >= 0:
            continue
        others = [b for b in members[1:] if not fenced[b]]
        able = [b for b in others if allowance[b] > 0]
        least = max(others, key=lambda b: allowance[b], default=members[0])
        if able or allowance[least] > allowance[members[0]] + 1:
            head = able[0] if able else least
            spread.take(row, [members[0]], [head])
            order = [head, *(b for b in members if b != head and b >= 0)]
            lists[row, : len(order)] = at.ids[order]


def balance_leaders(
    problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags
) -> tuple[Imbalance, ...]:
    """Change who comes first in `lists`, as ids."""
    tolerances = [tolerance for tolerance in problem.balance if tolerance.measure.of_leaders]
    leading = problem.leading
    rows = placed_by_rule(problem, placed)
    if not tolerances or leading is None or not len(rows):
        return ()
    rows = rows[~leading.declared[rows]]
    members = at.find(lists[rows])
    may_lead = _may_lead(problem, leading, at, rows, members)
    led = (may_lead >= 0).any(axis=1)
    rows, members, may_lead = rows[led], members[led], may_lead[led]
    before = _heads(leading, at, rows, may_lead)
    ordered = lists.copy()
    ordered[rows] = _first(members, before, at)
    spread = TopicSpread(problem, at, rows, ordered, heads=True)
    steps = LeaderSteps(
        problem, rows, before, _able_to_take(problem, rows, before, may_lead), spread
    )
    _spread_topics(steps)
    goals = [_goal(problem, rows, steps, may_lead, tolerance) for tolerance in tolerances]
    imbalances = Search(steps, problem.budget, problem.brokers.ids).run(goals)
    heads = steps.lists[:, 0]
    changed = np.flatnonzero(heads != before)
    lists[rows[changed]] = _first(members[changed], heads[changed], at)
    return tuple(imbalances)


class LeaderSteps(Steps):
    """Who leads some partitions, as lists of one broker each, and the members of each that may come to."""

    def __init__(
        self,
        problem: PlacementProblem,
        rows: Ints,
        heads: Ints,
        may_lead: Matrix,
        spread: TopicSpread,
    ) -> None:
        """`heads`: who leads each by now; `may_lead`: the members that may, -1 elsewhere; both as positions."""
        lists: Matrix = heads[:, None].astype(np.int32)
        super().__init__(problem, rows, lists, lists.copy(), spread)
        self._may_lead = may_lead
        self.size = np.zeros(len(rows), dtype=np.int64)

    def legal(self, rows: Ints, source: int | Ints | Matrix, to: Ints | None = None) -> Flags:
        """To which brokers, of some or of all, the leadership of `source` may go; shape (rows, brokers)."""
        to = self._every if to is None else to
        sources = np.broadcast_to(np.asarray(source), len(rows))[:, None]
        may: Flags = has(self._may_lead[rows], to) & (to != sources)
        may &= self.lists[rows] == sources
        if self.way is not Way.CROWDED:
            may &= self.may_take(self.spread.of[self.rows[rows]][:, None], to) > 0
        return may

    def may_leave(self, rows: Ints, source: int | Ints) -> Flags:
        """Which of some partitions may give the leadership of `source` to anybody."""
        return np.asarray((self._may_lead[rows] >= 0).any(axis=1) & (self.lists[rows, 0] == source))


def _may_lead(
    problem: PlacementProblem, leading: Leading, at: Positions, rows: Ints, members: Matrix
) -> Matrix:
    """The members of each list that may lead it, -1 for the others."""
    may_lead = np.where(members < at.count, members, PAD).astype(np.int32)
    topics = problem.partitions.topic[rows]
    for topic, listed in leading.listed.items():
        mine = np.flatnonzero(topics == topic)
        barred = np.isin(may_lead[mine], at.find(np.array(sorted(listed), dtype=np.int64)))
        may_lead[mine] = np.where(barred, PAD, may_lead[mine])
    return may_lead


def _heads(leading: Leading, at: Positions, rows: Ints, may_lead: Matrix) -> Ints:
    """Who leads each: the first of its list if that one may, else who comes first in the cluster, else the next."""
    first = at.find(leading.first[rows])
    there = (may_lead == first[:, None]) & (may_lead >= 0)
    there &= (may_lead[:, 0] < 0)[:, None]
    slot = np.where(there.any(axis=1), there.argmax(axis=1), (may_lead >= 0).argmax(axis=1))
    heads: Ints = may_lead[np.arange(len(rows)), slot].astype(np.int64)
    return heads


def _able_to_take(problem: PlacementProblem, rows: Ints, heads: Ints, may_lead: Matrix) -> Matrix:
    """The members that may come to lead: none that is fenced, none where one that is leads, or the partition stays."""
    fenced = np.append(problem.brokers.fenced, False)[may_lead]
    stays = np.isin(rows, problem.staying) | problem.brokers.fenced[heads]
    return np.where(fenced | stays[:, None], PAD, may_lead).astype(np.int32)


def _first(members: Matrix, heads: Ints | Matrix, at: Positions) -> Matrix:
    """The lists, as ids, with who leads first, and the others in their order."""
    rank = np.where(members == PAD, 2, members != heads[:, None])
    order = np.take_along_axis(members, np.argsort(rank, axis=1, kind="stable"), axis=1)
    return np.where(order == PAD, PAD, at.ids[order]).astype(np.int32)


def _goal(
    problem: PlacementProblem,
    rows: Ints,
    steps: LeaderSteps,
    may_lead: Matrix,
    tolerance: Tolerance,
) -> Goal:
    units = units_of(problem, rows, tolerance.measure)
    every, fenced = every_candidate(problem), problem.brokers.fenced
    of = [
        _shares(problem, rows, units, steps.lists, may_lead, takes)
        for takes in (every & ~fenced, every)
    ]
    has = amounts(steps.lists, units, steps.brokers)
    return Goal(tolerance, units, Aim.at(of, tolerance.within, has, ~fenced))


def _shares(
    problem: PlacementProblem,
    rows: Ints,
    units: Ints,
    heads: Matrix,
    may_lead: Matrix,
    takes: Flags,
) -> list[Fraction]:
    """The share of each broker that takes something, 0 of the others, which keep what they lead."""
    count = len(takes)
    shares = [Fraction(0)] * count
    for number in np.unique(problem.partitions.rule[rows]).tolist():
        mine = problem.partitions.rule[rows] == number
        leads = amounts(heads[mine], units[mine], count)
        most = amounts(may_lead[mine], units[mine], count)
        some = np.flatnonzero(takes & (most > 0)).tolist()
        kept = [b for b in range(count) if not takes[b]]
        rest = int(units[mine].sum()) - sum(int(leads[b]) for b in kept)
        weights = [int(problem.brokers.weight[b]) for b in some]
        parts = shared_out(rest, weights, [int(most[b]) for b in some])
        for broker, part in zip(some, parts, strict=True):
            shares[broker] += part
    return shares


def _spread_topics(steps: LeaderSteps) -> None:
    """Take leaderships from who leads more of a topic than its share, rounded up, and one."""
    spread = steps.spread
    leads = spread.most - spread.allowance
    crowded = [
        (topic, broker)
        for topic, broker in np.argwhere(leads > spread.fair).tolist()
        if topic and broker < steps.brokers
    ]
    of = spread.of[steps.rows]
    by_topic = np.argsort(of, kind="stable")
    for topic, broker in crowded:
        ends = np.searchsorted(of[by_topic], [topic, topic + 1])
        rows = by_topic[ends[0] : ends[1]]
        for row in rows[steps.lists[rows, 0] == broker].tolist():
            leads = spread.most[topic] - spread.allowance[topic]
            if leads[broker] <= spread.fair[topic, broker]:
                break
            free = spread.fair[topic, : steps.brokers] - leads[: steps.brokers]
            ways = np.flatnonzero(steps.legal(np.array([row]), broker)[0] & (free > 0))
            if len(ways):
                steps.take(row, broker, int(ways[np.argmax(free[ways])]))
    spread.keep()
