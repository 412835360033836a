"""The laws of a plan that can be judged from the plan alone: what it asks for, whatever cluster it was made from.

They are checked again of every plan that is read, so this imports nothing that takes long. Not here: the laws that need
what was observed (`plan_invariants`), and what a placement or a cluster can break (`refusals`).
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from replan.errors import UnsafePlan
from replan.model.names import TopicId, TopicPartition, has_fixed_count
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.wording import capped


class Broken(Struct, frozen=True):
    """A law that does not hold, of whom, and how."""

    law: str
    """A short, stable name: `arrives`, `safe-start`, `only-what-was-asked`, …"""
    subject: str
    message: str
    """One sentence, complete with the subject."""


def require_lawful(plan: Plan, source: str) -> Plan:
    """Give back a plan that was read, if it keeps the laws that need no cluster to be judged; raises UnsafePlan.

    Whoever changes a plan file can compute its digest again as well, so the digest alone says nothing.
    """
    broken = [*lawful_alone(plan), *_topic_ids(plan)]
    if broken:
        raise UnsafePlan(
            f"{source}: the plan breaks laws that every plan keeps, so nothing of it is applied:\n"
            f"{broken_laws_text(broken)}\n"
            "It was changed after it was made; make a new plan with `replan plan -o`"
        )
    return plan


def broken_laws_text(broken: Sequence[Broken]) -> str:
    """What is broken, a line each, indented."""
    lines = capped(broken, lambda b: f"{b.message}  [{b.law}]", limit=10)
    return "\n".join(f"  {line}" for line in lines)


def lawful_alone(plan: Plan) -> Iterator[Broken]:
    """What is broken of the laws that can be judged from the plan alone, whatever cluster it was made from."""
    refused, names = {r.partition for r in plan.refusals if r.of_the_list}, set[TopicPartition]()
    for move in plan.moves:
        name = move.partition
        if name in names or name in refused:
            yield not_asked_for(
                name, "it is moved twice" if name in names else "it is refused and moved"
            )
        names.add(name)
        if move.is_leader_only and not move.elect:
            yield not_asked_for(name, f"it is where it belongs, {list(move.target)}, and is moved")
        yield from _in_itself(move, plan)
        yield from safe_at_every_prefix(move)
    yield from _recoveries(plan, names | refused)
    for create in plan.creates:
        if has_fixed_count(create.topic):
            yield not_asked_for(create.first, "its topic must keep the number of its partitions")
        gone = sorted({b for listed in create.lists for b in listed} - plan.racks.keys())
        if gone:
            yield not_asked_for(
                create.first, f"it is created on {gone}, which the plan does not know"
            )
        if len({len(listed) for listed in create.lists}) != 1:
            yield not_asked_for(
                create.first, "the partitions are created with lists of different lengths"
            )
    if not plan.remember <= names:
        yield not_asked_for("the plan", "it remembers orders of partitions that it does not move")


def _topic_ids(plan: Plan) -> Iterator[Broken]:
    """A topic has one id, and an id one topic: by it the journal knows partitions. No cluster shows anything else."""
    topics = {(str(c.topic), c.topic_id) for c in plan.all_changes if c.topic_id is not None}
    names, ids = dict[TopicId, str](), dict[str, TopicId]()
    for topic, topic_id in sorted(topics):
        other, another = names.setdefault(topic_id, topic), ids.setdefault(topic, topic_id)
        if other != topic:
            what = f"topics {other} and {topic} have the same id, {topic_id}"
            yield Broken("one-id-a-topic", topic, what)
        if another != topic_id:
            what = f"topic {topic} has two ids, {another} and {topic_id}"
            yield Broken("one-id-a-topic", topic, what)


def _in_itself(move: Move, plan: Plan) -> Iterator[Broken]:
    """What a move says of itself fits together, and fits its plan."""
    if move.election is not None and not move.is_leader_only:
        yield not_asked_for(
            move.partition, f"it is an election, and its list changes to {list(move.target)}"
        )
    # An election names no broker, so the list may have one that is not registered; who is to lead must be.
    gone = sorted(set(move.target[: 1 if move.is_leader_only else None]) - plan.racks.keys())
    if gone:
        yield not_asked_for(
            move.partition, f"its target names {gone}, which the plan does not know"
        )
    if not move.unnameable <= set(move.original):
        yield off_prefix(move, f"{sorted(move.unnameable)} are no replicas that could leave")


def _recoveries(plan: Plan, others: set[TopicPartition]) -> Iterator[Broken]:
    """A partition is led again by a replica of its own whose log is known, or cleanly by one that was in sync."""
    for recovery in plan.recoveries:
        name = recovery.partition
        if name in others:
            yield not_asked_for(
                name, "it is led again, and it is moved or refused as well, or named twice"
            )
        others = others | {name}
        if not set(recovery.order) <= set(recovery.original) & plan.racks.keys():
            order = list(recovery.order)
            yield not_asked_for(
                name, f"its list {order} names brokers that hold no replica, or are not known"
            )
        chosen = next((c for c in recovery.candidates if c.broker == recovery.chosen), None)
        if chosen is None or not (
            chosen.eligible if recovery.clean else chosen.known_log is not None
        ):
            yield not_asked_for(
                name, f"broker {recovery.chosen} is to lead it, and nothing shows that it can"
            )


def safe_at_every_prefix(move: Move) -> Iterator[Broken]:
    """However far one move has got, it has taken nothing away that it has not replaced before.

    Partitions do not depend on each other, and `next_request` asks for the lists of one in their order: so what holds
    of each move at each of its lists holds of the whole plan, however far each of its moves has got.
    """
    if not move.is_leader_only:
        yield from _expands_behind(move)
    yield from _keeps_min_isr(move)


def _expands_behind(move: Move) -> Iterator[Broken]:
    """Expand asks for what is observed, in its order, with the new ones behind: nothing leaves, nobody else leads."""
    named = tuple(b for b in move.original if b not in move.unnameable)
    wide = move.expanded
    if wide[: len(named)] != named or set(wide[len(named) :]) != set(move.target).difference(
        move.original
    ):
        yield off_prefix(
            move, f"expand asks for {list(wide)}, which is not {list(named)} and the new"
        )
    if not set(move.target) <= set(wide):
        yield off_prefix(move, f"assign {list(move.target)} would add replicas that expand did not")
    if move.unnameable and not move.unnameable.isdisjoint(move.target):
        yield off_prefix(move, f"target {list(move.target)} names {sorted(move.unnameable)}")


def _keeps_min_isr(move: Move) -> Iterator[Broken]:
    """The effective minimum min(m, assigned) is reachable at each list (Partition.effectiveMinIsr since 3.7)."""
    m, original, target = move.min_insync_replicas, len(move.original), len(move.target)
    if move.new and original < move.min_isr_with_copies:
        yield Broken(
            "safe-start",
            str(move.partition),
            f"{move.partition}: {original} replicas cannot be the {m} in sync that expand makes necessary",
        )
    if target < original and target < m and not move.below_min_isr:
        yield Broken(
            "target-below-min-isr",
            str(move.partition),
            f"{move.partition}: target {list(move.target)} is shorter than min.insync.replicas {m}",
        )


def not_asked_for(subject: object, message: str) -> Broken:
    """What a plan asks for that it must not."""
    return Broken("only-what-was-asked", str(subject), f"{subject}: {message}")


def off_prefix(move: Move, message: str) -> Broken:
    """What a move would do on its way that it must not."""
    return Broken("safe-at-every-prefix", str(move.partition), f"{move.partition}: {message}")
