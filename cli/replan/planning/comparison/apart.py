"""Topics that are declared apart: which brokers each of them leaves to the others, so that they share none.

A group of `apart` has sides, each a name or a pattern, and each broker belongs to one side of a group, or to none yet.
Then every partition is placed by itself, on brokers that belong to no other side (`chosen`).

Who gets a broker: the side whose lists there are fixed, since no rule places them; else the side with most bytes there.
A side whose rules lack brokers is given the one that takes the fewest bytes away from another side, which must not lack
any itself then. Who is still free goes to the side with most replicas for each broker that it has. So what is apart
stays as it is, and planning again changes nothing. It is a choice of brokers, not a proof: where a side lacks some
still, its partitions are refused with the brokers of the other sides as the reason.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from replan.model.broker import Broker
from replan.model.columns import Ints, Matrix
from replan.model.declared.rules import Apart, Spread, TopicRule
from replan.model.names import BrokerId


class LeftToOthers(Struct, frozen=True):
    """Brokers that a topic may not use, as those of a topic that is declared apart lie there."""

    entry: Apart
    brokers: frozenset[BrokerId]


Separated = Mapping[str, tuple[LeftToOthers, ...]]
"""Of each topic that is in a group."""


class PlacedPartitions(Struct, frozen=True):
    """What all partitions have; one element, or row, for each."""

    brokers: Matrix
    topic: Ints
    """Position in the names of topics."""
    bytes: Ints


def separated(
    groups: Iterable[Apart],
    topics: Sequence[str],
    ruled: Mapping[str, TopicRule],
    lists: PlacedPartitions,
    brokers: Sequence[Broker],
    drained: Collection[BrokerId],
) -> Separated:
    """The brokers that each topic leaves to others; `ruled`: topics that a rule places, the others stay."""
    left_to_others: dict[str, tuple[LeftToOthers, ...]] = {}
    for entry in groups:
        group = _Group(entry, topics, ruled, lists, brokers, drained)
        if len(group.sides) > 1:
            group.share_out()
            for topic, side in group.side_of.items():
                others = frozenset(b for b, of in group.owner.items() if of not in {None, side})
                before = left_to_others.get(topic, ())
                left_to_others[topic] = (*before, LeftToOthers(entry, others))
    return left_to_others


class _Demand(Struct):
    """What one rule asks of the brokers of its side."""

    rule: TopicRule
    factor: int
    least: int
    """So many brokers are needed, whatever their racks."""


class _Group:
    """One group on one cluster."""

    def __init__(
        self,
        entry: Apart,
        topics: Sequence[str],
        ruled: Mapping[str, TopicRule],
        lists: PlacedPartitions,
        brokers: Sequence[Broker],
        drained: Collection[BrokerId],
    ) -> None:
        self.side_of = entry.sides(topics)
        self.sides = sorted(set(self.side_of.values()))
        self._brokers = {b.id: b for b in brokers if b.id not in drained}
        self.owner: dict[BrokerId, int | None] = dict.fromkeys(self._brokers)
        self._fixed: set[BrokerId] = set()
        self._there: dict[BrokerId, Counter[int]] = {b: Counter() for b in self._brokers}
        self._rack: str | None = None
        self._replicas: Counter[int] = Counter()
        self._demands: dict[int, list[_Demand]] = {side: [] for side in self.sides}
        self._look(topics, ruled, lists)

    def _look(
        self, topics: Sequence[str], ruled: Mapping[str, TopicRule], lists: PlacedPartitions
    ) -> None:
        """Who has what now, and what rules ask for."""
        fixed: dict[BrokerId, Counter[int]] = {b: Counter() for b in self._brokers}
        declared_apart = set(self.side_of)
        for number, name in enumerate(topics):
            rows = np.flatnonzero(lists.topic == number) if name in declared_apart else ()
            if not len(rows):
                continue
            side, rule = self.side_of[name], ruled.get(name)
            for row in rows:
                size = int(lists.bytes[row]) + 1
                for broker in lists.brokers[row].tolist():
                    if broker in self._brokers:
                        (self._there if rule else fixed)[BrokerId(broker)][side] += size
            if rule:
                held = max(int((lists.brokers[row] >= 0).sum()) for row in rows)
                factor = rule.replication_factor or held
                most = rule.max_replicas_per_broker
                least = factor if most is None else max(factor, -(-len(rows) * factor // most))
                self._demands[side].append(_Demand(rule, factor, least))
                self._replicas[side] += len(rows) * factor
        for broker in self._brokers:
            of = fixed[broker] or self._there[broker]
            if of:
                self.owner[broker] = min(of, key=lambda side: (-of[side], side))
            if fixed[broker]:
                self._fixed.add(broker)

    def share_out(self) -> None:
        """Give each broker to a side."""
        for side in self.sides:
            if self._lack(side):
                self._provide(side)
        for broker in sorted(b for b, of in self.owner.items() if of is None):
            able = [s for s in self.sides if self._usable(s, broker)]
            if able:
                self.owner[broker] = max(able, key=lambda s: (self._crowd(s), -s))

    def _provide(self, side: int) -> None:
        """Give a side the brokers that it lacks, or none where the others cannot spare as many.

        Where partitions keep to one rack, in the rack where that costs the others least.
        """
        in_rack = any(d.rule.spread is Spread.IN_RACK for d in self._demands[side])
        racks = sorted({b.rack or "" for b in self._brokers.values()}) if in_rack else []
        before, ways = dict(self.owner), list[tuple[int, int, int, dict[BrokerId, int | None]]]()
        for number, self._rack in enumerate(racks or [None]):
            self.owner, cost = dict(before), 0
            while self._lack(side) and (cheapest := self._cheapest(side)) is not None:
                cost += cheapest[0]
                self.owner[cheapest[1]] = side
            ways.append((self._lack(side), cost, number, self.owner))
        self._rack = None
        lack, _, _, owner = min(ways, key=lambda way: way[:3])
        self.owner = before if lack else owner

    def _cheapest(self, side: int) -> tuple[int, BrokerId] | None:
        """The broker whose loss costs the others the fewest bytes, of those that help, and that they can spare."""
        lack = self._lack(side)
        ways: list[tuple[int, BrokerId]] = []
        for broker, was in self.owner.items():
            if was == side or broker in self._fixed or not self._usable(side, broker):
                continue
            before = 0 if was is None else self._lack(was, anywhere=True)
            self.owner[broker] = side
            helps = self._lack(side) < lack
            spared = was is None or self._lack(was, anywhere=True) <= before
            self.owner[broker] = was
            if helps and spared:
                there = self._there[broker]
                ways.append((there.total() - there[side], broker))
        return min(ways, default=None)

    def _usable(self, side: int, broker: BrokerId) -> bool:
        """Whether a rule of a side may place something new there."""
        registered = self._brokers[broker]
        return registered.takes_new and any(
            d.rule.may_use(broker, registered.rack) for d in self._demands[side]
        )

    def _crowd(self, side: int) -> float:
        """Replicas for each broker that a side has."""
        return self._replicas[side] / max(sum(of == side for of in self.owner.values()), 1)

    def _lack(self, side: int, *, anywhere: bool = False) -> int:
        """How many brokers a side lacks, by the rule that lacks most."""
        rack = None if anywhere else self._rack
        return max((_lacking(d, *self._of(side, d), rack) for d in self._demands[side]), default=0)

    def _of(self, side: int, demand: _Demand) -> tuple[Counter[str], frozenset[str]]:
        """The brokers of a side that a rule can use, by rack, and all racks that it could use."""
        may = [b for b in self._brokers.values() if demand.rule.may_use(b.id, b.rack)]
        have = Counter(
            b.rack or ""
            for b in may
            if self.owner[b.id] == side and (b.takes_new or self._there[b.id][side])
        )
        return have, frozenset(b.rack or "" for b in may)


def _lacking(demand: _Demand, have: Counter[str], racks: frozenset[str], rack: str | None) -> int:
    """How many brokers a rule lacks; `rack`: where partitions keep to one, to this one."""
    rule, factor, more = demand.rule, demand.factor, max(demand.least - have.total(), 0)
    if rule.replicas_per_rack:
        return max(more, sum(max(n - have[r], 0) for r, n in rule.replicas_per_rack.items()))
    if rule.spread is Spread.RACK and racks:
        floor, extra = divmod(factor, len(racks))
        short = sum(max(floor - have[r], 0) for r in racks)
        return max(more, short + max(extra - sum(have[r] > floor for r in racks), 0))
    if rule.spread is Spread.IN_RACK:
        some = racks if rack is None else {rack}
        return max(more, factor - max((have[r] for r in some), default=0))
    return more
