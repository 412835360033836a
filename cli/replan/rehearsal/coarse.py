"""A plan of any size in a model without a cluster: what flows through each broker, and how long its slots are taken.

A copy passes its source's leader side and its new broker's follower side, and takes a slot on both. The time of a
plan is that of the side with the most bytes at its rate, and what the slots of the busiest broker take beside; where
brokers wait for one another in turn it takes longer. Beside full rehearsals of 60 to 200 moves it is within a fifth.
What producers write to a partition while it is copied passes both sides as well (`planning.making.convergence`). The
headroom over min ISR is exact where nothing fails: the lists and in-sync replicas of each move before, while its
copies run, and at its target.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec import Struct

from replan.model.columns import list_lengths
from replan.model.declared.placement import Side
from replan.model.names import BrokerId
from replan.model.partition import effective_min_isr
from replan.model.snapshot import Snapshot
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import SLOTS
from replan.rehearsal.options import Options
from replan.rehearsal.result import Headroom

SLOT_SECONDS = 1.5
"""How long a copy takes a slot beside its bytes: throttle set and read back, request, look, next one admitted."""
ENDING_SECONDS = 5.0
"""Beyond the settle time: assigning, electing, restoring throttles."""


class Bottleneck(Struct, frozen=True):
    """The broker and side that takes longest."""

    broker: BrokerId
    side: Side
    bytes: int
    bytes_per_second: float
    """What is left of its rate beside what producers write; 0 where nothing is."""


class Coarse(Struct, frozen=True):
    """What the model says of a plan."""

    seconds: float | None
    """None: some copies never end at their rate."""
    bottleneck: Bottleneck | None
    """None where nothing is copied."""
    headroom: Headroom | None
    """None where nothing moves."""


def coarse_rehearsal(plan: Plan, snapshot: Snapshot, options: Options) -> Coarse:
    """Judge a plan as a whole; linear in its moves."""
    sides = list(_sides(plan, options))
    seconds = 0.0
    bottleneck = max(sides, key=_seconds, default=None)
    if bottleneck is not None:
        copies = Counter(b for m in plan.moves if m.new for b in {m.source, *m.new})
        slots = max(copies.values()) * SLOT_SECONDS / SLOTS
        seconds = _seconds(bottleneck) + slots + options.settings.settle_seconds
    headrooms = (_headroom(move, in_sync) for move, in_sync in _in_sync(plan, snapshot))
    return Coarse(
        None if seconds == math.inf else seconds + ENDING_SECONDS,
        bottleneck,
        min(headrooms, key=lambda h: (h.replicas, h.partition), default=None),
    )


def _seconds(side: Bottleneck) -> float:
    return side.bytes / side.bytes_per_second if side.bytes_per_second > 0 else math.inf


def _sides(plan: Plan, options: Options) -> Iterator[Bottleneck]:
    """Each side of each broker that copies, with the rate that is left for them."""
    bytes_: defaultdict[tuple[BrokerId, Side], int] = defaultdict(int)
    written: defaultdict[tuple[BrokerId, Side], list[float]] = defaultdict(list)
    for move in plan.moves:
        if not move.new:
            continue
        rate = options.rates.get(move.partition, options.produce or 0)
        followers = len(move.original) + len(move.new) - 1
        passes = [((move.source, Side.LEADER), move.copies_bytes, rate * followers)]
        passes += [((broker, Side.FOLLOWER), move.bytes, rate) for broker in move.new]
        for at, copied, passing in passes:
            bytes_[at] += copied
            written[at].append(passing)
    network = options.speeds().network_bytes_per_second
    for (broker, side), amount in sorted(bytes_.items()):
        throttle = None if plan.throttle is None else plan.throttle.rate_of(broker, side)
        rate = network if throttle is None else min(throttle, network)
        of_each = written[broker, side]
        at_once = min(SLOTS, len(of_each)) * sum(of_each) / len(of_each)
        yield Bottleneck(broker, side, amount, max(0.0, rate - at_once))


def _in_sync(plan: Plan, snapshot: Snapshot) -> Iterator[tuple[Move, int]]:
    """Each move with how many replicas are in sync."""
    of_topic: defaultdict[str, dict[int, Move]] = defaultdict(dict)
    for move in plan.moves:
        of_topic[move.partition.topic][move.partition.partition] = move
    for topic, moves in sorted(of_topic.items()):
        there = snapshot.topic_rows(topic)
        rows_of_topic = snapshot.partitions.slice(there.start, len(there))
        lengths = list_lengths(rows_of_topic.column("isr")).tolist()
        for number, in_sync in zip(
            rows_of_topic.column("partition").to_pylist(), lengths, strict=True
        ):
            if number in moves:
                yield moves[number], in_sync


def _headroom(move: Move, in_sync: int) -> Headroom:
    m, original = move.min_insync_replicas, len(move.original)
    before = in_sync - effective_min_isr(m, original)
    listed = original + len(move.new) - len(move.unnameable)
    states = (
        (in_sync, effective_min_isr(m, original)),
        (in_sync, effective_min_isr(m, listed)),
        (len(move.target), effective_min_isr(m, len(move.target))),
    )
    least, minimum = min(states, key=lambda s: s[0] - s[1])
    return Headroom(least - minimum, move.partition, None, least, minimum, before)
