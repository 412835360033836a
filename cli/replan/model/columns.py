"""Arrow list columns as padded numpy matrices, and back.

Replica lists of a million partitions are compared as one int32 matrix of shape (partitions, width),
left-aligned and padded with -1; a broker id is never negative (Kafka refuses it).
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Matrix = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

PAD = -1
BROKERS = pa.list_(pa.int32())
EXPLICIT_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("replicas", BROKERS, nullable=False),
        pa.field("line", pa.int32(), nullable=False),
        pa.field("column", pa.int32(), nullable=False),
    ]
)
"""The replica lists that a placement declares, each with the place where it is written."""


def as_list_array(column: pa.Array | pa.ChunkedArray) -> pa.ListArray:
    """One contiguous list array out of whatever chunks a column has."""
    if isinstance(column, pa.ChunkedArray):
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], BROKERS)
    return column


def to_matrix(column: pa.Array | pa.ChunkedArray, width: int | None = None) -> Matrix:
    """The lists as rows, shape (len(column), width); width defaults to the longest list."""
    lists = as_list_array(column)
    offsets = np.asarray(lists.offsets, dtype=np.int64)
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=0))
    columns = longest if width is None else max(width, longest)
    matrix = np.full((len(lists), columns), PAD, dtype=np.int32)
    if longest:
        inside = np.arange(columns) < lengths[:, None]
        values = np.asarray(lists.values, dtype=np.int32)
        matrix[inside] = values[offsets[0] : offsets[-1]]
    return matrix


def from_matrix(matrix: Matrix) -> pa.ListArray:
    """The rows as lists; padding is left out, which must be at the end of each row."""
    inside = matrix != PAD
    offsets = np.zeros(len(matrix) + 1, dtype=np.int32)
    np.cumsum(inside.sum(axis=1), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(matrix[inside], pa.int32()))


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """The same table with other values in one of its columns, which keeps its field."""
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)


def from_lists(lists: Iterable[Sequence[int]]) -> pa.ListArray:
    """Python lists as one list column."""
    return pa.array([list(x) for x in lists], BROKERS)


def same_width(left: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
    """Both matrices padded to the wider of the two."""
    width = max(left.shape[1], right.shape[1])
    return _widened(left, width), _widened(right, width)


def _widened(matrix: Matrix, width: int) -> Matrix:
    if matrix.shape[1] == width:
        return matrix
    wide = np.full((len(matrix), width), PAD, dtype=np.int32)
    wide[:, : matrix.shape[1]] = matrix
    return wide


def row(matrix: Matrix, index: int) -> tuple[int, ...]:
    """One row without its padding."""
    return tuple(int(x) for x in matrix[index] if x != PAD)
