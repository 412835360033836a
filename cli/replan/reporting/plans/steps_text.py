"""The steps of a plan as plain text: each move in the order of the plan, with what it asks of the cluster.

What goes before the moves and what is refused is here as well, since every form of the text has it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from replan.planning.plans.plan import Plan, Refusal, RefusalRule
from replan.planning.plans.preview import planned_requests
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    change,
    create_text,
    describe,
    log_move_text,
    setting_text,
    summary,
)
from replan.reporting.plans.recovery_text import recovery_lines
from replan.reporting.quantities import brokers
from replan.reporting.sentences.conflict_text import conflict_lines
from replan.reporting.sentences.move_reasons import reason_text
from replan.reporting.sentences.plan_notes import refusal_text, warning_text
from replan.reporting.table import columns
from replan.wording import capped, left_out

OWN = "Being moved by replan's own application"
LEFT = "Left running by an ended application of replan"
SHOWN = 500
"""Moves that are listed one by one; the rest is counted (all of them with `show --all`)."""


def render_steps(plan: Plan, context: PlanContext = NOTHING_BESIDE) -> str:
    """The plan step by step, as the transcript of a scenario has it; ends with a newline."""
    return "\n".join(transcript(plan, context)) + "\n"


def transcript(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, everything: bool = False
) -> list[str]:
    """Every step, then warnings, refusals and the summary."""
    limit = max(len(plan.moves), len(plan.refusals)) if everything else SHOWN
    lines = [*before_moves(plan, limit)]
    lines += moves_with_steps(plan, limit, sizes_known=context.sizes_known)
    lines += [f"Warning: {warning_text(w)}" for w in plan.warnings]
    lines += [""] if plan.warnings else []
    lines += refused("Refused", [r for r in plan.refusals if not r.held], limit)
    lines += [*conflicts(plan), *held(plan, limit)]
    return [*lines, *summary(plan, context.findings(plan), sizes_known=context.sizes_known)]


def before_moves(plan: Plan, limit: int) -> Iterator[str]:
    """Recoveries, throttles that stay, other log directories, and new partitions."""
    yield from _recoveries(plan, limit)
    yield from _standing(plan)
    yield from _log_moves(plan, limit)
    yield from _creates(plan)


def held(plan: Plan, limit: int) -> Iterator[str]:
    """What an application of replan or another party moves."""
    for title, rule in ((OWN, RefusalRule.OWN_RUNNING), (LEFT, RefusalRule.LEFT_RUNNING)):
        yield from refused(title, [r for r in plan.refusals if r.rule is rule], limit)
    others = [r for r in plan.refusals if r.held_by_others]
    yield from refused("Held by another party", others, limit)


def _recoveries(plan: Plan, limit: int) -> Iterator[str]:
    for recovery in plan.recoveries[:limit]:
        yield from recovery_lines(recovery)
    yield from left_out(
        len(plan.recoveries) - limit, "recovery", "`replan show --all PLAN` lists them"
    )
    if plan.recoveries:
        yield ""


def _standing(plan: Plan) -> Iterator[str]:
    if plan.standing:
        yield "Throttles that stay:"
        rows = [(str(s.setting), setting_text(s)) for s in plan.standing]
        yield from (f"    {line}" for line in capped(columns(rows), limit=SHOWN))
        yield ""


def _log_moves(plan: Plan, limit: int) -> Iterator[str]:
    if plan.log_moves:
        yield "Within their brokers, to other log directories:"
        rows = [(str(m.partition), log_move_text(m)) for m in plan.log_moves[:limit]]
        yield from (f"    {line}" for line in columns(rows))
        yield from left_out(len(plan.log_moves) - limit, "replica")
        yield ""


def _creates(plan: Plan) -> Iterator[str]:
    for create in plan.creates:
        yield create_text(create)
        rows = [("create", str(n.partition), brokers(of)) for n, of in create.partitions.items()]
        yield from (f"    {line}" for line in capped(columns(rows), limit=SHOWN))
    if plan.creates:
        yield ""


def moves_with_steps(plan: Plan, limit: int, *, sizes_known: bool = False) -> Iterator[str]:
    """Each move, its reason, and its steps in columns."""
    for move in plan.moves[:limit]:
        yield f"{move.partition}  {change(move)}  ({reason_text(move.reason)})"
        rows = [
            describe(request, move, sizes_known=sizes_known) for request in planned_requests(move)
        ]
        yield from (f"    {line}" for line in columns(rows))
    way_out = "save the plan with -o, `replan show --all PLAN` lists them"
    yield from left_out(len(plan.moves) - limit, "move", way_out)
    if plan.moves:
        yield ""


def refused(title: str, refusals: Sequence[Refusal], limit: int) -> list[str]:
    """The partitions that are left out, each with why."""
    if not refusals:
        return []
    rules = Counter(r.rule for r in refusals)
    tally = ", ".join(f"{number:,} {rule}" for rule, number in sorted(rules.items()))
    lines = capped(refusals, lambda r: f"{refusal_text(r)}  [{r.rule}]", limit=limit)
    return [f"{title} ({tally}):", *(f"  {line}" for line in lines), ""]


def conflicts(plan: Plan) -> Iterator[str]:
    """What is behind the refusals; change one line of a conflict, and it is resolved."""
    if plan.conflicts:
        yield "Why not, over all rules (each conflict ends when one of its lines is changed):"
        for found in plan.conflicts[:SHOWN]:
            yield from (f"  {line}" for line in conflict_lines(found))
        yield from left_out(len(plan.conflicts) - SHOWN, "conflict")
        yield ""
