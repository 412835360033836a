"""What throttled leaders send ahead of their even rate, because their quota's window is always old.

Here belongs that allowance as a bucket of bytes for each leader. Why there is one is in `quota`; who sends what is in
`copy_rates`.

A leader's window is eleven seconds old from the first moment on, so the bytes of a whole window pass at once, then
none until the window has moved on, and so forth: at 0, 11, 22 ... seconds. To follow each of these steps would cost a
simulated week millions of events. Between two steps the even flow lags behind by between a whole window and nothing,
by half a window on average: so half a window's bytes are let through ahead of it, once, until the leader has sent
nothing throttled for a whole window.
"""

from collections.abc import Mapping

from replan.model.names import BrokerId
from replan.simulator.cluster.physical_state import Burst, World
from replan.simulator.cluster.replication.quota import WINDOW_SECONDS

LEAST_BYTES = 1.0
"""Less than this is nothing left."""


def full(rate: float, counted: float) -> float:
    """Bytes that a leader may send ahead after a pause; in-sync traffic has `counted` bytes per second of its rate."""
    return max(0.0, rate - counted) * WINDOW_SECONDS / 2


def left(world: World, broker: BrokerId, most: float) -> float:
    """Bytes that a leader may still send ahead."""
    burst = world.bursts.get(broker)
    return most if burst is None or _forgotten(burst, world.now) else min(burst.left_bytes, most)


def spent(world: World) -> frozenset[BrokerId]:
    """The leaders that have nothing left."""
    return frozenset(
        broker
        for broker, burst in world.bursts.items()
        if burst.left_bytes < LEAST_BYTES and not _forgotten(burst, world.now)
    )


def _forgotten(burst: Burst, now: float) -> bool:
    return burst.used_at is not None and now - burst.used_at >= WINDOW_SECONDS


def drained(
    world: World, ahead: Mapping[BrokerId, tuple[float, float]], moment: float
) -> Mapping[BrokerId, Burst]:
    """What is left at a later moment; `ahead`: of each sending leader the most it may have, and bytes per second."""
    seconds, bursts = moment - world.now, world.bursts
    now = {
        broker: Burst(max(0.0, left(world, broker, most) - speed * seconds))
        for broker, (most, speed) in ahead.items()
        if speed > 0 or broker not in bursts or bursts[broker].used_at is not None
    }
    paused = {
        broker: Burst(burst.left_bytes, world.now)
        for broker, burst in bursts.items()
        if burst.used_at is None and broker not in ahead
    }
    return {**bursts, **now, **paused} if now or paused else bursts


def soonest_empty(world: World, ahead: Mapping[BrokerId, tuple[float, float]]) -> float:
    """Seconds until the next leader has nothing left; infinite where none is running out."""
    return min(
        (
            max(left(world, broker, most), LEAST_BYTES) / speed
            for broker, (most, speed) in ahead.items()
            if speed > 0
        ),
        default=float("inf"),
    )
