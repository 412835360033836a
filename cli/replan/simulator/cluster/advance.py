"""Time: what happens by itself between two moments.

Here belongs `advance`, event by event: copies run at the speeds of `copy_rates`, caught-up followers are taken into the
ISR by their leaders, late ones out of it, full disks fail, sessions of dead brokers end, timers fire, the agenda is
worked off. Deliberately apart from the controller's rules: everything that reaches the controller goes through
`submit`.
"""

import math
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from replan.model.control_plane import Rejected, ReplicaName
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.cluster import future_logs
from replan.simulator.cluster.apply_fault import apply_fault, serve_again, with_smaller_isr
from replan.simulator.cluster.disks import (
    by_directory,
    full_dirs,
    soonest_full,
    with_deletions_done,
    with_written,
)
from replan.simulator.cluster.faults import LoseDisk
from replan.simulator.cluster.physical_state import Lag, Simulation, World
from replan.simulator.cluster.replication import quota
from replan.simulator.cluster.replication.copy_rates import CopyRates, fetching, leader_of
from replan.simulator.cluster.replication.log_growth import grown_sizes
from replan.simulator.cluster.submit import submit_command, without_keys
from replan.simulator.controller.commands import (
    AlterIsr,
    ControllerCommand,
    ControllerResult,
    ElectUncleanLeaders,
    FenceBroker,
    RebalanceLeaders,
    ShutDownBroker,
)
from replan.simulator.controller.elections import MAX_ELECTIONS_PER_RUN
from replan.simulator.controller.state import ClusterState

CAUGHT_UP_BYTES = 0.5
ISR_RETRY_SECONDS = 1.0
"""Until a leader asks again for an ISR that was refused."""
AT_ONCE_SECONDS = 0.01
"""From a periodic election that had more to do than it may in one run to the next one."""

SimulationListener = Callable[[Simulation], None]
Meter = Callable[[Simulation, Mapping[ReplicaName, float], float], None]
"""Takes a cluster, the bytes per second of its copies, and the moment up to which nothing but bytes happens."""


class Lookahead:
    """What holds until a cluster changes, worked out once. Each part is a memory, never a state; it says

    `CopyRates`      which replicas fetch now, from whom and how fast; what leaders send ahead of their rate
    `InSyncTraffic`  what producers and followers in sync take; which leaders and followers do not serve
    `Lookahead`      until when that holds; who has caught up; which periodic elections have nothing to do
    """

    def __init__(self) -> None:
        self.copy_rates = CopyRates()
        self._next: tuple[Simulation, float] | None = None
        self._none_caught_up: object = None
        """Lags of which none has caught up."""
        self.settled: Simulation | None = None
        """A cluster to which nothing happens now: all that was due at its moment has happened."""
        self._in_vain: dict[type[ControllerCommand], ClusterState] = {}
        """By periodic election: the cluster in which it last had nothing to do. It has not while that is the same."""

    def elected(
        self, command: ControllerCommand, cluster: ClusterState, decision: ControllerResult
    ) -> None:
        """Take in what a periodic election found to do in a cluster."""
        if not decision.events:
            self._in_vain[type(command)] = cluster

    def in_vain(self, command: type[ControllerCommand], cluster: ClusterState) -> bool:
        """Whether a periodic election is known to have nothing to do."""
        return self._in_vain.get(command) is cluster

    def next_moment(self, simulation: Simulation) -> float:
        """When something happens to the cluster if no request comes before."""
        if self._next is None or self._next[0] is not simulation:
            world, rates = simulation.world, self.copy_rates.of(simulation)
            burst = quota.soonest_empty(world, self.copy_rates.ahead_of_rate)
            coming = (*_moments(simulation, rates), *_timers(simulation, self), world.now + burst)
            self._next = simulation, soonest_full(world, rates, min(coming))
        return self._next[1]

    def caught_up(self, lags: Mapping[ReplicaName, Lag]) -> list[ReplicaName]:
        """The followers that lack nothing more."""
        if lags is self._none_caught_up:
            return []
        caught_up = [r for r, lag in lags.items() if lag.remaining_bytes < CAUGHT_UP_BYTES]
        if not caught_up:
            self._none_caught_up = lags
        return caught_up


def advance(
    simulation: Simulation,
    until: float,
    watch: SimulationListener | None = None,
    meter: Meter | None = None,
    lookahead: Lookahead | None = None,
) -> Simulation:
    """The cluster at a later moment.

    `watch` sees every state on the way that differs for the controller, `meter` every stretch of time. The `lookahead`
    of an earlier call saves time.
    """
    lookahead = Lookahead() if lookahead is None else lookahead
    while True:
        if simulation is not lookahead.settled:
            before = simulation
            simulation = _settle_due(before, lookahead)
            if watch is not None and simulation.cluster is not before.cluster:
                watch(simulation)
            if simulation is before:
                lookahead.settled = simulation
        if simulation.world.now >= until:
            return simulation
        moment = min(until, lookahead.next_moment(simulation))
        if meter is not None:
            meter(simulation, lookahead.copy_rates.of(simulation), moment)
        simulation = replace(simulation, world=_flowed(simulation, lookahead.copy_rates, moment))


def _settle_due(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """Let everything happen that is due now."""
    simulation = _with_vain_timers_over(simulation, lookahead)
    while simulation.world.agenda and simulation.world.agenda[0].seconds <= simulation.world.now:
        first, *rest = simulation.world.agenda
        world = replace(simulation.world, agenda=tuple(rest))
        simulation = apply_fault(replace(simulation, world=world), first.fault)
    simulation = _end_sessions(simulation)
    for broker, at in sorted(simulation.world.starting.items()):
        if at <= simulation.world.now:
            simulation = serve_again(simulation, broker)
    simulation = _stop_brokers(simulation)
    simulation = _join(simulation, lookahead)
    simulation = _shrink_isrs(simulation)
    simulation = _fire_timers(simulation, lookahead)
    if simulation.world.futures:
        simulation = future_logs.with_done(simulation)
    world = with_deletions_done(simulation.world)
    if world is not simulation.world:
        simulation = replace(simulation, world=world)
    simulation = _fill_disks(simulation, lookahead)
    return _fall_behind(simulation, lookahead)


def _with_vain_timers_over(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """Runs of periodic elections that were due before now, and had nothing to do, are over."""
    world, now = simulation.world, simulation.world.now
    rebalance, unclean = world.next_rebalance, world.next_unclean
    every = world.speeds.rebalance_seconds
    if every and rebalance < now and lookahead.in_vain(RebalanceLeaders, simulation.cluster):
        rebalance += every * math.ceil((now - rebalance) / every)
    if unclean < now and lookahead.in_vain(ElectUncleanLeaders, simulation.cluster):
        unclean += world.speeds.unclean_seconds * math.ceil(
            (now - unclean) / world.speeds.unclean_seconds
        )
    if (rebalance, unclean) == (world.next_rebalance, world.next_unclean):
        return simulation
    return replace(simulation, world=replace(world, next_rebalance=rebalance, next_unclean=unclean))


def _end_sessions(simulation: Simulation) -> Simulation:
    world = simulation.world
    for broker, since in sorted(world.down.items()):
        registration = simulation.cluster.brokers.get(broker)
        expired = since + world.speeds.session_seconds <= world.now
        if registration is not None and not registration.fenced and expired:
            simulation, _ = submit_command(simulation, FenceBroker(broker))
    return simulation


def _stop_brokers(simulation: Simulation) -> Simulation:
    """Brokers that want to stop ask with each heartbeat, and end when they are fenced."""
    for broker, at in sorted(simulation.world.stopping.items()):
        if at > simulation.world.now:
            continue
        simulation, _ = submit_command(simulation, ShutDownBroker(broker))
        world = simulation.world
        registration = simulation.cluster.brokers.get(broker)
        if registration is not None and not registration.fenced:
            next_beat = world.now + world.speeds.shutdown_seconds
            world = replace(world, stopping={**world.stopping, broker: next_beat})
        else:
            epoch = -1 if registration is None else registration.epoch
            world = replace(
                world,
                stopping={b: t for b, t in world.stopping.items() if b != broker},
                down={**world.down, broker: world.now},
                preferred={r: path for r, path in world.preferred.items() if r[1] != broker},
                stopped_cleanly={**world.stopped_cleanly, broker: epoch},
            )
        simulation = replace(simulation, world=world)
    return simulation


def _join(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """Leaders take followers that have caught up into the ISR, one by one, each time with the epochs as they are."""
    in_step: list[ReplicaName] = []
    lags = simulation.world.lags
    caught_up = {replica: lags[replica] for replica in lookahead.caught_up(lags)}
    if not caught_up:
        return simulation
    for replica, _ in [*fetching(simulation.cluster, simulation.world, caught_up)]:
        cluster, world = simulation.cluster, simulation.world
        lag, leader = world.lags.get(replica), leader_of(cluster, world, replica[0])
        if lag is None or leader is None or lag.remaining_bytes >= CAUGHT_UP_BYTES:
            continue  # one that joined before it has completed the reassignment
        if replica not in world.behind:
            simulation = _joined(simulation, replica, leader, lag)
        elif _keeps_up(simulation, replica, lookahead):
            in_step.append(replica)
    if not in_step:
        return simulation
    world = simulation.world
    lags, behind = without_keys(world.lags, in_step), without_keys(world.behind, in_step)
    return replace(simulation, world=replace(world, lags=lags, behind=behind))


def _keeps_up(simulation: Simulation, replica: ReplicaName, lookahead: Lookahead) -> bool:
    rate = lookahead.copy_rates.of(simulation).get(replica, 0.0)
    return rate >= simulation.world.produce.get(replica[0], 0.0)


def _joined(simulation: Simulation, replica: ReplicaName, leader: BrokerId, lag: Lag) -> Simulation:
    name, follower = replica
    partition = simulation.cluster.topics[name.topic].partitions[name.partition]
    epochs = (partition.leader_epoch, partition.partition_epoch)
    request = AlterIsr(leader, name, *epochs, (*partition.isr, follower))
    simulation, decision = submit_command(simulation, request)
    refused = (
        isinstance(decision.whole, Rejected) and decision.whole.code != ErrorCode.NEW_LEADER_ELECTED
    )
    if not refused:
        return simulation
    again = Lag(lag.remaining_bytes, simulation.world.now + ISR_RETRY_SECONDS)
    lags = {**simulation.world.lags, replica: again}
    return replace(simulation, world=replace(simulation.world, lags=lags))


def _shrink_isrs(simulation: Simulation) -> Simulation:
    """Leaders drop followers that have been behind too long (Partition.maybeShrinkIsr, 4.3.1).

    Too long is: a follower does not have what was written replica.lag.time.max.ms ago (Replica.isCaughtUp), by the
    present rate of writing. Kafka's leaders look every half of that time, so they find it up to 15 s later.
    """
    world = simulation.world
    late: dict[TopicPartition, list[BrokerId]] = {}
    for (name, broker), since in world.behind.items():
        if world.now < since + world.speeds.lag_seconds:
            continue
        missing = world.lags[name, broker].remaining_bytes + CAUGHT_UP_BYTES
        if missing >= world.produce.get(name, 0.0) * world.speeds.lag_seconds:
            late.setdefault(name, []).append(broker)
    for name, followers in late.items():
        simulation = with_smaller_isr(simulation, name, tuple(followers))
    return simulation


def _fire_timers(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """The controller's two periodic elections; a run that was full is followed by another one at once.

    By the clock (PeriodicTaskControlManager, 4.3.1); up to 3.9 the interval of the rebalance begins when there is
    something to do (QuorumController.maybeScheduleNextBalancePartitionLeaders, 3.9.2).
    """
    simulation = _rebalance(simulation, lookahead)
    if simulation.world.next_unclean > simulation.world.now:
        return simulation
    simulation, decision = _periodic(simulation, ElectUncleanLeaders(), lookahead)
    world, interval = simulation.world, simulation.world.speeds.unclean_seconds
    following = _next_run(world.next_unclean, interval, world.now, decision)
    return replace(simulation, world=replace(world, next_unclean=following))


def _rebalance(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    before, interval = simulation.world, simulation.world.speeds.rebalance_seconds
    if interval is None:
        return simulation
    following, by_need = (
        before.next_rebalance,
        simulation.cluster.rules.rebalance_waits_for_imbalance,
    )
    if following <= before.now:
        simulation, decision = _periodic(simulation, RebalanceLeaders(), lookahead)
        following = _next_run(following, math.inf if by_need else interval, before.now, decision)
    if by_need and math.isinf(following):
        needed = next(simulation.cluster.not_led_by_preferred(), None) is not None
        following = before.now + interval if needed else math.inf
    if following == before.next_rebalance:
        return simulation
    return replace(simulation, world=replace(simulation.world, next_rebalance=following))


def _periodic(
    simulation: Simulation, command: ControllerCommand, lookahead: Lookahead
) -> tuple[Simulation, ControllerResult]:
    simulation, decision = submit_command(simulation, command)
    lookahead.elected(command, simulation.cluster, decision)
    return simulation, decision


def _next_run(last: float, interval: float, now: float, decision: ControllerResult) -> float:
    if len(decision.events) >= MAX_ELECTIONS_PER_RUN:
        return now + AT_ONCE_SECONDS
    return last + interval * (math.floor((now - last) / interval) + 1)


def _fill_disks(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """A directory without room that something is copied to goes offline (LogDirFailureChannel, "No space left")."""
    full = full_dirs(simulation.world)
    if not full:
        return simulation
    written = by_directory(simulation.world, lookahead.copy_rates.of(simulation))
    for directory in full:
        if directory in written:
            simulation = apply_fault(simulation, LoseDisk(*directory))
    return simulation


def _fall_behind(simulation: Simulation, lookahead: Lookahead) -> Simulation:
    """Followers in sync of which it shows now that they do not get what is written."""
    world = simulation.world
    left_behind = lookahead.copy_rates.left_behind(simulation) if world.produce else ()
    if not left_behind:
        return simulation
    lags = {**world.lags, **dict.fromkeys(left_behind, Lag(0.0, world.now))}
    behind = {**world.behind, **dict.fromkeys(left_behind, world.now)}
    return replace(simulation, world=replace(world, lags=lags, behind=behind))


def _moments(simulation: Simulation, rates: Mapping[ReplicaName, float]) -> Iterator[float]:
    """The later moments at which something will happen if nothing happens before."""
    world = simulation.world
    if world.agenda:
        yield world.agenda[0].seconds
    yield from world.starting.values()
    yield from world.stopping.values()
    yield from (d.due for d in world.deletions)
    yield from future_logs.moments(simulation.cluster, world)
    for broker, since in world.down.items():
        registration = simulation.cluster.brokers.get(broker)
        if registration is not None and not registration.fenced:
            yield since + world.speeds.session_seconds
    yield from (lag.fetches_from for lag in world.lags.values() if lag.fetches_from > world.now)
    yield from _arrivals(world, rates)
    if world.behind:
        yield from _too_late(world, rates)


def _arrivals(world: World, rates: Mapping[ReplicaName, float]) -> Iterator[float]:
    """When the next copy will have caught up, rounded up to the grain, so that those that are close end together."""
    grain, lags, produce = world.speeds.grain_seconds, world.lags, world.produce
    soonest = math.inf
    for replica, rate in rates.items():
        gain = rate - produce.get(replica[0], 0.0)
        if gain > 0:
            soonest = min(soonest, lags[replica].remaining_bytes / gain)
    if math.isfinite(soonest):
        yield max(math.ceil((world.now + soonest) / grain) * grain, world.now + grain)


def _too_late(world: World, rates: Mapping[ReplicaName, float]) -> Iterator[float]:
    """When followers that are behind will have been so for too long."""
    for replica, since in world.behind.items():
        written, at = world.produce.get(replica[0], 0.0), since + world.speeds.lag_seconds
        short = written * world.speeds.lag_seconds - world.lags[replica].remaining_bytes
        if short > CAUGHT_UP_BYTES:
            losing = written - rates.get(replica, 0.0)
            at = max(at, world.now + short / losing) if losing > 0 else math.inf
        if at > world.now:
            yield at


def _timers(simulation: Simulation, lookahead: Lookahead) -> Iterator[float]:
    """When periodic elections run that may have something to do."""
    world, cluster = simulation.world, simulation.cluster
    if world.speeds.rebalance_seconds and not lookahead.in_vain(RebalanceLeaders, cluster):
        yield world.next_rebalance
    if not lookahead.in_vain(ElectUncleanLeaders, cluster):
        yield world.next_unclean


def _flowed(simulation: Simulation, copy_rates: CopyRates, moment: float) -> World:
    """The world at a later moment at which nothing has happened but bytes."""
    rates, seconds = copy_rates.of(simulation), moment - simulation.world.now
    world = future_logs.flowed(simulation.cluster, simulation.world, seconds)
    leaderless = copy_rates.traffic.leaderless
    sizes = grown_sizes(world.sizes, world.produce, leaderless, copy_rates.limits, seconds)
    lags, rate_of, written_to = dict(world.lags), rates.get, world.produce.get
    written: dict[ReplicaName, float] = {}
    for replica, (lacking, fetches_from) in world.lags.items():
        name = replica[0]
        fetched, produced = rate_of(replica, 0.0) * seconds, written_to(name, 0.0) * seconds
        if produced and name in leaderless:
            produced = 0.0
        if fetched or produced:
            remaining = lacking + produced - fetched
            if remaining < 0:
                fetched, remaining = lacking + produced, 0.0
            elif produced > fetched:  # it may lack more than retention leaves
                remaining = min(remaining, sizes.get(name, remaining))
            written[replica] = fetched
            lags[replica] = Lag(remaining, fetches_from)
    ahead = quota.drained(world, copy_rates.ahead_of_rate, moment)
    return replace(with_written(world, written), now=moment, lags=lags, sizes=sizes, bursts=ahead)
