"""The bytes that are written, and that followers in sync fetch: not slowed by throttles, but counted by them (KIP-73).

Here belongs the count of them, by broker and side, and which partitions have no leader. What consumers read is not
known and not counted. A count is kept for each topic, and done again only where the topic has changed: most moments of
a simulation change one partition of thousands.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct, field

from replan.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, ConfigResource, ConfigScope
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.physical_state import World
from replan.simulator.cluster.replication.quota import TRICKLE_BYTES_PER_SECOND
from replan.simulator.controller.state import (
    ClusterState,
    Partition,
    Topic,
    changed_configs,
    changed_partitions,
    identical,
)

TrafficSide = tuple[str, BrokerId]
"""One of the keys of throttled replicas, or `out`, `in`, `disk`, or `followed` (of `in`, what is no producer's), and a
broker."""


class ThrottledEntries(Struct, frozen=True):
    """A topic's throttled replicas of one side, as its value writes them."""

    entries: frozenset[str]

    @classmethod
    def of(cls, cluster: ClusterState, topic: str, key: str) -> "ThrottledEntries":
        """What the topic's dynamic configuration says."""
        return throttled_entries(cluster.configs.get((ConfigScope.TOPIC, topic), {}).get(key, ""))

    def names(self, partition: int, broker: BrokerId) -> bool:
        """Whether a replica is listed."""
        return "*" in self.entries or f"{partition}:{broker}" in self.entries


@lru_cache(maxsize=1_000)
def throttled_entries(value: str) -> ThrottledEntries:
    """Throttled replicas out of a topic's value."""
    return ThrottledEntries(frozenset(value.split(",")) if value else frozenset())


class _Counted(Struct, frozen=True):
    """What one partition contributes; whole bytes, so that sums are exact however often they are changed."""

    bytes_per_second: Mapping[TrafficSide, int] = field(default_factory=dict)
    leaderless: bool = False
    absent: tuple[BrokerId, ...] = ()
    """Followers in the ISR that do not serve, while something is written."""


NOT_COUNTED = _Counted()
ListTexts = tuple[str, str]
"""A topic's throttled replicas as its values write them, of leaders and of followers."""
NO_LISTS = ("", "")


class InSyncTraffic:
    """What a whole cluster writes and replicates in sync; counts again only what has changed."""

    def __init__(self) -> None:
        self._reset(())

    def _reset(self, rest: tuple[object, ...]) -> None:
        self._rest = rest
        self._configs: Mapping[ConfigResource, Mapping[str, str]] = {}
        self._lists: dict[str, ListTexts] = {}
        self._topics: Mapping[str, Topic] = {}
        self._counts: dict[TopicPartition, _Counted] = {}
        self._sums: Counter[TrafficSide] = Counter()
        self._behind: Mapping[ReplicaName, float] = {}
        self.leaderless: frozenset[TopicPartition] = frozenset()
        """The partitions whose leader does not serve, as last counted."""
        self.absent: frozenset[ReplicaName] = frozenset()
        """The followers in sync that do not serve and so get nothing of what is written, as last counted."""

    def count(self, cluster: ClusterState, world: World) -> Mapping[TrafficSide, float]:
        """Bytes per second that listed replicas in sync send (leader's key) and receive (follower's key).

        Also those that brokers send, receive and write of all partitions, listed or not.
        The very same mapping as before where nothing has changed.
        """
        rest = (world.produce, world.down, world.starting)
        if not identical(rest, self._rest) or self._misses_topic(cluster.topics):
            self._reset(rest)
        relisted = self._relisted(cluster)
        changed = dict(changed_partitions(self._topics, cluster.topics))
        for name in relisted | self._other_followers(world):
            if (partition := cluster.partition(name)) is not None:
                changed[name] = partition
        self._topics = cluster.topics
        self._become(
            {
                name: _counted(self._lists.get(name.topic, NO_LISTS), name, partition, world)
                for name, partition in changed.items()
            }
        )
        return self._sums

    def _other_followers(self, world: World) -> set[TopicPartition]:
        """The partitions of which a follower in sync has fallen behind since the last count, or caught up."""
        before, self._behind = self._behind, world.behind
        if before is world.behind:
            return set()
        return {name for name, _ in before.keys() ^ world.behind.keys()}

    def _misses_topic(self, topics: Mapping[str, Topic]) -> bool:
        """Whether a topic is gone, or is another one of the same name."""
        return topics is not self._topics and any(
            name not in topics or topics[name].id != counted.id
            for name, counted in self._topics.items()
        )

    def _relisted(self, cluster: ClusterState) -> set[TopicPartition]:
        """The partitions counted before whose throttled replicas are listed otherwise since then."""
        names: set[TopicPartition] = set()
        for scope, topic in changed_configs(self._configs, cluster.configs):
            if scope is ConfigScope.TOPIC:
                before, after = self._lists.get(topic, NO_LISTS), _lists(cluster, topic)
                self._lists[topic] = after
                counted = self._topics.get(topic)
                if before != after and counted is not None:
                    among = relisted(before, after) or counted.partitions
                    names.update(TopicPartition(topic, number) for number in among)
        self._configs = cluster.configs
        return names

    def _become(self, counted: Mapping[TopicPartition, _Counted]) -> None:
        before = {name: self._counts.get(name, NOT_COUNTED) for name in counted}
        self._counts |= counted
        differing = [
            n for n, c in counted.items() if c.bytes_per_second != before[n].bytes_per_second
        ]
        if differing:
            self._sums = self._sums.copy()
            for name in differing:
                for side, rate in before[name].bytes_per_second.items():
                    self._sums[side] -= rate
                for side, rate in counted[name].bytes_per_second.items():
                    self._sums[side] += rate
        led = {n for n, c in counted.items() if not c.leaderless and before[n].leaderless}
        unled = {n for n, c in counted.items() if c.leaderless and not before[n].leaderless}
        if led or unled:
            self.leaderless = (self.leaderless - led) | unled
        absent = {(n, b) for n, c in counted.items() for b in c.absent}
        if absent or any(before[n].absent for n in counted):
            self.absent = frozenset({r for r in self.absent if r[0] not in counted} | absent)


def _lists(cluster: ClusterState, topic: str) -> ListTexts:
    """The throttled replicas of both sides of a topic."""
    values = cluster.configs.get((ConfigScope.TOPIC, topic), {})
    return values.get(LEADER_REPLICAS, ""), values.get(FOLLOWER_REPLICAS, "")


def relisted(before: ListTexts, after: ListTexts) -> set[int]:
    """The partitions of a topic that its two lists, which differ, name otherwise; none where that may be any."""
    numbers: set[int] = set()
    for was, now in zip(before, after, strict=True):
        for entry in throttled_entries(was).entries ^ throttled_entries(now).entries:
            number = entry.partition(":")[0]
            if not number.isdecimal():
                return set()
            numbers.add(int(number))
    return numbers


def _counted(
    lists: ListTexts, name: TopicPartition, partition: Partition, world: World
) -> _Counted:
    leader = partition.leader
    if leader is None or not world.serves(leader):
        return _Counted(leaderless=True)
    rate = round(world.produce.get(name, 0.0))
    in_step = followers_in_step(name, partition, world)
    followers = [b for b in in_step if world.serves(b)]
    throughput = dict(_throughput(leader, followers, rate)) if rate else dict[TrafficSide, int]()
    if lists != NO_LISTS:
        throughput.update(dict(_listed(lists, name, leader, followers, rate)))
    if rate and len(followers) < len(in_step):
        return _Counted(throughput, absent=tuple(b for b in in_step if b not in followers))
    return _Counted(throughput) if throughput else NOT_COUNTED


def followers_in_step(name: TopicPartition, partition: Partition, world: World) -> list[BrokerId]:
    """The followers in the ISR that are not behind."""
    followers = [b for b in partition.isr if b != partition.leader]
    if not world.behind:
        return followers
    return [b for b in followers if (name, b) not in world.behind]


def _throughput(
    leader: BrokerId, followers: Collection[BrokerId], rate: int
) -> Iterator[tuple[TrafficSide, int]]:
    """What producing takes of networks and disks; followers read it out of their leader's memory."""
    yield ("in", leader), rate
    yield ("out", leader), rate * len(followers)
    yield ("disk", leader), rate
    for follower in followers:
        yield ("in", follower), rate
        yield ("followed", follower), rate
        yield ("disk", follower), rate


def _listed(
    lists: ListTexts,
    name: TopicPartition,
    leader: BrokerId,
    followers: Collection[BrokerId],
    rate: int,
) -> Iterator[tuple[TrafficSide, int]]:
    """What the throttles of a partition's listed replicas count."""
    leaders, followers_listed = map(throttled_entries, lists)
    if leaders.names(name.partition, leader):
        yield (LEADER_REPLICAS, leader), len(followers) * (rate or TRICKLE_BYTES_PER_SECOND)
    for follower in followers:
        if rate and followers_listed.names(name.partition, follower):
            yield (FOLLOWER_REPLICAS, follower), rate
