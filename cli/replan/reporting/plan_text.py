"""A plan as plain text for a terminal: what moves, why, in which steps, at what cost, and what is refused."""

from collections.abc import Iterator

from replan.planning.moves import Move
from replan.planning.plan import Plan
from replan.planning.plan_file import digest
from replan.planning.steps import Phase, Step, estimate, steps_of
from replan.reporting.quantities import brokers, count, duration, rate, size

SHOWN = 500
"""Moves that are listed one by one; the rest is counted (all of them with `show --all`)."""


def render_plan(plan: Plan, *, everything: bool = False) -> str:
    """The whole plan as text; ends with a newline."""
    shown = plan.moves if everything else plan.moves[:SHOWN]
    lines = [*_moves(plan, shown), *_left_out(plan, len(shown))]
    lines += [f"! {line}" for line in plan.warnings]
    lines += _refusals(plan)
    lines += list(summary(plan))
    return "\n".join(lines) + "\n"


def _moves(plan: Plan, shown: tuple[Move, ...]) -> Iterator[str]:
    throttled = plan.throttle is not None
    for move in shown:
        change = (
            f"leader {move.leader} -> {move.target[0]}"
            if move.is_leader_only
            else f"{brokers(move.original)} -> {brokers(move.target)}"
        )
        yield f"{move.partition}  {change}  ({move.reason})"
        yield from (f"    {describe(step, move)}" for step in steps_of(move, throttled=throttled))
    if shown:
        yield ""


def describe(step: Step, move: Move) -> str:
    """One step in one line: phase, what is asked, what it costs or waits for."""
    match step.phase:
        case Phase.EXPAND:
            new = ", ".join(str(b) for b in move.new)
            return f"expand  {brokers(step.replicas)}  copy {size(move.bytes)} to {new}"
        case Phase.ASSIGN:
            return f"assign  {brokers(step.replicas)}  {_assign(move)}"
        case Phase.ELECT:
            return f"elect   {move.target[0]}"
        case Phase.THROTTLE | Phase.RESTORE:
            return f"{step.phase} {step.reason}"


def _assign(move: Move) -> str:
    waits = f"once {_and(move.target)} have stayed in sync"
    if not move.leaving:
        waits = f"once {move.target[0]} is in sync"
    if move.leader is not None and move.leader not in move.target:
        return f"{waits}; leader {move.leader} -> {move.target[0]}"
    return waits


def _and(listed: tuple[int, ...]) -> str:
    return ", ".join(str(b) for b in listed)


def _left_out(plan: Plan, shown: int) -> list[str]:
    more = len(plan.moves) - shown
    return (
        [f"and {count(more, 'more move')}: `replan show --all PLAN` lists them", ""] if more else []
    )


def _refusals(plan: Plan) -> list[str]:
    if not plan.refusals:
        return []
    lines = ["Refused:"]
    lines += [f"  {r.message}  [{r.rule}]" for r in plan.refusals[:SHOWN]]
    more = len(plan.refusals) - SHOWN
    if more > 0:
        lines.append(f"  and {more:,} more")
    return [*lines, ""]


def summary(plan: Plan) -> Iterator[str]:
    """The closing lines: totals, throttle, digest."""
    if plan.empty:
        yield "No changes: every declared partition stands where the placement wants it."
        return
    cost = estimate(plan)
    total = count(len(plan.moves), "move")
    refused = f", {count(len(plan.refusals), 'refusal')}" if plan.refusals else ""
    yield f"Plan: {total}{refused}; {size(cost.bytes)} to copy; {count(cost.leaders, 'leader')} may change."
    if cost.bytes:
        yield _throttle(plan)
    yield f"Plan digest {digest(plan)[:16]}, for cluster {plan.cluster_id}."


def _throttle(plan: Plan) -> str:
    if plan.throttle is None:
        return "No throttle is declared (throttles.moves): copies run as fast as the brokers can."
    own = ", ".join(f"broker {b}: {rate(r)}" for b, r in sorted(plan.throttle.brokers.items()))
    cost = estimate(plan)
    least = (
        ""
        if cost.seconds is None
        else f"; at least {duration(cost.seconds)} (broker {cost.busiest})"
    )
    return f"Throttle {rate(plan.throttle.rate)}{' (' + own + ')' if own else ''}{least}."
