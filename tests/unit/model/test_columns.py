"""Lists as padded matrices, and back."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from replan.model.api import (
    BROKER_LIST,
    PAD,
    from_lists,
    from_matrix,
    list_in_row,
    same_width,
    to_matrix,
)

LISTS = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=5), max_size=8)


@given(LISTS)
def test_lists_survive_the_matrix(lists: list[list[int]]) -> None:
    matrix = to_matrix(from_lists(lists))
    assert from_matrix(matrix).to_pylist() == lists
    assert [list(list_in_row(matrix, i)) for i in range(len(lists))] == lists


@given(LISTS, st.data())
def test_slices_and_chunks_are_the_lists_that_they_show(
    lists: list[list[int]], data: st.DataObject
) -> None:
    column = from_lists(lists)
    start = data.draw(st.integers(0, len(lists)))
    cut = data.draw(st.integers(start, len(lists)))
    chunks = pa.chunked_array([column.slice(start, cut - start), column.slice(cut)], BROKER_LIST)
    assert from_matrix(to_matrix(chunks)).to_pylist() == lists[start:]


@given(LISTS)
def test_a_matrix_is_as_wide_as_its_longest_list(lists: list[list[int]]) -> None:
    matrix = to_matrix(from_lists(lists))
    assert matrix.shape == (len(lists), max(map(len, lists), default=0))
    assert matrix.dtype == np.int32


@given(LISTS, LISTS)
def test_two_matrices_are_padded_to_the_wider_one(
    left: list[list[int]], right: list[list[int]]
) -> None:
    one, other = same_width(to_matrix(from_lists(left)), to_matrix(from_lists(right)))
    assert one.shape[1] == other.shape[1]
    assert from_matrix(one).to_pylist() == left
    assert from_matrix(other).to_pylist() == right


def test_no_rows_at_all_are_a_matrix_too() -> None:
    assert to_matrix(pa.chunked_array([], BROKER_LIST)).shape == (0, 0)
    assert to_matrix(pa.array([[]], BROKER_LIST)).shape == (1, 0)
    assert from_matrix(np.full((2, 3), PAD, dtype=np.int32)).to_pylist() == [[], []]
