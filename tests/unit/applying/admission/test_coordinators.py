"""Which lists wait because a broker is about to load what it has begun to coordinate."""

import pytest
from tests.builders import move, state

from replan.applying.admission import Coordinators
from replan.applying.reasons.holds import CoordinatorLoads
from replan.model.names import BrokerId, replicas
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import Request, RequestKind

B4 = BrokerId(4)
GROUPS = "__consumer_offsets"
MB = 1_000_000


def busy(
    loads: Coordinators, moved: Move, kind: RequestKind = RequestKind.ASSIGN
) -> CoordinatorLoads | None:
    """Whether the list that the move ends with waits, while the first of its original leads."""
    found = state(moved.original, topic=moved.partition.topic, size=moved.bytes)
    return loads.busy(moved, Request(kind, moved.target), found)


def test_a_broker_begins_to_lead_one_partition_of_groups_after_the_other() -> None:
    loads = Coordinators.at(0.0, {})
    to_4 = move([1, 2, 3], [4, 2, 3], topic=GROUPS)
    assert busy(loads, to_4) is None
    assert busy(loads, to_4) == CoordinatorLoads(B4)
    assert busy(loads, move([1, 2, 3], [5, 2, 3], topic=GROUPS)) is None
    assert busy(Coordinators.at(0.9, loads.loads), to_4) == CoordinatorLoads(B4)
    assert busy(Coordinators.at(1.0, loads.loads), to_4) is None


def test_a_large_log_takes_its_time() -> None:
    loads = Coordinators.at(0.0, {})
    large = move([1, 2, 3], [4, 2, 3], topic=GROUPS, size=100 * MB)
    assert busy(loads, large) is None
    assert busy(Coordinators.at(5.9, loads.loads), large) == CoordinatorLoads(B4)
    assert busy(Coordinators.at(6.0, loads.loads), large) is None


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
