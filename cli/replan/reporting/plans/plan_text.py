"""A plan as text: what matters first, then what moves by reason and topic, what that does to brokers, and what to type.

What is alike stands in one line. The steps of each move, in the order in which moves are admitted, are `steps_text`'s.
"""

from collections.abc import Iterator, Sequence

from replan.planning.findings.broker_shares import BrokerShare, broker_shares
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import estimate
from replan.reporting.lines import EMPTY, Cell, Line, Span, Tone, drawn, heading, line, plain, table
from replan.reporting.plans.move_groups import Alike, Group, Marks, grouped
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    BY_ITSELF,
    first_to_see,
    identity,
    left_out_lines,
    no_bytes,
    throttle_text,
    totals,
)
from replan.reporting.plans.steps_text import (
    SHOWN,
    before_moves,
    conflicts,
    held,
    moves_with_steps,
    refused,
    transcript,
)
from replan.reporting.quantities import brokers, changed, signed, size
from replan.reporting.sentences.plan_notes import warning_text
from replan.wording import count, left_out, ranges

NAMED = 5
"""Partitions that a risk names."""
ROWS = 40
"""Lines about moves, shared by the reasons; what is left out is counted."""
LEAST_ROWS = 5
REASONS = 20
BROKERS = 20
BAR = 30
WAY_OUT = "`replan show --all PLAN` lists them"


def render_plan(
    plan: Plan,
    context: PlanContext = NOTHING_BESIDE,
    *,
    everything: bool = False,
    steps: bool = False,
) -> str:
    """The whole plan, as a pipe gets it."""
    return drawn(plan_lines(plan, context, everything=everything, steps=steps))


def plan_lines(
    plan: Plan,
    context: PlanContext = NOTHING_BESIDE,
    *,
    everything: bool = False,
    steps: bool = False,
) -> list[Line]:
    """The whole plan. `steps`: each move by itself, with what it asks of the cluster, in the order of the plan."""
    if not plan.changes:
        return plain(transcript(plan, context, everything=everything))
    limit = max(len(plan.moves), len(plan.refusals)) if everything else SHOWN
    known = context.sizes_known
    rows = (
        plain(moves_with_steps(plan, limit, sizes_known=known))
        if steps
        else _groups(plan, None if everything else ROWS, sizes_known=known)
    )
    return [
        *_head(plan, context),
        *plain(before_moves(plan, limit)),
        *rows,
        *_brokers(broker_shares(plan, context.snapshot)),
        *_warnings(plan),
        *plain(refused("Refused", [r for r in plan.refusals if not r.held], limit)),
        *plain(conflicts(plan)),
        *plain(held(plan, limit)),
        *_end(plan, context),
    ]


def part_lines(
    plan: Plan, part: Plan, *, everything: bool = False, steps: bool = False
) -> list[Line]:
    """A part of a plan, with what of it comes before the moves, and how much it is."""
    limit = max(len(part.moves), len(part.refusals), len(part.log_moves)) if everything else SHOWN
    copied = f"{size(estimate(part).bytes)} of {size(estimate(plan).bytes)} to copy"
    shown = f"{len(part.moves):,} of {count(len(plan.moves), 'move')}"
    rows = (
        plain(moves_with_steps(part, limit))
        if steps
        else _groups(part, None if everything else ROWS, sizes_known=False)
    )
    return [
        *plain(before_moves(part, limit)),
        *rows,
        *plain(refused("Refused", part.refusals, limit)),
        *plain(conflicts(part)),
        line(f"Shown: {shown}; {copied}. Plan digest {digest(plan)[:16]}."),
    ]


def _head(plan: Plan, context: PlanContext) -> Iterator[Line]:
    name = f"{plan.cluster_name}, " if plan.cluster_name else ""
    yield heading(f"Cluster {name}{plan.cluster_id}")
    yield from (heading(text) for text in totals(plan, sizes_known=context.sizes_known))
    yield from plain(context.findings(plan))
    yield EMPTY
    if found := first_to_see(plan, context, NAMED):
        yield heading("Look at this first:")
        yield from (line("  ", Span(text, Tone.CHANGES), hang=4) for text in found)
        yield EMPTY


def _groups(plan: Plan, limit: int | None, *, sizes_known: bool) -> Iterator[Line]:
    """Each reason once, with how much moves for it; at most `limit` lines for all of them."""
    found = grouped(plan.moves)
    shown = found if limit is None else found[:REASONS]
    rows = None if limit is None else max(LEAST_ROWS, limit // max(1, len(shown)))
    for group in shown:
        yield heading(f"{group.reason}: {_amounts(group, sizes_known=sizes_known)}")
        yield from _alike(group, rows, sizes_known=sizes_known)
        yield EMPTY
    rest = sum(group.moves for group in found[len(shown) :])
    if rest:
        reasons = count(len(found) - len(shown), "more reason")
        yield line(f"and {count(rest, 'move')} for {reasons}; {WAY_OUT}")
        yield EMPTY


def _alike(group: Group, limit: int | None, *, sizes_known: bool) -> Iterator[Line]:
    chosen, topic = group.alike[:limit], ""
    rows: list[list[Cell]] = []
    for alike in chosen:
        lists = alike.lists
        rows.append(
            [
                alike.topic if alike.topic != topic else "",
                _marks(alike.marks),
                f"{brokers(lists[0])} -> {brokers(lists[1])}"
                if lists and lists[0] != lists[1]
                else "",
                _copied(alike, sizes_known=sizes_known),
                count(alike.leaders, "leader") if alike.leaders else "",
                _numbers(alike),
            ]
        )
        topic = alike.topic
    yield from table(rows, indent=2, right={3, 4})
    rest = group.alike[len(chosen) :]
    moves, copied = sum(len(a.moves) for a in rest), sum(a.copies_bytes for a in rest)
    if moves:
        amount = f", {size(copied)}" if copied else ""
        yield line(f"  and {count(moves, 'more move')}{amount}; {WAY_OUT}", hang=4)


def _numbers(alike: Alike) -> str:
    noun = "partition" if len(alike.moves) == 1 else "partitions"
    return f"{noun} {ranges(m.partition.partition for m in alike.moves)}"


def _amounts(group: Group, *, sizes_known: bool) -> str:
    parts = [count(group.moves, "move")]
    if any(move.new for alike in group.alike for move in alike.moves):
        copied = group.copies_bytes
        parts.append(size(copied) if copied else no_bytes(sizes_known=sizes_known))
    if group.leaders:
        parts.append(count(group.leaders, "leader"))
    return ", ".join(parts)


def _copied(alike: Alike, *, sizes_known: bool) -> str:
    if not alike.marks.come:
        return ""
    return size(alike.copies_bytes) if alike.copies_bytes else no_bytes(sizes_known=sizes_known)


def _marks(found: Marks) -> tuple[Span, ...]:
    """`+4 -1 ~2`: what comes, what goes, what changes place; or who leads after whom."""
    if found.led_by:
        return (Span("leader " + " -> ".join(map(str, found.led_by)), Tone.CHANGES),)
    signs = (("+", Tone.COMES, found.come), ("-", Tone.GOES, found.go))
    signed_ = [*signs, ("~", Tone.CHANGES, found.change_place)]
    spans = [Span(f"{sign}{b}", tone) for sign, tone, of in signed_ for b in of]
    return tuple(part for span in spans for part in (Span(" "), span))[1:]


def _brokers(shares: Sequence[BrokerShare]) -> Iterator[Line]:
    """What brokers hold before, at most on the way, and after; as changes where the cluster is not known."""
    touched = [share for share in shares if share.changes]
    if not touched:
        return
    chosen = touched[:BROKERS]
    whole = all(share.before is not None for share in touched)
    if whole:
        heads = ["broker", "rack", "before", "at most", "after", "leaders", "replicas", ""]
        most = max((share.peak_bytes or 0 for share in touched), default=0)
        rows = [_whole(share, most) for share in chosen]
    else:
        heads = ["broker", "rack", "copied to it", "in the end", "leaders", "replicas"]
        rows = [_change(share) for share in chosen]
    if all(share.rack is None for share in chosen):
        rows, heads[1] = [[row[0], "", *row[2:]] for row in rows], ""
    yield heading("Brokers:")
    yield from table(
        [heads, *rows],
        indent=2,
        right={0, 2, 3, 4, 5, 6} if whole else range(2, 6),
        beside=3 if whole else 0,
    )
    yield from plain(left_out(len(touched) - len(chosen), "broker that changes"), 2)
    rest = len(shares) - len(touched)
    yield from plain([f"{count(rest, 'broker')} unchanged"] if rest else [], 2)
    yield EMPTY


def _whole(share: BrokerShare, most: int) -> list[Cell]:
    before, after = share.before, share.after
    if before is None or after is None or share.peak_bytes is None:
        raise ValueError(f"broker {share.broker}: what it holds is not known")
    leaders = changed(before.leaders, after.leaders).replace("→", "->")
    replicas = changed(before.replicas, after.replicas).replace("→", "->")
    amounts = map(size, (before.bytes, share.peak_bytes, after.bytes))
    rack = "" if share.rack is None else share.rack
    bar = _bar(share, most)
    return [str(share.broker), rack, *amounts, leaders, replicas, bar]


def _bar(share: BrokerShare, most: int) -> tuple[Span, ...]:
    """What stays, what goes and what comes, all brokers by one measure."""
    if share.peak_bytes is None or share.after is None or not most:
        return ()
    stays = share.after.bytes - share.incoming
    edges = [round(BAR * of / most) for of in (0, stays, share.peak_bytes - share.incoming)]
    edges.append(round(BAR * share.peak_bytes / most))
    signs = (("=", Tone.PLAIN), ("-", Tone.GOES), ("+", Tone.COMES))
    parts = zip(signs, edges, edges[1:], strict=False)
    return tuple(Span(sign * (to - begin), tone) for (sign, tone), begin, to in parts)


def _change(share: BrokerShare) -> list[Cell]:
    rack = "" if share.rack is None else share.rack
    counts = [f"{share.change.leaders:+d}", f"{share.change.replicas:+d}"]
    return [str(share.broker), rack, size(share.incoming), signed(share.change.bytes), *counts]


def _warnings(plan: Plan) -> Iterator[Line]:
    for warning in plan.warnings:
        yield line(Span("Warning: ", Tone.CHANGES), warning_text(warning), hang=4)
    if plan.warnings:
        yield EMPTY


def _end(plan: Plan, context: PlanContext) -> Iterator[Line]:
    if any(m.original[0] != m.target[0] for m in plan.moves):
        yield from plain([BY_ITSELF])
    yield from plain(left_out_lines(plan))
    copies = any(m.new for m in plan.moves)
    if (copies and plan.throttle is not None) or (plan.log_moves and not copies):
        yield from plain([throttle_text(plan)])
    yield from plain([identity(plan)])
    if context.next_command:
        yield from plain([context.next_command])
