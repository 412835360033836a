"""A plan as plain text for a terminal: what moves, why, in which steps, at what cost, and what is refused."""

from collections import Counter
from collections.abc import Iterator, Sequence

from replan.applying.settings import Settings
from replan.model.configs import ConfigScope
from replan.model.rates import JudgedBy
from replan.planning.findings.risks import RiskKind, risks
from replan.planning.plans.creates import Create
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import (
    Plan,
    PlanWarning,
    Refusal,
    RefusalRule,
    WarningKind,
    left_out_text,
)
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import estimate, planned_requests
from replan.planning.plans.requests import Request, RequestKind
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.reporting.plans.plan_context import NOTHING_BESIDE, PlanContext
from replan.reporting.plans.recovery_text import recovery_lines
from replan.reporting.plans.recovery_text import summary as recovery_summary
from replan.reporting.quantities import broker_rate, brokers, duration, rate, size
from replan.reporting.sentences.conflict_text import conflict_lines
from replan.reporting.sentences.move_reasons import reason_text
from replan.reporting.sentences.plan_notes import refusal_text, warning_text
from replan.reporting.sentences.risk_text import risk_text
from replan.reporting.table import columns
from replan.wording import capped, count, left_out, listed

UNCLEAN_HINT = (
    "Unclean elections lose records for good: they need --unclean on the command line as well."
)
SHOWN = 500
"""Moves that are listed one by one; the rest is counted (all of them with `show --all`)."""
BY_ITSELF = "Kafka may also elect a new first replica by itself, within 300 s (auto.leader.rebalance.enable)."
NOTHING_DIFFERS = (
    "every declared partition has the replicas, the order and the leader that it should."
)
NOTHING_GOES_BACK = "all that can go back is as it was."
GOES_BACK = frozenset(
    {
        WarningKind.PARTITIONS_STAY,
        WarningKind.SETTING_CHANGED_SINCE,
        WarningKind.CHANGED_SINCE,
        WarningKind.FIRST_LEADS_ON,
        WarningKind.LOG_DIRS_STAY,
        WarningKind.RECOVERIES_STAY,
    }
)
"""What only a plan back warns of."""
OWN = "Being moved by replan's own application"
FOR_GOOD = (
    "New partitions cannot be taken away again, and keys map to other partitions from then on."
)


def render_plan(
    plan: Plan, context: PlanContext = NOTHING_BESIDE, *, everything: bool = False
) -> str:
    """The whole plan as text, with what a rehearsal found, if there was one; ends with a newline.

    What matters most is at the end, where a terminal stops: warnings, refusals, the summary.
    """
    limit = max(len(plan.moves), len(plan.refusals)) if everything else SHOWN
    lines = [*_recoveries(plan, limit), *_standing(plan), *_log_moves(plan, limit)]
    lines += [*_creates(plan), *_moves(plan, limit)]
    lines += [f"Warning: {warning_text(w)}" for w in plan.warnings]
    lines += [""] if plan.warnings else []
    lines += _refused("Refused", [r for r in plan.refusals if not r.held], limit)
    lines += _conflicts(plan)
    held = [r for r in plan.refusals if r.held]
    lines += _refused(OWN, [r for r in held if r.rule is RefusalRule.OWN_RUNNING], limit)
    others = [r for r in held if r.rule is not RefusalRule.OWN_RUNNING]
    lines += _refused("Held by another party", others, limit)
    lines += list(summary(plan, context.findings(plan)))
    return "\n".join(lines) + "\n"


def render_part(plan: Plan, part: Plan, *, everything: bool = False) -> str:
    """A part of a plan, with what of it comes before the moves, and how much it is; ends with a newline."""
    limit = max(len(part.moves), len(part.refusals), len(part.log_moves)) if everything else SHOWN
    copied = f"{size(estimate(part).bytes)} of {size(estimate(plan).bytes)} to copy"
    shown = f"{len(part.moves):,} of {count(len(plan.moves), 'move')}"
    lines = [
        *_standing(part),
        *_log_moves(part, limit),
        *_creates(part),
        *_moves(part, limit),
        *_refused("Refused", part.refusals, limit),
        *_conflicts(part),
        f"Shown: {shown}; {copied}. Plan digest {digest(plan)[:16]}.",
    ]
    return "\n".join(lines) + "\n"


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


def log_move_text(move: LogMove) -> str:
    """From where to where, and how much: `broker 4  /d2 -> /d1, 20 GB`."""
    return f"broker {move.broker}  {move.source} -> {move.target}, {size(move.bytes)}"


def setting_text(wanted: ThrottleSetting) -> str:
    """What becomes of a throttle setting: `not set -> 30 MB/s`."""
    return f"{throttle_value(wanted, wanted.before)} -> {throttle_value(wanted, wanted.after)}"


def throttle_value(wanted: ThrottleSetting, value: str | None) -> str:
    """A value of a throttle setting in words: a rate with its unit, a list as it is."""
    if value is None:
        return "not set"
    if wanted.setting.scope is ConfigScope.BROKER and value.isdecimal():
        return rate(int(value))
    return value or "empty"


def _recoveries(plan: Plan, limit: int) -> Iterator[str]:
    for recovery in plan.recoveries[:limit]:
        yield from recovery_lines(recovery)
    yield from left_out(
        len(plan.recoveries) - limit, "recovery", "`replan show --all PLAN` lists them"
    )
    if plan.recoveries:
        yield ""


def _creates(plan: Plan) -> Iterator[str]:
    for create in plan.creates:
        yield create_text(create)
        rows = [("create", str(n.partition), brokers(of)) for n, of in create.partitions.items()]
        yield from (f"    {line}" for line in capped(columns(rows), limit=SHOWN))
    if plan.creates:
        yield ""


def create_text(create: Create) -> str:
    """What becomes of the number of partitions of a topic."""
    return f"{create.topic}  {create.present} -> {create.count} partitions"


def _moves(plan: Plan, limit: int) -> Iterator[str]:
    for move in plan.moves[:limit]:
        yield f"{move.partition}  {change(move)}  ({reason_text(move.reason)})"
        rows = [describe(request, move) for request in planned_requests(move)]
        yield from (f"    {line}" for line in columns(rows))
    way_out = "save the plan with -o, `replan show --all PLAN` lists them"
    yield from left_out(len(plan.moves) - limit, "move", way_out)
    if plan.moves:
        yield ""


def change(move: Move) -> str:
    """What a move changes: its list, or only who leads."""
    if move.is_leader_only:
        return f"{brokers(move.target)} leader {move.leader} -> {move.target[0]}"
    return f"{brokers(move.original)} -> {brokers(move.target)}"


def describe(request: Request, move: Move) -> tuple[str, str, str]:
    """One request in three columns: its kind, what is asked for, what it costs or waits for."""
    match request.kind:
        case RequestKind.EXPAND:
            note = _expand(move)
        case RequestKind.ASSIGN:
            note = _assign(move)
        case RequestKind.ELECT:
            return "elect ", str(move.target[0]), "unless already leader"
        case RequestKind.CANCEL:
            note = ""
    return request.kind, brokers(request.replicas), note


def _expand(move: Move) -> str:
    each = " each" if len(move.new) > 1 else ""
    note = f"copy {size(move.bytes)}{each} to {listed(move.new)}"
    if not move.bytes:
        note = f"copy to {listed(move.new)} (size unknown, or empty)"
    gone = [b for b in move.original if b in move.unnameable]
    return note if not gone else f"{note}; no list may name {listed(gone)}, so Kafka drops it"


def _assign(move: Move) -> str:
    awaited = move.awaited(drops=bool(move.dropped))
    one = len(awaited) == 1
    if move.dropped:
        stay = "stays" if one else "stay"
        settle = f"{Settings().settle_seconds:g} s"
        note = (
            f"after {listed(awaited)} {stay} in sync for {settle}; removes {listed(move.dropped)}"
        )
    else:
        note = f"after {listed(awaited)} {'is' if one else 'are'} in sync"
    if move.leader is not None and move.leader not in move.target:
        note += f"; leader {move.leader} -> {move.target[0]}"
    return note


def _refused(title: str, refusals: Sequence[Refusal], limit: int) -> list[str]:
    if not refusals:
        return []
    rules = Counter(r.rule for r in refusals)
    tally = ", ".join(f"{number:,} {rule}" for rule, number in sorted(rules.items()))
    lines = capped(refusals, lambda r: f"{refusal_text(r)}  [{r.rule}]", limit=limit)
    return [f"{title} ({tally}):", *(f"  {line}" for line in lines), ""]


def _conflicts(plan: Plan) -> Iterator[str]:
    """What is behind the refusals; change one line of a conflict, and it is resolved."""
    if plan.conflicts:
        yield "Why not, over all rules (each conflict ends when one of its lines is changed):"
        for found in plan.conflicts[:SHOWN]:
            yield from (f"  {line}" for line in conflict_lines(found))
        yield from left_out(len(plan.conflicts) - SHOWN, "conflict")
        yield ""


def summary(plan: Plan, findings: Sequence[str] = ()) -> Iterator[str]:
    """The closing lines: totals, throttle, what a rehearsal found, digest."""
    if plan.empty:
        goes_back = any(w.kind in GOES_BACK for w in plan.warnings)
        lost = [w for w in plan.warnings if w.kind is WarningKind.LEADERLESS]
        differs = _without_leader(lost[0]) if lost else NOTHING_DIFFERS
        yield f"No changes: {NOTHING_GOES_BACK if goes_back else differs}"
        return
    cost, left = estimate(plan), left_out_text(plan.refusals)
    if not plan.changes:
        yield f"Plan: {count(0, 'move')}; {left}. Nothing can be done before that is resolved."
        return
    leaders = f"{count(cost.leaders, 'leader')} may change"
    unknown = sum(1 for m in plan.moves if m.new and not m.bytes)
    copied = f"{size(cost.bytes)} to copy"
    if unknown:
        copied += f", and {count(unknown, 'partition')} of unknown size, or empty"
    new = sum(len(create.lists) for create in plan.creates)
    created = f"{count(new, 'new partition')}; " if new else ""
    created = _first(plan) + created
    if plan.recoveries:
        yield f"Plan: {recovery_summary(plan.recoveries)}"
    if plan.unclean:
        yield UNCLEAN_HINT
    if plan.moves or created or not plan.recoveries:
        yield f"Plan: {created}{count(len(plan.moves), 'move')}; {copied}; {leaders}."
    yield from _by_itself_and_for_good(plan)
    if left:
        yield (
            f"Left out: {left}. `replan apply` performs the rest and ends with {plan.left_out:d}; "
            "with --all-or-nothing it applies nothing."
        )
    if plan.log_moves or any(m.new for m in plan.moves):
        yield throttle_text(plan)
    yield from findings
    name = f"{plan.cluster_name}, " if plan.cluster_name else ""
    yield f"Plan digest {digest(plan)[:16]}, for cluster {name}{plan.cluster_id}."


def _without_leader(warning: PlanWarning) -> str:
    """What is said instead of that all is as declared."""
    lost = count(int(str(warning.facts["count"])), "partition")
    return f"no list differs, but {lost} without a leader: no move changes that (see the warnings)."


def _by_itself_and_for_good(plan: Plan) -> Iterator[str]:
    """What happens without being asked for, and what cannot be undone."""
    if any(m.original[0] != m.target[0] for m in plan.moves):
        yield BY_ITSELF
    yield from (risk_text(r) for r in risks(plan) if r.kind is RiskKind.BLACKLIST_LIFTED)
    if plan.creates:
        yield FOR_GOOD


def _first(plan: Plan) -> str:
    """Throttle settings and replicas that stay on their broker, in the line of totals."""
    parts = [count(len(plan.standing), "throttle setting")] if plan.standing else []
    if plan.log_moves:
        within = size(sum(m.bytes for m in plan.log_moves))
        replicas = count(len(plan.log_moves), "replica")
        parts.append(f"{replicas} to other log directories ({within})")
    return "".join(f"{part}; " for part in parts)


def throttle_text(plan: Plan) -> str:
    """How fast the copies may be, and how long they take at least."""
    if plan.throttle is None:
        return "No throttle is declared (throttles.moves): copies run as fast as the brokers can."
    own = ", ".join(
        f"broker {b}: {broker_rate(r)}" for b, r in sorted(plan.throttle.brokers.items())
    )
    cost = estimate(plan)
    least = (
        ""
        if cost.seconds is None
        else f"; at least {duration(cost.seconds)} (broker {cost.busiest})"
    )
    kept = "; stays in place at the end" if plan.throttle.keep else ""
    ends = _convergence(plan.judged_by)
    return f"Throttle {rate(plan.throttle.rate)}{' (' + own + ')' if own else ''}{least}{kept}; {ends}."


def _convergence(judged: JudgedBy | None) -> str:
    if judged is None:
        return "convergence not judged"
    if judged.unknown:
        return f"the copies end, as far as rates are known ({count(judged.unknown, 'partition')} without one)"
    return "the copies end at the produce rates given"
