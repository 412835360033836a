"""Which order and which list are kept to come back to, when a move begins and when one is given up."""

import pytest
from msgspec.structs import replace
from tests.builders import move
from tests.unit.applying.journal.records import begun

from replan.applying.api import (
    LastRequest,
    Ledger,
    Order,
    remember_given_up,
    remember_order,
)
from replan.model.api import Replicas, replicas
from replan.planning.api import RequestKind

SWAP = move([1, 2, 3], [4, 1, 5])
EXPANDED = replicas(1, 2, 3, 4, 5)


def order(*listed: int, left: Replicas = ()) -> Order:
    return Order(SWAP.partition, SWAP.topic_id, replicas(*listed), left)


@pytest.mark.parametrize(
    ("kept", "written"),
    [
        pytest.param(None, (order(1, 2, 3),), id="none yet"),
        pytest.param(order(3, 2, 1), (), id="the first one of the same replicas stays"),
        pytest.param(order(3, 2, 6), (order(1, 2, 3),), id="one of other replicas is over"),
        pytest.param(
            replace(order(3, 2, 1), recovered=True),
            (order(3, 2, 1),),
            id="one that a recovery left",
        ),
    ],
)
def test_the_order_to_come_back_to_is_the_first(
    kept: Order | None, written: tuple[Order, ...]
) -> None:
    ledger = Ledger() if kept is None else Ledger().after([kept])
    assert remember_order(SWAP, ledger) == written


@pytest.mark.parametrize(
    ("asked", "past", "kept"),
    [
        pytest.param(None, (), (), id="nothing asked for"),
        pytest.param(
            LastRequest(RequestKind.EXPAND, EXPANDED),
            (EXPANDED,),
            (order(1, 2, 3, left=EXPANDED),),
            id="it copies",
        ),
        pytest.param(
            LastRequest(RequestKind.CANCEL, ()),
            (EXPANDED,),
            (order(1, 2, 3, left=EXPANDED),),
            id="a cancel, which may have been refused",
        ),
        pytest.param(
            LastRequest(RequestKind.ASSIGN, SWAP.original),
            (SWAP.original,),
            (),
            id="nothing that was added",
        ),
    ],
)
def test_a_move_that_is_given_up_leaves_the_list_that_may_run(
    asked: LastRequest | None, past: tuple[Replicas, ...], kept: tuple[Order, ...]
) -> None:
    assert remember_given_up(begun(SWAP, asked=asked, past=past), Ledger()) == kept
