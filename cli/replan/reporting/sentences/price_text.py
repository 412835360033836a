"""What a plan costs in money, where the fleet file says what copies and storage cost. For showing only."""

from collections.abc import Iterator
from decimal import Decimal

from replan.model.declared.policy import Prices
from replan.planning.plans.plan import Plan
from replan.wording import size

GB = 10**9


def cross_rack_bytes(plan: Plan) -> int:
    """Bytes that are copied from one rack to another; where a rack is not known, nothing crosses."""
    return sum(
        move.bytes
        for move in plan.moves
        for broker in move.new
        if (to := plan.racks.get(broker)) is not None
        and (source := plan.racks.get(move.source)) is not None
        and source != to
    )


def stored_bytes(plan: Plan) -> int:
    """How many more bytes are stored afterwards; negative where there are fewer."""
    return sum(move.bytes * (len(move.target) - len(move.original)) for move in plan.moves)


def price_lines(plan: Plan, prices: Prices | None) -> Iterator[str]:
    """One line for copies, one for storage; none without a price or without bytes."""
    if prices is None:
        return
    crossing, stored = cross_rack_bytes(plan), stored_bytes(plan)
    if prices.cross_rack_per_gb is not None and crossing:
        cost = _money(crossing * prices.cross_rack_per_gb / GB, prices.currency)
        yield f"Copies between racks: {size(crossing)}, {cost}."
    if prices.per_gb_month is not None and stored:
        sign = "more" if stored > 0 else "less"
        cost = _money(abs(stored) * prices.per_gb_month / GB, prices.currency)
        yield f"Stored afterwards: {size(abs(stored))} {sign}, {cost} a month {sign}."


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount.quantize(Decimal('0.01')):,} {currency}"
