"""An explanation of one partition as text and json."""

from collections.abc import Iterator, Sequence

import msgspec

from replan.model.declared.placement import PreferredLeader
from replan.model.declared.rules import BrokerRange, BrokerSelector, LeaderRule, Spread, TopicRule
from replan.model.partition import PartitionState
from replan.planning.comparison.alignment import DeclaredList
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.explanation import Explanation
from replan.planning.plans.preview import planned_requests
from replan.reconciling.explaining import ByPolicy
from replan.reporting.drift.drift_text import MEANINGS
from replan.reporting.json_report import json_report
from replan.reporting.lines import aligned_lines
from replan.reporting.loop.loop_words import by_policy_text
from replan.reporting.plans.plan_words import change, describe
from replan.reporting.sentences import conflict_lines, elr_gone_text
from replan.wording import brokers, count

ExplanationLine = tuple[str, str]
"""What a line is about, and what it says."""


def render_explanation(explanation: Explanation, policy: Sequence[ByPolicy] = ()) -> str:
    """Plain text, with what policy does with it; ends with a newline."""
    lines = [
        *_declared(explanation),
        *_order(explanation),
        *_observed(explanation),
        *_planned(explanation),
        *_held(explanation),
    ]
    lines += [("by policy", by_policy_text(one)) for one in policy]
    shown = [
        (about if i == 0 or lines[i - 1][0] != about else "", text)
        for i, (about, text) in enumerate(lines)
    ]
    return (
        "\n".join([str(explanation.partition), *(f"  {line}" for line in aligned_lines(shown))])
        + "\n"
    )


def _declared(explanation: Explanation) -> Iterator[ExplanationLine]:
    match explanation.declared:
        case DeclaredList(replicas, where):
            yield "declared", f"{brokers(replicas)}, listed at {where}"
        case TopicRule() as rule:
            by = (
                "its name"
                if rule.pattern == explanation.partition.topic
                else f"pattern {rule.pattern}"
            )
            yield "declared", f"{_rule(rule)}, by {by} at {rule.where}"
        case None:
            yield "declared", "nothing under `assignments`; what is there stays"
    for other in explanation.overruled:
        why = "it excepts the topic" if other.excepts else "it is less exact"
        yield (
            "declared",
            f"{other.pattern} at {other.where} matches, too, and does not count: {why}",
        )
    for group in explanation.apart:
        mine = group.topics[group.sides([explanation.partition.topic])[explanation.partition.topic]]
        others = ", ".join(topic for topic in group.topics if topic != mine)
        yield "apart", f"shares no broker with {others}, at {group.where}"
    if explanation.required is not None:
        required = explanation.required
        least = [
            count(number, noun)
            for number, noun in ((required.replication_factor, "replica"), (required.racks, "rack"))
            if number is not None
        ]
        yield "required", f"at least {' and '.join(least)}, at {required.where}"


def _rule(rule: TopicRule) -> str:
    spread = {Spread.RACK: "spread over racks", Spread.IN_RACK: "all in one rack"}
    parts = [
        None if rule.partition_count is None else count(rule.partition_count, "partition"),
        None if rule.replication_factor is None else count(rule.replication_factor, "replica"),
        None if rule.spread is None or rule.in_rack is not None else spread.get(rule.spread),
        None if rule.in_rack is None else f"all in rack {rule.in_rack}",
        ", ".join(f"{n} in rack {rack}" for rack, n in rule.replicas_per_rack.items()),
        None if rule.brokers is None else _selected(rule.brokers),
        None
        if rule.max_replicas_per_broker is None
        else f"at most {count(rule.max_replicas_per_broker, 'replica')} of the topic on a broker",
    ]
    return ", ".join(part for part in parts if part) or "anywhere"


def _selected(selector: BrokerSelector) -> str:
    ids = f"on brokers {', '.join(map(_range, selector.ids))}" if selector.ids else ""
    noun = "rack" if len(selector.racks) == 1 else "racks"
    racks = f"{'of' if ids else 'in'} {noun} {', '.join(selector.racks)}" if selector.racks else ""
    return " ".join(part for part in (ids, racks) if part)


def _range(listed: BrokerRange) -> str:
    return str(listed.first) if listed.single else f"{listed.first}-{listed.last}"


def _order(explanation: Explanation) -> Iterator[ExplanationLine]:
    match explanation.preferred:
        case PreferredLeader(broker, where):
            yield "leader", f"broker {broker} is preferred, at {where}"
        case LeaderRule(where=where, racks=racks, balanced=balanced):
            how = "balanced over the brokers" if balanced else f"by racks {', '.join(racks)}"
            yield "leader", f"{how}, at {where}"
        case None:
            pass
    for broker, where in explanation.last:
        yield "leader", f"broker {broker} stands last, at {where}"
    for listed in explanation.leader_blacklist:
        why = f": {listed.reason}" if listed.reason else ""
        yield "leader", f"broker {listed.broker} shall not lead, at {listed.where}{why}"
    for drained in explanation.drained:
        why = f": {drained.reason}" if drained.reason else ""
        yield "drained", f"broker {drained.broker}, at {drained.where}{why}"


def _observed(explanation: Explanation) -> Iterator[ExplanationLine]:
    state = explanation.observed
    if state is None:
        yield "observed", "the cluster has no such partition"
    else:
        leader = "no leader" if state.leader is None else f"leader {state.leader}"
        lists = f"{brokers(state.replicas)}, in sync {brokers(state.isr)}"
        yield (
            "observed",
            f"{lists}, {leader}, min.insync.replicas {explanation.min_insync_replicas}",
        )
        yield from _leadable(explanation, state)
        if state.running is not None:
            yield "observed", f"a reassignment to {brokers(state.running.target)} is running on it"
    for kind in explanation.kinds:
        listed = kind in DifferenceKind and kind is not DifferenceKind.NO_LEADER
        wanted = (
            f": {brokers(explanation.wanted)} is wanted" if listed and explanation.wanted else ""
        )
        yield "differs", MEANINGS[kind] + wanted
    if explanation.on_the_way:
        yield "differs", "no: it is on the way to the declared list"
    elif not explanation.kinds:
        yield "differs", "yes, and it is acknowledged" if explanation.covered else "no"


def _leadable(explanation: Explanation, state: PartitionState) -> Iterator[ExplanationLine]:
    """Who could lead beside the ISR, and who will by itself."""
    if state.eligible or state.last_known_elr:
        last = "".join(f", last known leader {b}" for b in state.last_known_elr)
        yield "observed", f"eligible to lead {brokers(state.eligible)}{last}"
    for broker in explanation.offline:
        yield "observed", f"offline on live broker {broker}: its log directory has failed"
    if explanation.elr_gone:
        yield "observed", elr_gone_text([state.partition])
    if explanation.awaited is not None:
        yield "awaited", str(explanation.awaited)


def _planned(explanation: Explanation) -> Iterator[ExplanationLine]:
    for log_move in explanation.log_moves:
        yield "planned", str(log_move)
    if explanation.move is None:
        if not explanation.log_moves:
            yield "planned", "nothing"
        return
    yield "planned", change(explanation.move)
    rows = [
        describe(request, explanation.move, sizes_known=explanation.sizes_known)
        for request in planned_requests(explanation.move)
    ]
    yield from (("planned", f"  {row}") for row in aligned_lines(rows))


def _held(explanation: Explanation) -> Iterator[ExplanationLine]:
    for refusal in explanation.refusals:
        yield "held by", f"{refusal}  [{refusal.rule}]"
    for conflict in explanation.conflicts:
        first, *constraints = conflict_lines(conflict)
        yield from (("conflict", text) for text in [first, *(f"    {c}" for c in constraints)])
    for exceeded in explanation.exceeded:
        limit = exceeded.limit
        whole, most = limit.measure.amounts(exceeded.amount, limit.most)
        yield (
            "held by",
            f"limit {limit.measure} {most} at {limit.where}: the whole plan has {whole}",
        )
    for unbalanced in explanation.unbalanced:
        yield "held by", f"the whole plan is refused: {unbalanced}"
    if explanation.acknowledged is not None:
        entry = explanation.acknowledged
        word = "held by" if explanation.covered else "acknowledged"
        yield word, f"acknowledged until {entry.expires} at {entry.where}: {entry.reason}"


def render_explanation_json(explanation: Explanation, policy: Sequence[ByPolicy] = ()) -> str:
    """One JSON document, format version 1."""
    state, move = explanation.observed, explanation.move
    entry = explanation.acknowledged
    fields: dict[str, object] = {
        **explanation.partition._asdict(),
        "declared": _declared_json(explanation.declared),
        "overruled": explanation.overruled,
        "apart": [{"topics": a.topics, "where": a.where} for a in explanation.apart],
        "preferredLeader": None
        if explanation.preferred is None
        else {"where": explanation.preferred.where},
        "leaderBlacklist": [
            {"broker": e.broker, "where": e.where} for e in explanation.leader_blacklist
        ],
        "last": [{"broker": b, "where": where} for b, where in explanation.last],
        "drained": [{"broker": e.broker, "where": e.where} for e in explanation.drained],
        "observed": None
        if state is None
        else {
            "replicas": state.replicas,
            "isr": state.isr,
            "leader": state.leader,
            "elr": state.eligible,
            "lastKnownElr": state.last_known_elr,
            "elrCleared": explanation.elr_gone,
            "offlineOnLiveBrokers": explanation.offline,
        },
        "awaited": explanation.awaited,
        "minInsyncReplicas": explanation.min_insync_replicas,
        "wanted": explanation.wanted,
        "kinds": explanation.kinds,
        "onTheWay": explanation.on_the_way,
        "move": None if move is None else {"original": move.original, "target": move.target},
        "logMoves": [
            {"broker": m.broker, "source": m.source, "target": m.target}
            for m in explanation.log_moves
        ],
        "refusals": [{"rule": r.rule, "facts": dict(r.facts)} for r in explanation.refusals],
        "conflicts": [
            {
                "proof": c.proof,
                "constraints": [{"kind": k.kind, "where": k.where or None} for k in c.constraints],
            }
            for c in explanation.conflicts
        ],
        "limitsExceeded": [
            {"limit": e.limit.measure, "most": e.limit.most, "found": e.amount}
            for e in explanation.exceeded
        ],
        "unbalanced": [dict(u.facts) for u in explanation.unbalanced],
        "acknowledged": None
        if entry is None
        else {"where": entry.where, "expires": entry.expires, "covers": explanation.covered},
        "byPolicy": [_by_policy_json(one) for one in policy],
    }
    return json_report("replan.explanation", fields)


def _by_policy_json(one: ByPolicy) -> dict[str, object]:
    """Times are seconds since 1970."""
    judged = one.judged
    return {
        "kind": judged.deviation.kind,
        "since": judged.since if one.seen_by_loop else None,
        "afterSeconds": one.after_seconds,
        "dueAt": judged.due_at,
        "actsAt": judged.acts_at,
        "whyNot": msgspec.to_builtins(judged.why_not),
    }


def _declared_json(declared: DeclaredList | TopicRule | None) -> dict[str, object] | None:
    match declared:
        case DeclaredList(replicas, where):
            return {"replicas": replicas, "where": where}
        case TopicRule():
            return {"pattern": declared.pattern, "where": declared.where}
        case None:
            return None
