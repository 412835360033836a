"""What differs, kind by kind; any tables, as they may be written, are in tests/properties/test_diff.py."""

from collections.abc import Sequence

from tests.builders import placement, snapshot, state, titled
from tests.readings import differing

from replan.model.api import PartitionState

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
    ("on the way, led by another", [1, 4], state([1, 4], leader=4, adding=[4]), "running"),
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
