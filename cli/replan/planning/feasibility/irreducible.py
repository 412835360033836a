"""Constraints of which none can be spared: the deletion filter of Chinneck and Dravnieks (ORSA J. Comput. 3, 1991).

Constraints are taken out one by one, in their order, while what is left stays infeasible. Some constraints make others
easier when they are there (fewer brokers under `brokers` are fewer racks to fill), so one pass may leave one that can
go after all: passes are repeated until nothing changes.

Invariants: what is returned is infeasible by itself, and feasible without any one of its members. The same constraints
in the same order give the same sets.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(members: Sequence[T], feasible: Callable[[Sequence[T]], bool]) -> int:
    """How many of some members, the first ones, have to go so that the others can hold; without any they can."""
    return next((n for n in range(len(members) + 1) if feasible(members[n:])), len(members))


def irreducible(members: Sequence[T], feasible: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part that cannot hold and of which every member is needed; `members` cannot hold. The first go first."""
    left = list(members)
    before = len(left) + 1
    while len(left) < before:
        before = len(left)
        for member in list(left):
            without = [m for m in left if m is not member]
            if not feasible(without):
                left = without
    return left


def apart(members: Sequence[T], feasible: Callable[[Sequence[T]], bool]) -> list[list[T]]:
    """Irreducible parts that share no member, until what is left over can hold: each has to be resolved by itself."""
    left, found = list(members), list[list[T]]()
    while not feasible(left):
        part = irreducible(left, feasible)
        found.append(part)
        left = [m for m in left if not any(m is taken for taken in part)]
        if not part:
            break
    return found
