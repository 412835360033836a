"""Other planners by the rules that their documentation gives, so that one run can put them beside replan.

Nothing here was compared with what the tools themselves make.

* `kafka`: Kafka's assignment with racks (`AdminUtils.assignReplicasToBrokersRackAware`), which `--generate` of its
  tool and new topics of older versions use.
* `rebuild`: topicmappr rebuild. By position: who stays keeps the place; for one that leaves comes, of the brokers in
  other racks, who holds the fewest replicas (`by="count"`), or who has the most free storage, the largest partitions
  first (`by="storage"`), or one named substitute (`--sub-affinity`). Brokers that join get nothing unless everything is
  placed again (`force`).
* `scale`: topicmappr scale. Each broker in turn gives one of its 30 largest partitions to the new broker with the most
  free storage, while neither passes the mean by more than a tolerance; of all tolerances the one that leaves the least
  range counts.
* `goals`: Cruise Control's RackAware, ReplicaDistribution, DiskUsageDistribution, LeaderReplicaDistribution and
  TopicReplicaDistribution goals, one after the other with its thresholds (1.1, of topics 3.0, of which nine tenths are
  used); no goal undoes an earlier one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np
from msgspec import Struct, field

Lists = list[list[int]]
LARGEST = 30
"""Partitions of a broker that topicmappr offers in a round."""
MARGIN = 0.9
"""The part of a threshold that Cruise Control aims at."""
TOPICS = 3.0
TENTH = 1.1


def kafka(
    topics: Sequence[int], racks: dict[int, int], factor: int, chance: np.random.Generator
) -> Lists:
    """Each topic again, from a random broker on; `topics`: their partitions, `racks`: of the brokers that may."""
    by_rack = [sorted(b for b in racks if racks[b] == r) for r in sorted(set(racks.values()))]
    order = [b for some in zip_longest(*by_rack) for b in some if b is not None]
    size, width, lists = len(order), len(by_rack), []
    for count in topics:
        start, shift = int(chance.integers(size)), int(chance.integers(size))
        for number in range(count):
            shift += number > 0 and number % size == 0
            first = (number + start) % size
            found, k = [order[first]], 0
            while len(found) < factor:
                broker = order[(first + 1 + (shift * width + k) % (size - 1)) % size]
                k += 1
                used = {racks[b] for b in found}
                free = len(used) == width and broker not in found
                if racks[broker] not in used or free:
                    found.append(broker)
            lists.append(found)
    return lists


def rebuild(
    had: Lists,
    sizes: Sequence[int],
    racks: dict[int, int],
    factor: int,
    chance: np.random.Generator,
    *,
    by: str = "count",
    force: bool = False,
) -> Lists:
    """By position; `racks`: of the brokers that may hold something."""
    had = [[] for _ in had] if force else had
    used: Counter[int] = Counter(dict.fromkeys(racks, 0))
    for found, size in zip(had, sizes, strict=True):
        for broker in found:
            used[broker] += 1 if by == "count" else size
    lists: Lists = [[] for _ in had]
    rows = sorted(range(len(had)), key=lambda r: -sizes[r] if by == "storage" else 0)
    for position in range(factor):
        for row in rows:
            found, before = lists[row], had[row]
            if position < len(before) and before[position] in racks:
                found.append(before[position])
                continue
            there = {*found, *(b for b in before if b in racks)}
            taken = {racks[b] for b in there}
            able = [b for b in racks if racks[b] not in taken]
            if not able:
                continue
            new = min(able, key=lambda b: (used[b], chance.random()))
            used[new] += 1 if by == "count" else sizes[row]
            found.append(new)
    return lists


def substituted(had: Lists, gone: int, by: int) -> Lists:
    """topicmappr rebuild with --sub-affinity: one broker takes all that another held."""
    return [[by if b == gone else b for b in found] for found in had]


def scale(had: Lists, sizes: Sequence[int], racks: dict[int, int], joined: frozenset[int]) -> Lists:
    """Of a hundred tolerances the one that leaves the least between the fullest and the emptiest broker."""
    found = [_scaled(had, sizes, racks, joined, step / 100) for step in range(0, 100, 3)]

    def span(lists: Lists) -> int:
        used = _bytes(lists, sizes, racks)
        return max(used.values()) - min(used.values())

    return min(found, key=span)


def _bytes(lists: Lists, sizes: Sequence[int], racks: dict[int, int]) -> dict[int, int]:
    used = dict.fromkeys(racks, 0)
    for found, size in zip(lists, sizes, strict=True):
        for broker in found:
            used[broker] += size
    return used


def _scaled(
    had: Lists,
    sizes: Sequence[int],
    racks: dict[int, int],
    joined: frozenset[int],
    tolerance: float,
) -> Lists:
    lists = [list(found) for found in had]
    used = _bytes(lists, sizes, racks)
    mean = sum(used.values()) / len(used)
    held: dict[int, list[int]] = {b: [] for b in racks}
    for row in sorted(range(len(had)), key=lambda r: -sizes[r]):
        for broker in lists[row]:
            held[broker].append(row)
    moved = True
    while moved:
        moved = False
        for broker in sorted(set(racks) - joined, key=lambda b: -used[b]):
            for row in held[broker][:LARGEST]:
                taken = {racks[b] for b in lists[row] if b != broker}
                able = [b for b in joined if racks[b] not in taken and b not in lists[row]]
                target = min(able, key=lambda b: used[b], default=None)
                if target is None or used[target] + sizes[row] > mean * (1 + tolerance):
                    continue
                if used[broker] - sizes[row] < mean * (1 - tolerance):
                    continue
                lists[row][lists[row].index(broker)] = target
                held[broker].remove(row)
                used[broker] -= sizes[row]
                used[target] += sizes[row]
                moved = True
                break
    return lists


class _Goal(Struct):
    """What each broker shall have of one measure, by place in `Cluster.order`."""

    of: Callable[[int], int]
    """What one replica of a partition counts."""
    used: dict[int, int]
    low: float
    high: float

    def accepts(self, row: int, source: int, target: int) -> bool:
        """Whether a step leaves both within the bounds, or no further from them."""
        more = self.of(row)
        over = self.used[target] + more > self.high
        under = self.used[source] - more < self.low
        return not (over or under) or (self.used[target] + more <= self.used[source] - more)

    def take(self, row: int, source: int, target: int) -> None:
        """Count a step."""
        self.used[source] = self.used.get(source, 0) - self.of(row)
        self.used[target] += self.of(row)


class _Optimizer(Struct):
    lists: Lists
    sizes: Sequence[int]
    topics: Sequence[int]
    racks: dict[int, int]
    done: list[_Goal] = field(default_factory=list)
    held: dict[int, set[int]] = field(default_factory=dict)
    many: Counter[tuple[int, int]] = field(default_factory=Counter)
    topic_most: dict[int, float] = field(default_factory=dict)

    def rack_aware(self, factor: Sequence[int]) -> None:
        """Each replica on a broker that serves, in a rack of its own as far as there are racks."""
        number = len(set(self.racks.values()))
        order = sorted(self.racks)
        turn = 0
        for row, found in enumerate(self.lists):
            del found[factor[row] :]
            for place, broker in enumerate(found):
                others = [self.racks.get(b, -1) for b in found if b != broker]
                twice = self.racks.get(broker) in others and len(found) <= number
                if broker not in self.racks or twice:
                    able = [b for b in order if b not in found]
                    good = [b for b in able if self.racks[b] not in others]
                    found[place] = (good or able)[0]
            while len(found) < factor[row]:
                able = [b for b in order if b not in found]
                used = {self.racks[b] for b in found}
                good = [b for b in able if self.racks[b] not in used] or able
                found.append(good[turn % len(good)])
                turn += 1
        self.held = {b: set() for b in self.racks}
        for row, found in enumerate(self.lists):
            for broker in found:
                self.held[broker].add(row)
                self.many[self.topics[row], broker] += 1

    def legal(self, row: int, source: int, target: int) -> bool:
        """Whether racks and the goals before allow a step."""
        found = self.lists[row]
        if target in found:
            return False
        others = [self.racks[b] for b in found if b != source]
        if self.racks[target] in others and len(set(self.racks.values())) > len(others):
            return False
        return all(goal.accepts(row, source, target) for goal in self.done)

    def take(self, row: int, source: int, target: int, goal: _Goal | None = None) -> None:
        """Take a step."""
        found = self.lists[row]
        for of in (*self.done, *([goal] if goal else ())):
            of.take(row, source, target)
        found[found.index(source)] = target
        self.held[source].remove(row)
        self.held[target].add(row)
        self.many[self.topics[row], source] -= 1
        self.many[self.topics[row], target] += 1

    def distribute(self, of: Callable[[int], int], *, large_first: bool) -> None:
        """Who is above gives, who is below gets; then, of bytes, replicas are exchanged."""
        used = {b: sum(map(of, rows)) for b, rows in self.held.items()}
        mean = sum(used.values()) / len(used)
        slack = (TENTH - 1) * MARGIN
        goal = _Goal(of, used, mean * (1 - slack), mean * (1 + slack))
        for broker in sorted(used, key=lambda b: -used[b]):
            self._relieve(goal, broker, large_first=large_first)
        for broker in sorted(used, key=lambda b: used[b]):
            for source in sorted(used, key=lambda b: -used[b]):
                for row in self._offered(source, of, large_first=large_first):
                    if used[broker] >= goal.low or used[source] <= mean:
                        break
                    if self._helps(goal, row, source, broker):
                        self.take(row, source, broker, goal)
        if large_first:
            self._exchange(goal)
        self.done.append(goal)

    def _relieve(self, goal: _Goal, broker: int, *, large_first: bool) -> None:
        used = goal.used
        for row in self._offered(broker, goal.of, large_first=large_first):
            if used[broker] <= goal.high:
                break
            targets = sorted(used, key=lambda b: used[b])
            target = next((b for b in targets if self._helps(goal, row, broker, b)), None)
            if target is not None:
                self.take(row, broker, target, goal)

    def _offered(
        self, broker: int, of: Callable[[int], int], *, large_first: bool
    ) -> Sequence[int]:
        sign = -1 if large_first else 1
        return sorted(self.held[broker], key=lambda r: (sign * of(r), self.sizes[r], r))

    def _helps(self, goal: _Goal, row: int, source: int, target: int) -> bool:
        """Whether both are within the bounds then."""
        more = goal.of(row)
        fits = goal.used[target] + more <= goal.high and goal.used[source] - more >= goal.low
        return fits and self.legal(row, source, target)

    def _exchange(self, goal: _Goal) -> None:
        used = goal.used
        for broker in sorted(used, key=lambda b: -used[b]):
            if used[broker] <= goal.high:
                break
            for row in sorted(self.held[broker], key=lambda r: -self.sizes[r]):
                if used[broker] <= goal.high:
                    break
                self._exchange_one(goal, row, broker)

    def _exchange_one(self, goal: _Goal, row: int, broker: int) -> None:
        used = goal.used
        for target in sorted(used, key=lambda b: used[b])[:5]:
            for back in sorted(self.held[target], key=lambda r: self.sizes[r]):
                gone = self.sizes[row] - self.sizes[back]
                if gone <= 0 or used[target] + gone > goal.high or row in self.held[target]:
                    continue
                if used[broker] - gone < goal.low or back in self.held[broker]:
                    continue
                if self._may(row, broker, target) and self._may(back, target, broker):
                    self.take(row, broker, target, goal)
                    self.take(back, target, broker, goal)
                    return

    def _may(self, row: int, source: int, target: int) -> bool:
        """Racks alone: an exchange changes no numbers."""
        others = [self.racks[b] for b in self.lists[row] if b != source]
        return self.racks[target] not in others or len(set(self.racks.values())) <= len(others)

    def leaders(self) -> None:
        """Leadership goes to another replica of the list."""
        led: Counter[int] = Counter(dict.fromkeys(self.racks, 0))
        led.update(found[0] for found in self.lists)
        mean = len(self.lists) / len(self.racks)
        high = mean * (1 + (TENTH - 1) * MARGIN)
        for found in self.lists:
            if led[found[0]] > high:
                place = min(range(1, len(found)), key=lambda p: led[found[p]], default=0)
                if led[found[place]] + 1 <= high:
                    led[found[0]] -= 1
                    led[found[place]] += 1
                    found[0], found[place] = found[place], found[0]

    def spread_topics(self) -> None:
        """No broker holds nearly three times its part of a topic, or two more."""
        total: Counter[int] = Counter()
        for (topic, _), many in self.many.items():
            total[topic] += many
        for (topic, broker), many in sorted(self.many.items()):
            mean = total[topic] / len(self.racks)
            high = max(mean * (1 + (TOPICS - 1) * MARGIN), mean + 2)
            for row in (
                sorted(self.held[broker], key=lambda r: self.sizes[r]) if many > high else ()
            ):
                if self.many[topic, broker] <= high:
                    break
                if self.topics[row] != topic:
                    continue
                for target in sorted(self.racks, key=lambda b: self.many[topic, b]):
                    if self.legal(row, broker, target):
                        self.take(row, broker, target)
                        break


def goals(
    had: Lists,
    sizes: Sequence[int],
    topics: Sequence[int],
    racks: dict[int, int],
    factor: Sequence[int],
) -> Lists:
    """Cruise Control's goals in their default order; `racks`: of the brokers that may hold something."""
    found = _Optimizer([list(of) for of in had], sizes, topics, racks)
    found.rack_aware(factor)
    found.distribute(lambda _row: 1, large_first=False)
    found.distribute(lambda row: sizes[row], large_first=True)
    found.leaders()
    found.spread_topics()
    return found.lists
