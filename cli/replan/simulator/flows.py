"""How fast each copy runs: followers share networks, disks and throttles fairly.

Here belongs one question: given who copies from whom, how many bytes per second does each get? What a throttle lets
through is in `quota`, what leaders send ahead of that in `bursts`, what in-sync traffic takes in `traffic`, the sharing
itself in `sharing`.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import NamedTuple

from replan.model.configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from replan.model.names import BrokerId, TopicPartition
from replan.simulator import bursts
from replan.simulator.config_view import rate_in_force
from replan.simulator.disks import lies_on_lost_disk
from replan.simulator.quota import leaving, passing, useful_share
from replan.simulator.retention import limits
from replan.simulator.sharing import fair_shares
from replan.simulator.state import ClusterState
from replan.simulator.traffic import Listed, Traffic
from replan.simulator.world import Lag, ReplicaName, Simulation, World

Link = tuple[str, BrokerId]
"""Something that copies share: the `out`, `in` or `disk` of one broker, or one of its two throttles by its list."""
RATE_KEYS = {LEADER_REPLICAS: LEADER_RATE, FOLLOWER_REPLICAS: FOLLOWER_RATE}


class Copy(NamedTuple):
    """One follower that fetches what it lacks."""

    partition: TopicPartition
    leader: BrokerId
    follower: BrokerId


def running_copies(cluster: ClusterState, world: World) -> list[Copy]:
    """The copies that move bytes now: leader and follower both serve, and the follower has begun to fetch."""
    absent = world.down.keys() | world.starting.keys()
    able = {b for b in cluster.brokers if b not in absent and cluster.active(b)}
    found, topics, now = [], cluster.topics, world.now
    for (name, follower), lag in world.lags.items():
        if lies_on_lost_disk(world, (name, follower)):
            continue
        if lag.fetches_from <= now and follower in able and name[0] in topics:
            partition = topics[name[0]].partitions.get(name[1])
            leader = None if partition is None else partition.leader
            if leader is not None and leader not in absent:
                found.append(Copy(name, leader, follower))
    return found


def running_copy(
    cluster: ClusterState, world: World, replica: ReplicaName, lag: Lag
) -> Copy | None:
    """The copy of one replica outside the ISR, if it moves bytes now."""
    if lag.fetches_from > world.now or lies_on_lost_disk(world, replica):
        return None
    name, follower = replica
    leader = leader_of(cluster, world, name)
    if leader is None or not world.serves(follower) or not cluster.active(follower):
        return None
    return Copy(name, leader, follower)


def leader_of(cluster: ClusterState, world: World, name: TopicPartition) -> BrokerId | None:
    """The leader of a partition, if its process serves."""
    partition = cluster.partition(name)
    if partition is None or partition.leader is None or not world.serves(partition.leader):
        return None
    return partition.leader


class Flows:
    """Tells speeds, and remembers what did not change since it was asked last: a memory, never a state."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.ahead: tuple[Simulation, float] | None = None
        """The next moment in which something happens, as `dynamics` has found it for a simulation."""
        self.ahead_of_rate: Mapping[BrokerId, tuple[float, float]] = {}
        """Of each leader that sends throttled bytes: the most that it may have left to send ahead of its even rate, and
        the bytes per second by which it does."""
        self.limits: Mapping[TopicPartition, float] = {}
        """Bytes to which retention lets the logs grow that are written to."""
        self._limited_by: tuple[object, ...] = ()
        self._at: tuple[object, ...] = ()
        self._copies: list[Copy] = []
        self._spent: frozenset[BrokerId] = frozenset()
        self._circumstances: tuple[object, ...] = ()
        self._speeds: Mapping[ReplicaName, float] = {}
        self._configs: tuple[object, ...] = ()
        self._rates: dict[Link, int | None] = {}
        self._lists: dict[tuple[str, str], Listed] = {}
        self._links: list[Link] = []
        self._leading: set[int] = set()
        self._network_of: dict[int, int] = {}
        self._numbers: dict[Link, int] = {}
        self._used: dict[Copy, tuple[int, ...]] = {}

    def speeds(self, simulation: Simulation) -> Mapping[ReplicaName, float]:
        """Bytes per second of each running copy that its follower can use."""
        cluster, world = simulation.cluster, simulation.world
        of = (world.lags, world.down, world.starting, world.produce, world.slow, world.speeds)
        at = (cluster, *of)
        if not identical(at, self._at):
            self._at = at
            self._ask_again(cluster, world)
        return self._speeds

    def _ask_again(self, cluster: ClusterState, world: World) -> None:
        limited_by = (cluster.configs, cluster.file_configs, world.produce)
        if not identical(limited_by, self._limited_by):
            self._limited_by, self.limits = limited_by, limits(cluster, world.produce)
        copies, spent = running_copies(cluster, world), bursts.spent(world)
        in_sync = self.traffic.count(cluster, world)
        circumstances = (in_sync, cluster.configs, world.slow, world.speeds)
        changed = copies != self._copies or spent != self._spent
        if changed or not identical(circumstances, self._circumstances):
            self._copies, self._spent, self._circumstances = copies, spent, circumstances
            self._speeds = self._shared(cluster, world, in_sync)

    def _shared(
        self, cluster: ClusterState, world: World, in_sync: Mapping[Link, float]
    ) -> Mapping[ReplicaName, float]:
        configs = (cluster.configs, cluster.file_configs, world.speeds)
        if not identical(configs, self._configs):
            self._configs, self._rates, self._lists, self._used = configs, {}, {}, {}
        links = [self._links_of(cluster, world, copy) for copy in self._copies]

        many = Counter(chain.from_iterable(links))
        wide = {number: self._width(world, in_sync, number, n) for number, n in many.items()}
        links = self._without_idle(links, many, wide)
        useful = useful_share(world.speeds.batch_bytes)
        shares = fair_shares(links, lambda number, _: wide[number])
        self.ahead_of_rate = dict(self._ahead(links, shares, in_sync))
        return {
            (copy.partition, copy.follower): share * useful
            for copy, share in zip(self._copies, shares, strict=True)
        }

    def _width(
        self, world: World, in_sync: Mapping[Link, float], number: int, copies: int
    ) -> float:
        """Bytes per second that so many copies get through a link together."""
        link = self._links[number]
        counted, rate = in_sync.get(link, 0.0), self._rates.get(link)
        if rate is None:
            return max(0.0, _hardware(world, link) - counted)
        if link[0] != LEADER_REPLICAS:
            return passing(rate, counted, copies, world.speeds.throttle_check_seconds)
        may_hurry = link[1] not in self._spent and bursts.full(rate, counted) > 0
        return math.inf if may_hurry else leaving(rate, counted, copies)

    def _without_idle(
        self, links: list[tuple[int, ...]], many: Mapping[int, int], wide: Mapping[int, float]
    ) -> list[tuple[int, ...]]:
        """The same without networks that hold up nobody: all their copies meet a throttle there that is no wider."""
        idle = {
            network
            for throttle, network in self._network_of.items()
            if many.get(throttle) == many.get(network, 0) and wide[throttle] <= wide[network]
        }
        if not idle:
            return links
        return [tuple([n for n in used if n not in idle]) for used in links]

    def _ahead(
        self, links: Sequence[Sequence[int]], shares: Sequence[float], in_sync: Mapping[Link, float]
    ) -> Iterator[tuple[BrokerId, tuple[float, float]]]:
        """What `ahead_of_rate` has."""
        sent: dict[int, float] = {}
        for used, share in zip(links, shares, strict=True):
            for number in used:
                if number in self._leading:
                    sent[number] = sent.get(number, 0.0) + share
        for number, speed in sent.items():
            leader, rate = self._links[number][1], self._rates[self._links[number]]
            counted = in_sync.get(self._links[number], 0.0)
            even = max(0.0, (rate or 0) - counted)
            gain = 0.0 if leader in self._spent else max(0.0, speed - even)
            yield leader, (bursts.full(rate or 0, counted), gain)

    def _links_of(self, cluster: ClusterState, world: World, copy: Copy) -> tuple[int, ...]:
        found = self._used.get(copy)
        if found is None:
            links = self._links_used(cluster, world, copy)
            found = self._used[copy] = tuple(self._number(link) for link in links)
        return found

    def _number(self, link: Link) -> int:
        if link not in self._numbers:
            number = self._numbers[link] = len(self._links)
            self._links.append(link)
            if link[0] in RATE_KEYS:
                network = "out" if link[0] == LEADER_REPLICAS else "in"
                self._network_of[number] = self._number((network, link[1]))
                self._leading.update([number] if network == "out" else [])
        return self._numbers[link]

    def _links_used(self, cluster: ClusterState, world: World, copy: Copy) -> Iterator[Link]:
        """The links that a copy uses; a throttle only where the replica is listed and a rate is in force."""
        yield ("out", copy.leader)
        yield ("in", copy.follower)
        if math.isfinite(world.speeds.disk_bytes_per_second):
            yield ("disk", copy.leader)
            yield ("disk", copy.follower)
        for link in ((LEADER_REPLICAS, copy.leader), (FOLLOWER_REPLICAS, copy.follower)):
            if link not in self._rates:
                self._rates[link] = rate_in_force(cluster, link[1], RATE_KEYS[link[0]])
            if self._rates[link] is not None and self._listed(cluster, copy.partition, link):
                yield link

    def _listed(self, cluster: ClusterState, name: TopicPartition, link: Link) -> bool:
        where = (name.topic, link[0])
        if where not in self._lists:
            self._lists[where] = Listed.of(cluster, *where)
        return self._lists[where].names(name.partition, link[1])


def identical(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    """Whether two tuples hold the very same values."""
    return len(some) == len(others) and all(map(is_, some, others))


def _hardware(world: World, link: Link) -> float:
    """Bytes per second of a broker's network, in one direction, or of its disks."""
    kind, broker = link
    if kind == "disk":
        return world.speeds.disk_bytes_per_second
    speed = world.speeds.network_bytes_per_second
    return min(speed, world.slow.get(broker, speed))
