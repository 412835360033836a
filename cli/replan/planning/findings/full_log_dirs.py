"""Volumes that are used above a share: the fewest bytes whose leaving brings each below it, and where they go.

First to the log directories of the broker that lie on other volumes, as far as these stay below the share themselves
and a tenth of them stays free; then, of partitions that are placed by rule, to other brokers, where the rule does not
ask for them back; what is left are the declared lists, which only a person changes. A partition that a reassignment
runs on is left alone, and a directory that failed, is cordoned or is to be empty takes nothing.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import chain
from types import MappingProxyType

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.model.broker import HEADROOM, LogDir, Volume
from replan.model.columns import Flags, take, to_matrix, with_column
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import Alignment
from replan.planning.comparison.overlays import managed
from replan.planning.plans.log_dirs import DirRooms, LogMove, free_below, room_on

_Lies = dict[TopicPartition, tuple[PartitionState, str]]
"""What lies on a volume, with its directory."""
NOTHING_STAYS: Mapping[BrokerId, frozenset[TopicPartition]] = MappingProxyType({})
OF_ITS_OWN = 20
"""Bytes by which the sizes of volumes differ, so that no two count as one; more than rounding takes away."""
BYTE_STEPS = 1 << 14
"""The search for the fewest bytes counts in this part of what must leave."""


class FullLogDir(Struct, frozen=True):
    """A volume of a broker that is used above the share; bytes."""

    broker: BrokerId
    path: str
    """Its first log directory."""
    total: int
    used: int
    moves: tuple[LogMove, ...] = ()
    """To other directories of the broker."""
    leaving: tuple[TopicPartition, ...] = ()
    """Placed by rule, to other brokers."""
    by_list: tuple[TopicPartition, ...] = ()
    """Declared by list: they would bring it below the share."""
    unrelieved: int = 0
    """What nothing takes away."""

    @property
    def acts(self) -> bool:
        """Whether anything of it can be done without a person."""
        return bool(self.moves or self.leaving)


def full_log_dirs(
    aligned: Alignment,
    above: Fraction,
    stays: Mapping[BrokerId, frozenset[TopicPartition]] = NOTHING_STAYS,
) -> tuple[FullLogDir, ...]:
    """What would bring each volume that is above the share below it, as far as that can be.

    `stays`: what no other broker takes of each.
    """
    snapshot = aligned.snapshot
    if not any(_excess(d, above) for d in snapshot.log_dirs):
        return ()
    rooms = _rooms(aligned, above)
    by_rule, by_list = (frozenset(partitions_in(snapshot, of)) for of in placed(aligned))
    full = []
    for volume in _above(snapshot, above):
        lies = {state.partition: (state, path) for state, path in _lying(volume, snapshot)}
        goes = by_rule - stays.get(volume[0].broker, frozenset())
        relieved = _relieved(volume[0], _excess(volume[0], above), lies, rooms, goes, by_list)
        full.append(replace(relieved, path=min(d.path for d in volume)))
    return tuple(full)


def filled_by(
    aligned: Alignment, above: Fraction, comes: Mapping[BrokerId, int]
) -> tuple[BrokerId, ...]:
    """The brokers whose volumes do not stay below the share with so many bytes more; who does not say takes them."""
    rooms = _rooms(aligned, above)
    measured = (b for b in comes if b in rooms and rooms[b].volume_of)
    return tuple(sorted(b for b in measured if comes[b] > rooms[b].whole))


def with_room_below(
    snapshot: Snapshot, above: Fraction, leaving: frozenset[TopicPartition]
) -> Snapshot:
    """The cluster, in which volumes have room as long as they stay below the share, for these partitions alone."""
    dirs = [
        log_dir
        for volumes in snapshot.volumes.values()
        for number, volume in enumerate(volumes)
        for log_dir in _below(volume, above, number)
    ]
    table = snapshot.partitions
    names = table.select(["topic", "partition", "bytes"]).to_pylist()
    sizes = [
        of["bytes"] if TopicPartition(of["topic"], of["partition"]) in leaving else 0
        for of in names
    ]
    sized = with_column(table, "bytes", pa.array(sizes, table.schema.field("bytes").type))
    return replace(snapshot, partitions=sized, log_dirs=tuple(dirs))


def _below(volume: Volume, above: Fraction, number: int) -> Volume:
    """A volume with the room that is left below the share.

    Kafka chooses the directory, so each that lies on it has the room, and they are one volume as before: no less of it
    is used, by directories of equal size. Each volume of a broker has a size of its own: those that are alike stay two.
    """
    room, total = _room(volume, above), volume[0].total_bytes
    if room is None or total is None:
        return volume
    total += OF_ITS_OWN * (number + 1)
    usable = room + int(total * HEADROOM)
    return tuple(replace(d, total_bytes=total, usable_bytes=usable) for d in volume)


def placed(aligned: Alignment) -> tuple[Flags, Flags]:
    """The observed partitions that are placed by rule, and those whose list is declared."""
    explicit = np.zeros(aligned.snapshot.partitions.num_rows, dtype=bool)
    explicit[aligned.explicit_rows[aligned.explicit_rows >= 0]] = True
    return managed(aligned) & ~explicit, explicit


def partitions_in(snapshot: Snapshot, rows: Flags) -> tuple[TopicPartition, ...]:
    """The partitions of these rows."""
    of = take(snapshot.partitions.select(["topic", "partition"]), np.flatnonzero(rows)).to_pylist()
    return tuple(TopicPartition(f["topic"], f["partition"]) for f in of)


def _relieved(
    first: LogDir,
    excess: int,
    lies: _Lies,
    rooms: Mapping[BrokerId, DirRooms],
    by_rule: frozenset[TopicPartition],
    by_list: frozenset[TopicPartition],
) -> FullLogDir:
    moves = _within(lies, excess, first.broker, rooms.get(first.broker))
    remaining = excess - sum(move.bytes for move in moves)
    stay = lies.keys() - {move.partition for move in moves}
    sizes = {name: state.bytes for name, (state, _) in lies.items() if name in stay}
    most = max((of.largest for b, of in rooms.items() if b != first.broker), default=0)
    leaving = _least({n: s for n, s in sizes.items() if n in by_rule and s <= most}, remaining)
    remaining -= sum(sizes[name] for name in leaving)
    lists = _least({n: size for n, size in sizes.items() if n in by_list}, remaining)
    remaining -= sum(sizes[name] for name in lists)
    total = first.total_bytes or 0
    return FullLogDir(
        first.broker,
        first.path,
        total,
        total - (first.usable_bytes or 0),
        moves,
        tuple(sorted(leaving)),
        tuple(sorted(lists)),
        max(0, remaining),
    )


def _within(
    lies: _Lies, excess: int, broker: BrokerId, rooms: DirRooms | None
) -> tuple[LogMove, ...]:
    """To other directories of the broker; what fits into none is tried no further."""
    moves: list[LogMove] = []
    tried = {name: state.bytes for name, (state, _) in lies.items()}
    while excess > 0 and (chosen := _least(tried, excess)):
        for name in sorted(chosen, key=lambda n: (-tried[n], n)):
            state, source = lies[name]
            size = tried.pop(name)
            path = None if rooms is None else rooms.taken(size, away_from=source)
            if path is not None:
                moves.append(
                    LogMove(name.topic, state.topic_id, name.partition, broker, source, path, size)
                )
                excess -= size
    return tuple(sorted(moves, key=lambda move: move.partition))


def _rooms(aligned: Alignment, above: Fraction) -> dict[BrokerId, DirRooms]:
    """What the directories of brokers take and stay below the share; only of brokers that take new replicas.

    A volume of which nobody says how full it is takes nothing.
    """
    snapshot = aligned.snapshot
    rooms = {}
    for broker in (b.id for b in snapshot.brokers if b.takes_new):
        measured = (v for v in snapshot.volumes.get(broker, ()) if _room(v, above) is not None)
        drained = {e.path for e in aligned.placement.log_dir_blacklist if e.broker == broker}
        rooms[broker] = DirRooms.of(measured, drained, free=free_below(above))
    return rooms


def _above(snapshot: Snapshot, above: Fraction) -> Iterator[Volume]:
    """The volumes that are above the share; the directory with least free space says how full one is."""
    volumes = chain.from_iterable(snapshot.volumes.values())
    return (volume for volume in volumes if _excess(volume[0], above))


def _room(volume: Volume, above: Fraction) -> int | None:
    """How many bytes it takes and stays below the share, a tenth of it free; None: not known."""
    return room_on(volume, free=free_below(above))


def _excess(log_dir: LogDir, above: Fraction) -> int:
    """By how many bytes it is above the share; 0 where it is not, or does not say."""
    if not log_dir.total_bytes or log_dir.usable_bytes is None:
        return 0
    return max(0, int(log_dir.total_bytes * (1 - above)) - log_dir.usable_bytes)


def _lying(volume: Volume, snapshot: Snapshot) -> Iterator[tuple[PartitionState, str]]:
    """What lies on a volume, has a size and is at rest, with its directory."""
    broker = volume[0].broker
    if len(snapshot.dirs_of[broker]) == 1:  # it does not say what lies there
        rows = np.flatnonzero(
            (to_matrix(snapshot.partitions.column("replicas")) == broker).any(axis=1)
        )
        for state in snapshot.states(rows.tolist()):
            if state.bytes > 0 and state.running is None:
                yield state, volume[0].path
        return
    for log_dir in volume:
        for topic, numbers in log_dir.replicas.items():
            wanted = set(numbers)
            for state in snapshot.states(snapshot.topic_rows(topic)):
                here = state.partition.partition in wanted and broker in state.replicas
                if here and state.bytes > 0 and state.running is None:
                    yield state, log_dir.path


def _least(sizes: dict[TopicPartition, int], wanted: int) -> tuple[TopicPartition, ...]:
    """Those with the fewest bytes that are `wanted` together, to within a small part; all, where all are not enough.

    The single one that is enough, or a sum of smaller ones: which sums can be reached is counted in steps.
    """
    if wanted <= 0:
        return ()
    if sum(sizes.values()) <= wanted:
        return tuple(sizes)
    names = sorted(sizes, key=lambda n: (-sizes[n], n))
    alone = [n for n in names if sizes[n] >= wanted]
    smaller = [n for n in names if sizes[n] < wanted]
    together = _summed(smaller, sizes, wanted)
    if alone and (not together or sizes[alone[-1]] <= sum(sizes[n] for n in together)):
        return (alone[-1],)
    return together


def _summed(
    names: list[TopicPartition], sizes: dict[TopicPartition, int], wanted: int
) -> tuple[TopicPartition, ...]:
    """The smallest sum that is enough; nothing where all together are not."""
    if sum(sizes[n] for n in names) < wanted:
        return ()
    step = max(1, wanted // BYTE_STEPS)
    enough = -(-wanted // step)
    by: np.ndarray[tuple[int], np.dtype[np.int64]] = np.full(2 * enough + 1, -1, dtype=np.int64)
    reached = np.zeros(2 * enough + 1, dtype=bool)
    reached[0] = True
    for number, name in enumerate(names):
        size = sizes[name] // step
        if size:
            new = np.flatnonzero(reached[: len(reached) - size]) + size
            new = new[~reached[new]]
            reached[new], by[new] = True, number
    sums = np.flatnonzero(reached[enough:])
    if not len(sums):  # many small ones, whose parts of a step are lost
        return _first_enough(names, sizes, wanted)
    at, chosen = int(sums[0]) + enough, []
    while at:
        chosen.append(names[int(by[at])])
        at -= sizes[chosen[-1]] // step
    return tuple(chosen)


def _first_enough(
    names: list[TopicPartition], sizes: dict[TopicPartition, int], wanted: int
) -> tuple[TopicPartition, ...]:
    chosen = []
    for name in names:
        chosen.append(name)
        wanted -= sizes[name]
        if wanted <= 0:
            break
    return tuple(chosen)
