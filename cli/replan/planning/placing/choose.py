"""The whole choice, in phases: what is in place stays, what is missing is filled, then topics, brokers and leaders.

`choose` asks for one round after the other, until one changes nothing; `_one_round` has the phases in their order. What
is in place is found here, in columns, so that a million partitions cost a second or two.
"""

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from replan.model.columns import PAD, Flags, Ints, Matrix, same_width
from replan.planning.placing.balance import balance
from replan.planning.placing.crowding import respread, thin_out
from replan.planning.placing.filling import fill
from replan.planning.placing.leaders import balance_leaders, spread_heads
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import (
    NO_RACK,
    Choice,
    Imbalance,
    Layout,
    PlacementProblem,
    Rule,
)

AGAIN = 8
LOOKS = 1_000_000
"""Partitions that all further choices look at together, at most: what is chosen for a million is chosen once more."""
COUNTED_AT_ONCE = 1 << 17
"""Rows that are counted over the racks at a time: bounds the memory."""


def choose(problem: PlacementProblem) -> Choice:
    """Choose a list for each partition, with the fewest bytes copied; or say why there is none.

    A partition that cannot be placed keeps the list that it has, and the others are placed all the same. What would be
    chosen next, where partitions have the lists that were found, is chosen at once, so that the next plan is empty:
    goals that are met one after the other change what those before them found.
    """
    choice = _one_round(problem)
    before = base_lists(problem)
    for _ in range(times_again(len(before))):
        steps = max((i.steps or 0 for i in choice.imbalances), default=0)
        if _is_last(problem, choice) or steps >= problem.budget:
            break
        if not len(_differ(choice.lists, before)):
            break
        before, then = choice.lists, _one_round(_after(problem, choice, problem.budget - steps))
        if np.isin(_differ(then.lists, base_lists(problem)), _given_up(then)).any():
            break  # it has to keep what it has, and has got another list by now
        counted = [
            i if i.steps is None else replace(i, steps=i.steps + steps) for i in then.imbalances
        ]
        choice = replace(then, in_place=choice.in_place, imbalances=tuple(counted))
    return choice


def _one_round(problem: PlacementProblem) -> Choice:
    """The phases, each of which changes `lists`, as ids, as the ones before have left them.

    `placed`: the partitions that have a list that keeps their rule; the others keep what they have.
    """
    at = Positions.of(problem)
    in_place = _in_place(problem, at)
    filled = fill(problem, at, in_place)
    lists, placed = filled.lists, filled.placed
    respread(problem, at, lists, np.flatnonzero(placed & ~in_place), filled.spread)
    before = lists.copy()
    crowded = thin_out(problem, at, lists, placed)
    in_place &= (lists == before).all(axis=1)
    balanced = balance(problem, at, lists, placed)
    spread_heads(problem, at, lists, placed)
    leaders = balance_leaders(problem, at, lists, placed)
    impossible = (*filled.impossible, *crowded, *balanced.impossible)
    return Choice(lists, in_place, impossible, _in_order(problem, (*balanced.imbalances, *leaders)))


def _in_order(problem: PlacementProblem, imbalances: Iterable[Imbalance]) -> tuple[Imbalance, ...]:
    """As they are asked for, the first counts most."""
    measures = [tolerance.measure for tolerance in problem.balance]
    return tuple(sorted(imbalances, key=lambda imbalance: measures.index(imbalance.measure)))


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
