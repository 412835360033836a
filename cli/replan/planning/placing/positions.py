"""Brokers by a position instead of their id, so that each of their properties is one look-up; and lists of them.

Registered brokers have the positions 0..count-1, in the order of their table; those that lists name without being
registered follow; -1 is padding. A column of a property is as long, with one more entry at its end, for padding.
"""

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from replan.model.columns import PAD, Flags, Ints, Matrix, same_width
from replan.planning.placing.problem import NO_RACK, Layout, PlacementProblem


class Positions(Struct, frozen=True):
    """Both ways between ids and positions."""

    ids: Ints
    """By position."""
    count: int
    """Registered brokers."""

    @classmethod
    def of(cls, problem: PlacementProblem) -> "Positions":
        """All brokers that a problem names."""
        partitions, ids = problem.partitions, problem.brokers.ids
        every = (partitions.base, partitions.current, problem.elsewhere.lists)
        named = [np.unique(lists) for lists in every]
        others = np.setdiff1d(np.concatenate([*named, partitions.leader]), [*ids.tolist(), PAD])
        return cls(np.concatenate([ids, others]).astype(np.int64), len(ids))

    def find(self, lists: npt.NDArray[np.integer]) -> Matrix:
        """The position of each broker; -1 of padding. Every broker must be one that the problem names."""
        order = np.argsort(self.ids, kind="stable")
        if not len(order):
            return np.full(lists.shape, PAD, dtype=np.int32)
        largest = int(self.ids[order[-1]])
        if largest < 1 << 22:  # a table by id, as ids are small in practice
            by_id = np.full(largest + 2, PAD, dtype=np.int32)
            by_id[self.ids] = np.arange(len(self.ids))
            table: Matrix = by_id[lists]
            return table
        positions = order[np.searchsorted(self.ids[order], np.maximum(lists, 0)) % len(order)]
        return np.where(lists == PAD, PAD, positions).astype(np.int32)

    def flags(self, column: Flags, *, others: bool, padding: bool) -> Flags:
        """A flag of registered brokers as a column for every position."""
        rest = [others] * (len(self.ids) - self.count) + [padding]
        return np.concatenate([column, np.array(rest, dtype=bool)])

    def numbers(self, column: Ints, others: int) -> Ints:
        """A number of registered brokers as a column for every position."""
        rest = [others] * (len(self.ids) - self.count + 1)
        return np.concatenate([column, np.array(rest)]).astype(np.int64)

    def racks(self, rack: Ints) -> Ints:
        """The rack of every position; a broker whose rack is not known, or who is not registered, is one of its own."""
        column = self.numbers(rack, NO_RACK)
        return np.where(column == NO_RACK, len(column) + np.arange(len(column)), column)


def amounts(lists: Matrix, units: Ints, brokers: int) -> Ints:
    """What each broker has of some lists, by what one unit of each counts."""
    there = lists >= 0
    totals = np.zeros(brokers, dtype=np.int64)
    np.add.at(totals, lists[there], np.broadcast_to(units[:, None], lists.shape)[there])
    return totals


def base_lists(problem: PlacementProblem) -> Matrix:
    """What each partition has before anything is chosen: its declared list, or the one that it has."""
    partitions = problem.partitions
    lists: Matrix = np.where(problem.listed[:, None], partitions.base, partitions.current)
    return lists.astype(np.int32)


def may_stay(problem: PlacementProblem, at: Positions, lists: Matrix, rule: Ints) -> Flags:
    """Which members of some lists their rules let stay; `lists`: positions, `rule`: of each list."""
    gone = np.isin(at.ids, list(problem.drained))
    may = np.zeros((len(problem.rules), len(at.ids) + 1), dtype=bool)
    for number, of in enumerate(problem.rules):
        may[number, : at.count] = True if of.layout is Layout.LISTED else of.candidates
        may[number, :-1] &= ~gone
    stays: Flags = may[rule[:, None], lists] & (lists >= 0)
    return stays


def resulting_lists(problem: PlacementProblem, lists: Matrix, rows: Ints) -> Matrix:
    """On which brokers, as ids, some partitions lie by these lists; one that stays as it is lies where it is held."""
    held, chosen = same_width(problem.partitions.current[rows], lists[rows])
    resulting: Matrix = np.where(np.isin(rows, problem.staying)[:, None], held, chosen)
    return resulting


def arranged(
    base: Sequence[int], new: Sequence[int], kept: Collection[int], rack: Sequence[int]
) -> list[int]:
    """The kept ones of `base` in their order, each new one at the place of one that leaves: of its own rack, if any.

    More new ones than places stand behind. All are positions; `rack`: of each position.
    """
    waiting = list(new)
    places: list[int | None] = [b if b in kept else None for b in base]
    for same_rack in (True, False):
        for i, leaving in enumerate(base):
            fits = [b for b in waiting if not same_rack or rack[b] == rack[leaving]]
            if places[i] is None and fits:
                places[i] = fits[0]
                waiting.remove(fits[0])
    return [b for b in places if b is not None] + waiting
