"""Whether a choice keeps its rules: written apart from the makers, in plain sets, from the meaning of the rules alone.

It shares the nouns of `problem` with them and nothing else, no helper, no order of steps, so that a mistake there is
not repeated here. The planner asks it about every list that it is about to plan; the tests about every result.
Not here: whether it is the cheapest choice. That is what the tests ask an exact solver.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from replan.model.columns import Flags
from replan.planning.placing.problem import Choice, Layout, PlacementProblem, Rule


class Breach(StrEnum):
    """What is wrong with one list."""

    LENGTH = "length"
    REPEATED = "repeated"
    NOT_A_CANDIDATE = "not-a-candidate"
    NOT_OPEN = "not-open"
    """A new replica on a broker that may get none."""
    DRAINED = "drained"
    RACKS = "racks"
    FEWER_RACKS = "fewer-racks"
    """A rule that says nothing of racks leaves a partition in fewer than it is in, and there is another way."""
    TOO_MANY_OF_TOPIC = "too-many-of-topic"
    """A new replica on a broker that holds more of the topic than the rule allows."""
    NOT_AS_LISTED = "not-as-listed"
    """A declared list differs elsewhere than at its drained brokers."""
    UNREASONED = "unreasoned"
    """A partition that has no placement and did not keep what it has."""


class Finding(Struct, frozen=True):
    """One breach of one partition, by its row."""

    row: int
    breach: Breach


def broken_rules(
    problem: PlacementProblem, choice: Choice, rows: Iterable[int] | None = None
) -> list[Finding]:
    """All that is wrong with the lists of some rows, or of all."""
    given_up = {row for reason in choice.impossible for row in reason.partitions}
    checker = _Checker(problem, {int(b): i for i, b in enumerate(problem.brokers.ids)})
    findings: list[Finding] = []
    checked = list(range(len(problem.partitions)) if rows is None else rows)
    findings += _crowded(problem, choice, checked)
    for row in checked:
        members = _members(choice.lists[row])
        if row in given_up:
            kept = members == _members(problem.partitions.current[row])
            findings += [] if kept else [Finding(row, Breach.UNREASONED)]
        else:
            findings += [Finding(row, breach) for breach in checker.breaches(row, members)]
    return findings


def _crowded(problem: PlacementProblem, choice: Choice, rows: Iterable[int]) -> Iterator[Finding]:
    """New replicas on brokers that hold more of the topic than a rule allows.

    Not of partitions that are new, nor of those that stay, whatever is chosen for them.
    """
    partitions = problem.partitions
    most = {
        int(partitions.topic[row]): rule.most
        for row in rows
        for rule in [problem.rules[int(partitions.rule[row])]]
        if rule.most is not None
    }
    holds: Counter[tuple[int, int]] = Counter()
    staying = set(problem.staying.tolist())
    every = [
        (topic, partitions.current[row] if row in staying else choice.lists[row])
        for row, topic in enumerate(partitions.topic.tolist() if most else ())
    ]
    elsewhere = problem.elsewhere
    every += zip(elsewhere.topic.tolist() if most else (), elsewhere.lists, strict=False)
    for topic, members in every:
        if topic in most:
            holds.update((topic, broker) for broker in _members(members))
    for row in rows if most else ():
        topic, had = int(partitions.topic[row]), _members(partitions.current[row])
        new = [b for b in _members(choice.lists[row]) if b not in had]
        allowed = most.get(topic)
        moves = had and row not in staying
        if moves and allowed is not None and any(holds[topic, b] > allowed for b in new):
            yield Finding(row, Breach.TOO_MANY_OF_TOPIC)


def _members(row: Iterable[int]) -> list[int]:
    return [int(b) for b in row if b >= 0]


class _Checker(Struct, frozen=True):
    problem: PlacementProblem
    position: dict[int, int]

    def breaches(self, row: int, members: list[int]) -> Iterator[Breach]:
        """What is wrong with one list."""
        partitions = self.problem.partitions
        rule = self.problem.rules[int(partitions.rule[row])]
        base = _members(partitions.base[row])
        if len(set(members)) != len(members):
            yield Breach.REPEATED
        if len(members) != int(partitions.factor[row]):
            yield Breach.LENGTH
        if not self.problem.drained.isdisjoint(members):
            yield Breach.DRAINED
        declared = base if rule.layout is Layout.LISTED else []
        there = {*_members(partitions.current[row]), *declared}
        if any(not self._has(self.problem.brokers.open, b) for b in members if b not in there):
            yield Breach.NOT_OPEN
        if rule.layout is Layout.LISTED:
            yield from self._not_as_listed(base, members)
        elif not all(self._has(rule.candidates, b) for b in members):
            yield Breach.NOT_A_CANDIDATE
        elif not _racks_hold(rule, [self._rack(b) for b in members], self.problem.brokers.rack):
            yield Breach.RACKS
        elif rule.layout is Layout.NONE and len(self._racks(members)) < self._racks_to_keep(
            row, rule
        ):
            yield Breach.FEWER_RACKS

    def _has(self, flags: Flags, broker: int) -> bool:
        return broker in self.position and bool(flags[self.position[broker]])

    def _rack(self, broker: int) -> int:
        return int(self.problem.brokers.rack[self.position[broker]])

    def _racks(self, brokers: Iterable[int]) -> set[int | tuple[int]]:
        """Where brokers lie; one whose rack is not known, or that is not registered, lies in one of its own."""
        return {
            self._rack(b) if b in self.position and self._rack(b) >= 0 else (b,) for b in brokers
        }

    def _racks_to_keep(self, row: int, rule: Rule) -> int:
        """As many as it is in, unless it has fewer replicas, or may lie in fewer."""
        partitions, brokers = self.problem.partitions, self.problem.brokers
        had = _members(partitions.current[row])
        able = [
            int(b)
            for b, allowed, open_ in zip(brokers.ids, rule.candidates, brokers.open, strict=True)
            if allowed and (open_ or int(b) in had)
        ]
        return min(len(self._racks(had)), int(partitions.factor[row]), len(self._racks(able)))

    def _not_as_listed(self, base: list[int], members: list[int]) -> Iterator[Breach]:
        places = zip(base, members, strict=False)
        if any(was != now and was not in self.problem.drained for was, now in places):
            yield Breach.NOT_AS_LISTED


def _racks_hold(rule: Rule, racks: list[int], rack_of: Iterable[int]) -> bool:
    if rule.layout is Layout.NONE:
        return True
    if rule.layout is Layout.IN_RACK:
        return len(set(racks)) == 1 and racks[0] >= 0
    if rule.layout is Layout.PER_RACK:
        return Counter(racks) == {rack: n for rack, n in enumerate(rule.per_rack) if n}
    every = {int(rack) for rack, allowed in zip(rack_of, rule.candidates, strict=True) if allowed}
    counts = Counter(racks)
    floor = len(racks) // len(every)
    ceiling = -(-len(racks) // len(every))
    return min(every) >= 0 and all(floor <= counts[rack] <= ceiling for rack in every)
