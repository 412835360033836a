"""A move of a partition that no entry declares, given up after it had begun to add a replica: the next plan says so."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import FILE, brokers, placement, state
from tests.readings import find_drift
from tests.unit.applying.lab import MB, Lab, lab

from replan.applying.api import ListsLeft, Order
from replan.errors import Exit
from replan.model.api import (
    MIN_INSYNC_REPLICAS,
    BrokerId,
    ConfigOperation,
    MoveThrottle,
    Placement,
    ReplicaBlacklist,
    Snapshot,
    TopicPartition,
    Wanted,
    Where,
    replicas,
    topic_change,
)
from replan.planning.api import DifferenceKind, Plan, ReasonKind, make_plan
from replan.rehearsal.api import throttles_of
from replan.snapshots.api import read_snapshot, write_snapshot

NAME = TopicPartition("orders", 0)
BEFORE, GROWN, DRAINED = replicas(1, 2, 3), replicas(1, 2, 3, 4), replicas(1, 2, 4)
DRAIN = placement(replica_blacklist=(ReplicaBlacklist(BrokerId(3), Where(FILE, 9, 5)),))
NOTHING = placement()


def begun() -> Lab:
    """An application that drains broker 3 of a partition, four seconds old."""
    made = lab([state([1, 2, 3], size=500 * MB)], [], registered=brokers(4))
    made.plan = make_plan(DRAIN, made.plane.observe())
    made.apply(stop=made.stop_at(4))
    return made


def seen(made: Lab) -> Snapshot:
    """What the next command plans from."""
    return replace(made.plane.observe(), remembered=made.ledger.remembered())


def planned(made: Lab, asked: Placement) -> Plan:
    return make_plan(asked, seen(made))


def given_up() -> Lab:
    """The same, abandoned, and its copy has ended."""
    made = begun()
    outcome = made.abandon()
    assert outcome.notes == (ListsLeft((NAME,)),)
    made.clock.sleep(100)
    found = made.plane.observe().partition(NAME)
    assert found is not None
    assert found.replicas == GROWN
    return made


@pytest.mark.parametrize(("asked", "target"), [(NOTHING, BEFORE), (DRAIN, DRAINED)])
def test_an_abandoned_drain_leaves_no_replica_more_behind_the_next_plan(
    asked: Placement, target: tuple[BrokerId, ...]
) -> None:
    made = given_up()
    assert [d.kind for d in find_drift(asked, seen(made)).partitions] == [DifferenceKind.REPLICAS]
    plan = planned(made, asked)
    assert [(m.original, m.target) for m in plan.moves] == [(GROWN, target)]
    assert made.apply(plan).exit_code is Exit.OK
    assert planned(made, asked).empty
    assert not [r for r in made.journal.read() if isinstance(r, Order)]


def test_its_reason_is_the_move_that_was_given_up_also_from_a_saved_snapshot(
    tmp_path: Path,
) -> None:
    made = given_up()
    for name in ("cluster.json", "cluster"):
        write_snapshot(seen(made), tmp_path / name)
        [found] = make_plan(NOTHING, read_snapshot(tmp_path / name)).moves
        assert found.reason.kind is ReasonKind.GIVEN_UP


def test_a_list_that_somebody_has_changed_since_is_left_alone() -> None:
    made = given_up()
    made.plane.reassign({NAME: replicas(2, 1, 4, 3)}, allow_replication_factor_change=False)
    assert planned(made, NOTHING).empty


def test_who_takes_over_keeps_the_throttle_of_a_copy_whose_move_has_ended() -> None:
    made = lab([state([1, 2, 3], size=500 * MB)], [], registered=brokers(4))
    made.plan = make_plan(replace(DRAIN, move_throttle=MoveThrottle(10 * MB)), made.plane.observe())
    made.apply(stop=made.stop_at(4))
    change = topic_change(NAME.topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, "1")
    made.plane.alter_configs([change])
    made.apply(stop=made.stop_at(made.clock.now() + 25))
    assert made.ledger.owned[NAME].given_up
    throttled = set[bool]()

    def watches() -> bool:
        if made.plane.look(Wanted(partitions=[NAME])).running:
            throttled.add(bool(throttles_of(made.plane.simulation.cluster)))
        return False

    assert made.apply(stop=watches).exit_code is Exit.REFUSED
    assert throttled == {True}
    assert not throttles_of(made.plane.simulation.cluster)


def test_so_it_is_where_a_move_ends_in_the_middle() -> None:
    made = begun()
    change = topic_change(NAME.topic, MIN_INSYNC_REPLICAS, ConfigOperation.SET, "1")
    made.plane.alter_configs([change])
    assert made.apply().exit_code is Exit.REFUSED
    made.clock.sleep(100)
    assert [m.target for m in planned(made, NOTHING).moves] == [BEFORE]
