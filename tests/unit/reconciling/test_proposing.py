"""What a loop proposes: a plan of what its policy does not allow, other brokers in lists, and nothing twice."""

from pathlib import Path

import pytest
from tests.unit.reconciling.test_loop import (
    BY_LIST,
    HOUR,
    LISTS,
    RULE,
    Heard,
    Reader,
    at,
    cluster,
    reader,
)

from replan.model.api import BrokerId, TopicPartition, replicas
from replan.placement_file.api import patch_of
from replan.rehearsal.api import Release, run_loop
from replan.simulator.api import AlterReassignments, At, KillBroker, SendRequest, StartBroker


@pytest.fixture(name="read")
def _read(tmp_path: Path) -> Reader:
    return reader(tmp_path)


def heard(read: Reader, *sections: str, faults: tuple[At, ...] = (), hours: float = 6) -> Heard:
    found = Heard()
    placement = read(*sections)
    looks = [Release(hour * HOUR, placement) for hour in range(int(hours))]  # at least one an hour
    run_loop(cluster(), looks, hours * HOUR, faults, also=found)
    return found


def test_lists_of_a_broker_that_is_down_are_proposed_once_and_taken_back(read: Reader) -> None:
    faults = at(1, KillBroker(BrokerId(6))) + at(3, StartBroker(BrokerId(6)))
    found = heard(read, BY_LIST, faults=faults)
    assert found.plans == []
    first, down, back = found.proposals
    assert first.lists == back.lists == {}
    assert first.plan.empty
    assert back.plan.empty
    named = {i for i, of in enumerate(LISTS) if 6 in of}
    assert down.lists.keys() == {"orders"}
    assert down.lists["orders"].keys() == named
    for partition, wanted in down.lists["orders"].items():
        (new,) = set(wanted) - set(LISTS[partition])
        assert wanted == tuple(new if b == 6 else b for b in LISTS[partition])
    assert down.plan.empty, "it is not planned: the placement names the broker"


def test_the_patch_of_a_proposal_is_for_the_file_that_was_read(
    read: Reader, tmp_path: Path
) -> None:
    found = heard(read, BY_LIST, faults=at(1, KillBroker(BrokerId(6))))
    (file,) = tmp_path.glob("placement-*.yaml")
    down = found.proposals[-1]
    patch = patch_of([file], down.placement, down.lists, tmp_path)
    assert patch.count("\n+") >= 1
    assert "6" not in patch.rpartition("\n+")[2].partition("\n")[0].partition("partitions")[2]


def test_a_restart_is_not_proposed_away(read: Reader) -> None:
    faults = at(1, KillBroker(BrokerId(6))) + at(1.4, StartBroker(BrokerId(6)))
    found = heard(read, RULE, faults=faults)
    assert [p.plan.empty for p in found.proposals] == [True]


def test_what_is_changed_once_more_is_proposed_from_where_it_is(read: Reader) -> None:
    """A plan from where it was before is stale, and would be refused."""
    twice = [
        (hour, AlterReassignments(((TopicPartition("orders", 0), order),)))
        for hour, order in ((1, replicas(1, 3, 2)), (3, replicas(2, 1, 3)))
    ]
    faults = tuple(fault for hour, moved in twice for fault in at(hour, SendRequest(moved)))
    found = heard(read, BY_LIST, faults=faults)
    originals = [move.original for p in found.proposals for move in p.plan.moves]
    assert originals == [replicas(1, 3, 2), replicas(2, 1, 3)]


def test_what_somebody_changed_is_proposed_to_be_put_back(read: Reader) -> None:
    moved = AlterReassignments(((TopicPartition("orders", 0), replicas(1, 2, 4)),))
    faults = at(1, SendRequest(moved))
    found = heard(read, BY_LIST, "reconcile: {putRight: {placementChanged: 0s}}", faults=faults)
    (move,) = found.proposals[-1].plan.moves
    assert move.target == replicas(1, 2, 3)
    assert found.plans == []
