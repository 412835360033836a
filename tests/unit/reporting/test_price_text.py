"""Money is shown where the fleet file has prices: copies between racks once, storage by the month."""

from decimal import Decimal

import pytest
from tests.builders import move

from replan.model.api import BrokerId, Prices
from replan.planning.api import Move, Plan
from replan.reporting.api import cross_rack_bytes, price_lines, stored_bytes

GB = 10**9
RACKS = {BrokerId(1): "a", BrokerId(2): "a", BrokerId(3): "b", BrokerId(4): "b", BrokerId(5): None}
PRICES = Prices("EUR", Decimal("0.02"), Decimal("0.08"))


def plan(*moves: Move) -> Plan:
    return Plan("c", "d", RACKS, moves)


@pytest.mark.parametrize(
    ("moved", "crossing", "stored"),
    [
        (move([1, 3], [1, 2], leader=1, size=GB), 0, 0),
        (move([1, 2], [3, 4], leader=1, size=GB), 2 * GB, 0),
        (move([3, 1], [4, 1], leader=1, size=GB), GB, 0),
        (move([1], [1, 2, 3], leader=1, size=GB), GB, 2 * GB),
        (move([1, 2, 3], [1], leader=1, size=GB), 0, -2 * GB),
        (move([1], [1, 5], leader=1, size=GB), 0, GB),
    ],
)
def test_bytes_cross_racks_where_both_racks_are_known_and_differ(
    moved: Move, crossing: int, stored: int
) -> None:
    assert (cross_rack_bytes(plan(moved)), stored_bytes(plan(moved))) == (crossing, stored)


def test_each_price_that_is_declared_makes_a_line() -> None:
    made = plan(move([1], [1, 3, 2], leader=1, size=1_500 * GB))
    assert list(price_lines(made, PRICES)) == [
        "Copies between racks: 1.5 TB, 30.00 EUR.",
        "Stored afterwards: 3 TB more, 240.00 EUR a month more.",
    ]
    assert list(price_lines(made, Prices("EUR"))) == []
    assert list(price_lines(made, None)) == []
    assert list(price_lines(plan(), PRICES)) == []
