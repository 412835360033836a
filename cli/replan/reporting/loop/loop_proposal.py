"""What a loop proposes to people, as the text of a pull request, never larger than a forge takes."""

from collections.abc import Sequence

from replan.model.names import BrokerId, TopicPartition
from replan.reconciling.status import Proposal
from replan.reporting.markdown import (
    LIMIT,
    code,
    escape,
    fitted,
    markdown_document,
    marker_of,
    table_head,
    table_row,
    weight,
)
from replan.reporting.plans.plan_context import PlanContext
from replan.reporting.plans.plan_report import plan_report
from replan.wording import brokers, count

ROOM = 20_000
"""Bytes for the lists."""
_POLICY = (
    "The policy of `reconcile` does not let the loop do the following by itself. Whoever agrees applies `plan.json`, "
    "or changes the policy."
)


def render_proposal(proposal: Proposal, by_hand: str, *, patched: bool, limit: int = LIMIT) -> str:
    """The text; `by_hand`: why lists must be edited by hand, `patched`: whether a patch edits them."""
    plan = proposal.plan
    name = f": {escape(plan.cluster_name[:200])}" if plan.cluster_name else ""
    marker = marker_of("replan proposal", plan.cluster_id)
    text = f"{marker}\n## replan proposes{name}\n\n{_lists(proposal, by_hand, patched=patched)}"
    if plan.empty:
        return text
    text += f"\n{_POLICY}\n\n"
    room = limit - weight(text)
    rendered = markdown_document(
        plan_report(plan, PlanContext(snapshot=proposal.snapshot)), limit=room
    )
    return text + rendered.partition("\n")[2]


def _lists(proposal: Proposal, by_hand: str, *, patched: bool) -> str:
    changes = [
        (TopicPartition(topic, partition), wanted)
        for topic, of in sorted(proposal.lists.items())
        for partition, wanted in sorted(of.items())
    ]
    if not changes:
        return ""
    names = ("topic", "partition", "replicas")
    table = (proposal.placement.explicit[name].to_pylist() for name in names)
    declared = {TopicPartition(t, p): tuple(of) for t, p, of in zip(*table, strict=True)}
    rows = (
        table_row((code(str(name)), _list(declared.get(name, ())), _list(wanted)))
        for name, wanted in changes
    )
    return (
        f"{count(len(changes), 'declared list')} with a broker that is down, or whose log directory is full. "
        + (
            "This change names others.\n\n"
            if patched
            else f"No patch was made: {escape(by_hand)}\n\n"
        )
        + f"{table_head('partition', 'declared', 'proposed')}\n"
        + fitted(rows, len(changes), ROOM, "more list")
    )


def _list(ids: Sequence[int]) -> str:
    return escape(brokers(tuple(map(BrokerId, ids))))
