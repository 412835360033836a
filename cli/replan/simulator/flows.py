"""How fast each copy runs: followers share networks and throttles fairly.

Here belongs one question: given who copies from whom, how many bytes per second does each get? Copies share each
broker's network and, where their replicas are listed, its throttle rates (KIP-73), max-min fairly: no copy gets more
while another that shares its bottleneck gets less.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigScope,
)
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.config_view import rate_in_force
from replan.simulator.state import ClusterState
from replan.simulator.world import ReplicaName, World

Link = tuple[str, BrokerId]
"""Something that copies share: `out`, `in`, `disk`, `leader throttle`, `follower throttle` of one broker."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One follower that fetches what it lacks."""

    partition: TopicPartition
    leader: BrokerId
    follower: BrokerId


def running_copies(cluster: ClusterState, world: World) -> list[Copy]:
    """The copies that move bytes now: leader and follower both serve, and the follower has begun to fetch."""
    return [
        Copy(name, leader, follower)
        for (name, follower), lag in world.lags.items()
        if lag.fetches_from <= world.now
        and (leader := leader_of(cluster, world, name)) is not None
        and world.serves(follower)
        and cluster.active(follower)
    ]


def leader_of(cluster: ClusterState, world: World, name: TopicPartition) -> BrokerId | None:
    """The leader of a partition, if its process serves."""
    partition = cluster.partition(name)
    if partition is None or partition.leader is None or not world.serves(partition.leader):
        return None
    return partition.leader


def speeds_of(cluster: ClusterState, world: World) -> Mapping[ReplicaName, float]:
    """Bytes per second of each running copy."""
    copies = running_copies(cluster, world)
    throttles = _Throttles(cluster, world)
    links = {copy: tuple(throttles.links(copy)) for copy in copies}
    shares = _fair_shares(links, throttles.capacity)
    return {(copy.partition, copy.follower): share for copy, share in shares.items()}


def _fair_shares(
    links: Mapping[Copy, tuple[Link, ...]], capacity: Callable[[Link], float]
) -> dict[Copy, float]:
    """Fill all copies evenly; whoever meets a full link stays at what it has (progressive filling)."""
    users: dict[Link, dict[Copy, None]] = {}
    for copy, used in links.items():
        for link in used:
            users.setdefault(link, {})[copy] = None
    left = {link: capacity(link) for link in users}
    shares: dict[Copy, float] = {}
    while users:
        tightest = min(users, key=lambda link: (left[link] / len(users[link]), link))
        share = left[tightest] / len(users[tightest])
        for copy in list(users[tightest]):
            shares[copy] = share
            for link in links[copy]:
                left[link] = max(0.0, left[link] - share)
                del users[link][copy]
        users = {link: copies for link, copies in users.items() if copies}
    return shares


class _Throttles:
    """Which links a copy uses, and how wide they are; looked up once per question."""

    def __init__(self, cluster: ClusterState, world: World) -> None:
        self._cluster = cluster
        self._world = world
        self._lists: dict[tuple[str, str], frozenset[str]] = {}
        self._in_sync: dict[Link, float] | None = None

    def links(self, copy: Copy) -> Iterator[Link]:
        """The links that a copy uses; a throttle only where the replica is listed and a rate is in force."""
        yield ("out", copy.leader)
        yield ("in", copy.follower)
        if math.isfinite(self._world.speeds.disk_bytes_per_second):
            yield ("disk", copy.leader)
            yield ("disk", copy.follower)
        if self._throttled(LEADER_REPLICAS, LEADER_RATE, copy.partition, copy.leader):
            yield ("leader throttle", copy.leader)
        if self._throttled(FOLLOWER_REPLICAS, FOLLOWER_RATE, copy.partition, copy.follower):
            yield ("follower throttle", copy.follower)

    def capacity(self, link: Link) -> float:
        """Bytes per second of a link; bytes of listed replicas in sync count against a throttle too."""
        kind, broker = link
        if kind in {"out", "in"}:
            speed = self._world.speeds.network_bytes_per_second
            return min(speed, self._world.slow.get(broker, speed))
        if kind == "disk":
            return self._world.speeds.disk_bytes_per_second
        key = LEADER_RATE if kind == "leader throttle" else FOLLOWER_RATE
        rate = rate_in_force(self._cluster, broker, key) or 0
        return max(0.0, rate - self._in_sync_traffic().get(link, 0.0))

    def _in_sync_traffic(self) -> dict[Link, float]:
        if self._in_sync is None:
            self._in_sync = {}
            for name, rate in self._world.produce.items():
                self._count_in_sync(name, rate)
        return self._in_sync

    def _count_in_sync(self, name: TopicPartition, rate: float) -> None:
        partition = self._cluster.partition(name)
        if partition is None or partition.leader is None or self._in_sync is None:
            return
        followers = [b for b in partition.isr if b != partition.leader]
        if self._listed(LEADER_REPLICAS, name, partition.leader):
            link = ("leader throttle", partition.leader)
            self._in_sync[link] = self._in_sync.get(link, 0.0) + rate * len(followers)
        for follower in followers:
            if self._listed(FOLLOWER_REPLICAS, name, follower):
                link = ("follower throttle", follower)
                self._in_sync[link] = self._in_sync.get(link, 0.0) + rate

    def _throttled(self, lists: str, rates: str, name: TopicPartition, broker: BrokerId) -> bool:
        rate = rate_in_force(self._cluster, broker, rates)
        return rate is not None and self._listed(lists, name, broker)

    def _listed(self, key: str, name: TopicPartition, broker: BrokerId) -> bool:
        if (name.topic, key) not in self._lists:
            values = self._cluster.configs.get((ConfigScope.TOPIC, name.topic), {})
            self._lists[name.topic, key] = frozenset(values.get(key, "").split(","))
        entries = self._lists[name.topic, key]
        return "*" in entries or f"{name.partition}:{broker}" in entries
