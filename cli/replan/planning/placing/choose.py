"""The whole choice: what is in place stays, what is missing is filled, then replicas, bytes and leaders are balanced.

What is in place is found in columns, so that a million partitions cost a second or two.

Partitions are filled one by one, and what a later one leaves is not known before. So where a broker has come to hold
too much of a topic, what was filled goes elsewhere afterwards: a new replica is copied wherever it comes, so it costs
nothing to change where. A declared broker stays. In turn, each crowded broker of a topic gives one replica to the
broker that may take most. Who takes is never crowded by it, so crowded brokers become fewer. Where a replica may go
depends on its own partition alone: that is found once for all of them, and again for the partition that a step changes.

Who comes first in a changed list, and so leads it, is spread by topic as well. Where the first of a list has left, its
place is that of who came for it, unless that one would lead too much of the topic (`spread`): then of the first live
one in the list that would not, or else that leads least of it. Declared lists and those of new partitions keep their
order.
"""

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from replan.model.columns import PAD, Flags, Ints, Matrix, same_width, widened
from replan.planning.placing.balance import balance
from replan.planning.placing.keeping import Filler
from replan.planning.placing.leader_balance import balance_leaders
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import (
    NO_RACK,
    Choice,
    Imbalance,
    Layout,
    PlacementProblem,
    Rule,
)
from replan.planning.placing.spread import TopicSpread
from replan.planning.placing.steps import ReplicaSteps, Way
from replan.planning.placing.thinning import thin_out

AGAIN = 8
LOOKS = 1_000_000
"""Partitions that all further choices look at together, at most: what is chosen for a million is chosen once more."""
COUNTED_AT_ONCE = 1 << 17
"""Rows that are counted over the racks at a time: bounds the memory."""
STEPS_AT_ONCE = 1 << 14
"""Partitions whose legal steps are found at a time: bounds the memory."""


def choose(problem: PlacementProblem) -> Choice:
    """Choose a list for each partition, with the fewest bytes copied; or say why there is none.

    A partition that cannot be placed keeps the list that it has, and the others are placed all the same. What would be
    chosen next, where partitions have the lists that were found, is chosen at once, so that the next plan is empty:
    goals that are met one after the other change what those before them found.
    """
    choice = _once(problem)
    before = base_lists(problem)
    for _ in range(times_again(len(before))):
        steps = max((i.steps or 0 for i in choice.imbalances), default=0)
        if _is_last(problem, choice) or steps >= problem.budget:
            break
        if not len(_differ(choice.lists, before)):
            break
        before, then = choice.lists, _once(_after(problem, choice, problem.budget - steps))
        if np.isin(_differ(then.lists, base_lists(problem)), _given_up(then)).any():
            break  # it has to keep what it has, and has got another list by now
        counted = [
            i if i.steps is None else replace(i, steps=i.steps + steps) for i in then.imbalances
        ]
        choice = replace(then, in_place=choice.in_place, imbalances=tuple(counted))
    return choice


def times_again(partitions: int) -> int:
    """How often it is asked at most what would be chosen next."""
    return min(AGAIN, LOOKS // max(partitions, 1))


def _is_last(problem: PlacementProblem, choice: Choice) -> bool:
    """Whether all is as asked, so that the next choice is the same. Leaders of topics may come nearer each time."""
    of_leaders = any(tolerance.measure.of_leaders for tolerance in problem.balance)
    return not (choice.imbalances or choice.impossible or of_leaders)


def _differ(some: Matrix, others: Matrix) -> Ints:
    some, others = same_width(some, others)
    return np.flatnonzero((some != others).any(axis=1))


def _given_up(choice: Choice) -> list[int]:
    """The rows that keep what they have."""
    return [row for reason in choice.impossible for row in reason.partitions]


def _after(problem: PlacementProblem, choice: Choice, budget: int) -> PlacementProblem:
    """The same once these lists are there, and the first of each that is not fenced leads it."""
    partitions, lists = problem.partitions, choice.lists
    base, lists = same_width(partitions.base, lists)
    current, lists = same_width(partitions.current, lists)
    base = same_width(base, lists)[0]
    keeps = np.isin(np.arange(len(lists)), [*problem.staying.tolist(), *_given_up(choice)])
    able = np.argmax(~np.isin(lists, problem.brokers.ids[problem.brokers.fenced]), axis=1)
    leader = lists[np.arange(len(lists)), able].astype(np.int64)
    partitions = replace(
        partitions,
        base=np.where(keeps[:, None], base, lists),
        current=np.where(keeps[:, None], current, lists),
        leader=np.where(keeps, partitions.leader, leader),
    )
    leading = problem.leading
    if leading is not None:
        first = np.where(keeps, leading.first, lists[:, 0]).astype(np.int64)
        leading = replace(leading, first=first)
    return replace(problem, partitions=partitions, leading=leading, budget=budget)


def _once(problem: PlacementProblem) -> Choice:
    at = Positions.of(problem)
    settled = _in_place(problem, at)
    longest = min(int(problem.partitions.factor.max(initial=0)), len(problem.brokers.ids))
    lists = widened(base_lists(problem), longest)
    filler = Filler(problem, at, settled)
    stays = np.isin(np.arange(len(settled)), problem.staying)
    missing = [_by_size(np.flatnonzero(~settled & of), problem) for of in (~stays, stays)]
    for row in np.concatenate(missing):
        members = filler.fill(int(row))
        lists[row] = PAD
        if members is None:
            lists[row, : problem.partitions.current.shape[1]] = problem.partitions.current[row]
        else:
            lists[row, : len(members)] = at.ids[members]
    reasons = filler.impossible()
    placed = np.ones(len(lists), dtype=bool)
    placed[[row for reason in reasons for row in reason.partitions]] = False
    placed &= settled | ~stays
    _respread(problem, at, lists, np.flatnonzero(placed & ~settled), filler.spread)
    filled = lists.copy()
    crowded = thin_out(problem, at, lists, placed)
    settled &= (lists == filled).all(axis=1)
    balanced = balance(problem, at, lists, placed)
    _spread_heads(problem, at, lists, placed)
    leaders = balance_leaders(problem, at, lists, placed)
    imbalances = _in_order(problem, (*balanced.imbalances, *leaders))
    return Choice(lists, settled, (*reasons, *crowded, *balanced.impossible), imbalances)


def _in_order(problem: PlacementProblem, imbalances: Iterable[Imbalance]) -> tuple[Imbalance, ...]:
    """As they are asked for, the first counts most."""
    measures = [tolerance.measure for tolerance in problem.balance]
    return tuple(sorted(imbalances, key=lambda imbalance: measures.index(imbalance.measure)))


def _by_size(rows: Ints, problem: PlacementProblem) -> Ints:
    """The largest first, so that the small ones even out the load; then in their order."""
    return rows[np.argsort(-problem.partitions.bytes[rows], kind="stable")]


def _in_place(problem: PlacementProblem, at: Positions) -> Flags:
    """Which partitions need no change by their own rule; shape (partitions,)."""
    keeps = np.zeros(len(problem.partitions), dtype=bool)
    for number, rule in enumerate(problem.rules):
        rows = np.flatnonzero(problem.partitions.rule == number)
        for start in range(0, len(rows), COUNTED_AT_ONCE):
            some = rows[start : start + COUNTED_AT_ONCE]
            keeps[some] = _keeps(problem, rule, some, at)
    return keeps


def _keeps(problem: PlacementProblem, rule: Rule, rows: Ints, at: Positions) -> Flags:
    partitions, rack = problem.partitions, problem.brokers.rack
    if rule.layout is Layout.LISTED:
        gone = np.isin(at.ids, np.array(sorted(problem.drained), dtype=np.int64))
        drained = np.append(gone, False)[at.find(partitions.base[rows])]
        return np.asarray(~drained.any(axis=1))
    lists = at.find(partitions.current[rows])
    factor = partitions.factor[rows]
    legal = at.flags(rule.candidates, others=False, padding=True)[lists].all(axis=1)
    kept: Flags = legal & ((lists != PAD).sum(axis=1) == factor)
    if rule.layout is Layout.NONE:
        return kept
    if (rack[rule.candidates] == NO_RACK).any():
        return np.zeros(len(rows), dtype=bool)
    if rule.layout is Layout.IN_RACK:
        racks = at.numbers(rack, NO_RACK)[lists]
        same = (racks == racks[:, :1]) | (lists == PAD)
        return np.asarray(kept & same.all(axis=1))
    if rule.layout is Layout.PER_RACK:
        racks = at.numbers(rack, NO_RACK)[lists]
        for number, wanted in enumerate(rule.per_rack):
            kept &= (racks == number).sum(axis=1) == wanted
        return kept
    return kept & _spread(lists, factor, at.numbers(*_codes(rule, rack)))


def _codes(rule: Rule, rack: Ints) -> tuple[Ints, int]:
    """A number for the rack of each broker, from 0 for those of the candidates, and the one number of all others."""
    among = np.unique(rack[rule.candidates])
    if not len(among):
        return np.zeros(len(rack), dtype=np.int64), 0
    code = np.minimum(np.searchsorted(among, rack), len(among) - 1)
    return np.where(among[code] == rack, code, len(among)), len(among)


def _spread(lists: Matrix, factor: Ints, codes: Ints) -> Flags:
    """Whether each rack of the candidates holds the floor or the ceiling."""
    number = int(codes[-1])
    if not number:
        return np.zeros(len(lists), dtype=bool)
    flat = np.arange(len(lists))[:, None] * (number + 1) + codes[lists]
    counts = np.bincount(flat.ravel(), minlength=len(lists) * (number + 1))
    inside = counts.reshape(len(lists), number + 1)[:, :number]
    least, extras = factor // number, factor % number
    is_spread: Flags = (inside.min(axis=1) >= least) & (inside.max(axis=1) <= least + (extras > 0))
    return is_spread


def _respread(
    problem: PlacementProblem, at: Positions, lists: Matrix, rows: Ints, spread: TopicSpread
) -> None:
    """Change `lists`, as ids, of some rows that were filled."""
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


def _spread_heads(problem: PlacementProblem, at: Positions, lists: Matrix, placed: Flags) -> None:
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
