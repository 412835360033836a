"""Which returning broker Kafka elects by itself: golden vectors 33 to 36, and the last known leader."""

import pytest
from msgspec.structs import replace
from tests.builders import snapshot, state

from replan.model.api import PartitionState, replicas
from replan.planning.api import Awaited, Comeback, awaited, elr_gone, health_of


def lost(
    listed: list[int], *, isr: tuple[int, ...] = (), elr: tuple[int, ...] = (), last: int = -1
) -> PartitionState:
    known = replicas(last) if last >= 0 else ()
    seen = state(listed, list(isr), leader=None)
    return replace(seen, elr=replicas(*elr), last_known_elr=known)


@pytest.mark.parametrize(
    ("seen", "why", "brokers"),
    [
        (lost([3, 1, 2], isr=(1,)), Comeback.IN_SYNC, [1]),
        (lost([3, 1, 2], elr=(2, 1), last=1), Comeback.ELIGIBLE, [1, 2]),
        (lost([1], elr=(2, 3), last=1), Comeback.NOBODY, []),
        (lost([1, 4], elr=(2, 4), last=1), Comeback.ELIGIBLE, [4]),
        (lost([1, 2, 3], last=2), Comeback.LAST_KNOWN_LEADER, [2]),
        (lost([1, 2, 3], last=9), Comeback.NOBODY, []),
        (lost([1, 2, 3]), Comeback.NOBODY, []),
    ],
)
def test_the_broker_that_is_awaited(
    seen: PartitionState, why: Comeback, brokers: list[int]
) -> None:
    assert awaited(seen, unclean_election=False) == Awaited(why, replicas(*brokers))


def test_with_unclean_election_any_replica_will_do() -> None:
    seen = lost([3, 1, 2], elr=(1,))
    assert awaited(seen, unclean_election=True) == Awaited(Comeback.ANY, replicas(3, 1, 2))


def test_nobody_is_awaited_where_there_is_a_leader() -> None:
    assert awaited(state([1, 2]), unclean_election=True) is None


def test_strangers_in_the_elr_are_not_electable() -> None:
    seen = replace(state([1, 2, 3], [1]), elr=replicas(3, 4, 5))
    assert (seen.eligible, seen.electable) == (replicas(3), 2)


@pytest.mark.parametrize(
    ("seen", "gone"),
    [
        (state([1, 2, 3], [1]), True),
        (replace(state([1, 2, 3], [1]), elr=replicas(4)), True),
        (replace(state([1, 2, 3], [1]), elr=replicas(2)), False),
        (state([1, 2, 3], [1, 2]), False),
        (state([1, 2], [1], adding=[2]), False),
    ],
)
def test_an_elr_that_should_be_there_and_is_not(seen: PartitionState, gone: bool) -> None:
    cluster = snapshot([seen])
    assert elr_gone(seen, 2, cluster) is gone
    off = replace(cluster, features=replace(cluster.features, eligible_leader_replicas=False))
    assert not elr_gone(seen, 2, off)


def test_topics_with_unclean_election_are_named() -> None:
    seen = snapshot([state([1]), state([1], topic="clicks")], unclean=["clicks"])
    assert health_of(seen).unclean == ("clicks",)
    assert health_of(seen, frozenset({"orders"})).unclean == ()
