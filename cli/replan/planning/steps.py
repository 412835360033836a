"""The ordered steps of a plan, derived from its moves by one pure function; they are shown, never stored.

A step's id is the same on every machine: `orders-7/expand`. `after` names the steps that must be done before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.moves import Move
from replan.planning.plan import Plan


class Phase(StrEnum):
    """What a step asks of the cluster."""

    THROTTLE = "throttle"
    EXPAND = "expand"
    ASSIGN = "assign"
    ELECT = "elect"
    RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing asked of the control plane."""

    id: str
    phase: Phase
    partition: TopicPartition | None
    replicas: Replicas
    """The list that is asked for; for elect, the list as it stands."""
    reason: str
    after: tuple[str, ...] = ()
    bytes: int = 0
    """To be copied over the network by this step."""


def steps(plan: Plan) -> Iterator[Step]:
    """All steps in the order of admission; a phase with nothing to do is left out."""
    throttled = plan.throttle is not None and any(m.new for m in plan.moves)
    if throttled:
        yield Step("throttle", Phase.THROTTLE, None, (), "throttles.moves")
    for move in plan.moves:
        yield from steps_of(move, throttled=throttled)
    if throttled:
        copies = tuple(f"{m.partition}/expand" for m in plan.moves if m.new)
        yield Step("restore", Phase.RESTORE, None, (), "what was there before", after=copies)


def steps_of(move: Move, *, throttled: bool) -> Iterator[Step]:
    """The steps of one move: at most expand, assign, elect."""
    before: tuple[str, ...] = ()
    if move.new:
        edges = ("throttle",) if throttled else ()
        yield _step(move, Phase.EXPAND, move.expanded, edges, move.copies_bytes)
        before = (f"{move.partition}/expand",)
    standing = move.expanded if move.new else move.original
    if standing != move.target:
        yield _step(move, Phase.ASSIGN, move.target, before)
        before = (f"{move.partition}/assign",)
    if move.elects:
        yield _step(move, Phase.ELECT, move.target, before)


def _step(
    move: Move, phase: Phase, asked: Replicas, after: tuple[str, ...], copied: int = 0
) -> Step:
    return Step(
        f"{move.partition}/{phase}", phase, move.partition, asked, move.reason, after, copied
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan costs, as far as its snapshot and its throttle tell."""

    bytes: int
    seconds: float | None
    """Lower bound: the busiest broker and side at its rate; None without a throttle."""
    busiest: BrokerId | None
    leaders: int
    """Partitions whose leader changes."""


def estimate(plan: Plan) -> Estimate:
    """Bytes to copy, and the least time that the throttle allows."""
    sent: dict[BrokerId, int] = {}
    received: dict[BrokerId, int] = {}
    for move in plan.moves:
        source = move.original[0] if move.leader is None else move.leader
        if move.new:
            sent[source] = sent.get(source, 0) + move.copies_bytes
        for broker in move.new:
            received[broker] = received.get(broker, 0) + move.bytes
    seconds, busiest = None, None
    for side in (sent, received):
        for broker, amount in sorted(side.items()):
            rate = None if plan.throttle is None else plan.throttle.rate_of(broker)
            if rate and (seconds is None or amount / rate > seconds):
                seconds, busiest = amount / rate, broker
    leaders = sum(1 for m in plan.moves if m.leader != m.target[0] and m.elect)
    return Estimate(sum(m.copies_bytes for m in plan.moves), seconds, busiest, leaders)
