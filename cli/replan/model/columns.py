"""Arrow list columns as padded numpy matrices, and back.

Columns are taken apart here: `pyarrow.compute`, and the methods of tables and arrays that import it, take as long to
import as all of pyarrow, since it makes a documented function of each of Arrow's. Those that replan needs are called
by name, as it calls them.

Replica lists of a million partitions are compared as one int32 matrix of shape (partitions, width),
left-aligned and padded with -1; a broker id is never negative (Kafka refuses it).
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._compute import SetLookupOptions, call_function

from replan.model.names import Replicas, replicas

Matrix = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PAD = -1
BROKER_LIST = pa.list_(pa.int32())
EXPLICIT_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("replicas", BROKER_LIST, nullable=False),
        pa.field("line", pa.int32(), nullable=False),
        pa.field("column", pa.int32(), nullable=False),
    ]
)
"""The replica lists that a placement declares, each with the place where it is written."""


def as_list_array(column: pa.Array | pa.ChunkedArray) -> pa.ListArray:
    """One contiguous list array out of whatever chunks a column has."""
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], BROKER_LIST)
    return column


def to_matrix(column: pa.Array | pa.ChunkedArray) -> Matrix:
    """The lists as rows, as wide as the longest of them."""
    lists = as_list_array(column)
    offsets = np.asarray(lists.offsets, dtype=np.int64)
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    matrix = np.full((len(lists), longest), PAD, dtype=np.int32)
    if longest:
        inside = np.arange(longest) < lengths[:, None]
        values = np.asarray(lists.values, dtype=np.int32)
        matrix[inside] = values[offsets[0] : offsets[-1]]
    return matrix


def from_matrix(matrix: Matrix) -> pa.ListArray:
    """The rows as lists; padding is left out, which must be at the end of each row."""
    inside = matrix != PAD
    return list_column(matrix[inside], inside.sum(axis=1))


def list_column(values: npt.NDArray[np.integer], counts: npt.ArrayLike) -> pa.ListArray:
    """Lists of broker ids: the first has the first `counts[0]` values, and so on."""
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return pa.ListArray.from_arrays(number_column(offsets), number_column(values), type=BROKER_LIST)


def number_column(values: npt.ArrayLike, dtype: npt.DTypeLike = np.int32) -> pa.Array:
    """Numbers as a column. `pa.array` would import numpy.ma, to see whether they are masked."""
    numbers = np.ascontiguousarray(values, dtype=dtype)
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """The same table with other values in one of its columns, which keeps its field."""
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)


def take(table: Any, rows: npt.ArrayLike) -> Any:
    """Some rows of a table, or of a column, in this order."""
    return call_function("take", [table, number_column(rows, np.int64)])


def list_lengths(column: pa.Array | pa.ChunkedArray) -> Ints:
    """How long each list is."""
    offsets: Ints = np.asarray(as_list_array(column).offsets, dtype=np.int64)
    return np.diff(offsets)


def distinct(values: npt.NDArray[np.integer]) -> list[int]:
    """The numbers in these, each once. `np.unique` would import numpy.ma, too."""
    values_once: list[int] = call_function("unique", [number_column(values.ravel())]).to_pylist()
    return values_once


def topics_of(table: pa.Table) -> tuple[pa.Array, Ints]:
    """Distinct topic names and the code of each row."""
    column = table.column("topic")
    if not pa.types.is_dictionary(column.type):
        column = call_function("dictionary_encode", [column])
    column = column.unify_dictionaries()
    if column.num_chunks == 0:
        return pa.array([], pa.string()), np.array([], dtype=np.int64)
    one = column.combine_chunks()
    chunk = one.chunk(0) if isinstance(one, pa.ChunkedArray) else one
    names = chunk.dictionary
    if names.type != pa.string():
        names = names.cast(pa.string())
    return names, np.asarray(chunk.indices, dtype=np.int64)


def plain_names(table: pa.Table) -> pa.Table:
    """The topic and the partition of each row, the topic as a string of its own."""
    names, codes = topics_of(table)
    return pa.table(
        {"topic": take(names, codes), "partition": number_column(table.column("partition"))}
    )


def positions_in(names: pa.Array, among: pa.Array) -> Ints:
    """Where each of these stands in `among`, -1 where it does not."""
    at = call_function("index_in", [names], SetLookupOptions(among))
    positions: Ints = np.nan_to_num(at.to_numpy(zero_copy_only=False), nan=-1).astype(np.int64)
    return positions


def from_lists(lists: Iterable[Sequence[int]]) -> pa.ListArray:
    """Python lists as one list column."""
    return pa.array([list(x) for x in lists], BROKER_LIST)


def members_of(lists: Matrix, others: Matrix) -> Flags:
    """Which members of each row are in the same row of `others`; shape of `lists`, padding is in none."""
    is_member: Flags = (lists[:, :, None] == others[:, None, :]).any(axis=2) & (lists != PAD)
    return is_member


def same_width(left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """Both matrices padded to the wider of the two."""
    width = max(left.shape[1], right.shape[1])
    return widened(left, width), widened(right, width)


def widened(matrix: Matrix, width: int) -> Matrix:
    """Padded to room for lists so long."""
    if matrix.shape[1] >= width:
        return matrix
    wide = np.full((len(matrix), width), PAD, dtype=np.int32)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def list_in_row(matrix: Matrix, index: int) -> Replicas:
    """One row without its padding."""
    return replicas(*(int(x) for x in matrix[index] if x != PAD))
