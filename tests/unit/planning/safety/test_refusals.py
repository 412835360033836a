"""Every refusal, word for word: the partition, the measure, the limit, the way out."""

import pytest
from tests.builders import TOPIC_ID, listed_leader, placement, snapshot, state

from replan.model.api import Broker, BrokerId, Placement, RememberedOrder, Snapshot, replicas
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


@pytest.mark.parametrize(
    ("rule", "facts", "says"),
    [
        ("too-few-brokers", {"needed": 1, "available": 0}, "it needs 1 broker, and 0 can hold it"),
        (
            "rack-lacks-brokers",
            {"rack": "c", "needed": 1, "available": 0},
            "rack c must hold 1 replica, and",
        ),
        (
            "rack-lacks-brokers",
            {"rack": "c", "needed": 2, "available": 0},
            "rack c must hold 2 replicas, and",
        ),
        ("racks-lack-brokers", {"needed": 1, "available": 0}, "1 rack must hold one replica more"),
        ("no-rack-is-large-enough", {"needed": 1, "available": 0}, "a rack with 1 broker that"),
        (
            "topic-crowds-brokers",
            {"brokers": (2,), "needed": 2, "available": 1},
            "lets brokers [2] hold 1 replica of its topic together",
        ),
        (
            "brokers-full",
            {"where": "p.yaml:3:3", "brokers": (2,), "needed": 2, "available": 1},
            "a broker may hold 1 replica (",
        ),
    ],
)
def test_one_of_a_thing_is_not_said_as_of_many(rule: str, facts: Facts, says: str) -> None:
    refusal = Refusal("orders", 0, RefusalRule(rule), {"rule": "p.yaml:4:3", **facts})
    assert says in str(refusal)


def test_one_partition_that_is_kept_is_not_said_as_of_many() -> None:
    facts: Facts = {"brokers": (3,), "partitions": ("orders-0",), "count": 1}
    said = str(PlanWarning(WarningKind.RACK_NOT_TOLD, facts))
    assert said.startswith("1 partition (orders-0) kept without a change, and")


CASES: list[tuple[str, Placement, Snapshot, str]] = [
    (
        "running",
        placement({"orders": [[1, 2, 4]]}),
        snapshot([state([1, 2, 5, 3], [1, 2, 3], adding=[5], removing=[3])]),
        (
            "orders-0: a reassignment to [1, 2, 5] is running on it (adding [5], removing [3]); let it end or "
            "cancel it, then plan again. If it is replan's own, `replan resume` goes on with it"
        ),
    ),
    (
        "no-leader",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2], [2], leader=None)]),
        (
            "orders-0: no leader, in sync: [2]; needs recovery first: "
            "bring back one of its in-sync or eligible replicas; then its list can become [1, 2, 3]"
        ),
    ),
    (
        "target-below-min-isr",
        placement({"orders": [[1]]}),
        snapshot([state([1, 2, 3])]),
        (
            "orders-0: target [1] is shorter than min.insync.replicas 2; declare at least 2 replicas, "
            "lower min.insync.replicas, or write `belowMinIsr: true` at the topic"
        ),
    ),
    (
        "cordoned",
        placement({"orders": [[2, 1]]}),
        snapshot([state([1, 2])], registered=registered(1, 2, cordoned=(2,))),
        (
            "orders-0: target [2, 1] names brokers [2], all of whose log directories are cordoned; "
            "uncordon them, drain them, or declare a list without them: their replicas can only be dropped"
        ),
    ),
    (
        "unregistered",
        placement(blacklist=[listed_leader(1)]),
        snapshot([state([1, 9, 2], [1, 2])]),
        (
            "orders-0: its list [1, 9, 2] names brokers [9], not registered any more: Kafka takes no list that "
            "keeps them, not even in another order; declare the partition under `assignments` without them"
        ),
    ),
    (
        "unregistered",
        placement(blacklist=[listed_leader(1)]),
        snapshot([state([9, 2, 1], [9, 2, 1], leader=1)]),
        (
            "orders-0: its list [9, 2, 1] names brokers [9], not registered any more: Kafka takes no list that "
            "keeps them, not even in another order; declare the partition under `assignments` without them"
        ),
    ),
    (
        "safe-start",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1])]),
        (
            "orders-0: with more replicas than [1], min.insync.replicas 2 needs 2 in sync: writes with acks=all would "
            "stop for the whole copy; set min.insync.replicas of orders to 1 first and back afterwards"
        ),
    ),
    (
        "safe-start",  # a list as long as before is longer while it copies
        placement({"orders": [[2]]}),
        snapshot([state([1])]),
        (
            "orders-0: with more replicas than [1], min.insync.replicas 2 needs 2 in sync: writes with acks=all would "
            "stop for the whole copy; set min.insync.replicas of orders to 1 first and back afterwards"
        ),
    ),
    (
        "unclean-guard",
        placement({"orders": [[1, 2, 3]]}),
        snapshot([state([1, 2], [1])], unclean=["orders"]),
        (
            "orders-0: unclean.leader.election.enable is true and only [1] is in sync and alive: an empty "
            "new replica could be elected and the data lost; run `kafka-configs.sh --alter --entity-type topics "
            "--entity-name orders --add-config unclean.leader.election.enable=false` first"
        ),
    ),
]


@pytest.mark.parametrize(("rule", "asked", "seen", "message"), CASES, ids=[c[0] for c in CASES])
def test_a_refusal_names_the_partition_the_measure_the_limit_and_the_way_out(
    rule: str, asked: Placement, seen: Snapshot, message: str
) -> None:
    made = make_plan(asked, seen)
    assert refused(made) == [("orders-0", rule, message)]
    assert made.moves == ()
    assert made.refusals[0].held is (rule == "running")


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


@pytest.mark.parametrize(("asked", "seen"), [c[1:] for c in ALLOWED], ids=[c[0] for c in ALLOWED])
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


def test_an_order_is_remembered_once_and_restored_once() -> None:
    first = make_plan(placement(blacklist=[listed_leader(1)]), snapshot([state([1, 2])]))
    name = first.moves[0].partition
    assert first.remember == frozenset({name})
    kept = {name: RememberedOrder(replicas(1, 2), TOPIC_ID)}
    back = make_plan(placement(), snapshot([state([2, 1])], remembered=kept))
    assert [m.target for m in back.moves] == [(1, 2)]
    assert back.remember == frozenset()


def test_each_reason_of_a_choice_that_concerns_partitions_is_the_refusal_of_its_name() -> None:
    of_room = {Obstacle.ROOM_IMPOSSIBLE, Obstacle.ROOM_NOT_FOUND}
    for reason in (*RecoveryObstacle, *(o for o in Obstacle if o not in of_room)):
        assert RefusalRule(reason.value).name == reason.name
