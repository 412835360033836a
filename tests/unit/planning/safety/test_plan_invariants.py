"""Each law bites: a plan that no planner would make is reported with what it breaks, in full."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.builders import judged_in, lists, move, placement, snapshot, state
from tests.goldens import check_cases

from replan.errors import UnsafePlan
from replan.model.api import BrokerId, Placement, Snapshot, TopicId, TopicPartition
from replan.planning.api import (
    Broken,
    Move,
    Plan,
    Refusal,
    RefusalRule,
    broken_laws,
    make_plan,
    require_invariants,
    require_lawful,
)

ASKED = placement({"orders": [[4, 2, 5], [3, 1, 2]]})
SEEN = snapshot([state([1, 2, 3], size=100), state([3, 1, 2], partition=1, size=100)])


def planned() -> Plan:
    return make_plan(ASKED, SEEN)


def broken(plan: Plan, asked: Placement = ASKED, seen: Snapshot = SEEN) -> list[Broken]:
    return broken_laws(asked, seen, plan, judged_in(seen, plan))


def messages(plan: Plan, asked: Placement = ASKED, seen: Snapshot = SEEN) -> list[str]:
    return [f"{b.message} [{b.law}]" for b in broken(plan, asked, seen)]


def only(moves: Sequence[Move], **changes: object) -> Plan:
    return replace(planned(), moves=tuple(moves), **changes)


def test_a_plan_of_the_planner_breaks_nothing() -> None:
    assert broken(planned()) == []


FIRST = planned().moves[0]
ONE = snapshot([state([1, 2, 3])])
LEADERLESS = snapshot([state([1, 2, 3], [1], leader=None)])
UNCLEAN = snapshot([state([1, 2, 3], [1])], unclean=["orders"])
TO_4 = placement({"orders": {0: [1, 2, 4]}})
SHORT = move([1, 2, 3], [1], leader=1)
LAWLESS: list[tuple[str, Move, Placement, Snapshot]] = [
    ("it does not arrive", replace(FIRST, target=lists(4, 2, 1)), ASKED, SEEN),
    (
        "it is moved from what does not stand there",
        replace(FIRST, topic_id=TopicId("a")),
        ASKED,
        SEEN,
    ),
    (
        "its target names whom no request may name: also what needs the plan alone",
        replace(FIRST, unnameable=frozenset({BrokerId(2)})),
        ASKED,
        SEEN,
    ),
    (
        "it stands where it belongs",
        move([3, 1, 2], [3, 1, 2], partition=1, leader=3),
        ASKED,
        SEEN,
    ),
    ("its target is below min ISR", SHORT, placement({"orders": {0: [1]}}), ONE),
    (
        "its target is below min ISR, which its author accepts",
        replace(SHORT, below_min_isr=True),
        placement({"orders": {0: [1]}}),
        ONE,
    ),
    (
        "an empty newcomer could be elected",
        move([1, 2, 3], [1, 2, 4], unclean_election=True, leader=1),
        TO_4,
        UNCLEAN,
    ),
    ("it has no leader", move([1, 2, 3], [1, 2, 4]), TO_4, LEADERLESS),
]


def test_each_law_that_a_move_breaks_is_said_in_full() -> None:
    """In `goldens/lawless.txt`."""
    told = [
        (title, "\n".join(messages(only([of]), asked, seen)) or "nothing")
        for title, of, asked, seen in LAWLESS
    ]
    check_cases(Path(__file__).parent / "goldens" / "lawless.txt", told)


def test_a_plan_that_arrives_in_another_order_does_not_arrive() -> None:
    elsewhere = only([replace(planned().moves[0], target=lists(4, 5, 2))])
    assert [b.law for b in broken(elsewhere)] == ["arrives"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"cluster_id": "another"},
            "the plan: it is for cluster another, not MkU3OEVBNTcwNTJENDM2Qg",
        ),
        ({"racks": {}}, "the plan: its brokers and racks are not those of the snapshot"),
        (
            {"remember": frozenset({TopicPartition("orders", 1)})},
            "the plan: it remembers orders of partitions that it does not move",
        ),
    ],
)
def test_a_plan_of_something_else_is_reported(changes: dict[str, object], message: str) -> None:
    assert f"{message} [only-what-was-asked]" in messages(only(planned().moves, **changes))


def test_a_lawless_plan_is_refused_as_a_bug_of_replan() -> None:
    elsewhere = only([replace(planned().moves[0], target=lists(4, 2, 1))])
    with pytest.raises(UnsafePlan) as refused:
        require_invariants(ASKED, SEEN, elsewhere, judged_in(SEEN, elsewhere))
    assert str(refused.value) == (
        "the plan breaks laws that every plan must keep, so it is not made:\n"
        "  orders-0: after its move its list is [4, 2, 1] led by 4, and planning again would move it (replicas) to "
        "[4, 2, 5]  [arrives]\n"
        "This is a bug in replan, not in the placement. Please report it, with the placement and the output of "
        "`replan snapshot`; nothing was changed"
    )


UNLAWFUL: list[tuple[dict[str, object], str]] = [
    ({"target": lists(4)}, "orders-0: target [4] is shorter than min.insync.replicas 2"),
    ({"target": lists(4, 2, 9)}, "orders-0: its target names [9], which the plan does not know"),
    ({"original": lists(1)}, "orders-0: 1 replicas cannot be the 2 in sync that expand makes necessary"),
    ({"unnameable": frozenset(lists(9))}, "orders-0: [9] are no replicas that could leave"),
    ({"target": lists(1, 2, 3), "elect": False}, "orders-0: it is where it belongs, [1, 2, 3], and is moved"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), UNLAWFUL, ids=[says for _, says in UNLAWFUL])
def test_a_plan_that_was_changed_is_refused_by_the_law_that_it_breaks(
    change: dict[str, object], says: str
) -> None:
    good = planned()
    changed = only([replace(good.moves[0], **change), *good.moves[1:]])
    with pytest.raises(UnsafePlan) as refused:
        require_lawful(changed, "plan.json")
    assert str(refused.value).startswith("plan.json: the plan breaks laws that every plan keeps")
    assert says in str(refused.value)
    assert require_lawful(good, "plan.json") is good


NO = Refusal(*FIRST.partition, RefusalRule.NO_LEADER, {"inSync": (), "target": ()})
OTHER_TOPIC = replace(FIRST, partition=TopicPartition("clicks", 0))
OTHER_ID = replace(FIRST, partition=TopicPartition("orders", 1), topic_id=TopicId("another"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (only([FIRST, FIRST]), "orders-0: it is moved twice"),
        (only([FIRST], refusals=(NO,)), "orders-0: it is refused and moved"),
        (only([FIRST, OTHER_TOPIC]), f"clicks and orders have the same id, {FIRST.topic_id}"),
        (only([FIRST, OTHER_ID]), "topic orders has two ids"),
    ],
)
def test_a_plan_whose_parts_contradict_each_other_is_refused(changed: Plan, says: str) -> None:
    with pytest.raises(UnsafePlan, match=says):
        require_lawful(changed, "plan.json")
