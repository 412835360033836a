"""What differs, kind by kind; any tables at all are in tests/properties/test_diff.py."""

from collections.abc import Sequence

import pyarrow as pa
from tests.builders import placement, snapshot, state, titled
from tests.readings import differing

from replan.model.api import PartitionState
from replan.planning.api import (
    DIFFERENCE_SCHEMA,
    named_partitions,
    partition_rows,
)

CASES: list[tuple[str, Sequence[int], PartitionState, str | None]] = [
    ("in place", [1, 2, 3], state([1, 2, 3]), None),
    ("another replica", [1, 2, 4], state([1, 2, 3]), "replicas"),
    ("one more", [1, 2, 3, 4], state([1, 2, 3]), "replicas"),
    ("one less", [1, 2], state([1, 2, 3]), "replicas"),
    ("another order", [2, 1, 3], state([1, 2, 3]), "order"),
    ("another leader", [1, 2, 3], state([1, 2, 3], leader=2), "leader"),
    ("another leader, the first is out", [1, 2, 3], state([1, 2, 3], [2, 3]), None),
    ("no leader", [1, 2, 3], state([1, 2, 3], [1], leader=None), None),
    ("on the way", [1, 4], state([1, 4, 2], [1, 2], adding=[4], removing=[2]), "running"),
    ("on the way, only adding", [1, 4], state([1, 4], [1], adding=[4]), "running"),
    ("on the way, only removing", [1], state([1, 2], removing=[2]), "running"),
    (
        "on the way elsewhere",
        [1, 2],
        state([1, 4, 2], [1, 2], adding=[4], removing=[2]),
        "replicas",
    ),
    (
        "on the way, other order",
        [4, 1],
        state([1, 4, 2], [1, 2], adding=[4], removing=[2]),
        "order",
    ),
    ("a removing one in the middle", [1, 3], state([1, 2, 3], removing=[2]), "running"),
]


@titled("declared seen kind", CASES)
def test_the_first_kind_that_fits(
    declared: Sequence[int], seen: PartitionState, kind: str | None
) -> None:
    found = differing(placement({"orders": [declared]}).explicit, snapshot([seen]).partitions)
    assert found.column("kind").to_pylist() == ([] if kind is None else [kind])


def test_a_topic_or_partition_that_is_not_there_is_missing() -> None:
    declared = placement({"clicks": [[1]], "orders": {0: [1], 7: [2, 3]}}).explicit
    found = differing(declared, snapshot([state([1])]).partitions)
    assert found.select(["topic", "partition", "kind", "observed", "leader"]).to_pylist() == [
        {"topic": "clicks", "partition": 0, "kind": "missing", "observed": [], "leader": -1},
        {"topic": "orders", "partition": 7, "kind": "missing", "observed": [], "leader": -1},
    ]


def test_empty_tables_differ_in_nothing() -> None:
    some, none = snapshot([state([1])]).partitions, snapshot([]).partitions
    assert differing(placement().explicit, some).equals(DIFFERENCE_SCHEMA.empty_table())
    assert differing(placement().explicit, none).equals(DIFFERENCE_SCHEMA.empty_table())
    assert differing(placement({"orders": [[1]]}).explicit, none).column("kind").to_pylist() == [
        "missing"
    ]


def test_plain_strings_and_dictionaries_are_the_same() -> None:
    declared = placement({"a": [[1, 2]], "orders": [[2, 1]]}).explicit
    plain = declared.set_column(0, "topic", declared.column("topic").cast(pa.string()))
    seen = snapshot([state([1, 2])]).partitions
    assert differing(plain, seen).equals(differing(declared, seen))


def test_chunks_without_rows_do_not_matter() -> None:
    declared = placement({"orders": [[2, 1]]}).explicit
    chunked = pa.concat_tables([declared.slice(0, 0), declared, declared.slice(1)])
    seen = snapshot([state([1, 2])]).partitions
    parted = pa.concat_tables([seen.slice(0, 0), seen])
    assert differing(chunked, parted).equals(differing(declared, seen))


def test_partitions_are_found_by_name_in_the_order_asked() -> None:
    seen = snapshot([state([1], partition=p) for p in range(3)] + [state([1], topic="a")])
    names = [s.partition for s in seen.states([3, 0, 1])]
    assert partition_rows(named_partitions(names), seen.partitions).tolist() == [3, 0, 1]
    assert partition_rows(named_partitions([]), seen.partitions).tolist() == []
