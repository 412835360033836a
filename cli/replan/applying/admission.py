"""Which moves may begin now: the slots of brokers, the queue of those that wait, and the gates of every list.

How many copies a broker takes part in (`Slots`), which waiting move is looked at next (`AdmissionQueue`), what must
hold before replicas are added or a list is asked for (`closed_gate`), room on log directories (`Room`), and leaders of
internal topics (`Coordinators`). In which order moves come into a plan is in `planning.making.admission_order`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.records import MoveRecord
from replan.applying.observation import runs_own
from replan.applying.partitions import Deferred, Parked, Phase
from replan.applying.reasons.holds import (
    CoordinatorLoads,
    NewBrokerCordoned,
    NewBrokerFenced,
    NoRoom,
    NoSlot,
    TopicReassigned,
    UncleanElectionPossible,
    WritesWouldStop,
)
from replan.applying.reasons.reason import HoldReason
from replan.model.broker import LogDir, Volume, Volumes, volumes
from replan.model.control_plane import Look, ReplicaName
from replan.model.layered import Layered
from replan.model.names import BrokerId, Replicas, TopicPartition, is_internal
from replan.model.partition import (
    PartitionState,
    Reassignment,
    effective_min_isr,
    may_add_empty_replica,
)
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import Request, RequestKind


class Slots(Struct):
    """The slots of one tick: what is taken, and what may be taken yet.

    A copy takes a slot on the leader now and on each broker that receives; reassignments of other tools count too.
    Limits shrink where in-sync replicas are lost and grow back with every settled move (additive increase,
    multiplicative decrease), so the number of copies finds by itself what a broker bears.
    """

    _limits: Mapping[BrokerId, int]
    """Of the brokers that differ from the default."""
    _default: int
    _taken: Counter[BrokerId]
    _others: Mapping[TopicPartition, Collection[BrokerId]]

    @classmethod
    def of(
        cls,
        limits: Mapping[BrokerId, int],
        default: int,
        taken: Iterable[Iterable[BrokerId]] = (),
        others: Mapping[TopicPartition, Collection[BrokerId]] = {},
    ) -> "Slots":
        """`taken`: the brokers of each running copy of replan; `others`: those of other tools' reassignments."""
        loads = chain(map(set, taken), others.values())
        return cls(limits, default, Counter(chain.from_iterable(loads)), others)

    def limit(self, broker: BrokerId) -> int:
        """How many copies it may take part in now."""
        return self._limits.get(broker, self._default)

    def free(self, broker: BrokerId) -> int:
        """How many more it may take; negative after its limit shrank."""
        return self.limit(broker) - self._taken[broker]

    def first_full(self, brokers: Iterable[BrokerId]) -> BrokerId | None:
        """The first broker without a free slot."""
        return next((b for b in brokers if self.free(b) <= 0), None)

    def take(self, brokers: Iterable[BrokerId]) -> None:
        """Take a slot on each, all at once."""
        self._taken.update(set(brokers))

    def reserve(self, brokers: Iterable[BrokerId]) -> None:
        """Keep for a move that was passed over too often what is free on its brokers."""
        self._taken.update({b for b in brokers if self.free(b) > 0})

    def why_full(self, broker: BrokerId) -> NoSlot:
        """The wait for a slot on a broker that is full."""
        others = tuple(sorted(n for n, brokers in self._others.items() if broker in brokers))
        return NoSlot(broker, self.limit(broker), self._default, others)


def foreign_load(running: Reassignment, live: Callable[[BrokerId], bool]) -> frozenset[BrokerId]:
    """The brokers that another tool's reassignment loads; the source is taken to be the first that is not new.

    One whose new brokers are all dead loads nobody, however long it hangs.
    """
    if not any(map(live, running.adding)):
        return frozenset()
    return frozenset({*running.adding, *running.original[:1]})


def halved(
    limits: Mapping[BrokerId, int], brokers: Iterable[BrokerId], default: int
) -> dict[BrokerId, int]:
    """Limits after an in-sync replica was lost: half, at least one."""
    after = dict(limits)
    for broker in set(brokers):
        after[broker] = max(1, after.get(broker, default) // 2)
    return after


def limits_after_success(
    limits: Mapping[BrokerId, int], brokers: Iterable[BrokerId], default: int
) -> dict[BrokerId, int]:
    """Limits after a move settled without a loss: one more, at most the default."""
    after = dict(limits)
    for broker in set(brokers):
        after[broker] = after.get(broker, default) + 1
        if after[broker] >= default:
            del after[broker]
    return after


TIMES_PASSED_OVER = 50
"""A move that was passed over so often reserves slots as they become free."""
LOOK_AHEAD = 4
"""How many more than it has room for a broker releases: some will be full elsewhere."""

Places = tuple[int, ...]
"""Places in the plan, ascending."""


class AdmissionQueue(Struct, frozen=True):
    """Places in the plan that wait; every place is in exactly one of the queues.

    Here are the phases Waiting, Deferred and Parked of `partitions`, by place in the plan. A move that finds a broker
    full is parked in that broker's queue, in plan order; a broker with room releases as many as it has room for. A move
    whose gate is closed is deferred for some seconds. So a tick costs what can change in it, not what waits: O(moves ×
    brokers touched) over the whole application.
    """

    ready: Places = ()
    parked: Mapping[BrokerId, Places] = field(default_factory=dict)
    deferred: tuple[tuple[float, int], ...] = ()
    """By the time until when."""
    passed_over: Layered[int, int] = field(default_factory=Layered)
    """How often each found a broker full."""

    def __len__(self) -> int:
        parked = sum(len(places) for places in self.parked.values())
        return len(self.ready) + len(self.deferred) + parked

    def starving(self, place: int) -> bool:
        """Whether a move was passed over so often that it reserves slots, and not for ever.

        After as many times more others have their turn: one of its brokers may stay full.
        """
        return _reserves(self.passed_over.get(place, 0))

    def next(self, limit: int) -> Places:
        """Up to `limit` places to look at now, in plan order."""
        return self.ready[:limit]

    def released(self, now: float, free: Callable[[BrokerId], int]) -> "AdmissionQueue":
        """The queue after everything whose time has come, or whose broker has room, waits again."""
        due = bisect_right(self.deferred, now, key=lambda entry: entry[0])
        back = [place for _, place in self.deferred[:due]]
        parked: dict[BrokerId, Places] = {}
        for broker, places in self.parked.items():
            room = free(broker)
            some = room + LOOK_AHEAD if room > 0 else 0
            back += places[:some]
            if len(places) > some:
                parked[broker] = places[some:]
        if not back:
            return self
        ready = tuple(sorted((*self.ready, *back)))
        return replace(self, ready=ready, parked=parked, deferred=self.deferred[due:])

    def after(self, changes: Mapping[int, Phase]) -> "AdmissionQueue":
        """The queue after these places came into other phases; one that was admitted may come back."""
        if not changes:
            return self
        aside = {p: phase for p, phase in changes.items() if self._goes_aside(p, phase)}
        waits = {p for p, phase in changes.items() if isinstance(phase, Deferred | Parked)}
        stays = waits - aside.keys()
        end = bisect_right(self.ready, max(changes))
        head = {p for p in self.ready[:end] if p not in changes} | stays
        return replace(
            self,
            ready=(*sorted(head), *self.ready[end:]),
            parked=self._parked_after(aside),
            deferred=self._deferred_after(aside),
            passed_over=self._passed_over_after(changes),
        )

    def _goes_aside(self, place: int, phase: Phase) -> bool:
        """One that was passed over too often stays in view."""
        passed_over = self.passed_over.get(place, 0) + 1
        return isinstance(phase, Deferred) or (
            isinstance(phase, Parked) and not _reserves(passed_over)
        )

    def _parked_after(self, aside: Mapping[int, Phase]) -> Mapping[BrokerId, Places]:
        fresh: dict[BrokerId, list[int]] = {}
        for place, phase in aside.items():
            if isinstance(phase, Parked):
                fresh.setdefault(phase.broker, []).append(place)
        merged = {b: tuple(sorted((*self.parked.get(b, ()), *p))) for b, p in fresh.items()}
        return {**self.parked, **merged} if merged else self.parked

    def _deferred_after(self, aside: Mapping[int, Phase]) -> tuple[tuple[float, int], ...]:
        fresh = [(phase.until, p) for p, phase in aside.items() if isinstance(phase, Deferred)]
        return tuple(sorted((*self.deferred, *fresh))) if fresh else self.deferred

    def _passed_over_after(self, changes: Mapping[int, Phase]) -> Layered[int, int]:
        passed_over = self.passed_over
        again = {
            p: passed_over.get(p, 0) + 1 for p, of in changes.items() if isinstance(of, Parked)
        }
        begun = [
            p
            for p, of in changes.items()
            if p in passed_over and not isinstance(of, Parked | Deferred)
        ]
        return passed_over.changed(again, begun) if again or begun else passed_over


def _reserves(passed_over: int) -> bool:
    return passed_over // TIMES_PASSED_OVER % 2 == 1


class Room(Struct, frozen=True):
    """Log directories as of the last reading, less what was promised since.

    Kafka places a new replica in the directory with the fewest logs (LogManager.nextLogDirs), whatever their sizes: it
    must fit there. What was promised and is not there yet comes before it, one in each directory in turn. Kafka takes
    any of those with equally few logs, and copies begin in any order, so the replica must fit in each directory that
    its turn may come to, beside the largest of the promised ones. What is there already takes more of the directory it
    lies in. Directories that may lie on one volume share its room (`volumes`): what comes to the others takes it, too.

    A replica that goes to another directory of its broker comes to the one that was asked for. It counts there in full;
    for Kafka's turn it may be there already or not yet, and have left its own directory or not.

    Room counts only when a reading showed it, so what was admitted since the last reading stays reserved until the next
    one, also where a copy has ended or a replica was dropped meanwhile (file.delete.delay.ms).
    """

    volumes: Volumes = field(default_factory=dict)
    """Of the directories that work."""
    promised: Mapping[BrokerId, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Bytes by broker and partition."""
    within: Mapping[BrokerId, Mapping[TopicPartition, tuple[str, int]]] = field(
        default_factory=dict
    )
    """Of the replicas that go to another directory: which one, and how many bytes."""

    @classmethod
    def of(cls, dirs: Iterable[LogDir]) -> "Room":
        """The room that a reading of the directories shows."""
        return cls(volumes(d for d in dirs if d.error is None))

    def reserve(self, partition: TopicPartition, brokers: Iterable[BrokerId], size: int) -> "Room":
        """The room after a copy of so many bytes to each broker was admitted; once more makes no difference."""
        promised = {b: {**self.promised.get(b, {}), partition: size} for b in brokers}
        return replace(self, promised={**self.promised, **promised})

    def reserve_within(self, replica: ReplicaName, path: str, size: int) -> "Room":
        """The same for a replica that goes to a directory of its broker."""
        partition, broker = replica
        of = {**self.within.get(broker, {}), partition: (path, size)}
        return replace(self, within={**self.within, broker: of})

    def why_not(self, partition: TopicPartition, broker: BrokerId, size: int) -> NoRoom | None:
        """Why a replica of so many bytes does not fit on a broker; None where it fits or the room is not known."""
        lacks = [_no_room(turn, size) for turn in self._beside(partition, broker).turns()]
        lacking = [no for no in lacks if no is not None]
        return min(lacking, key=lambda no: (no.usable - no.promised, no.path), default=None)

    def why_not_within(self, replica: ReplicaName, path: str, size: int) -> NoRoom | None:
        """Why a replica does not fit in a directory of its broker, whatever of the copies Kafka makes there."""
        beside = self._beside(*replica)
        lacks = (_no_room(turn, size, within=True) for turn in beside.at_most(path))
        return next((no for no in lacks if no is not None), None)

    def _beside(self, partition: TopicPartition, broker: BrokerId) -> "_Coming":
        """What comes to a broker beside the replica of this partition."""
        on_volumes = self.volumes.get(broker, ())
        dirs = [*chain.from_iterable(on_volumes)]
        copies = {p: b for p, b in self.promised.get(broker, {}).items() if p != partition}
        moves = {p: to for p, to in self.within.get(broker, {}).items() if p != partition}
        there = {p: d.path for d in dirs for p in copies if _lies_in(p, d)}
        certain, most, least = Counter[str](), Counter[str](), Counter[str]()
        for d in dirs:
            most[d.path] = d.logs + sum(path == d.path for path, _ in moves.values())
            least[d.path] = d.logs - sum(_lies_in(p, d) for p in moves)
        for path, size in (*moves.values(), *((path, copies[p]) for p, path in there.items())):
            certain[path] += size
        coming = sorted((b for p, b in copies.items() if p not in there), reverse=True)
        logs = [most[d.path] for d in dirs if not d.cordoned]
        heapify(logs)
        for _ in coming if logs else ():
            heapreplace(logs, logs[0] + 1)
        return _Coming(on_volumes, certain, coming, least, logs[0] if logs else 0)


class _Turn(Struct, frozen=True):
    directory: LogDir
    promised: int
    """Bytes that come to lie on its volume before, at most."""


class _Coming(Struct, frozen=True):
    """What comes to the directories of a broker."""

    volumes: Sequence[Volume]
    certain: Mapping[str, int]
    """Bytes that come to a directory for certain."""
    free: list[int]
    """Bytes of each copy for which Kafka has yet to choose a directory, the largest first."""
    least: Mapping[str, int]
    """The logs of each directory, without any of those copies; at least."""
    fewest: int
    """Those of the directory with the fewest, once all copies are there; at most."""

    def turns(self) -> Iterator[_Turn]:
        """The directories that Kafka may put the next replica in, once all that comes is there."""
        for volume in self.volumes:
            for d in volume:
                before = self.fewest - self.least[d.path]
                if not d.cordoned and before >= 0:
                    others = sum(self._most(other) for other in volume if other is not d)
                    yield self._turn(d, volume, before + others)

    def at_most(self, path: str) -> Iterator[_Turn]:
        """A directory with all that may come to its volume."""
        for volume in self.volumes:
            copies = sum(map(self._most, volume))
            yield from (self._turn(d, volume, copies) for d in volume if d.path == path)

    def _most(self, directory: LogDir) -> int:
        """How many of the copies may come to a directory."""
        return 0 if directory.cordoned else max(0, self.fewest - self.least[directory.path] + 1)

    def _turn(self, directory: LogDir, volume: Volume, copies: int) -> _Turn:
        certain = sum(self.certain[d.path] for d in volume)
        return _Turn(directory, certain + sum(self.free[:copies]))


def _no_room(turn: _Turn, size: int, *, within: bool = False) -> NoRoom | None:
    directory, usable = turn.directory, turn.directory.usable_bytes
    room = directory.room()
    if usable is None or room is None or not size or room - turn.promised >= size:
        return None
    return NoRoom(
        directory.broker, directory.path, size, usable, turn.promised, usable - room, within
    )


def _lies_in(partition: TopicPartition, directory: LogDir) -> bool:
    return partition.partition in directory.replicas.get(partition.topic, ())


QUEUE_SECONDS = 1.0
"""How long a log waits at most for others that its new coordinator reads before."""
LEAST_SECONDS = 0.05
"""To load a log, however small."""
BYTES_PER_SECOND = 20_000_000
"""At which a coordinator reads a log, at least."""

LoadingUntil = Mapping[BrokerId, float]
"""Until when each broker is likely to read the logs of partitions that it has begun to lead."""


class Coordinators(Struct):
    """Who loads what in one tick; what is asked for in the tick counts.

    Leaders of internal topics move so far apart that the coordinators on their new broker keep up.

    Whoever leads a partition of __consumer_offsets, __transaction_state or __share_group_state coordinates the groups,
    the transactions or the share groups that hash to it. When the leader moves, the new one reads that log from its
    beginning before it answers for them (CoordinatorLoader,
    TransactionStateManager.loadTransactionsForTxnTopicPartition): until then they get COORDINATOR_LOAD_IN_PROGRESS,
    commit nothing, and end no transaction. Members stay in their groups meanwhile, as the session timeout (45 s) is far
    longer than a load. Many logs for one broker at once would make it longer: one after the other is loaded, so the
    last waits for all of them. So a leader moves to a broker only while what that one has begun to lead before is
    likely to be loaded within a second, by its size, at a rate that brokers are faster than. Each group depends on one
    partition alone, so leaders may move to different brokers at once, and many that are small to one.

    Copies, and lists that keep the leader, disturb no group: they go like those of any topic, and only the list that
    lets another broker lead waits here. The election that follows such a list is not held again: the list has had its
    turn, and Kafka may elect by it at any moment (auto.leader.rebalance.enable). Elections alone, without a list, are
    asked for together, as Kafka's own tool does. A process that has just begun knows of no load: the first leader moves
    at once.
    """

    now: float
    loads: dict[BrokerId, float] = field(default_factory=dict)

    @classmethod
    def at(cls, now: float, before: LoadingUntil) -> "Coordinators":
        """What is still being loaded now."""
        return cls(now, {broker: until for broker, until in before.items() if until > now})

    def busy(self, move: Move, ask: Request, state: PartitionState) -> CoordinatorLoads | None:
        """Why a list waits that makes another broker lead; it is taken as asked for where nothing keeps it."""
        broker = move.target[0]
        stays = state.leader in ask.replicas and (not move.elect or state.leader == broker)
        if ask.kind is not RequestKind.ASSIGN or stays or not is_internal(move.partition.topic):
            return None
        begins = self.loads.get(broker, self.now)
        if begins - self.now >= QUEUE_SECONDS:
            return CoordinatorLoads(broker)
        size = max(move.bytes, state.bytes)
        self.loads[broker] = begins + LEAST_SECONDS + size / BYTES_PER_SECOND
        return None


Others = Mapping[str, tuple[TopicPartition, ...]]
"""The partitions that other tools reassign now, by topic."""


def closed_gate(
    move: Move,
    listed: Replicas,
    state: PartitionState,
    look: Look,
    room: Room,
    others: Others,
) -> HoldReason | None:
    """Why this list may not be asked for now, if so; whether it is asked for the first time makes no difference.

    It may come to be open later. Every list that is asked for passes `closed_gate`, whatever the history of its
    partition; a new gate belongs there. What makes a plan stale instead is in `broken_precondition`.
    """
    if set(listed) <= set(state.replicas):
        return _reorder_guard(move, look, others)
    return (
        _new_brokers(move, look)
        or _min_isr(move, state, look)
        or _unclean_election(move, state, look)
        or _disk_space(move, state, room)
    )


def _new_brokers(move: Move, look: Look) -> HoldReason | None:
    for broker in move.new:
        if not look.live(broker):
            return NewBrokerFenced(broker)
        if look.brokers[broker].cordoned:
            return NewBrokerCordoned(broker)
    return None


def _min_isr(move: Move, state: PartitionState, look: Look) -> HoldReason | None:
    """Adding replicas raises the effective minimum.

    Where a partition is under its minimum already and the start does not raise it, it is not made worse: it is healed.
    """
    m = move.min_insync_replicas
    live_isr = state.live_isr(look.live)
    before, after = effective_min_isr(m, len(move.original)), move.min_isr_with_copies
    if len(live_isr) >= after or (len(live_isr) < before and before == after):
        return None
    return WritesWouldStop(live_isr, m, after)


def _unclean_election(move: Move, state: PartitionState, look: Look) -> HoldReason | None:
    settings = look.topics.get(move.partition.topic)
    live_isr = state.live_isr(look.live)
    if settings is None or not settings.unclean_election or may_add_empty_replica(live_isr):
        return None
    return UncleanElectionPossible(move.partition.topic, live_isr)


def _disk_space(move: Move, state: PartitionState, room: Room) -> HoldReason | None:
    size = max(move.bytes, state.bytes)
    reasons = (room.why_not(move.partition, broker, size) for broker in move.new)
    return next((r for r in reasons if r is not None), None)


def others_by_topic(look: Look, owned: Mapping[TopicPartition, MoveRecord]) -> Others:
    """What runs and replan has not asked for; `owned`: the records of its partitions."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for name in sorted(look.running):
        if not runs_own(look, owned.get(name)):
            by_topic.setdefault(name.topic, []).append(name)
    return {topic: tuple(names) for topic, names in by_topic.items()}


def _reorder_guard(move: Move, look: Look, others: Others) -> HoldReason | None:
    """Whether a move that copies nothing has to wait.

    Without the guard of KIP-860 a list may overwrite a reassignment that another tool began a moment ago.
    """
    if look.features.replication_factor_guard or move.new:
        return None
    busy = others.get(move.partition.topic)
    return TopicReassigned(busy) if busy else None
