"""A plan of any size in a model without a cluster: what flows through each broker, and how long its slots are taken.

A copy passes its source's leader side and its new broker's follower side, and takes a slot on both. The time of a
plan is that of the side with the most bytes at its rate, and what the slots of the busiest broker take beside; where
brokers wait for one another in turn it takes longer. Beside full rehearsals of 60 to 200 moves it is within a fifth.
What producers write to a partition while it is copied passes both sides as well (`planning.making.convergence`). The
headroom over min ISR is exact where nothing fails: the lists and in-sync replicas of each move before, while its
copies run, and at its target.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from replan.applying.views.progress import Progress
from replan.faults.read import FaultSpec
from replan.model.columns import list_lengths
from replan.model.declared.placement import Side
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import effective_min_isr
from replan.model.snapshot import Snapshot
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import Plan
from replan.planning.plans.requests import SLOTS
from replan.planning.safety.run_invariants import Crowding
from replan.rehearsal.options import Options
from replan.rehearsal.result import Copied
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.advance import next_moment
from replan.simulator.cluster.faults import At, LoseRequests, SlowBroker
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.control_plane import SimulatedControlPlane

SLOT_SECONDS = 1.5
"""How long a copy takes a slot beside its bytes: throttle set and read back, request, look, next one admitted."""
ENDING_SECONDS = 5.0
"""Beyond the settle time: assigning, electing, restoring throttles."""


class Bottleneck(Struct, frozen=True):
    """The broker and side that takes longest."""

    broker: BrokerId
    side: Side
    bytes: int
    bytes_per_second: float
    """What is left of its rate beside what producers write; 0 where nothing is."""


class Margin(Struct, frozen=True):
    """A partition with the fewest in-sync replicas over its min ISR."""

    partition: TopicPartition
    in_sync: int
    min_in_sync: int
    before: int
    """In-sync replicas over min ISR before the plan."""

    @property
    def replicas(self) -> int:
        """In-sync replicas over min ISR."""
        return self.in_sync - self.min_in_sync


class Coarse(Struct, frozen=True):
    """What the model says of a plan."""

    seconds: float | None
    """None: some copies never end at their rate."""
    bottleneck: Bottleneck | None
    """None where nothing is copied."""
    margin: Margin | None
    """None where nothing moves."""


def coarse_rehearsal(plan: Plan, snapshot: Snapshot, options: Options) -> Coarse:
    """Judge a plan as a whole; linear in its moves."""
    sides = list(_sides(plan, options))
    seconds = 0.0
    bottleneck = max(sides, key=_seconds, default=None)
    if bottleneck is not None:
        copies = Counter(b for m in plan.moves if m.new for b in {m.source, *m.new})
        slots = max(copies.values()) * SLOT_SECONDS / SLOTS
        seconds = _seconds(bottleneck) + slots + options.settings.settle_seconds
    margins = (_margin(move, in_sync) for move, in_sync in _in_sync(plan, snapshot))
    return Coarse(
        None if seconds == math.inf else seconds + ENDING_SECONDS,
        bottleneck,
        min(margins, key=lambda m: (m.replicas, m.partition), default=None),
    )


def _seconds(side: Bottleneck) -> float:
    return side.bytes / side.bytes_per_second if side.bytes_per_second > 0 else math.inf


def _sides(plan: Plan, options: Options) -> Iterator[Bottleneck]:
    """Each side of each broker that copies, with the rate that is left for them."""
    bytes_: defaultdict[tuple[BrokerId, Side], int] = defaultdict(int)
    written: defaultdict[tuple[BrokerId, Side], list[float]] = defaultdict(list)
    for move in plan.moves:
        if not move.new:
            continue
        rate = options.rates.get(move.partition, options.produce or 0)
        followers = len(move.original) + len(move.new) - 1
        passes = [((move.source, Side.LEADER), move.copies_bytes, rate * followers)]
        passes += [((broker, Side.FOLLOWER), move.bytes, rate) for broker in move.new]
        for at, copied, passing in passes:
            bytes_[at] += copied
            written[at].append(passing)
    network = options.speeds().network_bytes_per_second
    for (broker, side), amount in sorted(bytes_.items()):
        throttle = None if plan.throttle is None else plan.throttle.rate_of(broker, side)
        rate = network if throttle is None else min(throttle, network)
        of_each = written[broker, side]
        at_once = min(SLOTS, len(of_each)) * sum(of_each) / len(of_each)
        yield Bottleneck(broker, side, amount, max(0.0, rate - at_once))


def _in_sync(plan: Plan, snapshot: Snapshot) -> Iterator[tuple[Move, int]]:
    """Each move with how many replicas are in sync."""
    of_topic: defaultdict[str, dict[int, Move]] = defaultdict(dict)
    for move in plan.moves:
        of_topic[move.partition.topic][move.partition.partition] = move
    for topic, moves in sorted(of_topic.items()):
        there = snapshot.topic_rows(topic)
        rows_of_topic = snapshot.partitions.slice(there.start, len(there))
        lengths = list_lengths(rows_of_topic.column("isr")).tolist()
        for number, in_sync in zip(
            rows_of_topic.column("partition").to_pylist(), lengths, strict=True
        ):
            if number in moves:
                yield moves[number], in_sync


def _margin(move: Move, in_sync: int) -> Margin:
    m, original = move.min_insync_replicas, len(move.original)
    before = in_sync - effective_min_isr(m, original)
    listed = original + len(move.new) - len(move.unnameable)
    states = (
        (in_sync, effective_min_isr(m, original)),
        (in_sync, effective_min_isr(m, listed)),
        (len(move.target), effective_min_isr(m, len(move.target))),
    )
    least = min(states, key=lambda s: s[0] - s[1])
    return Margin(move.partition, *least, before)


def crowding_by_broker(
    stage: Simulation,
    faults: Sequence[FaultSpec],
    copies: Sequence[Copied],
    span: tuple[float, float],
) -> Mapping[BrokerId, Sequence[Crowding]]:
    """The copies that each broker sent or received; `span`: the seconds when the run began and ended.

    Replicas that come back share the networks with them, and are late by so much. What is written and replicated has
    its part of a network in any case, whoever leads; copies are counted with what that leaves of the slowest network or
    disk that there was.
    """
    began, ended = span
    speeds = stage.world.speeds
    slowed = [
        at.fault.bytes_per_second
        for fault in faults
        for at in fault.schedule
        if isinstance(at.fault, SlowBroker) and at.fault.bytes_per_second
    ]
    slowest = min(speeds.network_bytes_per_second, speeds.disk_bytes_per_second, *slowed)
    taken = _taken_by_producing(stage, copies)
    by_broker: dict[BrokerId, list[Crowding]] = {}
    for copy in copies:
        until = ended if copy.in_sync is None else began + copy.in_sync
        for broker in (copy.broker, copy.source):
            if broker is not None:
                left = slowest - taken[broker]
                seconds = copy.bytes / left if left > 0 else math.inf
                by_broker.setdefault(broker, []).append(
                    Crowding(began + copy.began, until, seconds)
                )
    return by_broker


def _taken_by_producing(stage: Simulation, copies: Sequence[Copied]) -> Counter[BrokerId]:
    """Bytes per second that each broker at most sends, or receives, of what is written."""
    new: dict[TopicPartition, set[BrokerId]] = {}
    for copy in copies:
        new.setdefault(copy.partition, set()).add(copy.broker)
    taken = Counter[BrokerId]()
    for name, rate in stage.world.produce.items():
        partition = stage.cluster.partition(name)
        members = new.get(name, set()) | set(() if partition is None else partition.replicas)
        for broker in members:
            taken[broker] += math.ceil(rate * max(1, len(members) - 1))
    return taken


def _moments(at: At) -> tuple[float, ...]:
    """When a fault makes itself felt; a lost request may do so up to its delay later."""
    match at.fault:
        case LoseRequests(effect_after_seconds=later) if later is not None:
            return at.seconds, at.seconds + later
        case _:
            return (at.seconds,)


QUIET_SECONDS = 10.0
"""Beyond the settle time: no gate of the applier is looked at again later than that."""
AFTER_FAULT_SECONDS = 120.0
"""The quarantine of a request whose outcome is unknown (85 s) and some."""
LOOKS_IN_A_MOVE = 20


def busy_stride(progress: Progress) -> float:
    """Seconds between two looks while copies run; 0 while too few moves are done to tell.

    How long a move takes follows from how many run and how many are done (Little's law).
    """
    if progress.done <= progress.running:
        return 0.0
    return progress.running * progress.at_seconds / progress.done / LOOKS_IN_A_MOVE


class EventSkippingClock:
    """A Clock over a simulated cluster: virtual time in long strides while nothing happens, or little beside what runs.

    Copies run for hours, and nothing changes for the applier between two events. Once it has been quiet for longer than
    any of its patience, a sleep goes on to the next event, or to the moment in which the applier gives up. Strides stay
    short enough for what it measures by itself.

    With many moves it is never quiet. A sleep then takes up to a twentieth of what one of them takes on average: each
    is seen to be done so much later at most, and ten times the bytes need no more looks. Such a sleep ends with the
    next fault; after one, and while a replica comes back that was there before, the applier looks when it would.
    """

    def __init__(
        self,
        plane: SimulatedControlPlane,
        clock: VirtualClock,
        changed_at: Callable[[Simulation], float],
        *,
        settle_seconds: float,
        longest_stride_seconds: float,
        faults: Iterable[At],
    ) -> None:
        """`changed_at`: when the cluster last changed; `settle_seconds`: those of the applier; `faults` by its time."""
        self.looks = 0
        self._plane = plane
        self._clock = clock
        self._changed_at = changed_at
        self._quiet_seconds = settle_seconds + QUIET_SECONDS
        self._longest_stride_seconds = longest_stride_seconds
        self._faults = sorted(moment for at in faults for moment in _moments(at))
        """The moments after which the applier looks closely."""
        self._began = clock.now()
        self.gives_up_at = math.inf
        """When the applier gives up if nothing moves: no stride goes beyond."""
        self.busy_stride_seconds = 0.0
        """What a sleep may take while copies run, if that is longer than the applier asks for."""
        self.longest_busy_seconds = 0.0
        """The longest such sleep."""
        self._strode = False
        self._closely_until = -math.inf
        """Until then the applier looks when it would: what ended in a long sleep is confirmed by several looks."""

    def now(self) -> float:
        """Virtual seconds."""
        return self._clock.now()

    def sleep(self, seconds: float) -> None:
        """Let at least so much time pass."""
        self.looks += 1
        self._clock.sleep(self._stride(seconds))

    def _stride(self, seconds: float) -> float:
        now = self.now()
        simulation = self._plane.simulation
        if simulation.world.metadata_lag_seconds:
            return seconds
        if any(at <= now < at + AFTER_FAULT_SECONDS for at in self._faults):
            return seconds
        if now - self._changed_at(simulation) < self._quiet_seconds:
            return self._busy(seconds)
        if self._strode:
            self._strode, self._closely_until = False, now + self._quiet_seconds
        if now < self._closely_until:
            return seconds
        if self._longest_stride_seconds <= seconds:
            return seconds
        longest = max(self._longest_stride_seconds, (now - self._began) / 100)
        ahead = min(longest, next_moment(simulation) - now, self.gives_up_at - now)
        return max(seconds, math.floor(ahead / seconds) * seconds)

    def _busy(self, seconds: float) -> float:
        if self.busy_stride_seconds <= seconds or _replica_comes_back(self._plane.simulation):
            return seconds
        now = self.now()
        coming = min((at for at in self._faults if at >= now), default=math.inf)
        longest = min(self.busy_stride_seconds, self._longest_stride_seconds)
        ahead = min(longest, coming - now, self.gives_up_at - now)
        if ahead <= seconds:
            return seconds
        self.longest_busy_seconds = max(self.longest_busy_seconds, ahead)
        self._strode = True
        return ahead


def _replica_comes_back(simulation: Simulation) -> bool:
    """Whether one that is not new is out of sync: the applier may have to lift its throttle."""
    for name, follower in simulation.world.lags:
        partition = simulation.cluster.partition(name)
        if partition is None or follower not in partition.adding:
            return True
    return False
