"""The one comparison: which partitions differ from what is declared. Runs in-process and inside Spark.

A pure function of two Arrow tables, in numpy on padded matrices: no Python object exists for a partition
that does not differ. What a partition *should* look like is decided before (`overlays`), what to do about a
difference afterwards (`planner`).

A leader that is not first because the first is out of sync is no difference: nobody could change it. Nor is having no
leader at all: no list changes that. `findings.drift` finds it, also where the list is as declared.
"""

from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from replan.model.columns import (
    BROKER_LIST,
    PAD,
    Flags,
    Ints,
    Matrix,
    from_matrix,
    list_lengths,
    members_of,
    number_column,
    plain_names,
    same_width,
    take,
    to_matrix,
    topics_of,
)

DIFFERENCE_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("wanted", BROKER_LIST, nullable=False),
        pa.field("observed", BROKER_LIST, nullable=False),  # the target, while a reassignment runs
        pa.field("leader", pa.int32(), nullable=False),  # -1: none
    ]
)


LED = "led"
"""The column of tables of wanted lists: whether the first replica is wanted as leader now; without it all are."""


class DifferenceKind(StrEnum):
    """How a partition differs; the first that fits."""

    MISSING = "missing"
    """Declared, but the cluster has no such topic or partition."""
    REPLICAS = "replicas"
    """The set of replicas differs (of the target, while a reassignment runs)."""
    ORDER = "order"
    """Same set, other order."""
    RUNNING = "running"
    """As declared, once the reassignment that runs on it has ended."""
    LEADER = "leader"
    """As declared, but another replica leads although the first one is in the ISR."""
    UNPLACEABLE = "unplaceable"
    """No list keeps its rule, or its drain: never found by comparing, but by choosing (`chosen`)."""
    NO_LEADER = "no-leader"
    """It has no leader, whatever its list: never found by comparing lists (`findings.drift`)."""
    PREFERRED_ABSENT = "preferred-absent"
    """Its declared leader is no replica of the list that it has, or is to have (`preferred`)."""


MOVABLE = (DifferenceKind.REPLICAS, DifferenceKind.ORDER, DifferenceKind.LEADER)
"""The kinds that a move can remove; the planner makes a move, or a refusal, of each such partition."""

DIFFERENCE_KINDS = tuple(DifferenceKind)
_MISSING, _REPLICAS, _ORDER, _RUNNING, _LEADER, *_ = range(len(DIFFERENCE_KINDS))


class Differences(Struct, frozen=True):
    """The partitions that differ, sorted by topic and partition."""

    table: pa.Table
    """In the columns of DIFFERENCE_SCHEMA."""
    positions: Ints
    """The row of each in the table of wanted lists."""


def compare_lists(wanted: pa.Table, observed: pa.Table, rows: Ints) -> Differences:
    """Partitions that differ from what is wanted: from the declared lists under their overlays.

    `wanted`: columns topic, partition, replicas (lists without repetition), and LED or not; `rows`: the observed row
    of each.
    `observed`: columns as `model.snapshot.PARTITIONS_SCHEMA`. Neither needs to be sorted.
    """
    lists = to_matrix(wanted.column("replicas"))
    present = np.flatnonzero(rows >= 0)
    kind = np.full(len(rows), _MISSING, dtype=np.int8)
    kind[present] = -1
    aligned = len(present) == len(observed) and _in_order(rows)
    compared = observed if aligned else take(observed, rows[present])
    targets, running = targets_of(compared)
    padded, targets = same_width(lists[present], targets)
    led = np.full(len(present), True)
    if LED in wanted.column_names:
        led = np.asarray(wanted.column(LED), dtype=bool)[present]
    kind[present] = _kinds(padded, targets, running, compared, led)
    chosen = np.flatnonzero(kind >= 0)
    table = _table(wanted, lists, chosen, kind, present, targets, compared)
    order = _by_name(table)
    return Differences(take(table, order), chosen[order])


def _by_name(table: pa.Table) -> Ints:
    """Its rows in order of their topics and numbers."""
    names, codes = topics_of(table)
    ranks = np.argsort(np.argsort(np.array(names.to_pylist(), dtype=object)))
    return np.lexsort((np.asarray(table.column("partition")), ranks[codes]))


def _in_order(rows: Ints) -> bool:
    return bool(np.array_equal(rows, np.arange(len(rows))))


def targets_of(observed: pa.Table) -> tuple[Matrix, Flags]:
    """Each row's list without its removing replicas, and whether a reassignment runs on it."""
    matrix = to_matrix(observed.column("replicas"))
    removing = _lengths(observed, "removing") > 0
    running = removing | (_lengths(observed, "adding") > 0)
    if removing.any():
        rows = np.flatnonzero(removing)
        matrix = matrix.copy()
        leaving = to_matrix(take(observed.column("removing"), rows))
        matrix[rows] = _without(matrix[rows], leaving)
    return matrix, running


def _lengths(table: pa.Table, column: str) -> Ints:
    return list_lengths(table.column(column))


def _without(lists: Matrix, leaving: Matrix) -> Matrix:
    """Each row without the brokers of the same row of `leaving`, moved up to the left."""
    gone = members_of(lists, leaving) | (lists == PAD)
    order = np.argsort(gone, axis=1, kind="stable")
    kept: Matrix = np.take_along_axis(np.where(gone, PAD, lists), order, axis=1)
    return kept.astype(np.int32, copy=False)


def _kinds(
    wanted: Matrix, targets: Matrix, running: Flags, observed: pa.Table, led: Flags
) -> npt.NDArray[np.int8]:
    kind = np.full(len(wanted), -1, dtype=np.int8)
    different = (wanted != targets).any(axis=1)
    rows = np.flatnonzero(different)
    same_set = (np.sort(wanted[rows], axis=1) == np.sort(targets[rows], axis=1)).all(axis=1)
    kind[rows] = np.where(same_set, _ORDER, _REPLICAS)
    kind[~different & running] = _RUNNING
    if wanted.shape[1]:
        leaders = np.asarray(observed.column("leader"), dtype=np.int32)
        other = (leaders != wanted[:, 0]) & (leaders >= 0) & led
        rows = np.flatnonzero(~different & ~running & other)
        isr = to_matrix(take(observed.column("isr"), rows))
        electable = (isr == wanted[rows, :1]).any(axis=1)
        kind[rows[electable]] = _LEADER
    return kind


def _table(
    wanted: pa.Table,
    lists: Matrix,
    chosen: Ints,
    kind: npt.NDArray[np.int8],
    present: Ints,
    targets: Matrix,
    compared: pa.Table,
) -> pa.Table:
    """The differing rows in full, in the order of `wanted`."""
    position = np.full(len(kind), -1, dtype=np.int64)
    position[present] = np.arange(len(present))
    at = position[chosen]
    has = np.full((len(chosen), targets.shape[1]), PAD, dtype=np.int32)
    has[at >= 0] = targets[at[at >= 0]]
    leaders = np.full(len(chosen), -1, dtype=np.int32)
    leaders[at >= 0] = np.asarray(compared.column("leader"), dtype=np.int32)[at[at >= 0]]
    rows = plain_names(take(wanted.select(["topic", "partition"]), chosen))
    return pa.Table.from_arrays(
        [
            rows.column("topic"),
            rows.column("partition"),
            take(pa.array([str(k) for k in DIFFERENCE_KINDS]), kind[chosen]),
            from_matrix(lists[chosen]),
            from_matrix(has),
            number_column(leaders),
        ],
        schema=DIFFERENCE_SCHEMA,
    )
