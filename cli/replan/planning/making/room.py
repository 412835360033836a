"""Room on disks: moves in an order in which every copy fits where Kafka puts it, and those for which there is none.

A new replica is made in the directory with the fewest logs (LogManager.nextLogDirs), beside the old ones: a replica
that leaves gives its room back only when its files are deleted, after the move (file.delete.delay.ms). A tenth of
every volume stays free. So a move that needs room comes behind those that make it: moves are taken in their order, one
that does not fit waits at its broker, and is tried again whenever a replica has left that, and at the end, as what was
made meanwhile may let Kafka take another directory.

Where that leaves moves without room, another order is tried: as Kafka takes the directories of a broker in turn, the
order decides what comes to lie in which. How many replicas each directory gets follows from the numbers of logs; of the
moves, the largest first, each is meant for the directory that has most room left, and made when Kafka's turn is there.
It is taken where it leaves fewer moves without room.

What waits even then has no room: because there is too little, whatever moves; or because moves wait for one another,
and then a replica must be moved aside first.

Directories and sizes that are not known take everything. How far an application has got is what
`applying.admission` judges.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

from msgspec import Struct, field

from replan.model.broker import Volumes
from replan.model.names import BrokerId, TopicPartition
from replan.planning.plans.log_dirs import Coming
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import Refusal, RefusalRule

UNKNOWN_ROOM = 1 << 62
"""Room that is not known."""


class NoRoomFor(Struct, frozen=True):
    """A move that has no room on a broker; bytes."""

    move: Move
    broker: BrokerId
    path: str
    usable: int
    """When everything that fits has moved, without the tenth that stays free."""
    aside: TopicPartition | None = None
    """A replica on the broker that waits for room elsewhere: with it moved aside, this one fits."""

    @property
    def refusal(self) -> Refusal:
        """Why the move is not planned."""
        facts: dict[str, int | str] = {
            "broker": self.broker,
            "path": self.path,
            "bytes": self.move.bytes,
            "usable": self.usable,
        }
        if self.aside is None:
            return Refusal(*self.move.partition, RefusalRule.NO_ROOM, facts)
        facts["aside"] = str(self.aside)
        return Refusal(*self.move.partition, RefusalRule.NO_ROOM_BEFORE, facts)


class _Volume(Struct):
    usable: int | None
    """What it can take yet; None: not known."""


class _Directory(Struct):
    path: str
    volume: _Volume
    """Others may lie on it, too."""
    logs: int

    @property
    def usable(self) -> int | None:
        """What it can take yet; None: not known."""
        return self.volume.usable


class Disks(Struct):
    """The directories of all brokers, as moves change them."""

    dirs: dict[BrokerId, list[_Directory]] = field(default_factory=dict)
    lies: dict[tuple[TopicPartition, BrokerId], str] = field(default_factory=dict)

    @classmethod
    def of(cls, volumes: Volumes) -> "Disks":
        """As they are."""
        disks = cls()
        every = chain.from_iterable(volumes.values())
        takes = ((d, on) for of in every for on in [_Volume(of[0].room())] for d in of)
        for d, volume in takes:
            if not d.takes_new:
                continue
            disks.dirs.setdefault(d.broker, []).append(_Directory(d.path, volume, d.logs))
            for topic, numbers in d.replicas.items():
                disks.lies.update({(TopicPartition(topic, n), d.broker): d.path for n in numbers})
        return disks

    def next_of(self, broker: BrokerId) -> _Directory | None:
        """Where the next replica of a broker is made; among equals where least room is."""
        return min(
            self.dirs.get(broker, ()),
            key=lambda d: (d.logs, d.usable or 0, d.path),
            default=None,
        )

    def lacking(self, move: Move) -> BrokerId | None:
        """The first broker that has no room for a move now."""
        for broker in move.new:
            chosen = self.next_of(broker)
            if chosen is not None and chosen.usable is not None and chosen.usable < move.bytes > 0:
                return broker
        return None

    def done(self, move: Move) -> None:
        """The directories once a move is over and the files of what has left are deleted."""
        for broker in move.new:
            chosen = self.next_of(broker)
            if chosen is not None:
                chosen.logs += 1
                self.lies[move.partition, broker] = chosen.path
                if chosen.volume.usable is not None:
                    chosen.volume.usable -= move.bytes
        for broker in move.leaving:
            directory = self._freed(move.partition, broker)
            if directory is not None:
                directory.logs = max(0, directory.logs - 1)
                if directory.volume.usable is not None:
                    directory.volume.usable += move.bytes

    def _freed(self, partition: TopicPartition, broker: BrokerId) -> _Directory | None:
        dirs = self.dirs.get(broker, [])
        path = self.lies.pop((partition, broker), None)
        if path is None:
            return dirs[0] if len(dirs) == 1 else None
        return next((d for d in dirs if d.path == path), None)


def coming(moves: Iterable[Move], volumes: Volumes) -> Coming:
    """What moves bring to each directory, made in this order; of what they take away nothing is counted."""
    disks, comes = Disks.of(volumes), dict[tuple[BrokerId, str], int]()
    for move in moves:
        disks.done(move)
        for broker in move.new:
            path = disks.lies.get((move.partition, broker))
            if path is not None:
                comes[broker, path] = comes.get((broker, path), 0) + move.bytes
    return comes


def in_room_order(moves: Sequence[Move], volumes: Volumes) -> tuple[list[Move], list[NoRoomFor]]:
    """The moves that have room, in an order in which each has it when its turn comes, and the others."""
    disks = Disks.of(volumes)
    if not disks.dirs:
        return list(moves), []
    ordered, stuck = _in_turn(moves, disks)
    if stuck and any(len(of) > 1 for of in disks.dirs.values()):
        others = Disks.of(volumes)
        sorted_in = _ByDirectory(moves, others).ordered()
        made = {move.partition for move in sorted_in}
        rest, late = _in_turn([m for m in moves if m.partition not in made], others)
        if len(late) < len(stuck):
            ordered, stuck, disks = [*sorted_in, *rest], late, others
    return ordered, [_no_room(move, stuck, disks) for move in stuck]


def _in_turn(moves: Sequence[Move], disks: Disks) -> tuple[list[Move], list[Move]]:
    """Moves in their order, as far as each has room when its turn comes, and those that never have."""
    ordered: list[Move] = []
    parked: dict[BrokerId, deque[Move]] = defaultdict(deque)
    place = {move.partition: number for number, move in enumerate(moves)}
    stuck, count = list(moves), -1
    while len(ordered) > count:
        count = len(ordered)
        for move in stuck:
            ordered.extend(_taken(move, disks, parked))
        stuck = sorted(
            (move for waiting in parked.values() for move in waiting),
            key=lambda m: place[m.partition],
        )
        parked.clear()
    return ordered, stuck


class _ByDirectory:
    """Moves in an order in which each comes to lie in the directory that it is meant for."""

    def __init__(self, moves: Sequence[Move], disks: Disks) -> None:
        self._moves, self._disks = moves, disks
        self._place = {move.partition: number for number, move in enumerate(moves)}
        self._taken: set[TopicPartition] = set()
        coming: dict[BrokerId, list[Move]] = defaultdict(list)
        for move in moves:
            for broker in disks.dirs.keys() & move.new:
                coming[broker].append(move)
        self._meant = {broker: _meant(of, disks.dirs[broker]) for broker, of in coming.items()}

    def ordered(self) -> list[Move]:
        """Of the moves whose turn it is, the first in their order is made, again and again; not all need be."""
        moves: list[Move] = []
        turns = [(number, broker) for broker in self._meant for number in self._first(broker)]
        heapify(turns)
        while turns:
            number, broker = heappop(turns)
            if self._first(broker) != [number]:
                continue
            move = self._moves[number]
            self._disks.done(move)
            self._taken.add(move.partition)
            moves.append(move)
            for touched in self._meant.keys() & {*move.new, *move.leaving}:
                for number in self._first(touched):
                    heappush(turns, (number, touched))
        return moves

    def _first(self, broker: BrokerId) -> list[int]:
        """The place of the move that is meant for the directory whose turn it is, if there is one that fits."""
        turn = self._disks.next_of(broker)
        waiting = self._meant[broker][turn.path] if turn else deque[Move]()
        while waiting and waiting[0].partition in self._taken:
            waiting.popleft()
        fits = waiting and self._disks.lacking(waiting[0]) is None
        return [self._place[waiting[0].partition]] if fits else []


def _meant(moves: Sequence[Move], dirs: Sequence[_Directory]) -> dict[str, deque[Move]]:
    """Which of the moves to one broker each directory shall get, in their order."""
    logs = {d.path: d.logs for d in dirs}
    copies = {id(d.volume): _Volume(UNKNOWN_ROOM if d.usable is None else d.usable) for d in dirs}
    by_path = {d.path: copies[id(d.volume)] for d in dirs}
    gets = dict.fromkeys(logs, 0)
    for _ in moves:
        path = min(logs, key=lambda p: (logs[p], by_path[p].usable or 0, p))
        logs[path] += 1
        gets[path] += 1
    chosen: dict[TopicPartition, str] = {}
    for move in sorted(moves, key=lambda m: (-m.bytes, m.partition)):
        path = max((p for p in gets if gets[p]), key=lambda p: (by_path[p].usable or 0, p))
        gets[path] -= 1
        by_path[path].usable = (by_path[path].usable or 0) - move.bytes
        chosen[move.partition] = path
    return {path: deque(m for m in moves if chosen[m.partition] == path) for path in logs}


def _taken(move: Move, disks: Disks, parked: Mapping[BrokerId, deque[Move]]) -> Iterator[Move]:
    """A move if it fits, and then those that it makes room for."""
    ready = deque([move])
    while ready:
        move = ready.popleft()
        lacking = disks.lacking(move)
        if lacking is not None:
            parked[lacking].append(move)
            continue
        disks.done(move)
        yield move
        for broker in move.leaving:
            ready.extend(parked[broker])
            parked[broker].clear()


def _no_room(move: Move, stuck: Sequence[Move], disks: Disks) -> NoRoomFor:
    broker = disks.lacking(move) or move.new[0]
    chosen = disks.next_of(broker)
    usable = 0 if chosen is None or chosen.usable is None else chosen.usable
    leaves = [m for m in stuck if broker in m.leaving and m.bytes >= move.bytes - usable]
    aside = min(leaves, key=lambda m: (m.bytes, m.partition), default=None)
    path = "" if chosen is None else chosen.path
    return NoRoomFor(move, broker, path, max(0, usable), None if aside is None else aside.partition)
