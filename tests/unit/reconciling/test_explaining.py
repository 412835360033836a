"""What `explain` says of policy is what the loop would do now: both ask the same decision."""

from datetime import datetime

import pytest
from msgspec.structs import replace
from tests.builders import brokers, placement, snapshot, state

from replan.model.api import DeviationKind, Reconcile, TopicPartition
from replan.reconciling.api import (
    BrokersDown,
    History,
    LoopHolds,
    LoopReason,
    Memory,
    MovedTooOften,
    SomebodyPaused,
    UnderMinIsr,
    by_policy,
)

ORDERS = TopicPartition("orders", 0)
KIND = DeviationKind.PLACEMENT_CHANGED
DECLARED = placement(
    {"orders": [[2, 1, 3], [1, 2, 3]]},
    reconcile=Reconcile({KIND: 0}),
)
KNOWN = History("digest", {"orders": {0: (1, 2, 3), 1: (1, 2, 3)}})


def told(memory: Memory, *, fenced: tuple[int, ...] = ()) -> tuple[object, tuple[LoopReason, ...]]:
    """What is said of the one partition whose order was declared otherwise."""
    states = [state([1, 2, 3]), state([1, 2, 3], partition=1)]
    observed = snapshot(states, registered=brokers(fenced=fenced))
    [one] = by_policy(DECLARED, observed, ORDERS, (memory, KNOWN))
    return one.judged.why_not, one.holds


NOW = datetime.fromisoformat(snapshot([]).observed_at).timestamp()
PAUSED = SomebodyPaused("bob", 1.0)


@pytest.mark.parametrize(
    ("memory", "fenced", "holds"),
    [
        (Memory(), (), ()),
        (Memory(paused=PAUSED), (), (PAUSED,)),
        (Memory(under=("orders-0",)), (), ()),
        (Memory(under=("orders-1",)), (), (UnderMinIsr(("orders-1",), 1),)),
        (
            Memory(moved={"orders-0": (NOW - 30, NOW - 20, NOW - 10)}),
            (),
            (MovedTooOften(("orders-0",), 1, 3, NOW - 30 + 86_400),),
        ),
        (Memory(), (4, 5), (BrokersDown((4, 5), 5, 2),)),
    ],
)
def test_it_says_that_the_loop_holds_where_it_does_and_nowhere_else(
    memory: Memory, fenced: tuple[int, ...], holds: tuple[LoopReason, ...]
) -> None:
    assert told(memory, fenced=fenced) == (LoopHolds() if holds else None, holds)


def test_what_is_put_right_while_others_heal_comes_after_them() -> None:
    both = replace(DECLARED, explicit=placement({"orders": [[2, 1, 3], [2, 1, 3]]}).explicit)
    observed = snapshot([state([1, 2, 3]), state([1, 2, 3], partition=1)])
    memory = Memory(under=("orders-1",))
    for name, holds in (
        (ORDERS, (UnderMinIsr(("orders-1",), 1),)),
        (TopicPartition("orders", 1), ()),
    ):
        [one] = by_policy(both, observed, name, (memory, KNOWN))
        assert one.holds == holds
