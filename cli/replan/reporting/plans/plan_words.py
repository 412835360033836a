"""What the text, the Markdown and the page of a plan say in the same words: its changes, its totals, its throttle."""

from collections.abc import Callable, Iterator, Sequence

from replan.applying.settings import Settings
from replan.model.declared.placement import SideRates
from replan.planning.findings.risks import RiskKind, risks
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import JudgedBy, Plan
from replan.planning.plans.plan_file import digest
from replan.planning.plans.preview import estimate
from replan.planning.plans.reasons import PlanWarning, WarningKind, left_out_text
from replan.planning.plans.requests import Request, RequestKind
from replan.reporting.plans.plan_context import PlanContext
from replan.reporting.plans.recovery_text import recovery_summary
from replan.reporting.sentences import risk_text
from replan.wording import NAMES_SHOWN, brokers, count, duration, listed, rate, size

UNCLEAN_HINT = (
    "Unclean elections lose records for good: they need --unclean on the command line as well."
)
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
        WarningKind.NOTHING_LEFT,
    }
)
"""What only a plan back warns of."""


def no_bytes(*, sizes_known: bool) -> str:
    """What is said of a partition of 0 bytes."""
    return "empty" if sizes_known else "size unknown, or empty"


def change(move: Move) -> str:
    """What a move changes: its list, or only who leads."""
    if move.is_leader_only:
        return f"{brokers(move.target)} leader {move.leader} -> {move.target[0]}"
    return f"{brokers(move.original)} -> {brokers(move.target)}"


def describe(request: Request, move: Move, *, sizes_known: bool) -> tuple[str, str, str]:
    """One request in three columns: its kind, what is asked for, what it costs or waits for."""
    match request.kind:
        case RequestKind.EXPAND:
            note = _expand(move, sizes_known=sizes_known)
        case RequestKind.ASSIGN:
            note = _assign(move)
        case RequestKind.ELECT:
            return "elect ", str(move.target[0]), "unless already leader"
        case RequestKind.CANCEL:
            note = ""
    return request.kind, brokers(request.replicas), note


def _expand(move: Move, *, sizes_known: bool) -> str:
    each = " each" if len(move.new) > 1 else ""
    note = f"copy {size(move.bytes)}{each} to {listed(move.new)}"
    if not move.bytes:
        note = f"copy to {listed(move.new)} ({no_bytes(sizes_known=sizes_known)})"
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


def plan_summary(plan: Plan, findings: Sequence[str]) -> Iterator[str]:
    """The closing lines: totals, throttle, what a rehearsal found, digest."""
    yield from totals(plan)
    if not plan.changes:
        return
    yield from _by_itself_and_for_good(plan)
    yield from left_out_lines(plan)
    if any(change.copies for change in plan.all_changes):
        yield throttle_text(plan)
    yield from findings
    yield identity(plan)


def totals(plan: Plan) -> Iterator[str]:
    """How much there is to do, or that there is nothing."""
    if plan.empty:
        goes_back = any(w.kind in GOES_BACK for w in plan.warnings)
        lost = [w for w in plan.warnings if w.kind is WarningKind.LEADERLESS]
        differs = _without_leader(lost[0]) if lost else NOTHING_DIFFERS
        yield f"No changes: {NOTHING_GOES_BACK if goes_back else differs}"
        return
    if not plan.changes:
        left_out = left_out_text(plan.refusals)
        yield f"Plan: {count(0, 'move')}; {left_out}. Nothing can be done before that is resolved."
        return
    if plan.recoveries:
        yield f"Plan: {recovery_summary(plan.recoveries)}"
    if plan.unclean:
        yield UNCLEAN_HINT
    new = sum(len(create.lists) for create in plan.creates)
    parts = [steps[0].total(steps) for steps in plan.by_kind.values() if steps[0].heading]
    parts += [count(new, "new partition")] if new else []
    beside = "".join(f"{part}; " for part in parts)
    if plan.moves or beside or not plan.recoveries:
        cost = estimate(plan)
        empty = sum(1 for m in plan.moves if m.new and not m.bytes)
        copied = f"{size(cost.bytes)} to copy"
        if empty and plan.sizes_known:
            copied += f", and {count(empty, 'partition')} empty"
        elif empty:
            copied += f", and {count(empty, 'partition')} of unknown size, or empty"
        leaders = f"{count(cost.leaders, 'leader')} may change"
        yield f"Plan: {beside}{count(len(plan.moves), 'move')}; {copied}; {leaders}."


def left_out_lines(plan: Plan) -> Iterator[str]:
    """What becomes of the partitions that are refused."""
    if left_out := left_out_text(plan.refusals):
        yield (
            f"Left out: {left_out}. `replan apply` performs the rest and ends with {plan.left_out:d}; "
            "with --all-or-nothing it applies nothing."
        )


def identity(plan: Plan) -> str:
    """What the plan is known by, and for which cluster it is."""
    name = f"{plan.cluster_name}, " if plan.cluster_name else ""
    of = f", of commit {plan.placement_commit[:12]}" if plan.placement_commit else ""
    return f"Plan digest {digest(plan)[:16]}{of}, for cluster {name}{plan.cluster_id}."


def first_to_see(plan: Plan, context: PlanContext, named: int = NAMES_SHOWN) -> list[str]:
    """What a reviewer should look at first: the risks, and that an application is open."""
    own = None if context.snapshot is None else context.snapshot.application
    texts = [risk_text(risk, named) for risk in risks(plan, own)]
    if own is not None and not context.notes:
        texts.append(f"Application {own.id} is open: `replan status` says how far it is.")
    left_out = left_out_text(plan.refusals)
    return [
        *texts,
        *context.notes,
        *([f"Not planned: {left_out}; why is below."] if left_out else []),
    ]


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
        yield f"{RiskKind.NEW_PARTITIONS.words}."


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
    ends = _convergence(plan.convergence)
    return f"Throttle {rate(plan.throttle.rate)}{' (' + own + ')' if own else ''}{least}{kept}; {ends}."


def _convergence(judged: JudgedBy | None) -> str:
    if judged is None:
        return "whether copies end was not checked (`replan plan --measure 30s` does)"
    if judged.unknown:
        return f"the copies end, as far as rates are known ({count(judged.unknown, 'partition')} without one)"
    return "the copies end at the produce rates given"


def broker_rate(limit: int | SideRates | None, worded: Callable[[int | None], str] = rate) -> str:
    """A broker's rate: one for both sides, or `leader 20 MB/s, follower 50 MB/s`."""
    if isinstance(limit, SideRates):
        if limit.leader == limit.follower:
            return worded(limit.leader)
        return f"leader {worded(limit.leader)}, follower {worded(limit.follower)}"
    return worded(limit)
