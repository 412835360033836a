"""The bytes that are written, and that followers in sync fetch: not slowed by throttles, but counted by them (KIP-73).

Here belongs the count of them, by broker and side, and which partitions nobody leads. What consumers read is not known
and not counted. A count is kept for each topic, and done again only where the topic has changed: most moments of a
simulation change one partition of thousands.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import is_not

from replan.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.physical_state import World
from replan.simulator.cluster.replication.quota import TRICKLE_BYTES_PER_SECOND
from replan.simulator.controller.state import ClusterState, Partition, Topic

Side = tuple[str, BrokerId]
"""One of the keys of throttled replicas, or `out`, `in` or `disk`, and a broker."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A topic's throttled replicas of one side, as its value writes them."""

    entries: frozenset[str]

    @classmethod
    def of(cls, cluster: ClusterState, topic: str, key: str) -> "Listed":
        """What the topic's dynamic configuration says."""
        value = cluster.configs.get((ConfigScope.TOPIC, topic), {}).get(key, "")
        return cls(frozenset(value.split(",")) if value else frozenset())

    def names(self, partition: int, broker: BrokerId) -> bool:
        """Whether a replica is listed."""
        return "*" in self.entries or f"{partition}:{broker}" in self.entries


@dataclass(frozen=True, slots=True)
class _Counted:
    """What one partition contributes; whole bytes, so that sums are exact however often they are changed."""

    bytes_per_second: Mapping[Side, int] = field(default_factory=dict)
    leaderless: bool = False


NOTHING = _Counted()


class Traffic:
    """In-sync traffic of a whole cluster; counts again only what has changed."""

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        self._known: dict[TopicPartition, _Counted] = {}
        self._rest: tuple[object, ...] = ()
        self._sums: Counter[Side] = Counter()
        self.leaderless: frozenset[TopicPartition] = frozenset()
        """The partitions whose leader does not serve, as last counted."""

    def count(self, cluster: ClusterState, world: World) -> Mapping[Side, float]:
        """Bytes per second that listed replicas in sync send (leader's key) and receive (follower's key).

        Also those that brokers send, receive and write of all partitions, listed or not.
        The very same mapping as before where nothing has changed.
        """
        rest = (cluster.configs, world.produce, world.down, world.starting)
        if len(rest) != len(self._rest) or any(map(is_not, rest, self._rest)):
            self._rest, self._topics, self._known = rest, {}, {}
            self._sums, self.leaderless = Counter(), frozenset()
        for name in [n for n in self._topics if n not in cluster.topics]:
            self._forget(name, self._topics.pop(name).partitions)
        for name, topic in cluster.topics.items():
            if self._topics.get(name) is not topic:
                self._look_at(cluster, world, name)
        return self._sums

    def _look_at(self, cluster: ClusterState, world: World, topic: str) -> None:
        before, now = self._topics.get(topic), cluster.topics[topic]
        self._topics[topic] = now
        sides = _sides(cluster, topic)
        if before is not None:
            self._forget(topic, before.partitions.keys() - now.partitions.keys())
        for number, partition in now.partitions.items():
            if before is None or before.partitions.get(number) is not partition:
                name = TopicPartition(topic, number)
                self._become(name, _counted(sides, name, partition, world))

    def _forget(self, topic: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            name = TopicPartition(topic, number)
            self._become(name, NOTHING)

    def _become(self, name: TopicPartition, found: _Counted) -> None:
        before = self._known.pop(name, NOTHING)
        if found != NOTHING:
            self._known[name] = found
        if found.bytes_per_second != before.bytes_per_second:
            sums = self._sums.copy()
            sums.subtract(before.bytes_per_second)
            sums.update(found.bytes_per_second)
            self._sums = sums
        if found.leaderless and not before.leaderless:
            self.leaderless |= {name}
        elif before.leaderless and not found.leaderless:
            self.leaderless -= {name}


def _sides(cluster: ClusterState, topic: str) -> Mapping[str, Listed]:
    keys = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
    found = {key: Listed.of(cluster, topic, key) for key in keys}
    return found if any(listed.entries for listed in found.values()) else {}


def _counted(
    sides: Mapping[str, Listed], name: TopicPartition, partition: Partition, world: World
) -> _Counted:
    leader = partition.leader
    if leader is None or not world.serves(leader):
        return _Counted(leaderless=True)
    rate = round(world.produce.get(name, 0.0))
    followers = [b for b in partition.isr if b != leader and world.serves(b)]
    found = dict(_throughput(leader, followers, rate)) if rate else dict[Side, int]()
    if sides:
        found.update(dict(_listed(sides, name, leader, followers, rate)))
    return _Counted(found) if found else NOTHING


def _throughput(
    leader: BrokerId, followers: Collection[BrokerId], rate: int
) -> Iterator[tuple[Side, int]]:
    """What producing takes of networks and disks; followers read it out of their leader's memory."""
    yield ("in", leader), rate
    yield ("out", leader), rate * len(followers)
    yield ("disk", leader), rate
    for follower in followers:
        yield ("in", follower), rate
        yield ("disk", follower), rate


def _listed(
    sides: Mapping[str, Listed],
    name: TopicPartition,
    leader: BrokerId,
    followers: Collection[BrokerId],
    rate: int,
) -> Iterator[tuple[Side, int]]:
    """What the throttles of a partition's listed replicas count."""
    if sides[LEADER_REPLICAS].names(name.partition, leader):
        yield (LEADER_REPLICAS, leader), len(followers) * (rate or TRICKLE_BYTES_PER_SECOND)
    for follower in followers:
        if rate and sides[FOLLOWER_REPLICAS].names(name.partition, follower):
            yield (FOLLOWER_REPLICAS, follower), rate
