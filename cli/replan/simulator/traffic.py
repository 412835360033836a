"""The bytes that followers in sync fetch: not slowed by throttles, but counted by them (KIP-73).

Here belongs the count of them, by broker and side, and which partitions nobody leads. A count is kept for each topic,
and done again only where the topic has changed: most moments of a simulation change one partition of thousands.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from operator import is_not

from replan.model.configs import FOLLOWER_REPLICAS, LEADER_REPLICAS, ConfigScope
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.quota import TRICKLE_BYTES_PER_SECOND
from replan.simulator.state import ClusterState, Partition, Topic
from replan.simulator.world import World

Side = tuple[str, BrokerId]
"""One of the keys of throttled replicas, and a broker."""


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
class _OfTopic:
    """What one topic contributes, and from what that was counted; whole bytes, so that sums are exact."""

    topic: Topic | None = None
    bytes_per_second: Mapping[Side, int] = field(default_factory=dict)
    leaderless: frozenset[TopicPartition] = frozenset()


class Traffic:
    """In-sync traffic of a whole cluster; remembers each topic's until it changes."""

    def __init__(self) -> None:
        self._known: dict[str, _OfTopic] = {}
        self._rest: tuple[object, ...] = ()
        self._sums: Counter[Side] = Counter()
        self.leaderless: frozenset[TopicPartition] = frozenset()
        """The partitions whose leader does not serve, as last counted."""

    def count(self, cluster: ClusterState, world: World) -> Mapping[Side, float]:
        """Bytes per second that listed replicas in sync send (leader's key) and receive (follower's key).

        The very same mapping as before where nothing has changed.
        """
        rest = (cluster.configs, world.produce, world.down, world.starting)
        if len(rest) != len(self._rest) or any(map(is_not, rest, self._rest)):
            self._rest, self._known, self._sums = rest, {}, Counter()
            self.leaderless = frozenset()
        for name in [n for n in self._known if n not in cluster.topics]:
            self._become(name, _OfTopic())
            del self._known[name]
        for name, topic in cluster.topics.items():
            known = self._known.get(name)
            if known is None or known.topic is not topic:
                self._become(name, _counted(cluster, world, name))
        return self._sums

    def _become(self, name: str, found: _OfTopic) -> None:
        before = self._known.get(name, _OfTopic())
        self._known[name] = found
        if found.bytes_per_second != before.bytes_per_second:
            sums = self._sums.copy()
            sums.subtract(before.bytes_per_second)
            sums.update(found.bytes_per_second)
            self._sums = sums
        if found.leaderless != before.leaderless:
            self.leaderless = self.leaderless - before.leaderless | found.leaderless


def _counted(cluster: ClusterState, world: World, topic: str) -> _OfTopic:
    sides = {key: Listed.of(cluster, topic, key) for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS)}
    found: Counter[Side] = Counter()
    leaderless = set()
    for number, partition in cluster.topics[topic].partitions.items():
        name = TopicPartition(topic, number)
        if partition.leader is None or not world.serves(partition.leader):
            leaderless.add(name)
        elif any(listed.entries for listed in sides.values()):
            for side, amount in _of_partition(sides, name, partition, world.produce):
                found[side] += amount
    return _OfTopic(cluster.topics[topic], found, frozenset(leaderless))


def _of_partition(
    sides: Mapping[str, Listed],
    name: TopicPartition,
    partition: Partition,
    produce: Mapping[TopicPartition, float],
) -> Iterator[tuple[Side, int]]:
    leader, rate = partition.leader, round(produce.get(name, 0.0))
    followers: Collection[BrokerId] = [b for b in partition.isr if b != leader]
    if leader is not None and sides[LEADER_REPLICAS].names(name.partition, leader):
        yield (LEADER_REPLICAS, leader), len(followers) * (rate or TRICKLE_BYTES_PER_SECOND)
    for follower in followers:
        if rate and sides[FOLLOWER_REPLICAS].names(name.partition, follower):
            yield (FOLLOWER_REPLICAS, follower), rate
