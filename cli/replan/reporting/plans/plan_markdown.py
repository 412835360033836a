"""A plan as markdown for a comment or a step summary, never larger than a declared size.

The summary comes first, then what is dangerous, what is not planned and what to know, the cost, the brokers, and the
moves, folded by topic. What does not fit is counted; the whole plan is an artefact, known by its digest. The first
line is a marker by which a later run finds the comment and updates it.
"""

from collections.abc import Iterator, Sequence
from html import escape as escape_html
from itertools import islice

from replan.planning.findings.broker_shares import BrokerShare, broker_shares
from replan.planning.plans.conflicts import Conflict
from replan.planning.plans.creates import Create
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan, Refusal
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import planned_requests
from replan.reporting.markdown import LIMIT, code, escape, fitted, head, row, weight
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    UNCLEAN_HINT,
    change,
    create_text,
    first_to_see,
    log_move_text,
    no_bytes,
    setting_text,
    summary,
    throttle_text,
)
from replan.reporting.plans.recovery_text import recovery_text
from replan.reporting.quantities import brokers, changed, duration, signed, size
from replan.reporting.sentences.conflict_text import SHOWN as SHOWN_CONSTRAINTS
from replan.reporting.sentences.conflict_text import conflict_text, constraint_texts
from replan.reporting.sentences.move_reasons import reason_text
from replan.reporting.sentences.plan_notes import refusal_text, warning_text
from replan.reporting.sentences.price_text import cross_rack_bytes, price_lines
from replan.wording import count, left_out

ROWS_OF_A_TOPIC = 50
SHARE = 6
"""Dangers, refusals, warnings and brokers take at most one part in so many each, cost and summary what they need."""


def marker(cluster_id: str) -> str:
    """The line by which the comment of an earlier plan for the same cluster is found."""
    return f"<!-- replan plan {escape_html(cluster_id.replace('--', '-_'))} -->"


def render_plan_markdown(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, limit: int = LIMIT
) -> str:
    """The whole document, of at most `limit` bytes (`markdown.SMALLEST` or more); ends with a newline."""
    name = f": {escape(plan.cluster_name[:200])}" if plan.cluster_name else ""
    first, *rest = summary(plan, sizes_known=context.sizes_known)
    parts = [f"{marker(plan.cluster_id[:200])}\n## replan plan{name}\n\n**{escape(first)}**\n"]
    told = ("Plan: ", "Left out", UNCLEAN_HINT)
    parts += [f"\n{escape(line)}\n" for line in rest if line.startswith(told)]
    parts += _cost(plan, context)
    after = _identity(plan, context)
    room = limit - sum(map(weight, [*parts, after]))
    share = max(0, room) // SHARE
    warnings = [f"- {escape(warning_text(w))}" for w in plan.warnings]
    refusals = [_refusal(r) for r in plan.refusals]
    dangers = [f"- **{escape(text)}**" for text in first_to_see(plan, context)]
    urgent = [
        *_listed("Look at this first", dangers, share, "more danger"),
        *_listed("Not planned", refusals, share, "more refusal"),
        *_listed(
            "Why not, over all rules",
            [_conflict(c) for c in plan.conflicts],
            share,
            "more conflict",
        ),
        *_listed("Warnings", warnings, share, "more warning"),
    ]
    parts[1:1] = urgent
    recovered = [f"- {code(str(r.partition))} {escape(recovery_text(r))}" for r in plan.recoveries]
    parts += _listed("Partitions that nobody leads", recovered, share, "more recovery")
    settings = [f"- {code(str(s.setting))} {escape(setting_text(s))}" for s in plan.standing]
    parts += _listed("Throttles that stay", settings, share, "more throttle setting")
    within = [f"- {code(str(m.partition))} {escape(log_move_text(m))}" for m in plan.log_moves]
    parts += _listed("To other log directories", within, share, "more replica")
    parts += _brokers(broker_shares(plan, context.snapshot), share)
    room = limit - sum(map(weight, [*parts, after]))
    return "".join([*parts, *_topics(plan, room, sizes_known=context.sizes_known), after])


def _listed(title: str, lines: Sequence[str], room: int, noun: str) -> list[str]:
    if not lines:
        return []
    return [f"\n### {title}\n\n", fitted(iter(lines), len(lines), room - 200, noun)]


def _refusal(refused: Refusal) -> str:
    held = " (held by another party)" if refused.held_by_others else ""
    return f"- {code(refused.rule)}{held} {escape(refusal_text(refused))}"


def _conflict(found: Conflict) -> str:
    constraints = [f"\n  - {escape(text)}" for text in constraint_texts(found)[:SHOWN_CONSTRAINTS]]
    more = left_out(len(found.constraints) - SHOWN_CONSTRAINTS, "constraint")
    return "".join(
        [f"- {escape(conflict_text(found))}", *constraints, *(f"\n  - {m}" for m in more)]
    )


def _cost(plan: Plan, context: PlanContext) -> list[str]:
    """What the plan copies, how fast, and what a rehearsal found."""
    lines = [escape(line) for line in context.rehearsed]
    if any(m.new for m in plan.moves):
        lines.insert(0, escape(throttle_text(plan)))
    lines += [escape(line) for line in price_lines(plan, context.prices)]
    crossing = cross_rack_bytes(plan)
    if crossing and (context.prices is None or context.prices.cross_rack_per_gb is None):
        lines.append(f"Copies between racks: {size(crossing)}.")
    return ["\n### Cost\n\n", *(f"- {line}\n" for line in lines)] if lines else []


def _brokers(shares: Sequence[BrokerShare], room: int) -> list[str]:
    """Leaders and bytes of the brokers that change; whole where the cluster is known, as changes where it is not."""
    changed = [share for share in shares if share.changes]
    if not changed:
        return []
    whole = all(share.before is not None for share in changed)
    names = ("before", "peak, at most", "after") if whole else ("copied to it", "in the end")
    table = head("broker", "rack", "leaders", "replicas", *(f"bytes {n}" for n in names))
    rows = (_broker(share) for share in changed)
    rest = len(shares) - len(changed)
    unchanged = f"\n{count(rest, 'broker')} unchanged.\n" if rest else ""
    body = fitted(rows, len(changed), room - 400, "more broker")
    return ["\n### Brokers\n\n", f"{table}\n", body, unchanged]


def _broker(share: BrokerShare) -> str:
    before, after = share.before, share.after
    rack = "–" if share.rack is None else code(share.rack)
    if before is None or after is None or share.peak_bytes is None:
        counts = [f"{share.change.leaders:+d}", f"{share.change.replicas:+d}"]
        return row(
            [str(share.broker), rack, *counts, size(share.incoming), signed(share.change.bytes)]
        )
    amounts = map(size, (before.bytes, share.peak_bytes, after.bytes))
    leaders = changed(before.leaders, after.leaders)
    return row(
        [str(share.broker), rack, leaders, changed(before.replicas, after.replicas), *amounts]
    )


def _topics(plan: Plan, room: int, *, sizes_known: bool) -> Iterator[str]:
    """Each topic folded, the one with most bytes first; those that do not fit are counted."""
    grouped: dict[str, list[Move]] = {}
    for move in plan.moves:
        grouped.setdefault(move.partition.topic, []).append(move)
    created = {create.topic: create for create in plan.creates}
    copied = {topic: sum(m.copies_bytes for m in moves) for topic, moves in grouped.items()}
    order = sorted({*grouped, *created}, key=lambda topic: (-copied.get(topic, 0), topic))
    if not order:
        return
    title = "\n### Changes, by topic\n"
    room -= weight(title) + 300
    yield title
    rest = list(order)
    for topic in order:
        folded = _topic(topic, grouped.get(topic, []), created.get(topic), sizes_known=sizes_known)
        room -= weight(folded)
        if room < 0:
            break
        yield folded
        rest.pop(0)
    if not rest:
        return
    moves = sum(len(grouped.get(topic, [])) for topic in rest)
    yield (
        f"\n… and {count(len(rest), 'more topic')} with {count(moves, 'move')}, "
        f"{size(sum(copied.get(topic, 0) for topic in rest))} to copy: left out to fit, they are in the plan file.\n"
    )


def _topic(topic: str, moves: Sequence[Move], create: Create | None, *, sizes_known: bool) -> str:
    parts = [] if create is None else [create_text(create).partition("  ")[2]]
    parts += [count(len(moves), "move")] if moves else []
    copied = sum(m.copies_bytes for m in moves)
    parts += [f"{size(copied)} to copy"] if copied else []
    lines = [
        f"\n<details><summary><code>{escape_html(topic)}</code>: {', '.join(parts)}</summary>\n"
    ]
    if create is not None:
        rows = (row((code(str(n)), code(brokers(of)))) for n, of in create.partitions.items())
        lines += [head("new partition", "replicas"), *_first(rows, len(create.lists)), ""]
    if moves:
        changes = (_row(move, sizes_known=sizes_known) for move in moves)
        lines += [head("partition", "change", "copy", "why", "steps")]
        lines += [*_first(changes, len(moves)), ""]
    return "\n".join([*lines, "</details>\n"])


def _first(rows: Iterator[str], total: int) -> Iterator[str]:
    yield from islice(rows, ROWS_OF_A_TOPIC)
    if total > ROWS_OF_A_TOPIC:
        yield f"\n… and {total - ROWS_OF_A_TOPIC:,} more."


def _row(move: Move, *, sizes_known: bool) -> str:
    steps = " · ".join(request.kind for request in planned_requests(move))
    copied = "–"
    if move.new:
        copied = size(move.copies_bytes) if move.bytes else no_bytes(sizes_known=sizes_known)
    return row(
        (
            code(str(move.partition)),
            code(change(move)),
            copied,
            escape(reason_text(move.reason)),
            steps,
        )
    )


def _identity(plan: Plan, context: PlanContext) -> str:
    """What the plan is known by, how old its cluster's state is, and how exactly this plan is applied."""
    lines = [f"Plan digest {code(digest(plan))}, for cluster {code(plan.cluster_id[:200])}."]
    if context.snapshot is not None:
        age = ""
        if context.age_seconds is not None:
            age = f", from a snapshot that was {duration(context.age_seconds)} old"
        lines.append(f"State of {context.snapshot.observed_at}{age}.")
    if plan.changes:
        lines.append(
            "`replan apply PLAN --digest DIGEST --placement PATH` applies this and nothing else."
        )
    return "\n" + "".join(f"<sub>{line}</sub>  \n" for line in lines)
