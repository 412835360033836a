"""A plan as a document: what matters first, what moves by reason and topic, what that does to brokers, what to type.

What is alike stands in one line. Each move by itself is a listing: a page filters it, Markdown folds it by topic, and
text has it as the steps of the plan, on demand.

The moves in the data of a page, so that a hundred thousand take some three megabytes: for each topic its name and its
rows, joined by `|`. A row is `PARTITION:ORIGINAL>TARGET;BYTES;LEADER;REASON`; the partition is left out where it
follows the one before, the leader is its index in the original list (empty: none), the reason an index of `reasons`.
"""

from collections.abc import Iterator, Sequence

from replan.model.declared.placement import Side
from replan.model.names import BrokerId
from replan.planning.findings.broker_shares import BrokerShare, broker_shares
from replan.planning.plans.creates import Create
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import estimate, flows, planned_requests
from replan.reporting.blocks import (
    Bar,
    Block,
    Chart,
    Column,
    Folded,
    Heading,
    Item,
    Items,
    Listing,
    OnPage,
    Small,
    Table,
    Title,
    text_lines,
)
from replan.reporting.lines import Cell, Line, Span, Tone, heading, line
from replan.reporting.plans.move_groups import Alike, Group, Marks, grouped
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.plan_words import (
    BY_ITSELF,
    change,
    first_to_see,
    identity,
    left_out_lines,
    no_bytes,
    throttle_text,
    totals,
)
from replan.reporting.plans.steps_text import (
    MOVES_SHOWN,
    before_moves,
    conflict_blocks,
    held,
    moves_with_steps,
    refused,
    transcript,
    warned,
)
from replan.reporting.sentences import cross_rack_bytes
from replan.wording import brokers, changed, count, duration, ranges, rate, signed, size

RISK_NAMES_SHOWN = 5
"""Partitions that a risk names."""
MOVE_ROWS = 40
"""Lines about moves, shared by the reasons; what is left out is counted."""
LEAST_ROWS = 5
REASONS_SHOWN = 20
BROKERS_SHOWN = 20
ROWS_OF_A_TOPIC = 50
WAY_OUT = "`replan show --all PLAN` lists them"
LEGEND = "Bars, by one measure: filled what stays, hatched what goes, blue what comes; whole: the most on the way."
MARKS_LEGEND = "+ a replica comes, - one goes, ~ one changes its place in the list."
MOVE_HEADS = {
    "partition": "left",
    "from": "left",
    "to": "left",
    "copy": "",
    "leader": "left",
    "why": "prose",
}
MOVES_WITHOUT_SCRIPT = "The moves are listed by a script; `replan show PLAN` lists them as text."


def plan_report(
    plan: Plan,
    context: PlanContext = NOTHING_BESIDE,
    *,
    everything: bool = False,
    steps: bool = False,
) -> Iterator[Block]:
    """The whole plan. `steps`: each move by itself, with what it asks of the cluster, in the order of the plan."""
    limit = None if everything else MOVES_SHOWN
    yield _title(plan)
    yield from map(heading, totals(plan))
    yield from map(line, context.findings(plan))
    crossing = cross_rack_bytes(plan)
    if crossing and (context.prices is None or context.prices.cross_rack_per_gb is None):
        yield line(f"Copies between racks: {size(crossing)}.")
    if urgent_texts := first_to_see(plan, context, RISK_NAMES_SHOWN):
        yield Heading("Look at this first")
        urgent = [Item(line(Span(text, Tone.CHANGES))) for text in urgent_texts]
        yield Items(urgent, noun="danger", urgent=True)
    yield from before_moves(plan, limit)
    if steps:
        yield from moves_with_steps(plan, limit)
    else:
        yield from _moved(plan, context, None if everything else MOVE_ROWS)
    yield from _timeline(plan, context)
    yield from _brokers(
        broker_shares(plan, context.snapshot), None if everything else BROKERS_SHOWN
    )
    yield from warned(plan)
    yield from refused("Refused", [r for r in plan.refusals if not r.held], limit)
    yield from conflict_blocks(plan, limit)
    yield from held(plan, limit)
    yield from _end(plan)
    if plan.moves or plan.creates:
        yield _listing(plan)
    yield from _identity(plan, context)


def part_lines(
    plan: Plan, part: Plan, *, everything: bool = False, steps: bool = False
) -> list[Line]:
    """A part of a plan as text, with what of it comes before the moves, and how much it is."""
    limit = None if everything else MOVES_SHOWN
    rows = _groups(part.moves, None if everything else MOVE_ROWS, sizes_known=plan.sizes_known)
    copied = f"{size(estimate(part).bytes)} of {size(estimate(plan).bytes)} to copy"
    shown = f"{len(part.moves):,} of {count(len(plan.moves), 'move')}"
    return text_lines(
        [
            *before_moves(part, limit),
            *(moves_with_steps(part, limit) if steps else rows),
            *refused("Refused", part.refusals, limit),
            *conflict_blocks(part, limit),
            line(f"Shown: {shown}; {copied}. Plan digest {digest(plan)[:16]}."),
        ]
    )


def plan_lines(
    plan: Plan,
    context: PlanContext = NOTHING_BESIDE,
    *,
    everything: bool = False,
    steps: bool = False,
) -> list[Line]:
    """The plan as text; where there is nothing to do, without what it is of."""
    if not plan.changes:
        return text_lines(transcript(plan, context, everything=everything))
    return text_lines(plan_report(plan, context, everything=everything, steps=steps))


def _title(plan: Plan) -> Title:
    name = f"{plan.cluster_name}, " if plan.cluster_name else ""
    text = f"Cluster {name}{plan.cluster_id}"
    return Title("replan plan", plan.cluster_name or plan.cluster_id, plan.cluster_id, text)


def _moved(plan: Plan, context: PlanContext, limit: int | None) -> Iterator[Block]:
    """What moves, by reason; what a change causes before what was pending without it, where that is known."""
    sizes_known, pending = plan.sizes_known, context.pending
    if pending is None or pending.targets is None:
        yield from _groups(plan.moves, limit, sizes_known=sizes_known)
        return
    caused, before = pending.divided(plan.moves)
    for title, moves in (("Caused by this change", caused), ("Pending before it", before)):
        if moves:
            yield Heading(title, len(moves))
            yield from _groups(moves, limit, sizes_known=sizes_known)


def _groups(moves: Sequence[Move], limit: int | None, *, sizes_known: bool) -> Iterator[Block]:
    """Each reason once, with how much moves for it; at most `limit` lines for all of them."""
    groups = grouped(moves)
    shown = groups if limit is None else groups[:REASONS_SHOWN]
    rows = None if limit is None else max(LEAST_ROWS, limit // max(1, len(shown)))
    for at, group in enumerate(shown):
        title = f"{group.reason}: {_amounts(group, sizes_known=sizes_known)}"
        yield Folded(
            title, [_alike(group, rows, sizes_known=sizes_known, legend="" if at else MARKS_LEGEND)]
        )
    rest = sum(group.moves for group in groups[len(shown) :])
    if rest:
        reasons = count(len(groups) - len(shown), "more reason")
        yield line(f"and {count(rest, 'move')} for {reasons}; {WAY_OUT}")


ALIKE_COLUMNS = (
    Column("topic", code=True, once=True),
    Column("replicas", code=True),
    Column("lists", code=True),
    Column("copy", right=True),
    Column("leaders", right=True),
    Column("partitions", prose=True),
)


def _alike(group: Group, limit: int | None, *, sizes_known: bool, legend: str) -> Table:
    chosen = group.alike[:limit]
    rows = [
        (
            alike.topic,
            _marks(alike.marks),
            _lists(alike),
            _copied(alike, sizes_known=sizes_known),
            count(alike.leaders, "leader") if alike.leaders else "",
            _numbers(alike),
        )
        for alike in chosen
    ]
    rest = group.alike[len(chosen) :]
    moves, copied = sum(len(a.moves) for a in rest), sum(a.copies_bytes for a in rest)
    amount = f", {size(copied)}" if copied else ""
    more = [f"and {count(moves, 'more move')}{amount}; {WAY_OUT}"] if moves else []
    return Table(ALIKE_COLUMNS, rows, more=more, heads=False, legend=legend)


def _lists(alike: Alike) -> str:
    lists = alike.lists
    if lists is None or lists[0] == lists[1]:
        return ""
    return f"{brokers(lists[0])} -> {brokers(lists[1])}"


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


def _marks(marks: Marks) -> tuple[Span, ...]:
    """`+4 -1 ~2`: what comes, what goes, what changes place; or who leads after whom."""
    if marks.led_by:
        return (Span("leader " + " -> ".join(map(str, marks.led_by)), Tone.CHANGES),)
    signs = (("+", Tone.COMES, marks.come), ("-", Tone.GOES, marks.go))
    signed_ = [*signs, ("~", Tone.CHANGES, marks.change_place)]
    spans = [Span(f"{sign}{b}", tone) for sign, tone, of in signed_ for b in of]
    return tuple(part for span in spans for part in (Span(" "), span))[1:]


def _brokers(shares: Sequence[BrokerShare], limit: int | None) -> Iterator[Block]:
    """What brokers hold before, at most on the way, and after; as changes where the cluster is not known."""
    touched = [share for share in shares if share.changes]
    if not touched:
        return
    whole = all(share.before is not None for share in touched)
    rest = len(shares) - len(touched)
    names = ("before", "at most", "after") if whole else ("copied to it", "in the end")
    columns = [
        Column("broker", right=True, pick="broker"),
        Column("rack", code=True),
        *(Column(name, right=True) for name in (*names, "leaders", "replicas")),
    ]
    most = max((share.peak_bytes or 0 for share in touched), default=0)
    rows = [_whole(share, most) if whole else _change(share) for share in touched]
    if all(share.rack is None for share in touched):
        columns[1] = Column("")
    yield Heading("Brokers")
    yield Table(
        [*columns, Column("")] if whole else columns,
        rows,
        "changed broker",
        limit=limit,
        more=[f"{count(rest, 'broker')} unchanged"] if rest else [],
        beside=3 if whole else 0,
        name="brokers",
        legend=f"{LEGEND} A broker's number filters the moves below." if whole else "",
    )


def _whole(share: BrokerShare, most: int) -> list[Cell | Bar]:
    before, after = share.before, share.after
    if before is None or after is None or share.peak_bytes is None:
        raise ValueError(f"broker {share.broker}: what it holds is not known")
    leaders = changed(before.leaders, after.leaders).replace("→", "->")
    replicas = changed(before.replicas, after.replicas).replace("→", "->")
    amounts = map(size, (before.bytes, share.peak_bytes, after.bytes))
    stays = after.bytes - share.incoming
    goes = before.bytes - stays
    bar = Bar(*(of / most for of in (stays, goes, share.incoming))) if most else ""
    return [str(share.broker), share.rack or "", *amounts, leaders, replicas, bar]


def _change(share: BrokerShare) -> list[Cell | Bar]:
    counts = [f"{of:+d}" if of else "0" for of in (share.change.leaders, share.change.replicas)]
    amounts = [size(share.incoming), signed(share.change.bytes)]
    return [str(share.broker), share.rack or "", *amounts, *counts]


def _timeline(plan: Plan, context: PlanContext) -> Iterator[Block]:
    """The picture of the rehearsal; where there are too many moves to rehearse each, how long each broker copies."""
    if context.timeline:
        title = Heading("Rehearsed: copies, by the broker that receives them")
        yield OnPage([title, Chart(context.timeline)])
    else:
        yield OnPage(list(_least_times(plan, context.network)))


def _least_times(plan: Plan, network: float | None) -> Iterator[Block]:
    """How long the throttle makes each broker copy at least.

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
        return
    most = max(max(sides.values()) for sides in of_broker.values()) or 1
    rows: list[list[Cell | Bar]] = []
    for broker, sides in sorted(of_broker.items(), key=lambda of_one: -max(of_one[1].values())):
        times = [sides.get(side) for side in (Side.LEADER, Side.FOLLOWER)]
        texts = ["–" if t is None else duration(t) for t in times]
        rows.append([str(broker), *texts, Bar(0, 0, max(sides.values()) / most)])
    at = "the rate of its throttle"
    if assumed and network is not None:
        unthrottled = f"a network of {rate(round(network))}"
        at = unthrottled if plan.throttle is None else f"{at}, without one {unthrottled}"
    yield Heading(f"At least, by broker: how long its copies take at {at}")
    heads = [Column(name, right=True) for name in ("broker", "sends", "receives")]
    yield Table([*heads, Column("")], rows, name="times")


def _end(plan: Plan) -> Iterator[Block]:
    if any(m.original[0] != m.target[0] for m in plan.moves):
        yield line(BY_ITSELF)
    yield from map(line, left_out_lines(plan) if plan.changes else ())
    copies = any(m.new for m in plan.moves)
    if (copies and plan.throttle is not None) or (plan.log_moves and not copies):
        yield line(throttle_text(plan))


def _identity(plan: Plan, context: PlanContext) -> Iterator[Block]:
    """What the plan is known by, how old its cluster's state is, and how exactly this plan is applied."""
    text = f"Plan digest `{digest(plan)}`, for cluster `{plan.cluster_id[:200]}`."
    yield Small(text, identity(plan))
    if context.snapshot is not None:
        age = ""
        if context.age_seconds is not None:
            age = f", from a snapshot that was {duration(context.age_seconds)} old"
        yield Small(f"State of {context.snapshot.observed_at}{age}.")
    exact = "`replan apply PLAN --digest DIGEST --placement PATH` applies this and nothing else."
    yield Small(exact if plan.changes else "", context.next_command)


def _listing(plan: Plan) -> Listing:
    return Listing(
        "Moves",
        "moves",
        MOVE_HEADS,
        lambda: _data(plan.moves),
        "plan.js",
        MOVES_WITHOUT_SCRIPT,
        folded_title="Every change, by topic",
        folded=lambda: _topics(plan),
        left_out=lambda topics, moves, copied: (
            f"{count(topics, 'more topic')} with {count(moves, 'move')}, {size(copied)} to copy: left out to fit, "
            "they are in the plan file."
        ),
    )


def _topics(plan: Plan) -> Iterator[tuple[Folded, int, int]]:
    """The topic with most bytes first."""
    moves: dict[str, list[Move]] = {}
    for move in plan.moves:
        moves.setdefault(move.partition.topic, []).append(move)
    created = {create.topic: create for create in plan.creates}
    copied = {topic: sum(m.copies_bytes for m in of) for topic, of in moves.items()}
    for topic in sorted({*moves, *created}, key=lambda name: (-copied.get(name, 0), name)):
        of, amount = moves.get(topic, []), copied.get(topic, 0)
        create = created.get(topic)
        parts = [] if create is None else [str(create)]
        parts += [count(len(of), "move")] if of else []
        parts += [f"{size(amount)} to copy"] if amount else []
        tables = [*_new(create), *_each(of, sizes_known=plan.sizes_known)]
        yield Folded(f"`{topic}`: {', '.join(parts)}", tables), len(of), amount


def _new(create: Create | None) -> Iterator[Table]:
    if create is not None:
        columns = (Column("new partition", code=True), Column("replicas", code=True))
        rows = [(str(name), brokers(of)) for name, of in create.partitions.items()]
        yield _first(columns, rows[:ROWS_OF_A_TOPIC], len(rows))


EACH = (
    Column("partition", code=True),
    Column("change", code=True),
    Column("copy"),
    Column("why"),
    Column("steps"),
)


def _each(moves: Sequence[Move], *, sizes_known: bool) -> Iterator[Table]:
    rows = []
    for move in moves[:ROWS_OF_A_TOPIC]:
        copied = "–"
        if move.new:
            copied = size(move.copies_bytes) if move.bytes else no_bytes(sizes_known=sizes_known)
        steps = " · ".join(request.kind for request in planned_requests(move))
        rows.append((str(move.partition), change(move), copied, str(move.reason), steps))
    if rows:
        yield _first(EACH, rows, len(moves))


def _first(columns: Sequence[Column], rows: Sequence[Sequence[str]], total: int) -> Table:
    more = [f"… and {total - len(rows):,} more."] if total > len(rows) else []
    return Table(columns, rows, more=more)


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
        reason = reasons.setdefault(str(move.reason), len(reasons))
        yield f"{named}{lists};{move.bytes};{leader};{reason}"
