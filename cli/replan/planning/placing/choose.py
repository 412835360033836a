"""The whole choice: what is in place stays, what is missing is filled, then replicas and bytes are balanced."""

from collections.abc import Iterable

import numpy as np

from replan.model.columns import PAD, Ints, Matrix
from replan.planning.placing.balance import balance
from replan.planning.placing.heads import spread_heads
from replan.planning.placing.in_place import in_place
from replan.planning.placing.keeping import Filler
from replan.planning.placing.leader_balance import balance_leaders
from replan.planning.placing.positions import Positions, base_lists
from replan.planning.placing.problem import Choice, Imbalance, PlacementProblem
from replan.planning.placing.respread import respread
from replan.planning.placing.thinning import thin_out


def choose(problem: PlacementProblem) -> Choice:
    """Choose a list for each partition, with the fewest bytes copied; or say why there is none.

    A partition that cannot be placed keeps the list that it has, and the others are placed all the same.
    """
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
