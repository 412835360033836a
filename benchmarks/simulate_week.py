"""A week of moves in the simulator: 10,000 partitions on 60 brokers, throttled, written to meanwhile.

Every partition moves one replica. A broker takes part in at most five copies at once, sent and received together, as
`apply` has it; the next are asked for as soon as earlier ones have ended. The simulator alone is measured, without the
rules of applying.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec.structs import replace
from tests.builders import brokers, snapshot, state

from replan.model.api import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigOperation,
    Replicas,
    TopicPartition,
    broker_change,
    topic_change,
)
from replan.simulator.api import (
    SimulatedControlPlane,
    Simulation,
    Topic,
    VirtualClock,
    from_snapshot,
)

BROKERS, TOPICS, PER_TOPIC = 60, 100, 100
LEAST_BYTES, MOST_BYTES = 20_000_000_000, 80_000_000_000
BYTES_PER_SECOND = 20_000_000
PRODUCED_PER_SECOND = 10_000.0
SLOTS = 5
DAY = 86_400.0

Lists = dict[TopicPartition, Replicas]


def cluster(partitions: int) -> tuple[Simulation, Lists]:
    """A cluster that is written to, and where each partition is to go: its last replica to another broker."""
    lists = list(spread(partitions))
    found = snapshot(
        [
            state(before, topic=name.topic, partition=name.partition, size=size_of(i))
            for i, (name, before, _) in enumerate(lists)
        ],
        registered=brokers(BROKERS, "abc"),
    )
    simulation = from_snapshot(found)
    produce = {name: PRODUCED_PER_SECOND for name, _, _ in lists}
    world = replace(simulation.world, produce=produce)
    return replace(simulation, world=world), {name: after for name, _, after in lists}


def size_of(number: int) -> int:
    """Sizes that differ, so that copies end one by one."""
    return LEAST_BYTES + number * 7_919_000_033 % (MOST_BYTES - LEAST_BYTES)


def spread(partitions: int) -> Iterator[tuple[TopicPartition, Replicas, Replicas]]:
    """Names, lists before and lists after; strides that share no factor with the count spread the load."""
    for i in range(partitions):
        leader = i % BROKERS
        first, second = (leader + 1 + i // BROKERS % 29) % BROKERS, (leader + 31) % BROKERS
        last = (leader + 32 + i // BROKERS % 28) % BROKERS
        kept = BrokerId(leader + 1), BrokerId(first + 1)
        name = TopicPartition(f"topic-{i // PER_TOPIC:03d}", i % PER_TOPIC)
        yield name, (*kept, BrokerId(second + 1)), (*kept, BrokerId(last + 1))


def simulated(start: Simulation, wanted: Lists) -> tuple[float, int]:
    """Move everything; gives virtual days and how often the cluster was looked at."""
    clock = VirtualClock()
    plane = SimulatedControlPlane(start, clock)
    throttle(plane, {name.topic for name in wanted})
    queue, running = Queue(wanted), Lists()
    looks = 0
    seen: Mapping[str, Topic] = {}
    while queue.waiting or running:
        looks += 1
        now = plane.simulation
        ended = [
            n
            for n in running
            if now.cluster.topics[n.topic] is not seen.get(n.topic) and not reassigning(now, n)
        ]
        seen = now.cluster.topics
        admitted = queue.admitted({n: running.pop(n) for n in ended})
        running |= admitted
        if admitted:
            plane.reassign(admitted, allow_replication_factor_change=False)
        clock.jump_to(plane.next_moment())
    return clock.now() / DAY, looks


def reassigning(simulation: Simulation, name: TopicPartition) -> bool:
    """Whether a reassignment of the partition runs."""
    partition = simulation.cluster.partition(name)
    return partition is not None and partition.reassigning


def ends(target: Replicas) -> tuple[BrokerId, BrokerId]:
    """Whose slots a copy takes: its leader sends, its new replica receives."""
    return target[0], target[-1]


class Queue:
    """Moves that wait for a slot at both ends, found by the ends that have just become free."""

    def __init__(self, wanted: Lists) -> None:
        self.waiting = dict(wanted)
        self._busy: Counter[BrokerId] = Counter()
        self._at: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
        for name, target in wanted.items():
            for end in ends(target):
                self._at[end].append(name)
        self._free = list(self._at)

    def admitted(self, ended: Lists) -> Lists:
        """The moves that begin now that others have ended."""
        free, self._free = self._free, []
        for target in ended.values():
            self._busy.subtract(ends(target))
            free.extend(ends(target))
        found = Lists()
        for end in dict.fromkeys(free):
            self._at[end] = [n for n in self._at[end] if n in self.waiting]
            for name in self._at[end]:
                if self._busy[end] >= SLOTS:
                    break
                target = self.waiting[name]
                if name not in found and all(self._busy[e] < SLOTS for e in ends(target)):
                    self._busy.update(ends(target))
                    found[name] = target
        for name in found:
            del self.waiting[name]
        return found


def throttle(plane: SimulatedControlPlane, topics: set[str]) -> None:
    """The same rate for every broker, both sides, and every replica listed."""
    rates = [
        broker_change(BrokerId(b), key, ConfigOperation.SET, str(BYTES_PER_SECOND))
        for b in range(1, BROKERS + 1)
        for key in (LEADER_RATE, FOLLOWER_RATE)
    ]
    lists = [
        topic_change(topic, key, ConfigOperation.SET, "*")
        for topic in sorted(topics)
        for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS)
    ]
    plane.alter_configs([*rates, *lists])
