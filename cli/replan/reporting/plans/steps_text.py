"""The steps of a plan: each move in the order of the plan, with what it asks of the cluster.

What goes before the moves and what is refused is here as well, since every form of a plan has it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from replan.planning.plans.plan import Plan
from replan.planning.plans.preview import planned_requests
from replan.planning.plans.reasons import Refusal, RefusalRule
from replan.reporting.blocks import Block, Column, Heading, Item, Items, Table, text_lines
from replan.reporting.lines import Span, Tone, aligned_lines, drawn, line
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    change,
    describe,
    plan_summary,
)
from replan.reporting.plans.recovery_text import recovery_lines
from replan.reporting.sentences import conflict_lines
from replan.wording import brokers, capped

OWN_RUNNING_TITLE = "Being moved by replan's own application"
LEFT_RUNNING_TITLE = "Left running by an ended application of replan"
MOVES_SHOWN = 500
"""Moves that are listed one by one; the rest is counted (all of them with `show --all`)."""
ALL = "`replan show --all PLAN` lists them"


def render_steps(plan: Plan) -> str:
    """The plan step by step, as the transcript of a scenario has it; ends with a newline."""
    return drawn(text_lines(transcript(plan)))


def transcript(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, everything: bool = False
) -> Iterator[Block]:
    """Every step, then warnings, refusals and the summary."""
    limit = None if everything else MOVES_SHOWN
    yield from before_moves(plan, limit)
    yield from moves_with_steps(plan, limit)
    yield from warned(plan)
    yield from refused("Refused", [r for r in plan.refusals if not r.held], limit)
    yield from conflict_blocks(plan, limit)
    yield from held(plan, limit)
    yield from map(line, plan_summary(plan, context.findings(plan)))


def before_moves(plan: Plan, limit: int | None) -> Iterator[Block]:
    """Recoveries, throttles that stay, other log directories, and new partitions."""
    if plan.recoveries:
        yield Heading("Partitions without a leader", len(plan.recoveries), in_text=False)
        recoveries = [
            Item(line(first), rest) for first, *rest in map(recovery_lines, plan.recoveries)
        ]
        yield Items(recoveries, "recovery", limit, ALL, indent=0)
    for steps in plan.by_kind.values():
        if steps[0].heading:
            yield Heading(steps[0].heading)
            heads = (Column(steps[0].column, code=True), Column("change"))
            rows = [(step.label, str(step)) for step in steps]
            yield Table(heads, rows, steps[0].noun, limit, heads=False, indent=4)
    if plan.creates:
        yield Heading("New partitions", in_text=False)
        items = []
        for create in plan.creates:
            made = create.partitions.items()
            cells = aligned_lines([("create", str(n.partition), brokers(of)) for n, of in made])
            items.append(Item(line(f"{create.topic}  {create}"), capped(cells, limit=limit)))
        yield Items(items, indent=0)


def held(plan: Plan, limit: int | None) -> Iterator[Block]:
    """What an application of replan or another party moves."""
    for title, rule in (
        (OWN_RUNNING_TITLE, RefusalRule.OWN_RUNNING),
        (LEFT_RUNNING_TITLE, RefusalRule.LEFT_RUNNING),
    ):
        yield from refused(title, [r for r in plan.refusals if r.rule is rule], limit)
    others = [r for r in plan.refusals if r.held_by_others]
    yield from refused("Held by another party", others, limit)


def moves_with_steps(plan: Plan, limit: int | None) -> Iterator[Block]:
    """Each move, its reason, and its steps in columns."""
    if not plan.moves:
        return
    items = []
    for move in plan.moves[:limit]:
        rows = [
            describe(request, move, sizes_known=plan.sizes_known)
            for request in planned_requests(move)
        ]
        text = f"{move.partition}  {change(move)}  ({move.reason})"
        items.append(Item(line(text), aligned_lines(rows)))
    more = [Item(line(""))] * (len(plan.moves) - len(items))
    yield Heading("Steps", in_text=False)
    yield Items([*items, *more], "move", limit, f"save the plan with -o, {ALL}", indent=0)


def warned(plan: Plan) -> Iterator[Block]:
    """What to know before it is applied."""
    if plan.warnings:
        yield Heading("Warnings", len(plan.warnings), in_text=False)
        warnings = [Item(line(str(warning))) for warning in plan.warnings]
        yield Items(warnings, "warning", label=Span("Warning: ", Tone.CHANGES), indent=0)


def refused(title: str, refusals: Sequence[Refusal], limit: int | None) -> Iterator[Block]:
    """The partitions that are left out, each with why."""
    if refusals:
        rules = Counter(r.rule for r in refusals)
        tally = ", ".join(f"{number:,} {rule}" for rule, number in sorted(rules.items()))
        yield Heading(f"{title} ({tally})")
        yield Items([Item(line(f"{r}  [{r.rule}]")) for r in refusals], limit=limit)


def conflict_blocks(plan: Plan, limit: int | None) -> Iterator[Block]:
    """What is behind the refusals; change one line of a conflict, and it is resolved."""
    if plan.conflicts:
        yield Heading(
            "Why not, over all rules (each conflict ends when one of its lines is changed)"
        )
        lines_of_each = (conflict_lines(conflict) for conflict in plan.conflicts)
        items = [Item(line(first), rest) for first, *rest in lines_of_each]
        yield Items(items, "conflict", limit)
