"""A plan as one self-contained page: what is dangerous, the brokers before and after, the timeline, every move.

The summary and the brokers are plain HTML; the moves are data, which the script (`plan.js`) lists and filters,
since there may be a hundred thousand. Nothing comes from elsewhere; what a cluster or a file calls something is shown
as text and never as markup.

The moves in the data, so that a hundred thousand take some three megabytes: for each topic its name and its rows,
joined by `|`. A row is `PARTITION:ORIGINAL>TARGET;BYTES;LEADER;REASON`; the partition is left out where it follows the
one before, the leader is its index in the original list (empty: none), the reason an index of `reasons`.
"""

from collections.abc import Iterator, Sequence
from html import escape

from replan.model.declared.placement import Side
from replan.model.names import BrokerId
from replan.planning.findings.broker_shares import BrokerShare, broker_shares
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import flows
from replan.reporting.page import listing, listing_script, page
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    create_text,
    first_to_see,
    log_move_text,
    setting_text,
    summary,
)
from replan.reporting.plans.recovery_text import loss_text
from replan.reporting.quantities import brokers, changed, duration, rate, signed, size
from replan.reporting.sentences.conflict_text import conflict_with_constraints
from replan.reporting.sentences.move_reasons import reason_text
from replan.reporting.sentences.plan_notes import refusal_text, warning_text
from replan.reporting.sentences.price_text import cross_rack_bytes
from replan.wording import capped

LISTED = 1_000
"""Refusals, warnings and the like that are listed; the rest is counted."""


def render_plan_page(plan: Plan, context: PlanContext = NOTHING_BESIDE) -> str:
    """The page; ends with a newline."""
    name = plan.cluster_name or plan.cluster_id
    first, *rest = summary(plan, context.findings(plan), sizes_known=context.sizes_known)
    crossing = cross_rack_bytes(plan)
    body = [
        f"<h1>replan plan: {escape(name)}</h1>",
        f'<p class="verdict">{escape(first)}</p>',
        *(f"<p>{escape(line)}</p>" for line in rest),
        *([f"<p>Copies between racks: {size(crossing)}.</p>"] if crossing else []),
        *_list(
            "Partitions that nobody leads",
            [f"{r.partition}: led by {r.chosen}. {loss_text(r)}" for r in plan.recoveries],
            "bad",
        ),
        *_list("Look at this first", first_to_see(plan, context), "bad"),
        *_list("Not planned", [f"{refusal_text(r)} [{r.rule}]" for r in plan.refusals]),
        *_list("Why not, over all rules", list(map(conflict_with_constraints, plan.conflicts))),
        *_list("Warnings", [warning_text(warning) for warning in plan.warnings]),
        *_list("New partitions", list(_creates(plan))),
        *_list("Throttles that stay", [f"{s.setting}: {setting_text(s)}" for s in plan.standing]),
        *_list(
            "Within their brokers, to other log directories",
            [f"{m.partition}: {log_move_text(m)}" for m in plan.log_moves],
        ),
        *_brokers(broker_shares(plan, context.snapshot)),
        *(_timeline(context.timeline) or _least_times(plan, context.network)),
        *_moves(plan),
        *_identity(plan, context),
    ]
    return page(f"replan plan {digest(plan)[:16]}", body, script=listing_script("plan.js"))


def _list(title: str, lines: Sequence[str], tone: str = "") -> list[str]:
    if not lines:
        return []
    items = "".join(f"<li>{escape(line)}</li>" for line in capped(lines, limit=LISTED))
    return [f'<h2>{title} ({len(lines):,})</h2><ul class="{tone}">{items}</ul>']


def _creates(plan: Plan) -> Iterator[str]:
    for create in plan.creates:
        lists = ", ".join(f"{n.partition} {brokers(of)}" for n, of in create.partitions.items())
        yield f"{create_text(create)}: {lists}"


def _brokers(shares: Sequence[BrokerShare]) -> Iterator[str]:
    """One row a broker, with its bytes as bars; by rack, since that is how people look for one."""
    if not any(share.changes for share in shares):
        return
    most = max((share.peak_bytes or share.incoming for share in shares), default=0) or 1
    whole = all(share.before is not None for share in shares)
    names = ("before", "at most", "after") if whole else ("", "copied to it", "in the end")
    yield "<h2>Brokers</h2>"
    heads = "".join(
        f"<th>{n}</th>" for n in ("broker", "rack", "replicas", "leaders", *names, "bytes") if n
    )
    rows = "".join(
        _broker(share, most)
        for share in sorted(shares, key=lambda s: (s.rack is None, s.rack or "", s.broker))
    )
    yield f'<div class="wide"><table id="brokers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    yield '<p class="soft">Bars: before, at most while copies run, after. A broker\'s number filters the moves.</p>'


def _broker(share: BrokerShare, most: int) -> str:
    before, after, peak = share.before, share.after, share.peak_bytes
    button = (
        f'<button type="button" class="pick" data-broker="{share.broker}">{share.broker}</button>'
    )
    cells = [button, escape(share.rack or "–")]
    if before is None or after is None or peak is None:
        amounts = [share.incoming]
        cells += [f"{share.change.replicas:+d}", f"{share.change.leaders:+d}"]
        cells += [size(share.incoming), signed(share.change.bytes)]
    else:
        amounts = [before.bytes, peak, after.bytes]
        cells += [
            changed(before.replicas, after.replicas),
            changed(before.leaders, after.leaders),
            *map(size, amounts),
        ]
    bars = "".join(f'<i style="width:{100 * amount / most:.1f}%"></i>' for amount in amounts)
    tone = "" if share.changes else ' class="soft"'
    found = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{tone}>{found}<td class="bars">{bars}</td></tr>'


def _timeline(timeline: str) -> list[str]:
    if not timeline:
        return []
    return [
        f'<h2>Rehearsed: copies, by the broker that receives them</h2><div class="wide">{timeline}</div>'
    ]


def _least_times(plan: Plan, network: float | None) -> list[str]:
    """Where there are too many moves to rehearse each: how long the throttle makes each broker copy at least.

    A side without a throttle takes what the network allows, where one was assumed.
    """
    of_broker: dict[BrokerId, dict[Side, float]] = {}
    assumed = False
    for flow in flows(plan):
        seconds = flow.seconds
        if seconds is None and network is not None:
            seconds, assumed = flow.bytes / network, True
        if seconds is not None:
            of_broker.setdefault(flow.broker, {})[flow.side] = seconds
    if not of_broker:
        return []
    most = max(max(sides.values()) for sides in of_broker.values()) or 1
    rows = ""
    for broker, sides in sorted(of_broker.items(), key=lambda found: -max(found[1].values())):
        times = [sides.get(side) for side in (Side.LEADER, Side.FOLLOWER)]
        cells = "".join(f"<td>{'–' if t is None else duration(t)}</td>" for t in times)
        bars = "".join(f'<i style="width:{100 * (t or 0) / most:.1f}%"></i>' for t in times)
        rows += f'<tr><td>{broker}</td>{cells}<td class="bars">{bars}</td></tr>'
    heads = "".join(f"<th>{name}</th>" for name in ("broker", "sends", "receives", "time"))
    at = "the rate of its throttle"
    if assumed and network is not None:
        unthrottled = f"a network of {rate(round(network))}"
        at = unthrottled if plan.throttle is None else f"{at}, without one {unthrottled}"
    return [
        f"<h2>At least, by broker: how long its copies take at {at}</h2>",
        f'<div class="wide"><table id="times"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>',
    ]


HEADS = {
    "partition": "left",
    "from": "left",
    "to": "left",
    "copy": "",
    "leader": "left",
    "why": "prose",
}


def _moves(plan: Plan) -> Iterator[str]:
    if not plan.moves:
        return
    otherwise = "The moves are listed by a script; `replan show PLAN` lists them as text."
    yield from listing("Moves", "moves", HEADS, _data(plan.moves), otherwise)


def _data(moves: Sequence[Move]) -> dict[str, object]:
    """The moves as the module's docstring says."""
    reasons: dict[str, int] = {}
    topics: dict[str, list[Move]] = {}
    for move in moves:
        topics.setdefault(move.partition.topic, []).append(move)
    rows = [[topic, "|".join(_rows(of, reasons))] for topic, of in topics.items()]
    return {"topics": rows, "reasons": list(reasons)}


def _rows(moves: Sequence[Move], reasons: dict[str, int]) -> Iterator[str]:
    expected = None
    for move in moves:
        number = move.partition.partition
        named = "" if number == expected else f"{number}:"
        expected = number + 1
        lists = ">".join(",".join(map(str, of)) for of in (move.original, move.target))
        leads = move.leader in move.original
        leader = move.original.index(move.leader) if leads and move.leader is not None else ""
        reason = reasons.setdefault(reason_text(move.reason), len(reasons))
        yield f"{named}{lists};{move.bytes};{leader};{reason}"


def _identity(plan: Plan, context: PlanContext) -> Iterator[str]:
    lines = [f"Plan digest {digest(plan)}, for cluster {plan.cluster_id}."]
    if context.snapshot is not None:
        age = context.age_seconds
        old = "" if age is None else f", from a snapshot that was {duration(age)} old"
        lines.append(f"State of {context.snapshot.observed_at}{old}.")
    yield from (f'<p class="soft">{escape(line)}</p>' for line in lines)
