"""What each fault does to a simulated cluster.

Here belongs `apply_fault`: a fault, now. When it happens is the schedule's business (`faults`), what follows with time
is in `advance`.
"""

from typing import assert_never

from msgspec.structs import replace

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.cluster.disks import (
    can_start,
    halts,
    has_lost_disk,
    id_of,
    log_dir_to_lose,
    path_of,
    registered_dirs,
    started_again,
    unreported,
)
from replan.simulator.cluster.faults import (
    At,
    Disconnect,
    DropFromIsr,
    Fault,
    Forbid,
    KillBroker,
    LagMetadata,
    LoseDisk,
    LoseRequests,
    Produce,
    RepeatRequests,
    ReplaceDisks,
    Schedule,
    SendLogMoves,
    SendRequest,
    SlowBroker,
    SlowLooks,
    StartBroker,
    StopBroker,
    Unresponsive,
)
from replan.simulator.cluster.future_logs import altered
from replan.simulator.cluster.physical_state import Lag, Simulation, World
from replan.simulator.cluster.replication.copy_rates import leader_of
from replan.simulator.cluster.submit import submit_command
from replan.simulator.controller.commands import (
    AlterIsr,
    FenceBroker,
    LoseDirs,
    RegisterBroker,
    UnfenceBroker,
)
from replan.simulator.controller.partition import without_members

_OfBrokers = KillBroker | StopBroker | StartBroker | LoseDisk | ReplaceDisks
RESTART_SECONDS = 10.0
"""From a broker's controlled shutdown to its start, by default."""

_OfConnections = (
    LoseRequests | RepeatRequests | Disconnect | LagMetadata | Unresponsive | SlowLooks | Forbid
)


def scheduled(world: World, faults: Schedule) -> World:
    """The world with more on its agenda."""
    agenda = sorted((*world.agenda, *faults), key=lambda at: at.seconds)
    return replace(world, agenda=tuple(agenda))


def later(world: World, seconds: float, fault: Fault) -> World:
    """The world in which something will happen so many seconds from now."""
    return scheduled(world, (At(world.now + seconds, fault),))


def apply_fault(simulation: Simulation, fault: Fault) -> Simulation:
    """Let something happen now."""
    match fault:
        case SendRequest(command):
            return submit_command(simulation, command)[0]
        case SendLogMoves(paths):
            reached = {r: path for r, path in paths.items() if simulation.world.serves(r[1])}
            return altered(simulation, reached)[0]
        case Produce() | SlowBroker():
            return replace(simulation, world=_speeds(simulation.world, fault))
        case DropFromIsr():
            return _dropped(simulation, fault)
        case KillBroker() | StopBroker() | StartBroker() | LoseDisk() | ReplaceDisks():
            return _broker(simulation, fault)
        case (
            LoseRequests()
            | RepeatRequests()
            | Disconnect()
            | LagMetadata()
            | Unresponsive()
            | SlowLooks()
            | Forbid()
        ):
            return replace(simulation, world=_connection(simulation.world, fault))
        case _:
            assert_never(fault)


def _speeds(world: World, fault: Produce | SlowBroker) -> World:
    match fault:
        case Produce(partition, rate):
            return replace(world, produce={**world.produce, partition: rate})
        case SlowBroker(broker, speed):
            slow = {b: s for b, s in world.slow.items() if b != broker}
            return replace(world, slow=slow if speed is None else {**slow, broker: speed})
        case _:
            assert_never(fault)


def _dropped(simulation: Simulation, fault: DropFromIsr) -> Simulation:
    """The leader drops a follower; nothing happens without a leader or where the follower is not in the ISR."""
    name, broker = fault.partition, fault.broker
    before = simulation.cluster
    simulation = with_smaller_isr(simulation, name, (broker,))
    if simulation.cluster is before:
        return simulation
    world = simulation.world
    lag = Lag(fault.lag_bytes, world.now + world.speeds.fetch_start_seconds)
    return replace(simulation, world=replace(world, lags={**world.lags, (name, broker): lag}))


def with_smaller_isr(
    simulation: Simulation, name: TopicPartition, followers: Replicas
) -> Simulation:
    """The cluster in which a leader that serves has asked for an ISR without some of its followers."""
    partition = simulation.cluster.partition(name)
    leader = leader_of(simulation.cluster, simulation.world, name)
    if partition is None or leader is None or leader in followers:
        return simulation
    isr = without_members(partition.isr, followers)
    if isr == partition.isr:
        return simulation
    epochs = (partition.leader_epoch, partition.partition_epoch)
    return submit_command(simulation, AlterIsr(leader, name, *epochs, isr))[0]


def _broker(simulation: Simulation, fault: _OfBrokers) -> Simulation:
    world = simulation.world
    match fault:
        case LoseDisk():
            return _disk_lost(simulation, fault)
        case ReplaceDisks(broker):
            return _disks_replaced(simulation, broker)
        case KillBroker(broker):
            world = _dead(world, broker)
        case StopBroker(broker):
            if world.serves(broker) and broker in simulation.cluster.brokers:
                world = replace(world, stopping={**world.stopping, broker: world.now})
        case StartBroker(broker) if broker in world.stopping:
            world = later(world, world.speeds.shutdown_seconds, fault)  # once it has ended
        case StartBroker(broker):
            world = _starting(simulation, broker)
        case _:
            assert_never(fault)
    return replace(simulation, world=world)


def _disk_lost(simulation: Simulation, fault: LoseDisk) -> Simulation:
    """The process ends, or goes on without the directory and says so with its next heartbeat, which is sent at once."""
    broker = fault.broker
    path = log_dir_to_lose(simulation, broker, fault.path)
    if path is None:
        return simulation
    serves = simulation.world.serves(broker)
    world = replace(
        simulation.world,
        lost_dirs=simulation.world.lost_dirs | {(broker, path)},
        new_disks=simulation.world.new_disks - {broker},
    )
    simulation = replace(simulation, world=world)
    if halts(simulation, broker):
        return replace(simulation, world=_dead(world, broker))
    if serves:
        lost = frozenset({id_of(world, broker, path)})
        simulation, _ = submit_command(simulation, LoseDirs(broker, lost))
    return simulation


def _disks_replaced(simulation: Simulation, broker: BrokerId) -> Simulation:
    world = simulation.world
    if not has_lost_disk(world, broker):
        return simulation
    simulation = replace(simulation, world=replace(world, new_disks=world.new_disks | {broker}))
    if broker in world.down:
        return _broker(simulation, StartBroker(broker))
    simulation = _broker(simulation, StopBroker(broker))
    world = later(simulation.world, RESTART_SECONDS, StartBroker(broker))
    return replace(simulation, world=world)


def _dead(world: World, broker: BrokerId) -> World:
    """The process ends. One that was starting has read its logs, which takes the mark of a clean shutdown away."""
    cleanly = world.stopped_cleanly
    if broker in world.starting:
        cleanly = {b: epoch for b, epoch in cleanly.items() if b != broker}
    return replace(
        world,
        down={broker: world.now, **world.down},
        preferred={r: path for r, path in world.preferred.items() if r[1] != broker},
        starting={b: at for b, at in world.starting.items() if b != broker},
        stopping={b: at for b, at in world.stopping.items() if b != broker},
        stopped_cleanly=cleanly,
    )


def _starting(simulation: Simulation, broker: BrokerId) -> World:
    """A process starts; while the session of its predecessor holds, it is refused and tries again.

    One that does not find the disks that it needs ends again at once.
    """
    world = simulation.world
    registration = simulation.cluster.brokers.get(broker)
    if registration is None or broker not in world.down or broker in world.starting:
        return world
    if not can_start(simulation, broker):
        return world
    held = not registration.fenced or (
        broker in world.stopped_cleanly and simulation.cluster.rules.session_outlives_stop
    )
    free = world.down[broker] + world.speeds.session_seconds if held else world.now
    serves_at = max(world.now, free) + world.speeds.start_seconds
    return replace(world, starting={**world.starting, broker: serves_at})


def serve_again(simulation: Simulation, broker: BrokerId) -> Simulation:
    """A starting broker registers, with its previous epoch if it had stopped cleanly, and is unfenced.

    It takes new disks on the way, and says where its replicas lie if that is not where they lay. With a directory that
    is offline, or new, it has not stopped cleanly (LogManager.readBrokerEpochFromCleanShutdownFiles, 4.3.1).
    """
    registration = simulation.cluster.brokers.get(broker)
    world = simulation.world
    epoch = -1 if has_lost_disk(world, broker) else world.stopped_cleanly.get(broker, -1)
    world = replace(
        world,
        down={b: at for b, at in world.down.items() if b != broker},
        starting={b: at for b, at in world.starting.items() if b != broker},
        stopped_cleanly={b: e for b, e in world.stopped_cleanly.items() if b != broker},
    )
    simulation = replace(simulation, world=world)
    if registration is None:
        return simulation
    simulation = replace(simulation, world=_met_leaders(simulation, broker))
    simulation = started_again(simulation, broker)
    dirs = registered_dirs(simulation, registration)
    paths = {path_of(directory) for directory in registration.cordoned_dirs}
    cordoned = frozenset(directory for directory in dirs if path_of(directory) in paths)
    for command in (
        FenceBroker(broker),
        RegisterBroker(broker, registration.rack, epoch, dirs, cordoned),
        UnfenceBroker(broker),
    ):
        simulation, _ = submit_command(simulation, command)
    news = unreported(simulation.cluster, simulation.world, broker)
    return simulation if news is None else submit_command(simulation, news)[0]


def _met_leaders(simulation: Simulation, broker: BrokerId) -> World:
    """A broker that is back truncates the logs that are no beginning of their leaders'."""
    cluster, world = simulation.cluster, simulation.world
    kept = {
        (name, b): log
        for (name, b), log in world.parted.items()
        if b != broker or (partition := cluster.partition(name)) is None or partition.leader is None
    }
    return world if len(kept) == len(world.parted) else replace(world, parted=kept)


def _connection(world: World, fault: _OfConnections) -> World:
    match fault:
        case LoseRequests() | RepeatRequests():
            return replace(world, troubles=(*world.troubles, fault))
        case Disconnect(seconds):
            until = max(world.unreachable_until, world.now + seconds)
            return replace(world, unreachable_until=until)
        case LagMetadata(seconds):
            return replace(world, metadata_lag_seconds=seconds)
        case Unresponsive(broker, to):
            return replace(world, unresponsive={**world.unresponsive, broker: to})
        case SlowLooks(seconds):
            return replace(world, look_seconds=seconds)
        case Forbid(topic, permissions):
            return replace(world, forbidden={**world.forbidden, topic: permissions})
        case _:
            assert_never(fault)
