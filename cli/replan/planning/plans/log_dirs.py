"""Replicas within a broker: log directories that are to be empty (`blacklists.logDirs`), and a balance of the others.

Nothing crosses the network, and no replica list changes (AlterReplicaLogDirs, KIP-113). A replica that a move takes off
the broker anyway is left alone, and a tenth of every volume stays free; a balance fills none above the share from which
`logDirFull` of the policy would empty it again. For `balance.logDirs` a directory's share is by the size of its volume,
or the same for all where one does not say; of all steps that help, the one that brings most is taken, and of equal ones
the one that copies least: a search that proves nothing where it ends.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
from msgspec import Struct, field

from replan.documents.typed import Form, Int32, Int64, Text, ValidBrokerId
from replan.model.broker import HEADROOM, LogDir, Volume
from replan.model.columns import Ints
from replan.model.declared.placement import Placement
from replan.model.declared.rules import BalanceMeasure, LogDirBlacklist
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.change import Change, PlannedStep, Rank
from replan.planning.placing.problem import Imbalance
from replan.wording import size


class LogMove(Form, PlannedStep, frozen=True):
    """A replica that is to lie in another log directory of its broker."""

    rank = Rank.LOG_DIR_DRAINED
    heading = "Within their brokers, to other log directories"
    noun = "replica"

    topic: Text
    topic_id: TopicId
    number: Int32 = field(name="partition")
    broker: ValidBrokerId
    source: Text
    """The directory that it lies in."""
    target: Text
    """The directory that it is to lie in."""
    bytes: Int64

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise ValueError(": it lies there already")

    @property
    def brokers(self) -> tuple[BrokerId, ...]:
        """The one that it concerns."""
        return (self.broker,)

    @property
    def partition(self) -> TopicPartition:
        """Of which partition."""
        return TopicPartition(self.topic, self.number)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """That one."""
        return (self.partition,)

    @property
    def copies(self) -> Mapping[BrokerId, int]:
        """Its broker, from one directory to the other."""
        return {self.broker: self.bytes}

    def __str__(self) -> str:
        """From where to where, and how much: `broker 4  /d2 -> /d1, 20 GB`."""
        return f"broker {self.broker}  {self.source} -> {self.target}, {size(self.bytes)}"

    @property
    def compared(self) -> Mapping[str, str]:
        """A partition may have several that move."""
        return {f"{self.partition} on broker {self.broker}": str(self)}

    @property
    def twice(self) -> str:
        """A replica has one."""
        return f"{self.partition} moves twice on {self.broker}"

    @classmethod
    def total(cls, steps: Sequence[Change]) -> str:
        """How many, and how much they copy."""
        copied = sum(sum(step.copies.values()) for step in steps)
        return f"{super().total(steps)} to other log directories ({size(copied)})"

    @property
    def replica(self) -> tuple[TopicPartition, BrokerId]:
        """Which one."""
        return self.partition, self.broker


Coming = Mapping[tuple[BrokerId, str], int]
"""Bytes that other brokers' replicas bring to each directory, by the same plan."""
NOTHING_COMES: Coming = {}


class NoRoomLeft(Struct, frozen=True):
    """A replica that fits into no other directory of its broker."""

    partition: TopicPartition
    broker: BrokerId
    source: str
    bytes: int
    largest: int
    """The most that any of the others can take, keeping a tenth free."""


class LogDrains(Struct, frozen=True):
    """What becomes of the directories that are to be empty."""

    moves: tuple[LogMove, ...] = ()
    no_room: tuple[NoRoomLeft, ...] = ()
    unread: tuple[LogDirBlacklist, ...] = ()
    """Entries of brokers that do not say what lies where, or whose directory is offline."""
    uncordoned: tuple[LogDirBlacklist, ...] = ()
    """Entries with replicas to move, in a directory that takes new ones: it has the fewest logs before long."""


class DirRooms(Struct):
    """The directories of one broker, and what the volumes that they lie on can take yet."""

    volume_of: Mapping[str, int]
    """By path, in their order."""
    takes: frozenset[str]
    """Those in which replicas may be made."""
    rooms: list[int | None]
    """Bytes, by volume; None: not known."""

    @classmethod
    def of(
        cls,
        volumes: Iterable[Volume],
        closed: Collection[str],
        comes: Coming = NOTHING_COMES,
        free: float | Fraction = HEADROOM,
    ) -> "DirRooms":
        """As a snapshot has them. `closed`: what is to be empty; `free`: the part of each volume that stays free."""
        volumes = list(volumes)
        paths = sorted((d.path, number) for number, of in enumerate(volumes) for d in of)
        takes = (d.path for of in volumes for d in of if d.takes_new and d.path not in closed)
        return cls(dict(paths), frozenset(takes), [room_on(of, comes, free) for of in volumes])

    @property
    def largest(self) -> int:
        """The most that any of them can take."""
        return max((self.rooms[self.volume_of[path]] or 0 for path in self.takes), default=0)

    @property
    def whole(self) -> int:
        """What all of them together can take."""
        return sum(self.rooms[volume] or 0 for volume in {self.volume_of[p] for p in self.takes})

    def taken(self, size: int, away_from: str | None = None) -> str | None:
        """Where so many bytes go, the one with most room; None where they do not fit.

        `away_from`: a directory, whose volume they are to leave.
        """
        here = None if away_from is None else self.volume_of[away_from]
        open_ = [(p, of) for p, of in self.volume_of.items() if p in self.takes and of != here]
        for path, volume in sorted(open_, key=lambda item: -(self.rooms[item[1]] or 0)):
            room = self.rooms[volume]
            if room is None:
                return path
            if room >= size:
                self.rooms[volume] = room - size
                return path
        return None


def free_below(share: Fraction) -> Fraction:
    """The part of a volume that stays free where no more than a share of it is to be used."""
    return max(Fraction(HEADROOM), 1 - share)


def room_on(
    volume: Volume, comes: Coming = NOTHING_COMES, free: float | Fraction = HEADROOM
) -> int | None:
    """How many more bytes a volume takes beside what comes to its directories; None: not known."""
    room = volume[0].room(free)
    coming = sum(comes.get((d.broker, d.path), 0) for d in volume)
    return None if room is None else max(0, room - coming)


def log_drains(
    placement: Placement,
    snapshot: Snapshot,
    targets: Mapping[TopicPartition, Replicas],
    comes: Coming = NOTHING_COMES,
) -> LogDrains:
    """Where the replicas in these directories go.

    `targets`: the lists that partitions get by the same plan; `comes`: what these bring to directories.
    """
    entries = drained_dirs(placement, snapshot)
    drained: dict[BrokerId, set[str]] = {}
    for entry, _ in entries:
        drained.setdefault(entry.broker, set()).add(entry.path)
    rooms = {b: DirRooms.of(snapshot.volumes.get(b, ()), of, comes) for b, of in drained.items()}
    moves: list[LogMove] = []
    no_room: list[NoRoomLeft] = []
    unread: list[LogDirBlacklist] = []
    uncordoned: list[LogDirBlacklist] = []
    for entry, source in entries:
        if source is None or source.error is not None:
            unread.append(entry)
            continue
        before, room = len(moves), rooms[entry.broker]
        for name, topic_id, held in lying(source, snapshot, targets):
            path = room.taken(held)
            if path is None:
                no_room.append(NoRoomLeft(name, entry.broker, entry.path, held, room.largest))
            else:
                at = (entry.broker, entry.path, path)
                moves.append(LogMove(name.topic, topic_id, name.partition, *at, held))
        if len(moves) > before and not source.cordoned:
            uncordoned.append(entry)
    return LogDrains(tuple(moves), tuple(no_room), tuple(unread), tuple(uncordoned))


def drained_dirs(
    placement: Placement, snapshot: Snapshot
) -> list[tuple[LogDirBlacklist, LogDir | None]]:
    """The directories that are to be empty; None where the broker does not say that it has such a one."""
    entries = sorted(placement.log_dir_blacklist, key=lambda e: (e.broker, e.path))
    return [
        (
            entry,
            next((d for d in snapshot.dirs_of.get(entry.broker, ()) if d.path == entry.path), None),
        )
        for entry in entries
    ]


def lying(
    source: LogDir, snapshot: Snapshot, targets: Mapping[TopicPartition, Replicas]
) -> Iterator[tuple[TopicPartition, TopicId, int]]:
    """What lies in a directory and stays on its broker, the largest first."""
    replicas = []
    for topic, numbers in source.replicas.items():
        rows, wanted = snapshot.topic_rows(topic), set(numbers)
        for state in snapshot.states(rows):
            name = state.partition
            lists = targets.get(name, state.replicas)
            if name.partition in wanted and source.broker in lists:
                replicas.append((name, state.topic_id, state.bytes))
    yield from sorted(replicas, key=lambda f: (-f[2], f[0]))


LOG_DIR_SEARCH_STEPS = 5_000
"""Of the search, for one broker."""
EXCHANGE_CANDIDATES = 48
"""Replicas of each directory that are tried in exchanges."""
ANY_ROOM = np.iinfo(np.int64).max


class LogDirBalance(Struct, frozen=True):
    """What a plan moves, and how far the directories are from their shares."""

    moves: tuple[LogMove, ...] = ()
    now: Imbalance | None = None
    """Where they are further than is asked for."""
    then: Imbalance | None = None
    """The same after the moves."""


def log_dir_balance(
    placement: Placement,
    snapshot: Snapshot,
    targets: Mapping[TopicPartition, Replicas],
    drains: LogDrains,
    comes: Coming = NOTHING_COMES,
) -> LogDirBalance:
    """Which replicas go where.

    `targets`: the lists that partitions get, `drains`: what directories give, `comes`: what moves bring to them.
    """
    within = _tolerance(placement)
    if within is None:
        return LogDirBalance()
    share = placement.reconcile.log_dir_share
    free = HEADROOM if share is None else free_below(share)
    leaving = {(entry.broker, entry.path) for entry in placement.log_dir_blacklist}
    of: dict[BrokerId, list[LogDir]] = {}
    for log_dir in sorted(snapshot.log_dirs, key=lambda d: (d.broker, d.path)):
        if log_dir.takes_new and (log_dir.broker, log_dir.path) not in leaving:
            of.setdefault(log_dir.broker, []).append(log_dir)
    moves: list[LogMove] = []
    now: dict[BrokerId, Fraction] = {}
    then: dict[BrokerId, Fraction] = {}
    for broker, dirs in of.items():
        if len(dirs) > 1:
            disks = _Directories(
                dirs, snapshot.volumes[broker], snapshot, targets, drains, within, free, comes
            )
            now[broker] = disks.reached()
            moves += disks.balanced()
            then[broker] = disks.reached()
    return LogDirBalance(tuple(moves), _imbalance(now, within), _imbalance(then, within))


def _tolerance(placement: Placement) -> Fraction | None:
    """Within which part of their shares directories are to be; None where no balance asks for it."""
    tolerances = [] if placement.balance is None else placement.balance.tolerances
    return next((t.within for t in tolerances if t.measure is BalanceMeasure.LOG_DIRS), None)


def concerns_log_dirs(placement: Placement) -> bool:
    """Whether a placement says what is to lie in which directories, so that `log_drains` or the balance looks there."""
    return bool(placement.log_dir_blacklist) or _tolerance(placement) is not None


def _imbalance(reached: Mapping[BrokerId, Fraction], within: Fraction) -> Imbalance | None:
    far = {broker: part for broker, part in reached.items() if part > within}
    if not far:
        return None
    nearest = Fraction(-(-max(far.values()) * 1000 // 1), 1000)
    return Imbalance(
        BalanceMeasure.LOG_DIRS, within, nearest, tuple(sorted(far)), LOG_DIR_SEARCH_STEPS
    )


class _Directories:
    """The directories of one broker while replicas go from one to another."""

    def __init__(
        self,
        dirs: list[LogDir],
        volumes: Sequence[Volume],
        snapshot: Snapshot,
        targets: Mapping[TopicPartition, Replicas],
        drains: LogDrains,
        within: Fraction,
        free: float | Fraction,
        comes: Coming,
    ) -> None:
        self._dirs, self._broker = dirs, dirs[0].broker
        self._names: list[tuple[TopicPartition, TopicId, int]] = []
        at: list[int] = []
        for number, log_dir in enumerate(dirs):
            some = list(lying(log_dir, snapshot, targets))
            self._names += some
            at += [number] * len(some)
        self._at: Ints = np.array(at, dtype=np.int64)
        self._sizes: Ints = np.array([size for _, _, size in self._names], dtype=np.int64)
        self._used: Ints = np.zeros(len(dirs), dtype=np.int64)
        np.add.at(self._used, self._at, self._sizes)
        self._room = np.array(
            [ANY_ROOM if (r := room_on(of, comes, free)) is None else r for of in volumes],
            dtype=np.int64,
        )
        """By volume."""
        on = {d.path: number for number, of in enumerate(volumes) for d in of}
        self._volume_of = [on[d.path] for d in dirs]
        place = {d.path: number for number, d in enumerate(dirs)}
        for move in drains.moves:
            if move.broker == self._broker and move.target in place:
                self._used[place[move.target]] += move.bytes
                self._room[on[move.target]] -= move.bytes
        self._share = self._shares()
        self._least = np.array([int(s * max(1 - within, Fraction(0))) for s in self._share])
        self._most = np.array([-int(-s * (1 + within) // 1) for s in self._share])

    def _shares(self) -> list[Fraction]:
        """By the sizes of the volumes, where each says it."""
        volumes = [d.total_bytes for d in self._dirs]
        weights = [1 if None in volumes or not all(volumes) else v or 1 for v in volumes]
        total = int(self._used.sum())
        return [Fraction(total * weight, sum(weights)) for weight in weights]

    def reached(self) -> Fraction:
        """How far the furthest is from its share, as a part of that; nothing where all are within whole bytes."""
        far = (self._used < self._least) | (self._used > self._most)
        parts = [
            abs(int(used) - share) / share
            for used, share in zip(self._used, self._share, strict=True)
            if share
        ]
        return max(parts, default=Fraction(0)) if far.any() else Fraction(0)

    def balanced(self) -> list[LogMove]:
        """Take steps while one helps; each replica that lies elsewhere then, by its name."""
        before = self._at.copy()
        for _ in range(LOG_DIR_SEARCH_STEPS):
            if not self._step():
                break
        moves = []
        for number in np.flatnonzero(self._at != before).tolist():
            name, topic_id, size = self._names[number]
            source, target = (self._dirs[int(of[number])].path for of in (before, self._at))
            moves.append(
                LogMove(name.topic, topic_id, name.partition, self._broker, source, target, size)
            )
        return sorted(moves, key=lambda move: move.partition)

    def _step(self) -> bool:
        """Take the best step, if one helps: one replica; or else two that change places."""
        excess = self._excess(self._used)
        above = [used - share for used, share in zip(self._used.tolist(), self._share, strict=True)]
        pairs = [
            (source, target)
            for source, over in enumerate(above)
            for target, other in enumerate(above)
            if over > other
        ]
        for exchanged in (False, True):
            best: tuple[int, int, tuple[tuple[int, int, int], ...]] | None = None
            for source, target in pairs:
                ways = self._ways(source, target, exchanged=exchanged)
                gain = excess[source] + excess[target] - ways.after
                if gain.size and gain.max() > 0:
                    at = int(np.lexsort((ways.copied, -gain))[0])
                    step = (-int(gain[at]), int(ways.copied[at]), ways.goes(at))
                    best = step if best is None else min(best, step)
            if best is not None:
                for number, source, target in best[2]:
                    self._take(number, source, target)
                return True
        return False

    def _ways(self, source: int, target: int, *, exchanged: bool) -> "_Ways":
        """What may go from one directory to another: single replicas, or pairs, of which one comes back."""
        mine, other = (np.flatnonzero(self._at == place) for place in (source, target))
        back = _some(other, self._sizes) if exchanged else np.array([-1])
        mine = _some(mine, self._sizes) if exchanged else mine
        gives = np.repeat(mine, len(back))
        returns = np.tile(back, len(mine))
        given = self._sizes[gives]
        returned = np.where(returns < 0, 0, self._sizes[returns]) if len(returns) else returns
        room = self._room[self._volume_of[target]]
        fits = (given - returned <= room) & (given > returned)
        gives, returns, given, returned = gives[fits], returns[fits], given[fits], returned[fits]
        gone = given - returned
        after = self._outside(source, self._used[source] - gone)
        after += self._outside(target, self._used[target] + gone)
        return _Ways(source, target, gives, returns, after, given + returned)

    def _take(self, number: int, source: int, target: int) -> None:
        size = int(self._sizes[number])
        for place, sign in ((source, -1), (target, 1)):
            self._used[place] += sign * size
            volume = self._volume_of[place]
            self._room[volume] -= sign * size if self._room[volume] < ANY_ROOM else 0
        self._at[number] = target

    def _excess(self, used: Ints) -> Ints:
        return np.asarray(np.maximum(used - self._most, 0) + np.maximum(self._least - used, 0))

    def _outside(self, place: int, used: Ints) -> Ints:
        over = np.maximum(used - self._most[place], 0)
        return np.asarray(over + np.maximum(self._least[place] - used, 0))


class _Ways(Struct, frozen=True):
    """Steps from one directory to another, and what they bring."""

    source: int
    target: int
    gives: Ints
    returns: Ints
    """-1: nothing comes back."""
    after: Ints
    """How far both are outside then."""
    copied: Ints

    def goes(self, at: int) -> tuple[tuple[int, int, int], ...]:
        """Replica, from where, to where."""
        there = (int(self.gives[at]), self.source, self.target)
        if self.returns[at] < 0:
            return (there,)
        return (there, (int(self.returns[at]), self.target, self.source))


def _some(replicas: Ints, sizes: Ints) -> Ints:
    """Some of them, over all sizes."""
    ordered = replicas[np.argsort(sizes[replicas], kind="stable")]
    if len(ordered) <= EXCHANGE_CANDIDATES:
        return ordered
    return ordered[np.linspace(0, len(ordered) - 1, EXCHANGE_CANDIDATES).astype(np.int64)]
