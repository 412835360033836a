"""Balanced leaders, beside every other choice of leaders that there is."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from replan.model.api import PAD
from replan.planning.api import balanced_heads

INSTANCES = examples(fast=20, full=200, nightly=5_000)

LISTS = st.lists(
    st.lists(st.integers(1, 5), unique=True, min_size=1, max_size=3), min_size=1, max_size=6
)


def heads(lists: list[list[int]]) -> list[int]:
    width = max(map(len, lists))
    matrix = np.array([[*x, *[PAD] * (width - len(x))] for x in lists], dtype=np.int32)
    return [int(head) for head in balanced_heads(matrix, matrix != PAD)]


def judged(chosen: tuple[int, ...], lists: list[list[int]]) -> tuple[int, int, int]:
    """The most that a broker leads, the least (negative), and the changes: the smallest is the best."""
    counts = Counter(chosen)
    brokers = {b for x in lists for b in x}
    changes = sum(a != x[0] for a, x in zip(chosen, lists, strict=True))
    return max(counts.values()), -min(counts[b] for b in brokers), changes


@INSTANCES
@given(LISTS)
def test_no_other_choice_is_more_even_or_changes_less(lists: list[list[int]]) -> None:
    found = judged(tuple(heads(lists)), lists)
    assert found == min(judged(other, lists) for other in product(*lists))


def test_what_is_within_one_stays() -> None:
    assert heads([[1, 2], [2, 1], [1, 3], [3, 2], [2, 3]]) == [1, 2, 1, 3, 2]


def test_where_one_has_to_lead_more_than_its_share_the_others_are_even_too() -> None:
    assert Counter(heads([[1]] * 6 + [[2, 3]] * 3)) == Counter({1: 6, 2: 2, 3: 1})


def test_one_leader_changes_where_one_is_enough() -> None:
    assert Counter(heads([[1, 2, 3]] * 3 + [[2, 3, 1]] * 2 + [[3, 1, 2]])) == Counter(
        {1: 2, 2: 2, 3: 2}
    )
