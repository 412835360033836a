"""Which lists wait because a broker is about to load what it has begun to coordinate."""

import pytest
from tests.builders import move, state

from replan.applying.api import CoordinatorLoads, Coordinators
from replan.model.api import BrokerId, replicas
from replan.planning.api import Move, Request, RequestKind

B4 = BrokerId(4)
GROUPS = "__consumer_offsets"
MB = 1_000_000


def busy(
    loads: Coordinators, moved: Move, kind: RequestKind = RequestKind.ASSIGN
) -> CoordinatorLoads | None:
    """Whether the list that the move ends with waits, while the first of its original leads."""
    found = state(moved.original, topic=moved.partition.topic, size=moved.bytes)
    return loads.busy(moved, Request(kind, moved.target), found)


def test_a_broker_begins_to_lead_as_many_small_partitions_as_it_reads_in_a_second() -> None:
    loads = Coordinators.at(0.0, {})
    to_4 = move([1, 2, 3], [4, 2, 3], topic=GROUPS)
    assert [busy(loads, to_4) for _ in range(21)] == [None] * 20 + [CoordinatorLoads(B4)]
    assert busy(loads, move([1, 2, 3], [5, 2, 3], topic=GROUPS)) is None
    later = Coordinators.at(0.5, loads.loads)
    assert [busy(later, to_4) for _ in range(11)] == [None] * 10 + [CoordinatorLoads(B4)]


def test_no_log_waits_longer_than_a_second_for_others_however_large_they_are() -> None:
    loads = Coordinators.at(0.0, {})
    large = move([1, 2, 3], [4, 2, 3], topic=GROUPS, size=100 * MB)
    assert busy(loads, large) is None
    assert busy(Coordinators.at(4.0, loads.loads), large) == CoordinatorLoads(B4)
    next_one = Coordinators.at(4.1, loads.loads)
    assert busy(next_one, large) is None
    assert busy(Coordinators.at(8.0, next_one.loads), large) == CoordinatorLoads(B4)


@pytest.mark.parametrize(
    ("moved", "kind"),
    [
        (move([1, 2, 3], [4, 2, 3]), RequestKind.ASSIGN),
        (move([1, 2, 3], [1, 2, 4], topic=GROUPS), RequestKind.ASSIGN),
        (move([1, 2, 3], [4, 1, 3], topic=GROUPS, elect=False), RequestKind.ASSIGN),
        (move([1, 2, 3], [4, 2, 3], topic=GROUPS), RequestKind.EXPAND),
        (move([1, 2, 3], [2, 1, 3], topic=GROUPS), RequestKind.ELECT),
    ],
    ids=["another topic", "its leader stays first", "nobody is elected", "a copy", "an election"],
)
def test_what_lets_nobody_else_lead_waits_for_nobody(moved: Move, kind: RequestKind) -> None:
    loading = Coordinators.at(0.0, {BrokerId(b): 99.0 for b in replicas(1, 2, 3, 4, 5)})
    assert busy(loading, moved, kind) is None
