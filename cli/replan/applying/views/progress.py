"""How far an application is, as values for whoever renders them."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import overload

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.ledger import RequestSubject
from replan.applying.journal.records import LogMoveRecord, Status
from replan.applying.observation import PartitionHistory, TickInput
from replan.applying.reasons.holds import CopyingInBroker, Stalled
from replan.applying.reasons.reason import HoldReason, Note
from replan.applying.tick.decision import Decision
from replan.applying.tick.run_state import RunState
from replan.model.control_plane import ClusterReader, Wanted, listed_by_broker
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, TopicPartition
from replan.planning.findings.replica_progress import Reading
from replan.planning.plans.moves import Move


class ReplicaProgress(Struct, frozen=True):
    """One new replica of a running copy."""

    broker: BrokerId
    copied_bytes: int | None
    """None until it was read for the first time."""
    total_bytes: int
    bytes_per_second: float | None
    seconds_left: float | None
    in_sync: bool


class CopyProgress(Struct, frozen=True):
    """One running copy."""

    partition: TopicPartition
    replicas: tuple[ReplicaProgress, ...]
    hold: HoldReason | None = None
    """What it waits for."""
    stalled: Stalled | None = None
    """Where it does not move, if so; it has given its slots back."""


class Volume(Struct, frozen=True):
    """How much an application copies in all, and how far that is.

    Nothing of one that is cancelled: it copies no more, and what it has copied of what is not finished is taken back.
    """

    copied_bytes: int = 0
    total_bytes: int = 0
    """Of everything but what has stopped or is being cancelled."""
    bytes_per_second: float = 0.0
    """Of all running copies."""
    confirm_seconds: float = 0.0
    """For how long what is copied last has to stay in sync."""
    unread: bool = False
    """Whether more may be copied: a broker that does not serve has not said what it holds."""
    throttled_seconds: float = 0.0
    """How long the throttle makes the broker that is to send or receive most take for that: others end before it."""

    @property
    def seconds_left(self) -> float | None:
        """To the end of the application at this rate; None where nothing is copied now."""
        uncopied = self.total_bytes - self.copied_bytes
        if not uncopied or not self.bytes_per_second:
            return None
        return max(uncopied / self.bytes_per_second, self.throttled_seconds) + self.confirm_seconds


class Progress(Struct, frozen=True):
    """An application at one moment."""

    at_seconds: float
    """Since this run of the application began."""
    total: int
    done: int
    stopped: int
    """Stale, rejected or foreign."""
    running: int
    waiting: int
    copies: Sequence[CopyProgress] = ()
    volume: Callable[[], Volume] = Volume
    """Adds up what is copied; asked for only where it is shown, as it goes through the whole plan."""
    holds: Mapping[TopicPartition, HoldReason] | None = None
    """Why each partition that is looked at now waits."""
    last_holds: Mapping[TopicPartition, HoldReason] = field(default_factory=dict)
    """Why each waits that was looked at in this tick or before."""
    step_holds: Mapping[RequestSubject, HoldReason] = field(default_factory=dict)
    """The same of steps other than moves."""
    begun: Container[TopicPartition] = ()
    """The partitions that have been begun, or are over."""
    now: float = 0.0
    """On the clock of the application."""
    since: Mapping[TopicPartition, float] = field(default_factory=dict)
    """Since when each partition waits for the same kind of thing, on that clock."""
    admission: HoldReason | None = None
    """Why nothing new is begun at all, if so."""
    throttles: int = 0
    """Throttle settings of replan that are still to be restored."""
    arriving_seconds: float = 0.0
    """For how long a change of them may still arrive, whose outcome is unknown or that a process before sent."""
    gives_up_at: float = inf
    """On that clock: when this process gives up, if nothing moves until then."""
    others: int = 0
    """Reassignments of other tools that are under its throttle."""
    notes: tuple[Note | str, ...] = ()
    """What was first noticed in this tick; text where another reporter adds its own."""


ProgressListener = Callable[[Progress], None]
"""Hears of it."""
PACE_SECONDS = 60.0
SHORTEST_PACE_SECONDS = 5.0


class CopyPace:
    """How fast an application copies, by how far it was when it was looked at before, over the last minute.

    The rates of the copies that run say less: throttled ones go in steps of eleven seconds, and slots are empty between
    two copies.
    """

    def __init__(self) -> None:
        self._readings = deque[tuple[float, int]]()

    def of(self, progress: Progress) -> Progress:
        """The progress with this rate, or with that of its copies where it was not looked at for long enough."""
        volume = progress.volume()
        while len(self._readings) > 1 and progress.now - self._readings[1][0] >= PACE_SECONDS:
            self._readings.popleft()
        if (
            not self._readings or self._readings[-1][1] != volume.copied_bytes
        ):  # sizes are not read each time
            self._readings.append((progress.now, volume.copied_bytes))
        (since, before), (until, copied) = self._readings[0], self._readings[-1]
        fresh = progress.now - until < PACE_SECONDS
        if fresh and until - since >= SHORTEST_PACE_SECONDS and copied > before:
            volume = replace(volume, bytes_per_second=(copied - before) / (until - since))
        return replace(progress, volume=lambda: volume)


def progress_of(
    tick: TickInput,
    state: RunState,
    decision: Decision,
    began: float,
    reported: int,
    gives_up_at: float,
) -> Progress:
    """An application after a tick; `began`: when this run did, `reported`: how many notes were reported before."""
    total, ledger = tick.job.plan.steps, state.ledger
    copies = CopiesInProgress(tick, state, decision.holds)
    others = [r.status for r in ledger.steps]
    done = ledger.done + others.count(Status.DONE)
    running = len(ledger.open) + others.count(Status.OPEN)
    owned = len(ledger.owned) + len(others)
    return Progress(
        at_seconds=tick.now - began,
        total=total,
        done=done,
        stopped=owned - running - done,
        running=running,
        waiting=total - owned,
        copies=copies,
        volume=lambda: _volume(tick, state, copies),
        holds=decision.holds,
        last_holds=state.holds,
        step_holds=decision.step_holds,
        begun=ledger.owned,
        now=tick.now,
        since=state.held_since,
        admission=decision.admission,
        throttles=state.ledger.throttles,
        arriving_seconds=max(
            (
                at + tick.settings.quarantine_seconds - tick.now
                for at in state.configs_unknown_since.values()
            ),
            default=0.0,
        ),
        gives_up_at=gives_up_at,
        others=len(state.others.reassignments),
        notes=state.notes[reported:],
    )


@dataclass(frozen=True)
class CopiesInProgress(Sequence[CopyProgress]):
    """The running copies of an application, in order of name; made when they are looked at, as few ticks are shown."""

    tick: TickInput
    state: RunState
    holds: Mapping[TopicPartition, HoldReason]

    @overload
    def __getitem__(self, index: int) -> CopyProgress: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[CopyProgress]: ...
    def __getitem__(self, index: int | slice) -> CopyProgress | Sequence[CopyProgress]:
        return self._made[index]

    def __len__(self) -> int:
        return len(self._made)

    @cached_property
    def _made(self) -> tuple[CopyProgress, ...]:
        return tuple(
            _copy(self.tick, self.state.history, self.tick.job.moves[name], self.holds.get(name))
            for name, record in sorted(self.state.ledger.open.items())
            if record.expanding
        )


def _copy(
    tick: TickInput, history: PartitionHistory, move: Move, hold: HoldReason | None
) -> CopyProgress:
    return CopyProgress(
        move.partition,
        tuple(_replica(tick, history, move, broker) for broker in move.new),
        hold,
        history.stalled(move, tick.look, tick.now, tick.settings.stalled_seconds),
    )


def _replica(
    tick: TickInput, history: PartitionHistory, move: Move, broker: BrokerId
) -> ReplicaProgress:
    state = tick.look.partitions.get(move.partition)
    in_sync = state is not None and broker in state.isr
    size = history.sizes.get((move.partition, broker))
    total = history.totals.get(move.partition) or move.bytes
    copied = None if size is None else size.bytes
    speed = None if size is None else size.bytes_per_second
    seconds_left = None
    if in_sync:
        seconds_left = 0.0
    elif copied is not None and speed:
        seconds_left = max(0, total - copied) / speed
    return ReplicaProgress(broker, copied, total, speed, seconds_left, in_sync)


def _volume(tick: TickInput, state: RunState, copies: Sequence[CopyProgress]) -> Volume:
    application = state.ledger.application
    if application is not None and application.is_cancelled:
        return Volume()
    running = {copy.partition: copy.replicas for copy in copies}
    copied = total = 0
    uncopied = Counter[tuple[BrokerId, Side]]()
    for source, target, part, whole in _between_brokers(tick, state, running):
        copied += min(part, whole)
        total += whole
        uncopied[source, Side.LEADER] += max(0, whole - part)
        uncopied[target, Side.FOLLOWER] += max(0, whole - part)
    for part, whole in _within_brokers(tick, state):
        copied += min(part, whole)
        total += whole
    moving = (r for c in copies if c.stalled is None for r in c.replicas if not r.in_sync)
    speed = sum(r.bytes_per_second or 0.0 for r in moving)
    unread = any(
        r.copied_bytes is None and not r.in_sync and not tick.look.live(r.broker)
        for c in copies
        for r in c.replicas
    )
    throttled = _throttled_seconds(uncopied, state.throttle(tick.job))
    return Volume(copied, total, speed, tick.settings.settle_seconds, unread, throttled)


def _throttled_seconds(
    uncopied: Mapping[tuple[BrokerId, Side], int], throttle: MoveThrottle | None
) -> float:
    """How long the throttle makes the last broker take for the bytes that it is still to send or to receive."""
    if throttle is None:
        return 0.0
    rates = ((most, throttle.rate_of(*at)) for at, most in uncopied.items())
    return max((most / rate for most, rate in rates if rate is not None), default=0.0)


def _between_brokers(
    tick: TickInput,
    state: RunState,
    running: Mapping[TopicPartition, Sequence[ReplicaProgress]],
) -> Iterator[tuple[BrokerId, BrokerId, int, int]]:
    """Each copy: who sends, who receives, bytes copied and to copy.

    By the sizes of the plan, and of a running one by the last reading.
    """
    for move in tick.job.plan.moves:
        own = state.ledger.owned.get(move.partition)
        if own is not None and (replicas := running.get(move.partition)):
            for r in replicas:
                copied = r.total_bytes if r.in_sync else r.copied_bytes or 0
                yield move.source, r.broker, copied, r.total_bytes
        elif (
            own is None
            or own.status is Status.DONE
            or (own.status is Status.OPEN and not own.cancelling)
        ):
            begins = own is None or (own.status is Status.OPEN and own.asked is None)
            for broker in move.new:
                yield move.source, broker, 0 if begins else move.bytes, move.bytes


def _within_brokers(tick: TickInput, state: RunState) -> Iterator[tuple[int, int]]:
    """The same of replicas that go to another log directory."""
    for move in tick.job.plan.log_moves:
        own, hold = (
            state.ledger.steps_of(LogMoveRecord).get(move.replica),
            state.step_holds.get(move.replica),
        )
        if own is None or own.status is Status.OPEN:
            yield hold.copied if isinstance(hold, CopyingInBroker) else 0, move.bytes
        elif own.status is Status.DONE:
            yield move.bytes, move.bytes


def read_progress(
    reader: ClusterReader, names: Collection[TopicPartition], seconds: float = 0.0
) -> Reading:
    """Partitions with what runs on them, the sizes of their replicas, and where the logs of these end."""
    topics = {n.topic for n in names}
    listed = reader.look(Wanted(partitions=names)).partitions if names else {}
    of = listed_by_broker({n: state.replicas for n, state in listed.items()})
    look = reader.look(Wanted(partitions=names, topics=topics, sizes_of=of))
    live = {b: held for b, held in of.items() if look.live(b)}
    ends = reader.log_ends(live) if live else {}
    return Reading(seconds=seconds, look=look, ends=ends)
