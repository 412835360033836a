"""Ask the controller something, and let the brokers follow what it decided.

Here belongs `submit_command`, the one way in which anything changes the controller's state, and what a change means
for logs: a new replica starts empty, a dropped one is deleted, one that left the ISR falls behind, an unclean leader
truncates the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster.disks import (
    directory_id_of,
    lies_on_lost_disk,
    with_new,
    without_dropped,
)
from replan.simulator.cluster.physical_state import (
    Lag,
    Simulation,
    World,
    of_partition,
)
from replan.simulator.controller.commands import AssignDirs, ControllerCommand, ControllerResult
from replan.simulator.controller.decide import decide_and_apply
from replan.simulator.controller.events import (
    Event,
    PartitionChanged,
    PartitionCreated,
    TopicDeleted,
)
from replan.simulator.controller.state import ClusterState, Partition

_K = TypeVar("_K")
_V = TypeVar("_V")


def submit_command(
    simulation: Simulation, command: ControllerCommand
) -> tuple[Simulation, ControllerResult]:
    """Let the controller decide a command, and the brokers follow."""
    before = simulation.cluster
    after, decision = decide_and_apply(before, command)
    world = _followed(simulation.world, before, after, decision.events)
    simulation = Simulation(after, world)
    for news in _unreported(simulation, decision.events):
        simulation, _ = submit_command(simulation, news)
    return simulation, decision


def _unreported(simulation: Simulation, events: Iterable[Event]) -> Iterator[AssignDirs]:
    """What live brokers with several directories say of their new replicas, at once (AssignmentsManager)."""
    cluster, world = simulation.cluster, simulation.world
    by_broker: dict[BrokerId, dict[TopicPartition, str]] = {}
    for event in events:
        if not isinstance(event, PartitionChanged | PartitionCreated):
            continue
        partition = cluster.partition(event.partition)
        if partition is None or None not in partition.directories:
            continue
        for broker, directory in zip(partition.replicas, partition.directories, strict=False):
            if directory is not None or not cluster.active(broker) or not world.serves(broker):
                continue
            replica = (event.partition, broker)
            place = directory_id_of(world, replica)
            if place is not None and not lies_on_lost_disk(world, replica):
                by_broker.setdefault(broker, {})[event.partition] = place
    return (AssignDirs(broker, tuple(reported.items())) for broker, reported in by_broker.items())


def _followed(
    world: World, before: ClusterState, after: ClusterState, events: Iterable[Event]
) -> World:
    touched: dict[TopicPartition, None] = {}
    for event in events:
        match event:
            case PartitionChanged(name) | PartitionCreated(name):
                touched[name] = None
            case TopicDeleted(topic):
                touched |= {TopicPartition(topic, p): None for p in before.topics[topic].partitions}
            case _:
                pass
    if not touched:
        return world
    logs = _Logs(world)
    for name in touched:
        logs.follow(name, before.partition(name), after.partition(name))
    return logs.finished()


def without_keys(mapping: Mapping[_K, _V], dropped: Iterable[_K]) -> Mapping[_K, _V]:
    """The mapping without some keys; the very same one where it has none of them."""
    gone = [key for key in dropped if key in mapping]
    if not gone:
        return mapping
    left = dict(mapping)
    for key in gone:
        del left[key]
    return left


class _Logs:
    """The logs of a world under change: lags are copied once, sizes only where one changes otherwise than by growth."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sizes = world.sizes
        self._lags = dict(world.lags)
        self._in_step: set[ReplicaName] = set()
        """Replicas that were behind in the ISR and are so no longer."""
        self._epochs = world.epochs
        self._parted = world.parted

    def follow(
        self, name: TopicPartition, before: Partition | None, after: Partition | None
    ) -> None:
        had = () if before is None else before.replicas
        has = () if after is None else after.replicas
        for broker in had:
            if broker not in has:
                self._drop((name, broker))
        for broker in has:
            if broker not in had:
                self._begin((name, broker), first=before is None)
        if after is None:
            self._sizes = {n: size for n, size in self._sizes.items() if n != name}
            self._epochs = {n: of for n, of in self._epochs.items() if n != name}
            return
        if before is not None and after.leader is not None:
            self._lead(name, before, after, after.leader)
        self._track(name, after)

    def finished(self) -> World:
        behind = without_keys(self._world.behind, self._in_step)
        return replace(
            self._world,
            sizes=self._sizes,
            lags=self._lags,
            behind=behind,
            epochs=self._epochs,
            parted=self._parted,
        )

    def _drop(self, replica: ReplicaName) -> None:
        lag = self._lags.pop(replica, None)
        self._in_step.add(replica)
        size = self._sizes.get(replica[0], 0.0) - (0.0 if lag is None else lag.remaining_bytes)
        if replica in self._parted:
            size = self._parted[replica].bytes
            self._parted = {r: log for r, log in self._parted.items() if r != replica}
        self._world = without_dropped(self._world, replica, size)

    def _begin(self, replica: ReplicaName, *, first: bool) -> None:
        self._world = with_new(self._world, replica)
        if replica[0] not in self._sizes:
            self._sizes = {**self._sizes, replica[0]: 0.0}
        if not first:
            self._lags[replica] = self._lag(self._sizes[replica[0]])

    def _lead(
        self, name: TopicPartition, before: Partition, after: Partition, leader: BrokerId
    ) -> None:
        """A new leader makes its log the log: what others had beyond it is lost, once they meet it."""
        if before.leader == leader and before.leader_epoch == after.leader_epoch:
            return
        size = self._sizes.get(name, 0.0)
        replicas = dict.fromkeys((*before.replicas, *after.replicas))
        logs = of_partition(name, size, self._epochs, self._lags, self._parted, replicas)
        logs.led_by(leader, after.leader_epoch, replicas)
        self._epochs = {**self._epochs, name: logs.main.epochs}
        if logs.main.bytes != size:
            self._sizes = {**self._sizes, name: logs.main.bytes}
        self._lags.pop((name, leader), None)
        self._in_step.add((name, leader))
        for broker, missing in logs.lacking.items():
            lag = self._lags.get((name, broker))
            if lag is not None:
                self._lags[name, broker] = lag._replace(remaining_bytes=missing)
            elif missing:
                self._lags[name, broker] = self._lag(missing)
        parted = {b: log for b, log in logs.parted.items() if not self._world.serves(b)}
        if parted or self._parted:
            others = {r: log for r, log in self._parted.items() if r[0] != name}
            self._parted = others | {(name, b): log for b, log in parted.items()}

    def _track(self, name: TopicPartition, partition: Partition) -> None:
        """Who leaves the ISR lacks what it lacked in it; who is in it lacks nothing, unless it is behind."""
        for broker in partition.replicas:
            replica = (name, broker)
            if broker not in partition.isr:
                self._in_step.add(replica)
                if replica not in self._lags:
                    self._lags[replica] = self._lag(0.0)
            elif replica in self._in_step or replica not in self._world.behind:
                self._lags.pop(replica, None)

    def _lag(self, remaining: float) -> Lag:
        return Lag(remaining, self._world.now + self._world.speeds.fetch_start_seconds)
