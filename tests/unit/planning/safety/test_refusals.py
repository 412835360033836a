"""Every refusal, word for word in `goldens/refusals.txt`: the partition, the measure, the limit, the way out."""

from pathlib import Path

from tests.builders import listed_leader, placement, snapshot, state, titled
from tests.goldens import check_cases

from replan.model.api import Broker, BrokerId, Placement, Snapshot
from replan.planning.api import (
    Facts,
    Obstacle,
    Plan,
    PlanWarning,
    RecoveryObstacle,
    Refusal,
    RefusalRule,
    WarningKind,
    make_plan,
)


def registered(
    *ids: int, fenced: tuple[int, ...] = (), cordoned: tuple[int, ...] = ()
) -> list[Broker]:
    return [Broker(BrokerId(b), "a", b in fenced, b in cordoned) for b in ids]


def refused(made: Plan) -> list[tuple[str, str, str]]:
    return [(str(r.partition), r.rule, str(r)) for r in made.refusals]


OF_ONE: list[tuple[str, Facts]] = [
    ("too-few-brokers", {"needed": 1, "available": 0}),
    ("rack-lacks-brokers", {"rack": "c", "needed": 1, "available": 0}),
    ("rack-lacks-brokers", {"rack": "c", "needed": 2, "available": 0}),
    ("racks-lack-brokers", {"needed": 1, "available": 0}),
    ("no-rack-is-large-enough", {"needed": 1, "available": 0}),
    ("topic-crowds-brokers", {"brokers": (2,), "needed": 2, "available": 1}),
    ("brokers-full", {"where": "p.yaml:3:3", "brokers": (2,), "needed": 2, "available": 1}),
]
"""One of a thing is not said as of many."""
CASES: list[tuple[str, str, Placement, Snapshot]] = [
    (
        "another tool's reassignment runs",
        "running",
        placement({"orders": [[1, 2, 4]]}),
        snapshot([state([1, 2, 5, 3], [1, 2, 3], adding=[5], removing=[3])]),
    ),
    (
        "it has no leader",
        "no-leader",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2], [2], leader=None)]),
    ),
    (
        "a target below min ISR",
        "target-below-min-isr",
        placement({"orders": [[1]]}),
        snapshot([state([1, 2, 3])]),
    ),
    (
        "a cordoned broker",
        "cordoned",
        placement({"orders": [[2, 1]]}),
        snapshot([state([1, 2])], registered=registered(1, 2, cordoned=(2,))),
    ),
    (
        "a broker in the middle of the list is not registered",
        "unregistered",
        placement(blacklist=[listed_leader(1)]),
        snapshot([state([1, 9, 2], [1, 2])]),
    ),
    (
        "the first broker of the list is not registered",
        "unregistered",
        placement(blacklist=[listed_leader(1)]),
        snapshot([state([9, 2, 1], [9, 2, 1], leader=1)]),
    ),
    (
        "more replicas than are in sync",
        "safe-start",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1])]),
    ),
    (
        "a list as long as before, which is longer while it copies",
        "safe-start",
        placement({"orders": [[2]]}),
        snapshot([state([1])]),
    ),
    (
        "unclean elections are allowed",
        "unclean-guard",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2], [1])], unclean=["orders"]),
    ),
]


def test_a_refusal_names_the_partition_the_measure_the_limit_and_the_way_out() -> None:
    told: list[tuple[str, str]] = []
    for title, rule, asked, seen in CASES:
        made = make_plan(asked, seen)
        [(partition, found, message)] = refused(made)
        assert (partition, found, made.moves) == ("orders-0", rule, ()), title
        assert made.refusals[0].held is (rule == "running")
        told.append((f"{rule}: {title}", message))
    for rule, facts in OF_ONE:
        refusal = Refusal("orders", 0, RefusalRule(rule), {"rule": "p.yaml:4:3", **facts})
        told.append((f"{rule}: needed {facts['needed']}, there {facts['available']}", str(refusal)))
    kept: Facts = {"brokers": (3,), "partitions": ("orders-0",), "count": 1}
    told.append(("a warning", str(PlanWarning(WarningKind.RACK_NOT_TOLD, kept))))
    check_cases(Path(__file__).parent / "goldens" / "refusals.txt", told)


ALLOWED: list[tuple[str, Placement, Snapshot]] = [
    (
        "belowMinIsr is written",
        placement({"orders": [[1]]}, below_min_isr=["orders"]),
        snapshot([state([1, 2])]),
    ),
    (
        "a reorder below min ISR",
        placement({"orders": [[2, 1]]}),
        snapshot([state([1, 2])], min_insync_replicas=3),
    ),
    ("safe start holds", placement({"orders": [[1, 2, 3]]}), snapshot([state([1, 2], [1])])),
    (
        "one replica, min ISR 1",
        placement({"orders": [[1, 2]]}),
        snapshot([state([1])], min_insync_replicas=1),
    ),
    (
        "unclean, but two in sync",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2])], unclean=["orders"]),
    ),
    (
        "unclean, nothing added",
        placement({"orders": [[2, 1]]}),
        snapshot([state([1, 2], [2])], unclean=["orders"]),
    ),
    (
        "a cordoned one leaves",
        placement({"orders": [[1, 3]]}),
        snapshot([state([1, 2])], registered=registered(1, 2, 3, cordoned=(2,))),
    ),
    (
        "another leads a list with a cordoned one",
        placement({"orders": [[1, 2]]}),
        snapshot([state([1, 2], leader=2)], registered=registered(1, 2, cordoned=(2,))),
    ),
    (
        "an unregistered one leaves",
        placement({"orders": [[1, 3]]}),
        snapshot([state([1, 9], [1])], min_insync_replicas=1),
    ),
]


@titled("asked seen", ALLOWED)
def test_what_no_rule_forbids_is_planned(asked: Placement, seen: Snapshot) -> None:
    made = make_plan(asked, seen)
    assert refused(made) == []
    assert [str(m.partition) for m in made.moves] == ["orders-0"]


def test_several_reasons_are_all_reported_and_other_partitions_are_planned_all_the_same() -> None:
    asked = placement({"orders": {2: [1, 2], 10: [1, 2, 3], 11: [2, 1]}})
    states = [
        state([1, 2, 3], [2], leader=None, partition=2),
        state([1], partition=10),
        state([1, 2], partition=11),
    ]
    made = make_plan(asked, snapshot(states, min_insync_replicas=3, unclean=["orders"]))
    assert [(str(r.partition), r.rule) for r in made.refusals] == [
        ("orders-2", "no-leader"),
        ("orders-2", "target-below-min-isr"),
        ("orders-10", "safe-start"),
        ("orders-10", "unclean-guard"),
    ]
    assert [str(m.partition) for m in made.moves] == ["orders-11"]


def test_what_is_refused_is_not_remembered() -> None:
    seen = snapshot([state([1, 2])], registered=registered(1, 2, cordoned=(2,)))
    made = make_plan(placement(blacklist=[listed_leader(1)]), seen)
    assert made.refusals
    assert made.remember == frozenset()


def test_each_reason_of_a_choice_that_concerns_partitions_is_the_refusal_of_its_name() -> None:
    of_room = {Obstacle.ROOM_IMPOSSIBLE, Obstacle.ROOM_NOT_FOUND}
    for reason in (*RecoveryObstacle, *(o for o in Obstacle if o not in of_room)):
        assert RefusalRule(reason.value).name == reason.name
