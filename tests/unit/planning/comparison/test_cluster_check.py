"""Mistakes that only show against a cluster, word for word."""

from pathlib import Path

import pytest
from tests.builders import CLUSTER_ID, HERE, brokers, placement, ruled, snapshot, state
from tests.goldens import check_cases
from tests.readings import find_drift

from replan.errors import BadPlacement, WrongCluster
from replan.model.api import (
    Broker,
    BrokerId,
    LeaderRule,
    MoveThrottle,
    Placement,
    Snapshot,
)
from replan.placement_file.api import load_placement
from replan.planning.api import DifferenceKind, PlanWarning, WarningKind, make_plan
from replan.wording import ranges

SEEN = snapshot([state([1, 2, 3]), state([2, 3, 1], partition=1)])


def complaint(asked: Placement, seen: Snapshot = SEEN) -> list[str]:
    with pytest.raises(BadPlacement) as caught:
        make_plan(asked, seen)
    return str(caught.value).split("\n")


def test_another_cluster_than_the_one_that_is_named_is_refused() -> None:
    with pytest.raises(WrongCluster) as caught:
        make_plan(placement(cluster_id="another"), SEEN)
    assert str(caught.value) == (
        f"the placement is for cluster another (payments-eu), but the cluster that answered is {CLUSTER_ID}; "
        "check --bootstrap-server, or `cluster.id` in the placement file"
    )


def test_the_cluster_that_is_named_is_taken() -> None:
    assert make_plan(placement(cluster_id=CLUSTER_ID), SEEN).empty


MISTAKES: list[tuple[str, Placement]] = [
    ("a topic that is not there, once", placement({"clicks": [[1], [2]]})),
    (
        "one whose leaders go by a rule, too",
        placement(
            {"nope": {0: [1, 2, 3]}},
            leader_rules={"nope": LeaderRule(HERE, "nope", balanced=True)},
        ),
    ),
    ("brokers that are not registered", placement({"orders": [[1, 2, 9], [7, 8, 1]]})),
    ("a partition that is not there", placement({"orders": {0: [1, 2, 3], 2: [1, 2, 3]}})),
    (
        "preferred leaders that are no replicas, and of partitions that are not there",
        placement(
            {"orders": {0: [1, 2, 4]}},
            leaders={"orders-0": 3, "orders-1": 4, "orders-7": 1, "x-0": 1},
        ),
    ),
    (
        "a throttle of a broker that is not registered",
        placement(throttle=MoveThrottle(10**6, {BrokerId(9): 10**5, BrokerId(1): None})),
    ),
]


def test_each_mistake_is_said_with_its_place_and_the_way_out() -> None:
    """In `goldens/mistakes.txt`."""
    told = [(title, "\n".join(complaint(asked))) for title, asked in MISTAKES]
    check_cases(Path(__file__).parent / "goldens" / "mistakes.txt", told)


def test_a_fenced_broker_is_not_unknown() -> None:
    seen = snapshot([state([1, 2, 3])], registered=brokers(5, fenced=[4]))
    assert make_plan(placement({"orders": [[1, 2, 4]]}), seen).moves


ELSEWHERE = """\
version: 1
preferredLeaders: {orders: {racks: [a]}, clicks: {racks: [a]}, "c*": {racks: [a]}}
balance: {replicas: 10%, weights: {9: 2, 1: 2}}
recovery: {clicks: {strategy: none}, "c*": {strategy: none}}
throttles:
  standing:
    topics:
      clicks: {leader: {0: [1]}}
"""


def test_whoever_is_named_in_any_section_must_be_there_but_not_what_a_pattern_could_find(
    tmp_path: Path,
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(ELSEWHERE)
    absent = "topic clicks does not exist in the cluster; create it first, or take it out of"
    assert [line.removeprefix(str(file)) for line in complaint(load_placement([file]))] == [
        f":8:15: {absent} `throttles.standing.topics`",
        f":4:20: {absent} `recovery`",
        f":2:42: {absent} `preferredLeaders`",
        ":3:35: broker 9 is not registered in the cluster; registered: 1-5",
    ]


def test_a_rack_that_no_broker_is_in_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text('version: 1\npreferredLeaders: {"*": {racks: [a, z]}}\n')
    [warning] = make_plan(load_placement([file]), SEEN).warnings
    assert warning == PlanWarning(WarningKind.UNKNOWN_RACK, {"where": f"{file}:2:20", "rack": "z"})


def test_all_mistakes_are_reported_at_once_up_to_twenty() -> None:
    asked = placement({"orders": [[9], [9]], "x": {p: [1] for p in range(30)}})
    assert len(complaint(asked)) == 3
    many = placement({f"t{i:02}": [[1]] for i in range(25)} | {"orders": [[9], [9]]})
    lines = complaint(many)
    assert len(lines) == 21
    assert lines[0].startswith("placement.yaml:5:3: topic t00")
    assert lines[-1] == "and 7 more"


def test_no_brokers_at_all_is_said_in_words() -> None:
    seen = snapshot([state([1])], registered=[])
    assert complaint(placement({"orders": [[1]]}), seen)[0].endswith("registered: none")
    asked = placement(rules=ruled(replication_factor=1))
    assert find_drift(asked, seen).partitions[0].kind is DifferenceKind.UNPLACEABLE


RANGES = [([], "none"), ([4], "4"), ([1, 2, 3], "1-3"), ([1, 2, 4, 6, 7], "1-2, 4, 6-7")]


@pytest.mark.parametrize(("ids", "text"), RANGES)
def test_ids_are_reported_in_ranges(ids: list[int], text: str) -> None:
    assert ranges([Broker(BrokerId(b)).id for b in ids]) == text


@pytest.mark.parametrize(("count", "differs"), [(2, False), (1, True), (3, True)])
def test_another_number_of_partitions_is_drift_and_no_move(count: int, differs: bool) -> None:
    asked = placement(rules=ruled("ord*", partition_count=count))
    found = [(c.topic, c.declared, c.observed) for c in find_drift(asked, SEEN).counts]
    assert found == ([("orders", count, 2)] if differs else [])
    assert make_plan(asked, SEEN).moves == ()


def test_an_exact_name_without_a_count_is_not_counted_by_a_pattern() -> None:
    asked = placement({"orders": {0: [1, 2, 3]}}, rules=ruled("ord*", partition_count=1))
    assert find_drift(asked, SEEN).counts == ()
