"""One partition at a time: keep the most replicas that its rule allows, and fill what is missing. Exact, by itself.

Who gives way where there are too many: not the last of a rack; of the others who is fenced or cordoned first (no list
may name a cordoned one), the leader last; whom `forecast` chose beforehand; whose replica would have to leave its log
directory; the most loaded, the highest id. Who comes where one is missing (`spread: rack` has decided the rack before):
a broker that already holds the partition; a rack that would be lost; one with room on its disks; one that may hold more
of the topic (`spread`); the rack of the broker that leaves, or where `forecast` sends it; the rack that the partition
uses least; then by `_Loads`; the lowest id. The new one takes the place in the list of the one that leaves.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from replan.model.columns import PAD, Flags, Ints, Matrix, widened
from replan.planning.placing.forecast import OWN, THAN, Parts, forecast
from replan.planning.placing.positions import Positions, arranged, base_lists
from replan.planning.placing.problem import (
    NO_LIMIT,
    NO_RACK,
    BrokerTable,
    Impossible,
    Layout,
    Obstacle,
    PlacementProblem,
    Rule,
)
from replan.planning.placing.rack_counts import Racks, counts_that_fit, rack_counts
from replan.planning.placing.spread import TopicSpread

LARGE, TENTHS = 3, 10
"""From so many parts of the average of all replicas on, a replica is a large one."""


class Filled(Struct, frozen=True):
    """The lists once each partition was filled by itself."""

    lists: Matrix
    """As ids; what nothing can place has what it had."""
    placed: Flags
    """Which partitions keep their rule, and may go elsewhere."""
    impossible: list[Impossible]
    spread: TopicSpread
    """What brokers hold of each topic by these lists."""


def fill(problem: PlacementProblem, at: Positions, in_place: Flags) -> Filled:
    """Fill all partitions but those `in_place`, the largest first, so that the small ones even out the load.

    Those that stay as they are come last.
    """
    longest = min(int(problem.partitions.factor.max(initial=0)), len(problem.brokers.ids))
    lists = widened(base_lists(problem), longest)
    filler = _Filler(problem, at, in_place)
    stays = np.isin(np.arange(len(lists)), problem.staying)
    missing = [_by_size(np.flatnonzero(~in_place & of), problem) for of in (~stays, stays)]
    for row in np.concatenate(missing):
        members = filler.fill(int(row))
        lists[row] = PAD
        if members is None:
            lists[row, : problem.partitions.current.shape[1]] = problem.partitions.current[row]
        else:
            lists[row, : len(members)] = at.ids[members]
    reasons = filler.impossible()
    placed = in_place | ~stays
    placed[[row for reason in reasons for row in reason.partitions]] = False
    return Filled(lists, placed, reasons, filler.spread)


def _by_size(rows: Ints, problem: PlacementProblem) -> Ints:
    """The largest first; then in their order."""
    return rows[np.argsort(-problem.partitions.bytes[rows], kind="stable")]


class _Partition(Struct, frozen=True):
    """One partition, its brokers as positions."""

    row: int
    rule: Rule
    factor: int
    size: int
    base: list[int]
    held: list[int]
    leader: int


class _Lack(Struct, frozen=True):
    obstacle: Obstacle
    rule: int
    rack: int | None
    brokers: tuple[int, ...]
    needed: int


class _Filler:
    """Fills partitions one after the other, and keeps count of the load."""

    def __init__(self, problem: PlacementProblem, at: Positions, untouched: Flags) -> None:
        brokers = problem.brokers
        self._problem, self._at = problem, at
        self._base = at.find(base_lists(problem))
        self._held = at.find(problem.partitions.current)
        self._leader = at.find(problem.partitions.leader)
        self._rack = at.racks(brokers.rack).tolist()
        there = self._base >= 0
        sizes = problem.partitions.bytes * there.sum(axis=1)
        self._loads = _Loads(brokers, int(there.sum()), int(sizes.sum()))
        self._drained = {b for b, broker in enumerate(at.ids.tolist()) if broker in problem.drained}
        self._candidates = [set(np.flatnonzero(r.candidates).tolist()) for r in problem.rules]
        self._open = [np.flatnonzero(r.candidates & brokers.open).tolist() for r in problem.rules]
        self._racks = [
            [rack for rack, wanted in enumerate(rule.per_rack) if wanted]
            if rule.layout is Layout.PER_RACK
            else sorted({self._rack[b] for b in some})
            for rule, some in zip(problem.rules, self._candidates, strict=True)
        ]
        self._open_in = [self._by_rack(some) for some in self._open]
        self._place = [{rack: at for at, rack in enumerate(racks)} for racks in self._racks]
        self._opens_in = [
            [len(open_in.get(rack, ())) for rack in racks]
            for open_in, racks in zip(self._open_in, self._racks, strict=True)
        ]
        self._opens = at.flags(brokers.open, others=False, padding=False).tolist()
        self._unknown = set(np.flatnonzero(brokers.rack == NO_RACK).tolist())
        self._lacks: dict[_Lack, tuple[int, list[int]]] = {}
        self._loads.add(self._base[untouched], problem.partitions.bytes[untouched])
        self._forecast = forecast(problem, at, self._base, untouched)
        self.spread = TopicSpread(problem, at, np.flatnonzero(~untouched), base_lists(problem))

    def _by_rack(self, brokers: Iterable[int]) -> dict[int, list[int]]:
        by_rack: dict[int, list[int]] = defaultdict(list)
        for broker in brokers:
            by_rack[self._rack[broker]].append(broker)
        return by_rack

    def fill(self, row: int) -> list[int] | None:
        """The list of one partition, as positions; None where there is none, for reasons in `impossible`."""
        partitions, number = self._problem.partitions, int(self._problem.partitions.rule[row])
        rule = self._problem.rules[number]
        partition = _Partition(
            row,
            rule,
            int(partitions.factor[row]),
            int(partitions.bytes[row]),
            [b for b in self._base[row].tolist() if b >= 0],
            [b for b in self._held[row].tolist() if b >= 0],
            int(self._leader[row]),
        )
        chosen = self._listed(partition) if rule.layout is Layout.LISTED else self._ruled(partition)
        stays = partition.held if chosen is None else chosen
        self._loads.put(stays, partition.size)
        self.spread.take(
            row,
            [b for b in partition.base if b not in stays],
            [b for b in stays if b not in partition.base],
        )
        return chosen

    def impossible(self) -> list[Impossible]:
        """Every reason found so far, once, with the partitions that it concerns."""
        racks = self._problem.brokers.racks
        return [
            Impossible(
                lack.obstacle,
                tuple(sorted(rows)),
                None if lack.rack is None else racks[lack.rack],
                tuple(int(self._at.ids[b]) for b in lack.brokers),
                lack.needed,
                available,
            )
            for lack, (available, rows) in self._lacks.items()
        ]

    def _note(
        self,
        partition: _Partition,
        obstacle: Obstacle,
        needed: int = 0,
        available: int = 0,
        rack: int | None = None,
        brokers: Iterable[int] = (),
    ) -> None:
        number = int(self._problem.partitions.rule[partition.row])
        lack = _Lack(obstacle, number, rack, tuple(brokers), needed)
        before, rows = self._lacks.setdefault(lack, (available, []))
        rows.append(partition.row)
        self._lacks[lack] = (min(before, available), rows)

    def _listed(self, partition: _Partition) -> list[int] | None:
        """The declared list with a substitute at the place of each drained broker, in an order of their own."""
        leaving = [b for b in partition.base if b in self._drained]
        kept = [b for b in partition.base if b not in self._drained]
        there = self._substitutes_there(partition, kept, len(leaving))
        new = self._chosen(partition, kept + there, leaving[len(there) :], partition.base)
        if len(there) + len(new) < len(leaving):
            self._note(partition, Obstacle.NO_SUBSTITUTE, brokers=sorted(leaving))
            return None
        return arranged(partition.base, sorted(there + new), kept, self._rack)

    def _substitutes_there(self, partition: _Partition, kept: list[int], number: int) -> list[int]:
        """Who holds it already and takes a place, up to a number: not where that costs a rack of the list.

        A rack counts that it lies in now, and that somebody with room can keep. In racks of their own first.
        """
        spare = [b for b in partition.held if b not in kept and b not in self._drained]
        if not spare:
            return []
        able = self._loads.with_room(self._free(partition, kept), partition.size)
        reachable = len(self._racks_of([*kept, *spare, *able]))
        lies_in = min(len(self._racks_of(of)) for of in (partition.base, partition.held))
        least, racks = min(lies_in, reachable), self._racks_of(kept)
        there: list[int] = []
        for broker in sorted(spare, key=lambda b: self._rack[b] in racks):
            places = number - len(there) - 1
            after = racks | {self._rack[broker]}
            if places >= 0 and (len(after) > len(racks) or len(after) + places >= least):
                there.append(broker)
                racks = after
        return there

    def _ruled(self, partition: _Partition) -> list[int] | None:
        number = int(self._problem.partitions.rule[partition.row])
        allowed = self._candidates[number]
        if partition.rule.layout is not Layout.NONE and not allowed.isdisjoint(self._unknown):
            unknown = sorted(allowed.intersection(self._unknown))
            self._note(partition, Obstacle.WITHOUT_RACK, brokers=unknown)
            return None
        over_racks = partition.rule.layout in {Layout.RACK, Layout.PER_RACK}
        if over_racks and not partition.held:
            return self._new_over_racks(partition, number)
        shut = [b for b in partition.held if b in allowed and not self._opens[b]]
        able = len(self._open[number]) + len(shut)
        if able < partition.factor and partition.rule.layout is not Layout.PER_RACK:
            self._note(partition, Obstacle.TOO_FEW_BROKERS, partition.factor, able)
            return None
        kept = [b for b in partition.base if b in allowed]
        if partition.rule.layout is Layout.NONE:
            kept = self._over_as_many_racks(partition, kept, [*self._open[number], *shut])
            leaving = [b for b in partition.base if b not in kept]
            new = self._chosen(partition, kept, leaving, partition.held)
            return arranged(partition.base, new, kept, self._rack)
        if partition.rule.layout is Layout.IN_RACK:
            counts = self._one_rack(partition, kept, [*self._open[number], *shut])
        else:
            counts = self._over_racks(partition, kept, shut, number)
        if not counts:
            return None
        kept = self._within(partition, kept, counts)
        new = self._chosen_by_rack(partition, kept, counts)
        return arranged(partition.base, new, kept, self._rack)

    def _new_over_racks(self, partition: _Partition, number: int) -> list[int] | None:
        """The same as for any other where nothing is kept and nothing leaves, in a part of the time."""
        declared = partition.rule.layout is Layout.PER_RACK
        if len(self._open[number]) < partition.factor and not declared:
            self._note(
                partition, Obstacle.TOO_FEW_BROKERS, partition.factor, len(self._open[number])
            )
            return None
        by_rack = [self._open_in[number].get(rack, []) for rack in self._racks[number]]
        order = list(range(len(by_rack)))
        if not declared and partition.factor % len(by_rack):
            allowance = self.spread.allowance_of(partition.row)
            may = [[b for b in free if allowance[b] > 0] for free in by_rack]
            load = [
                self._loads.least(some or free, partition.size)
                for some, free in zip(may, by_rack, strict=True)
            ]
            order.sort(key=lambda rack: (not may[rack], load[rack], rack))
        nothing = [0] * len(by_rack)
        counts = self._counts(partition, Racks(nothing, [len(free) for free in by_rack]), order)
        new: list[int] = []
        for free, wanted in zip(by_rack, counts or nothing, strict=True):
            for _ in range(wanted):
                new.append(self._best(partition, [b for b in free if b not in new]))
        return new or None

    def _over_as_many_racks(
        self, partition: _Partition, kept: list[int], able: list[int]
    ) -> list[int]:
        """As many of `kept` as may stay, so that the partition can lie in as many racks as it does."""
        racks = {self._rack[b] for b in able}
        least = min(len(self._racks_of(partition.held)), partition.factor, len(racks))
        order = sorted(kept, key=lambda b: self._drop_key(partition, b), reverse=True)
        first = {self._rack[b]: b for b in reversed(order)}
        order.sort(key=lambda b: first[self._rack[b]] != b)
        stays = order[: partition.factor]
        while stays and len(self._racks_of(stays)) + partition.factor - len(stays) < least:
            stays.pop()
        return [b for b in kept if b in stays]

    def _homes(self, partition: _Partition, leaving: list[int]) -> list[int]:
        """The racks that get what leaves a partition: those of the brokers that leave, or another one."""
        other = int(self._forecast.other_racks[partition.row])
        return [self._rack[b] for b in leaving] if other == OWN else [other for _ in leaving]

    def _racks_of(self, brokers: Iterable[int]) -> set[int]:
        return {self._rack[b] for b in brokers}

    def _one_rack(self, partition: _Partition, kept: list[int], able: list[int]) -> dict[int, int]:
        """in-rack: the rack with most of it, then the leader's, then by name, among those that are large enough."""
        sizes, there = (Counter(self._rack[b] for b in of) for of in (able, kept))
        fitting = [rack for rack, size in sizes.items() if size >= partition.factor]
        if not fitting:
            largest = max(sizes.values())
            self._note(partition, Obstacle.NO_RACK_IS_LARGE_ENOUGH, partition.factor, largest)
            return {}
        home = self._rack[partition.leader]
        best = min(
            fitting, key=lambda rack: (-min(there[rack], partition.factor), rack != home, rack)
        )
        return {best: partition.factor}

    def _over_racks(
        self, partition: _Partition, kept: list[int], shut: list[int], number: int
    ) -> dict[int, int]:
        """`shut`: those that hold it already and get nothing new."""
        racks, place = self._racks[number], self._place[number]
        there, free = [0] * len(racks), self._opens_in[number].copy()
        for broker in kept:
            at = place.get(self._rack[broker])
            if at is not None:
                there[at] += 1
                free[at] -= self._opens[broker]
        for broker in shut:
            at = place.get(self._rack[broker])
            if at is not None and broker not in kept:
                free[at] += 1
        order: Sequence[int] = range(len(racks))
        if partition.rule.layout is Layout.RACK and partition.factor % len(racks):
            order = self._preference(partition, kept, there, number)
        counts = self._counts(partition, Racks(there, free), order)
        return dict(zip(racks, counts or (), strict=counts is not None))

    def _counts(
        self, partition: _Partition, racks: Racks, order: Sequence[int]
    ) -> list[int] | None:
        """How many replicas each rack of its rule holds; None where the racks cannot hold it."""
        rule = partition.rule
        counts = (
            counts_that_fit(racks, [n for n in rule.per_rack if n])
            if rule.layout is Layout.PER_RACK
            else rack_counts(racks, partition.factor, order)
        )
        if isinstance(counts, list):
            return counts
        names = self._racks[int(self._problem.partitions.rule[partition.row])]
        for lack in counts.lacks:
            rack = None if lack.rack is None else names[lack.rack]
            self._note(partition, lack.obstacle, lack.needed, lack.available, rack)
        return None

    def _preference(
        self, partition: _Partition, kept: list[int], there: list[int], number: int
    ) -> list[int]:
        """Racks in the order in which they get one replica more, where that costs the same bytes.

        First where dropping one would hurt most, if one has to be dropped; then where a broker may hold more of the
        topic; then where one leaves; then the rack with the least loaded broker. `there`: those of `kept` in each.
        """
        racks, open_in = self._racks[number], self._open_in[number]
        floor, extras = divmod(partition.factor, len(racks))
        more = [at for at, many in enumerate(there) if many > floor]
        first = more if len(more) <= extras else []  # each keeps what it has
        others = [at for at in range(len(racks)) if at not in first]
        allowance = self.spread.allowance_of(partition.row)
        leaving = self._homes(partition, [b for b in partition.base if b not in kept])
        free, keys = {}, {}
        for at in others:
            hurt = (0, 0, 0, 0, 0, 0)
            if at in more:
                drops = [self._drop_key(partition, b) for b in kept if self._rack[b] == racks[at]]
                opens, leads, stays, lies, load, broker = min(drops)
                hurt = (-opens, -leads, -stays, -lies, -load, -broker)
            able = [b for b in open_in.get(racks[at], ()) if b not in kept]
            may = [b for b in able if allowance[b] > 0]
            free[at] = may or able
            keys[at] = (hurt, not may, -leaving.count(racks[at]))
        tied = Counter(keys.values())
        loads = {
            at: self._loads.least(free[at], partition.size) if tied[keys[at]] > 1 else 0
            for at in others
        }
        return first + sorted(others, key=lambda at: (keys[at], loads[at], at))

    def _drop_key(
        self, partition: _Partition, broker: int
    ) -> tuple[bool, bool, bool, bool, int, int]:
        """The smallest gives way first."""
        load = self._loads.of(broker)
        drained = self._problem.drained_dirs.get(partition.row)
        lies = drained is None or int(self._at.ids[broker]) not in drained
        goes = not self._forecast.stays[partition.row, partition.base.index(broker)]
        leads = broker == partition.leader
        return (self._opens[broker], leads and not goes, not goes, lies, -load, -broker)

    def _within(self, partition: _Partition, kept: list[int], counts: dict[int, int]) -> list[int]:
        """As many of `kept` as may stay by rack."""
        there = [self._rack[b] for b in kept]
        if all(there.count(rack) <= counts.get(rack, 0) for rack in there):
            return kept
        used: Counter[int] = Counter()
        stays = set()
        for broker in sorted(kept, key=lambda b: self._drop_key(partition, b), reverse=True):
            if used[self._rack[broker]] < counts.get(self._rack[broker], 0):
                used[self._rack[broker]] += 1
                stays.add(broker)
        return [b for b in kept if b in stays]

    def _chosen_by_rack(
        self, partition: _Partition, kept: list[int], counts: dict[int, int]
    ) -> list[int]:
        """New brokers so that each rack has its count, which it can."""
        used = [self._rack[b] for b in kept]
        open_in = self._open_in[int(self._problem.partitions.rule[partition.row])]
        new: list[int] = []
        for rack in sorted(counts):
            for _ in range(counts[rack] - used.count(rack)):
                free = [b for b in open_in[rack] if b not in kept and b not in new]
                new.append(self._best(partition, free))
        return new

    def _chosen(
        self, partition: _Partition, there: list[int], leaving: list[int], before: list[int]
    ) -> list[int]:
        """New brokers up to the factor: of the rack of one that leaves, else of the rack that is used least.

        A rack that has none yet comes first while there are fewer racks than `before` had, then who may hold more of
        the topic. Fewer where there are no more.
        """
        new: list[int] = []
        homes = self._homes(partition, leaving)
        least = len(self._racks_of(before))
        for _ in range(partition.factor - len(there)):
            used = Counter([self._rack[b] for b in [*there, *new]])
            free = self._free(partition, [*there, *new])
            others = [b for b in free if self._rack[b] not in used] if len(used) < least else []
            free = self._spreading(partition, self._loads.with_room(others or free, partition.size))
            if not free:
                break
            home = next((rack for rack in homes if rack in self._racks_of(free)), None)
            fewest = min(used[self._rack[b]] for b in free)
            best = [b for b in free if self._rack[b] == home] if home is not None else []
            best = best or [b for b in free if used[self._rack[b]] == fewest]
            new.append(self._best(partition, best))
            if home is not None:
                homes.remove(home)
        return new

    def _free(self, partition: _Partition, taken: list[int]) -> list[int]:
        number = int(self._problem.partitions.rule[partition.row])
        return [b for b in self._open[number] if b not in taken]

    def _spreading(self, partition: _Partition, among: list[int]) -> list[int]:
        """Those that may hold more of the topic; or those that hold least above what they may, if none may."""
        allowance = self.spread.allowance_of(partition.row)
        most = min(max([allowance[b] for b in among], default=0), 1)
        return [b for b in among if allowance[b] >= most]

    def _best(self, partition: _Partition, among: list[int]) -> int:
        """The broker that gets the replica, of those with room."""
        among = self._loads.with_room(among, partition.size)
        if not partition.held:
            held = self.spread.held(partition.row)
            return self._loads.next_of_a_new_partition(among, held)
        parts = self._forecast.parts.get(int(self._problem.partitions.rule[partition.row]))
        best = self._loads.next(self._spreading(partition, among), partition.size, parts)
        self._loads.give(best, partition.size)
        return best


class _Loads:
    """What each registered broker holds and gets while partitions are filled, and who gets the next replica.

    Among the brokers that may hold more of the topic two things shall be even: what each broker gets, since the broker
    that gets most decides how long the copies take; and what it holds in the end, in replicas and in bytes alike.
    Copies come first, so far as a broker may get a tenth more than its part of them: by weight, or by `forecast`.
    Within that a large partition goes to who holds the fewest bytes, and a small one, which is little of them, to who
    holds the fewest replicas: as the largest come first, the bytes are even by then. A new partition copies nothing,
    and goes to those that hold least of its topic. All of it is divided by the weights, in Python's whole numbers,
    since the least common multiple of the weights may have any length.
    """

    def __init__(self, brokers: BrokerTable, replicas: int, bytes_: int) -> None:
        """`replicas`, `bytes_`: of all partitions together; a replica counts as much as so many bytes on average."""
        weights = brokers.weight.tolist()
        self._by_weight = Parts.by(weights)
        self._step = self._by_weight.step
        self._even = len(set(weights)) == 1
        self._room: list[int] = brokers.room.tolist()
        self._below: list[int] = (brokers.room if brokers.below is None else brokers.below).tolist()
        self._limited = bool((brokers.room < NO_LIMIT).any())
        self._got = [0] * len(weights)
        self._of_a_replica: int = max(bytes_ + int(brokers.bytes.sum()), 1)
        self._of_a_byte: int = max(replicas + int(brokers.replicas.sum()), 1)
        self._replicas = [0] * len(weights)
        self._bytes = [0] * len(weights)
        self._load = [0] * len(weights)
        self._put(brokers.replicas.tolist(), brokers.bytes.tolist())

    def add(self, lists: Matrix, sizes: Ints) -> None:
        """Count partitions of these sizes on the brokers of their lists, by position."""
        count = len(self._step)
        number, taken = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for brokers in lists.T:
            there = (brokers >= 0) & (brokers < count)
            number += np.bincount(brokers[there], minlength=count)
            np.add.at(taken, brokers[there], sizes[there])
        self._put(number.tolist(), taken.tolist())
        for room in (self._room, self._below):
            room[:] = [free - int(gone) for free, gone in zip(room, taken, strict=True)]

    def _put(self, replicas: Sequence[int], bytes_: Sequence[int]) -> None:
        for broker, (number, size) in enumerate(zip(replicas, bytes_, strict=True)):
            self._replicas[broker] += number
            self._bytes[broker] += size
            self._load[broker] += self._of(number, size) * self._step[broker]

    def put(self, brokers: Iterable[int], size: int) -> None:
        """Count one partition of this size on these brokers."""
        more, step = self._of(1, size), self._step
        for broker in brokers:
            if broker < len(step):
                self._load[broker] += more * step[broker]
                self._replicas[broker] += 1
                self._bytes[broker] += size
                self._room[broker] -= size
                self._below[broker] -= size

    def give(self, broker: int, size: int) -> None:
        """Count that a broker gets a replica of this size."""
        self._got[broker] += size

    def of(self, broker: int) -> int:
        """The load of a broker, half replicas, half bytes; 0 of one that is not registered."""
        return self._load[broker] if broker < len(self._step) else 0

    def _of(self, replicas: int, size: int) -> int:
        return replicas * self._of_a_replica + size * self._of_a_byte

    def least(self, among: Iterable[int], size: int) -> int:
        """The load of the least loaded one of some brokers, with one replica of a size more; 0 of none."""
        load, step, more = self._load, self._step, self._of(1, size)
        if self._even:
            loads = [load[b] for b in among]
            return min(loads) + more * step[0] if loads else 0
        return min([load[b] + more * step[b] for b in among], default=0)

    def with_room(self, among: list[int], size: int) -> list[int]:
        """Those of some brokers whose disks have room for a replica of this size; all where none has.

        Of these those that the policy would not empty again then, where there are any.
        """
        room, below = self._room, self._below
        if not self._limited:
            return among
        among = [b for b in among if room[b] >= size] or among
        return [b for b in among if below[b] >= size] or among

    def next_of_a_new_partition(self, among: Sequence[int], held: Sequence[int]) -> int:
        """Who of some brokers gets one, of those that hold least of its topic; the lowest of equal ones."""
        load, step, more = self._load, self._step, self._of(1, 0)
        return min(among, key=lambda b: (held[b] * step[b], load[b] + more * step[b], b))

    def next(self, among: Sequence[int], size: int, parts: Parts | None = None) -> int:
        """Who of some brokers gets a replica of this size; the lowest of equal ones. `parts`: else by weight."""
        parts = parts or self._by_weight
        part, per_part, got, step = parts.of, parts.step, self._got, self._step
        among = [b for b in among if part[b]] or among
        if len(among) == 1:
            return among[0]
        least = min([got[b] * per_part[b] for b in among])
        together = parts.most * (sum([got[b] for b in among]) + size)
        every = THAN * sum([part[b] for b in among])
        large = size * self._of_a_byte * TENTHS >= LARGE * self._of_a_replica
        held, more = (self._bytes, size) if large else (self._replicas, 1)
        return min(
            [
                ((held[b] + more) * step[b], b)
                for b in among
                if got[b] * per_part[b] == least or (got[b] + size) * every <= together * part[b]
            ]
        )[1]
