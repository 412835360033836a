"""Who is left out of a list is decided by the cluster now: not by the plan, and not by an earlier request alone."""

from collections.abc import Collection, Sequence

import pytest
from tests.builders import brokers, move, state
from tests.unit.applying.journal.records import begun

from replan.applying.api import LastRequest, as_nameable
from replan.model.api import Broker, Look, PartitionState, Replicas, replicas
from replan.planning.api import RequestKind

SWAP = move([1, 2, 3], [1, 4], unnameable=[2])
"""Of which the plan says that no list may name 2."""
WITHOUT_2 = replicas(1, 3, 4)


def left_out(
    found: PartitionState,
    *,
    fenced: Collection[int] = (),
    cordoned: Collection[int] = (),
    unregistered: Collection[int] = (),
    asked: Replicas | None = None,
    refused: bool = False,
    kind: RequestKind = RequestKind.EXPAND,
) -> set[int]:
    known = {
        b.id: Broker(b.id, b.rack, b.id in fenced, b.id in cordoned)
        for b in brokers()
        if b.id not in unregistered
    }
    own = None
    if asked is not None:
        own = begun(
            SWAP,
            asked=LastRequest(kind, asked if kind is RequestKind.EXPAND else ()),
            past=(asked,),
        )
    decided = as_nameable(SWAP, own, found, Look(brokers=known), refused=refused)
    return {int(b) for b in decided.unnameable}


START = state([1, 2, 3])
WITHOUT_SYNC = state([1, 2, 3], [1, 3])
RUNNING = state([1, 3, 4, 2], [1, 2, 3], adding=[4], removing=[2])


@pytest.mark.parametrize("isr", [[1, 2, 3], [1, 3]])
@pytest.mark.parametrize("fenced", [[], [2]])
def test_what_the_plan_alone_says_leaves_nobody_out(isr: Sequence[int], fenced: list[int]) -> None:
    assert left_out(state([1, 2, 3], isr), fenced=fenced) == set()


def test_who_is_not_registered_and_out_of_sync_is_left_out() -> None:
    assert left_out(WITHOUT_SYNC, unregistered=[2]) == {2}
    assert left_out(state([1, 2, 3], [1, 2]), unregistered=[3]) == {3}


def test_who_is_cordoned_is_left_out_where_the_plan_knew_it_or_kafka_refused_the_list() -> None:
    assert left_out(START, cordoned=[2, 3]) == {2}
    assert left_out(START, cordoned=[2, 3], refused=True) == {2, 3}


def test_where_kafka_refused_the_list_who_is_fenced_is_left_out() -> None:
    assert left_out(WITHOUT_SYNC, fenced=[2], refused=True) == {2}
    assert left_out(START, fenced=[2], refused=True) == set()


def test_who_was_left_out_stays_so_once_the_request_shows_an_effect() -> None:
    assert left_out(RUNNING, asked=WITHOUT_2) == {2}
    assert left_out(WITHOUT_SYNC, fenced=[2], asked=WITHOUT_2) == {2}


def test_who_was_left_out_and_is_in_sync_again_is_named_while_nothing_has_happened() -> None:
    assert left_out(START, asked=WITHOUT_2) == set()
    assert left_out(START, cordoned=[2], asked=WITHOUT_2) == {2}


def test_after_a_cancel_it_is_decided_again() -> None:
    assert left_out(RUNNING, asked=WITHOUT_2, kind=RequestKind.CANCEL) == set()
