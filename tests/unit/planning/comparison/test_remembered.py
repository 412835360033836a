"""Orders that the journal remembers: which come back, and whom a leader blacklist has put last."""

from collections.abc import Sequence

import pytest
from tests.builders import TOPIC_ID, listed_leader, placement, snapshot, state
from tests.readings import find_drift

from replan.model.api import LeaderBlacklist, RememberedOrder, TopicPartition, replicas
from replan.planning.api import ReasonKind, WarningKind, demoted, make_plan

NAME = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("before", "after", "listed"),
    [
        ([3, 1, 2], [1, 2, 3], [3]),
        ([3, 1], [1, 3], [3]),
        ([3, 4, 1], [1, 3, 4], [3, 4]),
        ([1, 3, 2], [1, 2, 3], [3]),
        ([1, 2, 3], [3, 2, 1], [1]),  # 2 is out of sync, so 3 stands in for it
        ([1, 2, 3], [1, 2, 3], []),
        ([1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3]),  # by hand
    ],
)
def test_who_was_put_last(before: Sequence[int], after: Sequence[int], listed: list[int]) -> None:
    assert sorted(demoted(replicas(*before), replicas(*after))) == listed


@pytest.mark.parametrize(
    ("blacklist", "recovered", "moved", "reason", "warned"),
    [
        (None, False, [], None, [WarningKind.BLACKLIST_STAYS]),
        (None, True, [[3, 1, 2]], ReasonKind.REMEMBERED_ORDER, []),
        ([], False, [[3, 1, 2]], ReasonKind.BLACKLIST_LIFTED, []),
        ([], True, [[3, 1, 2]], ReasonKind.REMEMBERED_ORDER, []),
        ([listed_leader(2)], False, [[3, 1, 2]], ReasonKind.BLACKLIST_LIFTED, []),
        ([listed_leader(3)], False, [], None, []),
    ],
    ids=[
        "no key, a blacklist changed it",
        "no key, a recovery changed it",
        "an empty list",
        "an empty list, a recovery changed it",
        "another broker is listed",
        "the broker is listed",
    ],
)
def test_an_order_comes_back_where_a_placement_speaks_of_the_blacklist_or_a_recovery_changed_it(
    blacklist: list[LeaderBlacklist] | None,
    recovered: bool,
    moved: list[list[int]],
    reason: ReasonKind | None,
    warned: list[WarningKind],
) -> None:
    kept = RememberedOrder(replicas(3, 1, 2), TOPIC_ID, recovered=recovered)
    seen = snapshot([state([1, 2, 3])], remembered={NAME: kept})
    made = make_plan(placement(blacklist=blacklist), seen)
    assert [list(m.target) for m in made.moves] == moved
    assert [m.reason.kind for m in made.moves] == [reason] * len(moved)
    assert [w.kind for w in made.warnings] == warned
    assert find_drift(placement(blacklist=blacklist), seen).warnings == made.warnings


def test_what_goes_on_names_its_brokers_and_partitions() -> None:
    kept = RememberedOrder(replicas(3, 1, 2), TOPIC_ID)
    seen = snapshot([state([1, 2, 3])], remembered={NAME: kept})
    (warning,) = make_plan(placement(blacklist=None), seen).warnings
    assert warning.facts == {"brokers": (3,), "partitions": ("orders-0",), "count": 1}


def test_a_blacklist_that_reaches_a_recovered_partition_keeps_its_order_as_its_own() -> None:
    kept = RememberedOrder(replicas(1, 3, 2), TOPIC_ID, recovered=True)
    seen = snapshot([state([2, 1, 3])], remembered={NAME: kept})
    assert make_plan(placement(blacklist=[listed_leader(1)]), seen).remember == {NAME}
