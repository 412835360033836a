"""Why a partition moves, as words."""

from collections.abc import Mapping

from replan.planning.plans.moves import MoveReason, ReasonKind

REASONS: Mapping[ReasonKind, str] = {
    ReasonKind.DECLARED: "declared replicas",
    ReasonKind.DRAIN: "broker {broker} is drained{note}",
    ReasonKind.RULE: "rule {rule}",
    ReasonKind.BALANCE: "balance",
    ReasonKind.ORDER: "declared order{by_rule}",
    ReasonKind.LEADER: "leader is {leader}, first of the list is {broker}",
    ReasonKind.PREFERRED_LEADER: "preferred leader {broker}{by_rule}",
    ReasonKind.LEADER_BLACKLIST: "broker {broker} is on the leader blacklist{note}",
    ReasonKind.LAST_LEADER: "broker {broker} stands last (lastLeaders)",
    ReasonKind.REMEMBERED_ORDER: "the order from before a recovery",
    ReasonKind.BLACKLIST_LIFTED: "broker {broker} is no longer on the leader blacklist",
    ReasonKind.GIVEN_UP: "the list from before a move that was given up",
    ReasonKind.BACK: "back to before application {application}",
}


def reason_text(reason: MoveReason) -> str:
    """A clause without an end: `rule clicks; broker 2 is on the leader blacklist: disk`."""
    text = REASONS[reason.kind].format(
        broker=reason.broker,
        leader=reason.leader,
        rule=reason.rule,
        note=_note(reason),
        application=reason.note,
        by_rule=f" by rule {reason.rule}" if reason.rule else "",
    )
    return text if reason.order is None else f"{text}; {reason_text(reason.order)}"


def _note(reason: MoveReason) -> str:
    """What the entry of a blacklist says: `: disk at 92 % [storage, review by 2026-12-01]`."""
    review = f"review by {reason.review_by}" if reason.review_by else None
    of = ", ".join(filter(None, (reason.owner, review)))
    return (f": {reason.note}" if reason.note else "") + (f" [{of}]" if of else "")
