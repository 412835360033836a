"""The lists that are wanted: base, preferred leader, leader blacklist, and who leads instead for now."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, listed_leader, placement, snapshot, state, titled

from replan.model.api import (
    OwnApplication,
    PartitionState,
    Placement,
    RememberedOrder,
    Snapshot,
    TopicId,
    TopicPartition,
    replicas,
)
from replan.planning.api import Alignment, blacklist_reaches, lay_overlays, without_ended

Rows = dict[str, list[int]]


def wanted(asked: Placement, seen: Snapshot) -> Rows:
    return {
        f"{r['topic']}-{r['partition']}": r["replicas"]
        for r in lay_overlays(Alignment.of(asked, seen)).table.to_pylist()
    }


def marks(asked: Placement, seen: Snapshot, mark: str) -> list[str]:
    found = lay_overlays(Alignment.of(asked, seen))
    rows = zip(found.table.to_pylist(), getattr(found, mark), strict=True)
    return [f"{r['topic']}-{r['partition']}" for r, marked in rows if marked]


def one(listed: Sequence[int], isr: Sequence[int] | None = None, **of: int) -> Snapshot:
    leader = of.get("leader", -2)
    return snapshot([state(listed, isr, leader=leader)])


def remembering(
    order: Sequence[int], seen: PartitionState, topic_id: TopicId = TOPIC_ID
) -> Snapshot:
    kept = RememberedOrder(replicas(*order), topic_id)
    return snapshot([seen], remembered={seen.partition: kept})


@pytest.mark.parametrize(
    ("listed", "topic_id", "found"),
    [
        ([1, 2, 3, 4], TOPIC_ID, {"orders-0": [3, 1, 2]}),
        ([1, 2, 4, 3], TOPIC_ID, {}),
        ([1, 2, 3, 4], TopicId("created-again"), {}),
    ],
)
def test_the_list_from_before_a_move_that_was_given_up_is_wanted_while_what_it_left_is_there(
    listed: list[int], topic_id: TopicId, found: dict[str, list[int]]
) -> None:
    seen = state(listed)
    kept = RememberedOrder(replicas(3, 1, 2), topic_id, left=replicas(1, 2, 3, 4))
    assert wanted(placement(), snapshot([seen], remembered={seen.partition: kept})) == found


def test_nothing_is_wanted_of_what_an_open_application_moves_and_nothing_reaches_any_more() -> None:
    seen = state([1, 2, 3, 4])
    own = OwnApplication("a-1", "ann", at_work=False, targets={seen.partition: replicas(1, 2, 4)})
    assert wanted(placement(), replace(snapshot([seen]), application=own)) == {}


def test_declared_lists_are_wanted_as_they_are_whether_they_exist_or_not() -> None:
    asked = placement({"orders": [[3, 2, 1]], "unknown": {4: [1]}})
    assert wanted(asked, one([1, 2, 3])) == {"orders-0": [3, 2, 1], "unknown-4": [1]}


def test_nothing_is_wanted_of_topics_that_no_entry_names() -> None:
    assert wanted(placement(), one([1, 2, 3])) == {}


def test_a_preferred_leader_goes_first_and_the_rest_keeps_its_order() -> None:
    asked = placement({"orders": [[1, 2, 3]]}, leaders={"orders-0": 3})
    assert wanted(asked, one([1, 2, 3])) == {"orders-0": [3, 1, 2]}


def test_a_preferred_leader_of_an_undeclared_partition_goes_first_in_the_order_it_has() -> None:
    asked = placement(leaders={"orders-0": 2})
    assert wanted(asked, one([3, 1, 2])) == {"orders-0": [2, 3, 1]}


def test_a_preferred_leader_is_judged_by_where_a_running_reassignment_leads() -> None:
    seen = snapshot([state([4, 2, 1], [1, 2], adding=[4], removing=[1])])
    assert wanted(placement(leaders={"orders-0": 2}), seen) == {"orders-0": [2, 4]}


LISTS: list[tuple[Sequence[int], Sequence[int], list[int]]] = [
    # declared, listed brokers, wanted
    ([1, 2, 3], [1], [2, 3, 1]),
    ([1, 2, 3], [2], [1, 3, 2]),
    ([1, 2, 3], [3], [1, 2, 3]),
    ([1, 2, 3, 4], [1, 3], [2, 4, 1, 3]),
    ([3, 2, 1], [1, 2, 3], [3, 2, 1]),
    ([1, 2, 3], [5], [1, 2, 3]),
    ([1], [1], [1]),
]


@pytest.mark.parametrize(("declared", "listed", "expected"), LISTS)
def test_listed_brokers_stand_last_and_where_all_are_listed_the_declared_order_holds(
    declared: Sequence[int], listed: Sequence[int], expected: list[int]
) -> None:
    asked = placement({"orders": [declared]}, blacklist=[listed_leader(b) for b in listed])
    assert wanted(asked, one(declared)) == {"orders-0": expected}


def test_the_blacklist_outweighs_a_preferred_leader() -> None:
    asked = placement(
        {"orders": [[1, 2, 3]]}, leaders={"orders-0": 2}, blacklist=[listed_leader(2)]
    )
    assert wanted(asked, one([1, 2, 3])) == {"orders-0": [1, 3, 2]}


def test_lists_of_unequal_length_keep_their_length() -> None:
    asked = placement({"a": [[1, 2, 3, 4], [1], [2, 1]]}, blacklist=[listed_leader(1)])
    states = [state([1, 2, 3, 4], topic="a"), state([1], topic="a", partition=1)]
    states.append(state([2, 1], topic="a", partition=2))
    assert wanted(asked, snapshot(states)) == {"a-0": [2, 3, 4, 1], "a-1": [1], "a-2": [2, 1]}


REACH = [
    (None, "orders", True),
    (None, "__consumer_offsets", True),
    (("orders",), "orders", True),
    (("orders",), "orders.eu", False),
    (("orders*",), "orders.eu", True),
    (("pay", "or?ers"), "orders", True),
    (("*",), "__consumer_offsets", False),
    (("__*",), "__consumer_offsets", True),
    (("__consumer_offsets",), "__consumer_offsets", True),
    (("[_]_*",), "__consumer_offsets", False),
    (("ORDERS",), "orders", False),
]


@pytest.mark.parametrize(("topics", "topic", "reached"), REACH)
def test_an_entry_reaches_every_topic_or_its_own_internal_ones_where_their_underscores_are_written(
    topics: Sequence[str] | None, topic: str, *, reached: bool
) -> None:
    assert blacklist_reaches(listed_leader(1, topics=topics), topic) is reached


def test_the_blacklist_reaches_undeclared_partitions_where_it_changes_something() -> None:
    seen = snapshot(
        [
            state([1, 2, 3]),
            state([2, 1, 3], partition=1),
            state([2, 3, 1], partition=2),
            state([2, 3, 1], leader=1, partition=3),
            state([2, 3, 1], leader=3, partition=4),
            state([4, 5], partition=5),
            state([1, 2], topic="__consumer_offsets"),
        ]
    )
    asked = placement(blacklist=[listed_leader(1)])
    orders = {"orders-0": [2, 3, 1], "orders-1": [2, 3, 1], "orders-3": [2, 3, 1]}
    assert wanted(asked, seen) == {"__consumer_offsets-0": [2, 1], **orders}
    assert marks(asked, seen, "remember") == ["__consumer_offsets-0", "orders-0", "orders-1"]


def test_an_undeclared_partition_that_a_reassignment_runs_on_is_let_alone() -> None:
    seen = snapshot([state([1, 2, 4], [1, 2], adding=[4])])
    assert wanted(placement(blacklist=[listed_leader(1)]), seen) == {}


def test_a_broker_that_is_not_registered_moves_no_list() -> None:
    seen = one([9, 1, 2], [1, 2])
    assert wanted(placement(blacklist=[listed_leader(9)]), seen) == {}


def test_off_the_blacklist_a_declared_order_comes_back_by_itself() -> None:
    assert wanted(placement({"orders": [[1, 2, 3]]}), one([2, 3, 1])) == {"orders-0": [1, 2, 3]}


def test_off_the_blacklist_an_undeclared_order_comes_back_from_memory_and_is_not_remembered_again() -> (
    None
):
    seen = remembering([1, 2, 3], state([2, 3, 1]))
    assert wanted(placement(), seen) == {"orders-0": [1, 2, 3]}
    assert marks(placement(), seen, "remember") == []


def test_a_second_entry_starts_from_the_remembered_order_and_does_not_replace_it() -> None:
    seen = remembering([1, 2, 3], state([2, 3, 1]))
    asked = placement(blacklist=[listed_leader(1), listed_leader(2)])
    assert wanted(asked, seen) == {"orders-0": [3, 1, 2]}
    assert marks(asked, seen, "remember") == []


FORGOTTEN = [
    ("another set", remembering([1, 2, 4], state([2, 3, 1]))),
    ("a shorter set", remembering([1, 2], state([2, 3, 1]))),
    (
        "another topic of that name",
        remembering([1, 2, 3], state([2, 3, 1]), TopicId("new" * 7 + "n")),
    ),
    ("in place already", remembering([2, 3, 1], state([2, 3, 1]))),
    (
        "a reassignment runs",
        remembering([1, 2, 3], state([2, 3, 1], [2, 3], adding=[1])),
    ),
    (
        "no such partition",
        snapshot(
            [state([2, 3, 1])],
            remembered={TopicPartition("orders", 9): RememberedOrder(replicas(1, 2, 3), TOPIC_ID)},
        ),
    ),
]


@pytest.mark.parametrize("seen", [c[1] for c in FORGOTTEN], ids=[c[0] for c in FORGOTTEN])
def test_a_remembered_order_that_does_not_fit_any_more_changes_nothing(seen: Snapshot) -> None:
    assert wanted(placement(), seen) == {}


def test_a_declared_list_outweighs_a_remembered_order() -> None:
    seen = remembering([1, 2, 3], state([2, 3, 1]))
    assert wanted(placement({"orders": [[3, 2, 1]]}), seen) == {"orders-0": [3, 2, 1]}


STAND_INS: list[tuple[str, Sequence[int], Sequence[int], int, list[int]]] = [
    # what, observed list, ISR, leader, wanted under declared [1, 2, 3] with 1 listed
    ("the first is in sync", [1, 2, 3], [1, 2, 3], 1, [2, 3, 1]),
    ("the first is out of sync", [1, 2, 3], [1, 3], 1, [3, 2, 1]),
    ("nobody unlisted is in sync", [1, 2, 3], [1], 1, [2, 3, 1]),
    ("the leader is not listed", [1, 2, 3], [1, 3], 3, [2, 3, 1]),
    ("the stand-in leads already", [3, 2, 1], [1, 3], 3, [3, 2, 1]),
    ("the first is back", [3, 2, 1], [1, 2, 3], 3, [2, 3, 1]),
    ("no leader", [1, 2, 3], [1], -1, [2, 3, 1]),
]


@titled("listed isr leader expected", STAND_INS)
def test_an_unlisted_one_in_sync_leads_for_now_where_a_listed_one_leads(
    listed: Sequence[int], isr: Sequence[int], leader: int, expected: list[int]
) -> None:
    seen = snapshot([state(listed, isr, leader=None if leader < 0 else leader)])
    asked = placement({"orders": [[1, 2, 3]]}, blacklist=[listed_leader(1)])
    assert wanted(asked, seen) == {"orders-0": expected}


HEADS: list[tuple[str, Sequence[int], Sequence[int], list[int]]] = [
    # what, declared, ISR of [1, 2, 3], wanted with 1 listed and leading
    ("a new replica is to lead", [4, 1, 2, 3], [1, 3], [4, 2, 3, 1]),
    ("one joins: the first is still out", [2, 3, 1, 4], [1, 3], [3, 2, 4, 1]),
    ("replaced: all are awaited", [2, 4, 1], [1, 3], [2, 4, 1]),
]


@titled("declared isr expected", HEADS)
def test_no_substitute_leads_for_a_first_one_that_the_move_itself_brings_in_sync(
    declared: Sequence[int], isr: Sequence[int], expected: list[int]
) -> None:
    asked = placement({"orders": [declared]}, blacklist=[listed_leader(1)])
    assert wanted(asked, one([1, 2, 3], isr)) == {"orders-0": expected}


def test_no_substitute_leads_where_a_replica_leaves_since_all_that_stay_are_awaited() -> None:
    asked = placement({"orders": [[1, 2, 3]]}, blacklist=[listed_leader(1)])
    assert wanted(asked, one([1, 2, 3, 5], [1, 3])) == {"orders-0": [2, 3, 1]}


def test_no_substitute_leads_while_a_reassignment_runs() -> None:
    asked = placement({"orders": [[1, 2, 3, 4]]}, blacklist=[listed_leader(1)])
    seen = snapshot([state([1, 2, 3, 4], [1, 3], adding=[4])])
    assert wanted(asked, seen) == {"orders-0": [2, 3, 4, 1]}


def test_marks_tell_declared_lists_from_reached_ones_and_which_the_blacklist_changed() -> None:
    seen = snapshot([state([1, 2]), state([1, 2], partition=1), state([3, 1], partition=2)])
    asked = placement({"orders": {0: [1, 2], 2: [3, 1]}}, blacklist=[listed_leader(1)])
    assert marks(asked, seen, "explicit") == ["orders-0", "orders-2"]
    assert marks(asked, seen, "demoted") == ["orders-0", "orders-1"]
    assert marks(asked, seen, "remember") == ["orders-1"]


LATER = listed_leader(1, later=True)


def test_what_may_lead_on_is_only_reordered() -> None:
    asked, seen = placement({"orders": [[1, 2, 3]]}, blacklist=[LATER]), one([1, 2, 3])
    assert wanted(asked, seen) == {"orders-0": [2, 3, 1]}
    assert marks(asked, seen, "demoted") == ["orders-0"]
    assert marks(asked, seen, "led") == []


def test_a_listed_leader_that_may_lead_on_needs_no_stand_in_and_no_election() -> None:
    asked = placement(blacklist=[LATER])
    assert wanted(asked, one([1, 2, 3], [1, 3], leader=1)) == {"orders-0": [2, 3, 1]}
    assert wanted(asked, one([2, 3, 1], leader=1)) == {}


def test_of_two_entries_of_a_broker_the_one_that_moves_now_counts() -> None:
    asked = placement(blacklist=[LATER, listed_leader(1, line=202)])
    assert marks(asked, one([1, 2, 3]), "led") == ["orders-0"]


CATCHING_UP = listed_leader(1, until_caught_up=True)


def test_an_entry_until_its_broker_has_caught_up_holds_while_one_partition_lacks_it() -> None:
    behind = state([3, 1, 2], [3, 2], partition=1)
    asked = placement(blacklist=[CATCHING_UP])
    seen = snapshot([state([1, 2, 3], leader=2), behind])
    assert without_ended(asked, seen).leader_blacklist == (listed_leader(1),)
    assert wanted(without_ended(asked, seen), seen) == {
        "orders-0": [2, 3, 1],
        "orders-1": [3, 2, 1],
    }


@pytest.mark.parametrize(
    ("topics", "seen"),
    [
        (None, snapshot([state([1, 2, 3]), state([2, 3], partition=1)])),
        (["*"], snapshot([state([1, 2, 3]), state([1, 2], [2], topic="__internal")])),
        (None, snapshot([state([2, 3])])),
    ],
    ids=["in sync everywhere", "behind only where it does not reach", "holds nothing"],
)
def test_it_ends_once_its_broker_is_in_sync_for_all_that_it_reaches(
    topics: Sequence[str] | None, seen: Snapshot
) -> None:
    entry = listed_leader(1, topics=topics, until_caught_up=True)
    assert without_ended(placement(blacklist=[entry]), seen).leader_blacklist == ()
