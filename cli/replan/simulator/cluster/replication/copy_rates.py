"""How fast each copy runs: followers share networks, disks and throttles fairly.

Given who copies from whom, how many bytes per second does each copy get? Shares are max-min fair: no copy gets more
while another that shares its bottleneck gets less. Links and copies are numbers in that arithmetic, since a long
simulation asks it tens of thousands of times. What a throttle lets through, and what leaders send ahead of that, is in
`quota`; what in-sync traffic takes is in `traffic`.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import chain
from typing import NamedTuple

from replan.model.configs import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigResource,
    ConfigScope,
)
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import lies_on_lost_disk
from replan.simulator.cluster.physical_state import Lag, Simulation, World
from replan.simulator.cluster.replication import quota
from replan.simulator.cluster.replication.log_growth import limits
from replan.simulator.cluster.replication.quota import (
    leaving,
    passing_rate,
    rate_in_force,
    useful_share,
)
from replan.simulator.cluster.replication.traffic import (
    InSyncTraffic,
    ThrottledEntries,
    followers_in_step,
)
from replan.simulator.controller.state import ClusterState, changed_configs, identical


def fair_shares(links: Sequence[Sequence[int]], wide: Mapping[int, float]) -> list[float]:
    """Fill all copies evenly; whoever meets a full link stays at what it has (progressive filling).

    A copy is given by the links that it uses, at least one; `wide` is what each link carries. A link's fair share never
    shrinks while copies elsewhere are filled, so a heap with outdated entries finds the tightest link: one that has
    grown since it was put there goes back.
    """
    users: list[list[int]] = [[] for _ in range(1 + max(wide, default=-1))]
    for copy, used in enumerate(links):
        for link in used:
            users[link].append(copy)
    count = [len(copies) for copies in users]
    left = [wide[link] if many else 0.0 for link, many in enumerate(count)]
    waiting = [(left[link] / many, link) for link, many in enumerate(count) if many]
    heapify(waiting)
    shares = [-1.0] * len(links)
    while waiting:
        share, link = waiting[0]
        now = left[link] / count[link] if count[link] else share
        now = now if now > 0 else 0.0
        if now > share:
            heapreplace(waiting, (now, link))
            continue
        heappop(waiting)
        for copy in users[link]:
            if shares[copy] < 0:
                shares[copy] = now
                for other in links[copy]:
                    left[other] -= now
                    count[other] -= 1
    return shares


SharedLink = tuple[str, BrokerId]
"""Something that copies share: the `out`, `in` or `disk` of one broker, or one of its two throttles by its list."""
RATE_KEYS = {LEADER_REPLICAS: LEADER_RATE, FOLLOWER_REPLICAS: FOLLOWER_RATE}
NETWORKS = {LEADER_REPLICAS: "out", FOLLOWER_REPLICAS: "in"}
"""What the throttled bytes of each list pass."""


class Copy(NamedTuple):
    """A replica that fetches what it lacks, from whom, and what that uses; the same object while none of it changes."""

    replica: ReplicaName
    leader: BrokerId
    links: tuple[int, ...]
    throttle: int
    """The number of its leader's throttle; -1 where it meets none."""


def fetching(
    cluster: ClusterState, world: World, lags: Mapping[ReplicaName, Lag]
) -> Iterator[tuple[ReplicaName, BrokerId]]:
    """Which of these replicas fetch now, each with its leader: both serve, and the follower has begun to."""
    absent = world.down.keys() | world.starting.keys()
    able = {b for b in cluster.brokers if b not in absent and cluster.active(b)}
    topics, now, lost_dirs = cluster.topics, world.now, world.lost_dirs
    for replica, lag in lags.items():
        (topic, number), follower = replica
        if lag.fetches_from > now or follower not in able or topic not in topics:
            continue
        partition = topics[topic].partitions.get(number)
        leader = None if partition is None else partition.leader
        if leader is None or leader in absent:
            continue
        if lost_dirs and lies_on_lost_disk(world, replica):
            continue
        yield replica, leader


def leader_of(cluster: ClusterState, world: World, name: TopicPartition) -> BrokerId | None:
    """The leader of a partition, if its process serves."""
    partition = cluster.partition(name)
    if partition is None or partition.leader is None or not world.serves(partition.leader):
        return None
    return partition.leader


class CopyRates:
    """Bytes per second of each copy; remembers what did not change since it was asked last: a memory, never a state."""

    def __init__(self) -> None:
        self.traffic = InSyncTraffic()
        self.ahead_of_rate: Mapping[BrokerId, tuple[float, float]] = {}
        """Of each leader that sends throttled bytes: the most that it may have left to send ahead of its even rate, and
        the bytes per second by which it does."""
        self.limits: Mapping[TopicPartition, float] = {}
        """Bytes to which retention lets the logs grow that are written to."""
        self._limited_by: tuple[object, ...] = ()
        # The answer, the states that it holds for, and what it was worked out from.
        self._rates: Mapping[ReplicaName, float] = {}
        self._at: tuple[object, ...] = ()
        self._copies: list[Copy] = []
        self._spent: frozenset[BrokerId] = frozenset()
        self._in_sync: Mapping[SharedLink, float] = {}
        self._circumstances: tuple[object, ...] = ()
        # What rests on configurations: the copy of each replica, the throttle's rate of each link.
        self._configs: Mapping[ConfigResource, Mapping[str, str]] = {}
        self._rest: tuple[object, ...] = ()
        self._copy_of: dict[ReplicaName, Copy] = {}
        self._throttle_rates: dict[SharedLink, int | None] = {}
        # Links by number, the network that each throttle's bytes pass, and what a link carries.
        self._links: list[SharedLink] = []
        self._numbers: dict[SharedLink, int] = {}
        self._network_of: dict[int, int] = {}
        self._widths: dict[tuple[int, int, float, bool], float] = {}

    def of(self, simulation: Simulation) -> Mapping[ReplicaName, float]:
        """Bytes per second of each copy that its follower can use."""
        cluster, world = simulation.cluster, simulation.world
        of = (world.lags, world.down, world.starting, world.produce, world.slow, world.speeds)
        at = (cluster, *of)
        if not identical(at, self._at):
            self._at = at
            self._ask_again(cluster, world)
        return self._rates

    def left_behind(self, simulation: Simulation) -> list[ReplicaName]:
        """The followers in sync that get less than is written from now on: dead ones, and those of slow brokers."""
        self.of(simulation)
        cluster, world = simulation.cluster, simulation.world
        behind = [*sorted(self.traffic.absent)]
        if world.slow:
            behind += _outrun(cluster, world, self._in_sync)
        return behind

    def _ask_again(self, cluster: ClusterState, world: World) -> None:
        limited_by = (cluster.configs, cluster.file_configs, world.produce)
        if not identical(limited_by, self._limited_by):
            self._limited_by, self.limits = limited_by, limits(cluster, world.produce)
        self._forget_changed(cluster, world)
        copies, spent = self._running(cluster, world), quota.spent(world)
        in_sync = self._in_sync = self.traffic.count(cluster, world)
        circumstances = (in_sync, self._throttle_rates, world.slow, world.speeds)
        if not identical(circumstances[1:], self._circumstances[1:]):
            self._widths = {}
        changed = copies != self._copies or spent != self._spent
        if changed or not identical(circumstances, self._circumstances):
            self._copies, self._spent, self._circumstances = copies, spent, circumstances
            self._rates = self._shared(world, in_sync)

    def _forget_changed(self, cluster: ClusterState, world: World) -> None:
        """Forget what rests on a configuration that has changed: all where a rate may have, else listed replicas."""
        changed = set(changed_configs(self._configs, cluster.configs))
        self._configs = cluster.configs
        rest = (cluster.file_configs, world.speeds)
        topics = {name for scope, name in changed if scope is ConfigScope.TOPIC}
        if len(topics) < len(changed) or not identical(rest, self._rest):
            self._rest, self._throttle_rates, self._copy_of = rest, {}, {}
        elif topics:
            self._copy_of = {
                r: copy for r, copy in self._copy_of.items() if r[0].topic not in topics
            }

    def _running(self, cluster: ClusterState, world: World) -> list[Copy]:
        copies, copy_of = [], self._copy_of
        for replica, leader in fetching(cluster, world, world.lags):
            copy = copy_of.get(replica)
            if copy is None or copy.leader != leader:
                copy = copy_of[replica] = self._using(cluster, world, replica, leader)
            copies.append(copy)
        return copies

    def _shared(
        self, world: World, in_sync: Mapping[SharedLink, float]
    ) -> Mapping[ReplicaName, float]:
        links = [copy.links for copy in self._copies]
        many = Counter(chain.from_iterable(links))
        wide = self._widths_of(world, in_sync, many)
        links = self._without_idle(links, many, wide)
        useful = useful_share(world.speeds.batch_bytes)
        shares = fair_shares(links, wide)
        self.ahead_of_rate = dict(self._ahead(shares, in_sync))
        return {
            copy.replica: share * useful for copy, share in zip(self._copies, shares, strict=True)
        }

    def _widths_of(
        self, world: World, in_sync: Mapping[SharedLink, float], many: Mapping[int, int]
    ) -> dict[int, float]:
        """Bytes per second that so many copies get through each link together, beside what is counted in it."""
        links, widths, spent, wide = self._links, self._widths, self._spent, dict[int, float]()
        for number, copies in many.items():
            link = links[number]
            counted = in_sync.get(link, 0.0)
            key = (number, copies, counted, link[1] in spent)
            if key not in widths:
                widths[key] = self._measured(world, counted, link, copies)
            wide[number] = widths[key]
        return wide

    def _measured(self, world: World, counted: float, link: SharedLink, copies: int) -> float:
        rate = self._throttle_rates.get(link)
        if rate is None:
            return max(0.0, _hardware(world, link) - counted)
        if link[0] != LEADER_REPLICAS:
            return passing_rate(rate, counted, copies, world.speeds.throttle_check_seconds)
        may_hurry = link[1] not in self._spent and quota.full(rate, counted) > 0
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
        self, shares: Sequence[float], in_sync: Mapping[SharedLink, float]
    ) -> Iterator[tuple[BrokerId, tuple[float, float]]]:
        """What `ahead_of_rate` has."""
        sent: dict[int, float] = {}
        for copy, share in zip(self._copies, shares, strict=True):
            if copy.throttle >= 0:
                sent[copy.throttle] = sent.get(copy.throttle, 0.0) + share
        for number, speed in sent.items():
            if self._links[number][1] in self._spent:
                yield self._links[number][1], (math.inf, 0.0)
                continue
            leader, rate = self._links[number][1], self._throttle_rates[self._links[number]]
            counted = in_sync.get(self._links[number], 0.0)
            even = max(0.0, (rate or 0) - counted)
            yield leader, (quota.full(rate or 0, counted), max(0.0, speed - even))

    def _using(
        self, cluster: ClusterState, world: World, replica: ReplicaName, leader: BrokerId
    ) -> Copy:
        links = list(self._links_used(cluster, world, replica, leader))
        throttled = (LEADER_REPLICAS, leader) in links
        throttle = self._number((LEADER_REPLICAS, leader)) if throttled else -1
        return Copy(replica, leader, tuple(self._number(link) for link in links), throttle)

    def _number(self, link: SharedLink) -> int:
        if link not in self._numbers:
            number = self._numbers[link] = len(self._links)
            self._links.append(link)
            if link[0] in NETWORKS:
                self._network_of[number] = self._number((NETWORKS[link[0]], link[1]))
        return self._numbers[link]

    def _links_used(
        self, cluster: ClusterState, world: World, replica: ReplicaName, leader: BrokerId
    ) -> Iterator[SharedLink]:
        """The links that a copy uses; a throttle only where the replica is listed and a rate is in force."""
        (topic, number), follower = replica
        yield ("out", leader)
        yield ("in", follower)
        if math.isfinite(world.speeds.disk_bytes_per_second):
            yield ("disk", leader)
            yield ("disk", follower)
        for link in ((LEADER_REPLICAS, leader), (FOLLOWER_REPLICAS, follower)):
            key, broker = link
            if link not in self._throttle_rates:
                self._throttle_rates[link] = rate_in_force(cluster, broker, RATE_KEYS[key])
            limited = self._throttle_rates[link] is not None
            if limited and ThrottledEntries.of(cluster, topic, key).names(number, broker):
                yield link


def _outrun(
    cluster: ClusterState, world: World, in_sync: Mapping[SharedLink, float]
) -> Iterator[ReplicaName]:
    """The followers in sync for whose share of a slow network too much is written.

    Other networks carry what is written: that their brokers are in sync says more than any speed that is assumed.
    """
    tight = dict(_tight(world, in_sync))
    if not tight:
        return
    numbers = {link: number for number, link in enumerate(tight)}
    wide: dict[int, float] = dict(enumerate(tight.values()))
    flows, links = list[tuple[ReplicaName, float]](), list[tuple[int, ...]]()
    for name, partition in cluster.partitions():
        rate, leader = world.produce.get(name, 0.0), leader_of(cluster, world, name)
        if not round(rate) or leader is None:
            continue
        for follower in followers_in_step(name, partition, world):
            used = [numbers[of] for of in (("out", leader), ("in", follower)) if of in numbers]
            if used:
                wide[len(wide)] = rate
                flows.append(((name, follower), rate))
                links.append((*used, len(wide) - 1))
    for (replica, rate), share in zip(flows, fair_shares(links, wide), strict=True):
        if share < rate:
            yield replica


def _tight(world: World, in_sync: Mapping[SharedLink, float]) -> Iterator[tuple[SharedLink, float]]:
    """Slow networks that followers in sync ask too much of, and what they have for them: producers come first."""
    for broker in world.slow:
        into, out, followed = (
            in_sync.get((kind, broker), 0.0) for kind in ("in", "out", "followed")
        )
        for link, wanted, taken in (
            (("in", broker), followed, into - followed),
            (("out", broker), out, 0.0),
        ):
            room = max(0.0, _hardware(world, link) - taken)
            if wanted > room:
                yield link, room


def _hardware(world: World, link: SharedLink) -> float:
    """Bytes per second of a broker's network, in one direction, or of its disks."""
    kind, broker = link
    if kind == "disk":
        return world.speeds.disk_bytes_per_second
    speed = world.speeds.network_bytes_per_second
    return min(speed, world.slow.get(broker, speed))
