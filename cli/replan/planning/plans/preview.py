"""What a plan will ask of the cluster, and what it costs, as far as it can be known beforehand. Shown, never stored."""

from collections.abc import Iterator

from msgspec import Struct

from replan.model.declared.placement import Side
from replan.model.names import BrokerId
from replan.model.partition import PartitionState
from replan.planning.plans.moves import Move
from replan.planning.plans.next_request import next_request
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import Request, RequestKind


def planned_requests(move: Move) -> Iterator[Request]:
    """The requests of a move where nothing goes wrong: at most expand, assign, elect.

    `next_request` itself is asked, about a partition whose replicas are all in sync.
    """
    leader = move.target[0] if move.leader is None else move.leader
    state = PartitionState(move.partition, move.topic_id, move.original, move.original, leader)
    while isinstance(request := next_request(move, state, settled=True), Request):
        yield request
        state = _performed(move, state, request)


def _performed(move: Move, state: PartitionState, request: Request) -> PartitionState:
    """The partition once a request is done; a leader that leaves is followed by the first of the list."""
    listed = state.replicas if request.kind is RequestKind.ELECT else request.replicas
    stays = request.kind is not RequestKind.ELECT and state.leader in listed
    leader = state.leader if stays else request.replicas[0]
    return PartitionState(move.partition, move.topic_id, listed, listed, leader)


class Estimate(Struct, frozen=True):
    """What a plan costs, as far as its snapshot and its throttle say."""

    bytes: int
    seconds: float | None
    """Lower bound: the busiest broker and side at its rate; None without a throttle."""
    busiest: BrokerId | None
    leaders: int
    """Partitions whose leader changes."""


class Flow(Struct, frozen=True):
    """What copies pass through one side of a broker."""

    broker: BrokerId
    side: Side
    bytes: int
    seconds: float | None
    """How long that takes at the rate of its throttle; None without one."""


def flows(plan: Plan) -> list[Flow]:
    """Each side of each broker that copies: first the senders, by broker, then the receivers."""
    sent: dict[BrokerId, int] = {}
    received: dict[BrokerId, int] = {}
    for move in plan.moves:
        if move.new:
            sent[move.source] = sent.get(move.source, 0) + move.copies_bytes
        for broker in move.new:
            received[broker] = received.get(broker, 0) + move.bytes
    all_flows = []
    for side, amounts in ((Side.LEADER, sent), (Side.FOLLOWER, received)):
        for broker, amount in sorted(amounts.items()):
            rate = None if plan.throttle is None else plan.throttle.rate_of(broker, side)
            all_flows.append(Flow(broker, side, amount, amount / rate if rate else None))
    return all_flows


def estimate(plan: Plan) -> Estimate:
    """Bytes to copy, and the least time that the throttle allows."""
    timed = [(flow.seconds, flow.broker) for flow in flows(plan) if flow.seconds is not None]
    seconds, busiest = max(timed, key=lambda pair: pair[0], default=(None, None))
    leaders = sum(m.may_change_leader for m in plan.moves)
    return Estimate(sum(m.copies_bytes for m in plan.moves), seconds, busiest, leaders)
