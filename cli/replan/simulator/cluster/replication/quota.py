"""What Kafka's replication quotas let through, in bytes per second.

Here belong the facts about the window by which brokers count (KIP-73; ReplicationQuotaManager, SimpleRate, SampledStat)
and about the fetches that meet it. Not here: who meets which quota (`copy_rates`).

A broker's quota is exceeded while the bytes in its window, divided by the window's age (at least a second), are more
than the rate. A sample is forgotten 11 s after its last bytes. Nothing is cut to fit: each fetch is let through whole
or not at all, and is counted afterwards. What follows from that:

* A throttled copy goes on only at the next request. Inside the window lateness is made up for, but when the
  window moves on, one such delay is lost.
* However low the rate, one fetch passes whenever the window has become empty. On real brokers (4.3.1) a follower's
  rate of 1 B/s let 900,160 bytes pass every 11.0 s.
* A leader notes every answer to a follower, be it of no listed replica and of zero bytes (KafkaApis), so its window is
  always eleven seconds old: the bytes of eleven seconds pass at once, then none until the window has moved on. On real
  brokers (4.3.1), at 6 MB/s and nothing else in the way, three copies of 50 MB went on at 0, 11.0 and 22.0 s and stood
  still in between, 22.5 s together. A follower's window begins with its first throttled bytes.
* A leader counts whole answers, empty ones to in-sync followers too (KafkaApis.sizeOfThrottledPartitions). That trickle
  never ends, so a leader's rate below it holds a copy for ever.
* A fetch that ends inside a batch brings bytes that the follower throws away (UnifiedLog.trimInvalidBytes) and fetches
  again; both sides count them.

To follow each step of a leader's window would cost a simulated week millions of events. Between two steps an even flow
lags behind by between a whole window and nothing, by half a window on average: so half a window's bytes are let through
ahead of it (`Burst`), once, until the leader has sent nothing throttled for a whole window.
"""

from collections.abc import Mapping

from replan.model.configs import ConfigScope
from replan.model.names import BrokerId
from replan.simulator.cluster.physical_state import Burst, World
from replan.simulator.controller.state import CLUSTER_DEFAULT, ClusterState

WINDOW_SECONDS = 11.0
"""replication.quota.window.num (11) of replication.quota.window.size.seconds (1)."""
REPLICA_FETCH_BYTES = 1_048_576
"""replica.fetch.max.bytes: of one partition in one fetch."""
RESPONSE_BYTES = 10_485_760
"""replica.fetch.response.max.bytes: of all partitions in one fetch."""
TRICKLE_BYTES_PER_SECOND = 160
"""Empty answers of some 80 bytes, each after replica.fetch.wait.max.ms (0.5 s)."""


def rate_in_force(state: ClusterState, broker: BrokerId, key: str) -> int | None:
    """The rate that a broker applies, bytes per second: dynamic values only (ConfigHandler, KIP-73)."""
    for resource in ((ConfigScope.BROKER, str(broker)), CLUSTER_DEFAULT):
        if (value := state.configs.get(resource, {}).get(key)) is not None:
            return int(value)
    return None


def passing_rate(rate: float, counted: float, copies: int, check_seconds: float) -> float:
    """Bytes per second that copies get through a follower's quota, of which in-sync traffic has `counted` already."""
    left = rate - counted
    if left < 0:
        return 0.0
    round_trip = WINDOW_SECONDS + check_seconds
    least = min(copies * REPLICA_FETCH_BYTES, RESPONSE_BYTES) / round_trip
    return max(left * WINDOW_SECONDS / round_trip, least)


def leaving(rate: float, counted: float, copies: int) -> float:
    """Bytes per second that a leader's quota lets leave on average, of which in-sync traffic has `counted` already.

    Its answers are asked for all the time, so the window moves on without a delay.
    """
    left = rate - counted
    if left < 0:
        return 0.0
    return max(left, min(copies * REPLICA_FETCH_BYTES, RESPONSE_BYTES) / WINDOW_SECONDS)


def useful_share(batch_bytes: float) -> float:
    """The part of a fetch that is whole batches; the first batch comes whole, however large (minOneMessage)."""
    if batch_bytes >= REPLICA_FETCH_BYTES:
        return 1.0
    return REPLICA_FETCH_BYTES // batch_bytes * batch_bytes / REPLICA_FETCH_BYTES


LEAST_BYTES = 1.0
"""Less than this is nothing left."""


def full(rate: float, counted: float) -> float:
    """Bytes that a leader may send ahead after a pause; in-sync traffic has `counted` bytes per second of its rate."""
    return max(0.0, rate - counted) * WINDOW_SECONDS / 2


def bytes_left_to_send(world: World, broker: BrokerId, most: float) -> float:
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
        broker: Burst(max(0.0, bytes_left_to_send(world, broker, most) - speed * seconds))
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
            max(bytes_left_to_send(world, broker, most), LEAST_BYTES) / speed
            for broker, (most, speed) in ahead.items()
            if speed > 0
        ),
        default=float("inf"),
    )
