"""The whole choice: what is in place stays, what is missing is filled, then replicas and bytes are balanced."""

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from replan.model.columns import PAD, Ints, Matrix, same_width
from replan.planning.placing.balance import balance
from replan.planning.placing.heads import spread_heads
from replan.planning.placing.in_place import in_place
from replan.planning.placing.keeping import Filler
from replan.planning.placing.leader_balance import balance_leaders
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import Choice, Imbalance, PlacementProblem
from replan.planning.placing.respread import respread
from replan.planning.placing.thinning import thin_out

AGAIN = 8
"""How often it is asked what would be chosen next, at most."""
LOOKS = 1_000_000
"""Partitions that all of these look at together, at most: what is chosen for a million is chosen once more."""


def choose(problem: PlacementProblem) -> Choice:
    """Choose a list for each partition, with the fewest bytes copied; or say why there is none.

    A partition that cannot be placed keeps the list that it has, and the others are placed all the same. What would be
    chosen next, where partitions have the lists that were found, is chosen at once, so that the next plan is empty:
    goals that are met one after the other change what those before them found.
    """
    found = _once(problem)
    before = base_lists(problem)
    for _ in range(min(AGAIN, LOOKS // max(len(before), 1))):
        steps = max((i.steps or 0 for i in found.imbalances), default=0)
        if _is_last(problem, found) or steps >= problem.budget:
            break
        if not len(_differ(found.lists, before)):
            break
        before, then = found.lists, _once(_after(problem, found, problem.budget - steps))
        if np.isin(_differ(then.lists, base_lists(problem)), _given_up(then)).any():
            break  # it has to keep what it has, and has got another list by now
        counted = [
            i if i.steps is None else replace(i, steps=i.steps + steps) for i in then.imbalances
        ]
        found = replace(then, in_place=found.in_place, imbalances=tuple(counted))
    return found


def _is_last(problem: PlacementProblem, choice: Choice) -> bool:
    """Whether all is as asked, so that the next choice is the same. Leaders of topics may come nearer each time."""
    of_leaders = any(tolerance.measure.of_leaders for tolerance in problem.balance)
    return not (choice.imbalances or choice.impossible or of_leaders)


def _differ(some: Matrix, others: Matrix) -> Ints:
    """Which rows do."""
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
    settled = in_place(problem, at)
    longest = min(int(problem.partitions.factor.max(initial=0)), len(problem.brokers.ids))
    lists = widened(base_lists(problem), longest)
    filler = Filler(problem, at, settled)
    stays = np.isin(np.arange(len(settled)), problem.staying)
    missing = [by_size(np.flatnonzero(~settled & of), problem) for of in (~stays, stays)]
    for row in np.concatenate(missing):
        found = filler.fill(int(row))
        lists[row] = PAD
        if found is None:
            lists[row, : problem.partitions.current.shape[1]] = problem.partitions.current[row]
        else:
            lists[row, : len(found)] = at.ids[found]
    reasons = filler.impossible()
    placed = np.ones(len(lists), dtype=bool)
    placed[[row for reason in reasons for row in reason.partitions]] = False
    placed &= settled | ~stays
    respread(problem, at, lists, np.flatnonzero(placed & ~settled), filler.spread)
    filled = lists.copy()
    crowded = thin_out(problem, at, lists, placed)
    settled &= (lists == filled).all(axis=1)
    balanced = balance(problem, at, lists, placed)
    spread_heads(problem, at, lists, placed)
    leaders = balance_leaders(problem, at, lists, placed)
    imbalances = in_order(problem, (*balanced.imbalances, *leaders))
    return Choice(lists, settled, (*reasons, *crowded, *balanced.impossible), imbalances)


def in_order(problem: PlacementProblem, found: Iterable[Imbalance]) -> tuple[Imbalance, ...]:
    """As they are asked for, the first counts most."""
    asked = [tolerance.measure for tolerance in problem.balance]
    return tuple(sorted(found, key=lambda imbalance: asked.index(imbalance.measure)))


def by_size(rows: Ints, problem: PlacementProblem) -> Ints:
    """The largest first, so that the small ones even out the load; then in their order."""
    return rows[np.argsort(-problem.partitions.bytes[rows], kind="stable")]


def widened(lists: Matrix, width: int) -> Matrix:
    """Room for longer lists."""
    wide = np.full((len(lists), max(width, lists.shape[1])), PAD, dtype=np.int32)
    wide[:, : lists.shape[1]] = lists
    return wide
