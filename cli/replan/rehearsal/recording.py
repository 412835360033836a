"""Records a simulated run stretch by stretch: between two events nothing changes but bytes, so every sum is exact.

Here belongs the meter that the simulator calls. What the numbers mean to a person is put together in `findings`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from msgspec.structs import replace

from replan.applying.journal.records import Record, SavedRate, SavedReplicaList
from replan.model.configs import (
    THROTTLE_RATES,
    THROTTLED_LISTS,
    ConfigScope,
)
from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import effective_min_isr
from replan.planning.safety.run_invariants import Sample, ThrottleSettings, Trajectory
from replan.simulator.cluster.disks import full_dirs
from replan.simulator.cluster.physical_state import Simulation, World
from replan.simulator.cluster.replication.copy_rates import leader_of
from replan.simulator.cluster.replication.traffic import followers_in_step
from replan.simulator.controller.state import (
    ClusterState,
    Partition,
    Topic,
    changed_partitions,
    identical,
)

THROTTLES = frozenset({*THROTTLE_RATES, *THROTTLED_LISTS})


NamedPartition = tuple[TopicPartition, Partition]


class Recorder:
    """Takes in every stretch of a run."""

    def __init__(self, watched: Iterable[TopicPartition], simulation: Simulation) -> None:
        """`watched`: the partitions whose history is kept."""
        self.throttled_seconds = 0.0
        self.absent: list[tuple[BrokerId, float, float | None]] = []
        self.full: list[tuple[BrokerId, str, float]] = []
        """Log directories that failed for want of room, and when."""
        self._lost = simulation.world.lost_dirs
        self.load = Load(simulation)
        self._histories = Histories(watched)
        self._throttles = throttles_of(simulation.cluster)
        self._configs = simulation.cluster.configs
        self._throttled = False
        self._topics: Mapping[str, Topic] = {}
        self._last: tuple[object, ...] = ()
        self._down: frozenset[BrokerId] = frozenset()
        self.changed_at = simulation.world.now
        self.now = simulation.world.now

    def __call__(
        self, simulation: Simulation, rates: Mapping[ReplicaName, float], until: float
    ) -> None:
        """Take in one stretch."""
        self.note(simulation)
        seconds = until - simulation.world.now
        self.throttled_seconds += seconds if self._throttled else 0.0
        self.load.flow(simulation, rates, until)
        self.now = until

    def note(self, simulation: Simulation) -> None:
        """Take in a state, if anything that concerns us differs from the one before."""
        cluster, world = simulation.cluster, simulation.world
        key = (cluster, world.down, world.starting, world.behind)
        if identical(key, self._last):
            return
        self._last, self.changed_at = key, world.now
        self._note_absent(world)
        self._note_full(world)
        if cluster.configs is not self._configs:
            self._configs = cluster.configs
            self._throttled = throttles_of(cluster) != self._throttles
        changed = list(changed_partitions(self._topics, cluster.topics))
        self._topics = cluster.topics
        self._histories.note(simulation, changed)
        self.load.note(simulation, changed)

    def changed(self, simulation: Simulation) -> float:
        """When the cluster last changed, up to this state."""
        self.note(simulation)
        return self.changed_at

    def _note_full(self, world: World) -> None:
        fresh, self._lost = world.lost_dirs - self._lost, world.lost_dirs
        full = full_dirs(world) if fresh else []
        self.full += [(*directory, world.now) for directory in full if directory in fresh]

    def _note_absent(self, world: World) -> None:
        down = frozenset({*world.down, *world.starting})
        for broker in sorted(down - self._down):
            self.absent.append((broker, world.now, None))
        for broker in sorted(self._down - down):
            at = max(i for i, a in enumerate(self.absent) if a[0] == broker)
            self.absent[at] = (broker, self.absent[at][1], world.now)
        self._down = down

    def trajectories(self) -> dict[TopicPartition, Trajectory]:
        """The histories of all watched partitions that ever existed."""
        return self._histories.finished(self.now)


class Histories:
    """The samples of the watched partitions; one is added where a partition differs from before."""

    def __init__(self, watched: Iterable[TopicPartition]) -> None:
        self._watched = frozenset(watched)
        self._names = {n.topic for n in self._watched}
        self._samples: dict[TopicPartition, list[Sample]] = defaultdict(list)
        self._minimum: dict[str, int] = {}
        self._serving: frozenset[BrokerId] = frozenset()
        self._processes: tuple[object, ...] = ()
        """What it was concluded from who serves."""
        self._configs: object = None

    def note(self, simulation: Simulation, changed: Iterable[NamedPartition]) -> None:
        """Take in a state; `changed`: the partitions that differ from the state before."""
        cluster, world = simulation.cluster, simulation.world
        processes = (cluster.brokers, world.down, world.starting)
        if not identical(processes, self._processes) or cluster.configs is not self._configs:
            serving = frozenset(b for b in cluster.brokers if world.serves(b))
            minimum = {name: cluster.min_insync_replicas(name) for name in self._names}
            if (serving, minimum) != (self._serving, self._minimum):
                changed = changed_partitions({}, cluster.topics)
            self._serving, self._minimum, self._configs = serving, minimum, cluster.configs
            self._processes = processes
        for name, partition in changed:
            if name in self._watched:
                self._add(name, partition, world)

    def _add(self, name: TopicPartition, partition: Partition, world: World) -> None:
        """Add a sample where it says something else than the one before; of one moment the last counts."""
        leads = partition.leader
        sample = Sample(
            at=world.now,
            replicas=partition.replicas,
            in_sync=tuple(b for b in partition.isr if b in self._serving),
            leader=leads if leads in self._serving else None,
            min_in_sync=effective_min_isr(self._minimum[name.topic], len(partition.replicas)),
            log_end=world.committed_bytes(name, partition.isr),
            not_serving=tuple(b for b in partition.isr if b not in self._serving),
            adding=partition.adding,
            removing=partition.removing,
        )
        samples = self._samples[name]
        if samples and samples[-1].at == sample.at:
            samples.pop()
        same = samples and replace(samples[-1], at=sample.at, log_end=sample.log_end) == sample
        if not same or sample.log_end < samples[-1].log_end:
            samples.append(sample)

    def finished(self, now: float) -> dict[TopicPartition, Trajectory]:
        """All histories up to now."""
        return {n: Trajectory(n, tuple(s), now) for n, s in sorted(self._samples.items())}


class Load:
    """What each broker sends, receives and holds, and the most of it."""

    def __init__(self, simulation: Simulation) -> None:
        self.peak_out: dict[BrokerId, float] = defaultdict(float)
        self.peak_in: dict[BrokerId, float] = defaultdict(float)
        self.sent: dict[BrokerId, float] = defaultdict(float)
        self.received: dict[BrokerId, float] = defaultdict(float)
        self.held: dict[BrokerId, float] = defaultdict(float)
        """Bytes of replicas beyond those of the beginning."""
        self.peak_held: dict[BrokerId, float] = defaultdict(float)
        self.busiest: dict[BrokerId, float] = {}
        self.replica_bytes: dict[ReplicaName, float] = defaultdict(float)
        """Bytes that each copy has fetched."""
        self._standing_out: dict[BrokerId, float] = {}
        self._standing_in: dict[BrokerId, float] = {}
        self._replicas: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self._dropped: list[tuple[float, BrokerId, float]] = []
        self._sizes: Mapping[TopicPartition, float] = simulation.world.sizes
        self._lags = simulation.world.lags
        self.note(simulation, changed_partitions({}, simulation.cluster.topics))

    def note(self, simulation: Simulation, changed: Iterable[NamedPartition]) -> None:
        """Take in a state of the controller: who replicates what, and what was dropped.

        `changed`: the partitions that differ from the state before.
        """
        cluster, world = simulation.cluster, simulation.world
        for name, partition in changed:
            self._note_lists(name, partition, world)
        if world.produce:
            self._note_replication(cluster, world)

    def _note_lists(self, name: TopicPartition, partition: Partition, world: World) -> None:
        before = self._replicas.get(name, partition.replicas)
        if before != partition.replicas:
            for broker in set(before) - set(partition.replicas):
                lag = self._lags.get((name, broker))
                size = self._sizes.get(name, 0.0) - (0.0 if lag is None else lag.remaining_bytes)
                due = world.now + world.speeds.delete_seconds
                heappush(self._dropped, (due, broker, max(0.0, size)))
        self._replicas[name] = partition.replicas

    def _note_replication(self, cluster: ClusterState, world: World) -> None:
        """What steady production costs: the leader takes it in and sends it to each follower in sync."""
        out: dict[BrokerId, float] = defaultdict(float)
        into: dict[BrokerId, float] = defaultdict(float)
        for name, rate in world.produce.items():
            leader = leader_of(cluster, world, name)
            partition = cluster.partition(name)
            if leader is None or partition is None or not rate:
                continue
            into[leader] += rate
            for follower in followers_in_step(name, partition, world):
                if world.serves(follower):
                    out[leader] += rate
                    into[follower] += rate
        self._standing_out, self._standing_in = out, into

    def flow(
        self, simulation: Simulation, rates: Mapping[ReplicaName, float], until: float
    ) -> None:
        """Take in what flows during one stretch."""
        topics, world = simulation.cluster.topics, simulation.world
        seconds, lags, produce = until - world.now, world.lags, world.produce
        sent, received, fetched = self.sent, self.received, self.replica_bytes
        held = self.held
        out, into = dict(self._standing_out), dict(self._standing_in)
        for replica, rate in rates.items():
            name, follower = replica
            leader = topics[name.topic].partitions[name.partition].leader
            if leader is None:
                continue  # nothing is copied from nobody
            out[leader] = out.get(leader, 0.0) + rate
            into[follower] = into.get(follower, 0.0) + rate
            missing, moved = lags[replica].remaining_bytes, rate * seconds
            if produce:
                missing += produce.get(name, 0.0) * seconds
            moved = min(moved, missing)
            sent[leader] += moved
            received[follower] += moved
            fetched[replica] += moved
            held[follower] += moved
        _raise(self.peak_out, out)
        _raise(self.peak_in, into)
        self._note_held(world, until)

    def _note_held(self, world: World, until: float) -> None:
        _raise(self.peak_held, self.held)
        while self._dropped and self._dropped[0][0] <= until:
            _, broker, size = heappop(self._dropped)
            self.held[broker] -= size
        for log_dir in world.log_dirs:
            if log_dir.total_bytes and log_dir.usable_bytes is not None:
                used = 1 - log_dir.usable_bytes / log_dir.total_bytes
                self.busiest[log_dir.broker] = max(self.busiest.get(log_dir.broker, 0.0), used)
        self._sizes, self._lags = world.sizes, world.lags

    def final_held(self) -> dict[BrokerId, float]:
        """What each broker holds in the end beyond the beginning, once dropped replicas are deleted."""
        final = dict(self.held)
        for _, broker, size in self._dropped:
            final[broker] = final.get(broker, 0.0) - size
        return final


def _raise(peaks: dict[BrokerId, float], now: Mapping[BrokerId, float]) -> None:
    """Let the highest of each broker be at least what it has now."""
    for broker, value in now.items():
        peaks[broker] = max(peaks[broker], value)


def journalled_throttles(records: Iterable[Record]) -> frozenset[tuple[str, str, str]]:
    """The throttle settings that the records of a journal say are replan's, named as in `throttles_of`."""
    return frozenset(
        (ConfigScope.TOPIC.value, r.topic, r.config)
        if isinstance(r, SavedReplicaList)
        else (ConfigScope.BROKER.value, str(r.broker), r.config)
        for r in records
        if isinstance(r, SavedReplicaList | SavedRate)
    )


def throttles_of(cluster: ClusterState) -> ThrottleSettings:
    """All throttle configuration that is set."""
    return {
        (scope.value, name, key): value
        for (scope, name), values in cluster.configs.items()
        for key, value in values.items()
        if key in THROTTLES
    }
