"""A topic stays spread: how many replicas of it, or leaderships, each broker may come to have.

That is its share of the topic, rounded up, and one more; or what it has at first, where that is more. A share is by
weight among the brokers that the partition's rule allows and that may get something; where the rule spreads over racks,
within each rack. Who fills or balances takes nobody above it while another way is left. What a rule allows a broker at
most (`Rule.most`) bounds both, and is brought about by `crowding`.
"""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from replan.model.columns import Flags, Ints, Matrix, same_width
from replan.planning.placing.positions import Positions
from replan.planning.placing.problem import NO_RACK, Layout, PlacementProblem, Rule
from replan.planning.placing.shares import shared_out

FEW = 2
"""So many partitions of a topic can lie with any broker that gets new ones, as its share is more than nothing."""
ANY = 1 << 30
ROUNDING = 1e-9


class TopicSpread:
    """How many each broker may still take of each topic, while replicas or leaderships go; brokers as positions."""

    def __init__(
        self,
        problem: PlacementProblem,
        at: Positions,
        rows: Ints,
        lists: Matrix,
        *,
        heads: bool = False,
    ) -> None:
        """`rows`: those that may change; `lists`: what each partition shall have by now, as ids.

        Those that stay count with what they have. `heads`: count who comes first in each list, not who is in it.
        """
        self._count, self._heads = at.count, heads
        topics, others = problem.partitions.topic, problem.elsewhere
        counted = self._counted_topics(problem, rows)
        self.of: Ints = _numbers(topics, counted)
        """The number of each partition's topic; 0: nothing is counted."""
        mine, theirs = np.flatnonzero(self.of), _numbers(others.topic, counted)
        number, of = len(counted) + 1, self.of[mine]
        there = np.flatnonzero(theirs)
        elsewhere = self._held(at, others.lists, there, theirs[there], number)
        had = elsewhere + self._held(at, problem.partitions.current, mine, of, number)
        if len(problem.staying):
            current, lists = same_width(problem.partitions.current, lists)
            lists = lists.copy()
            lists[problem.staying] = current[problem.staying]
        has = elsewhere + self._held(at, lists, mine, of, number)
        share = self._shares(problem, mine, number, has, elsewhere)
        self.fair: Matrix = np.pad(np.ceil(share - ROUNDING).astype(np.int32) + 1, ((0, 0), (0, 1)))
        """The share of each broker, rounded up, and one; in the shape of `most`."""
        self.ruled = np.full(number, ANY, dtype=np.int32)
        """The most of each topic that its rule allows a broker."""
        if not heads:
            by_rule = most_by_rule(problem).astype(np.int32)
            np.minimum.at(self.ruled, of, by_rule[problem.partitions.rule[mine]])
        self.any_ruled = bool((self.ruled < ANY).any())
        most = np.minimum(np.maximum(self.fair, had), self.ruled[:, None])
        most[0] = ANY
        self.most: Matrix = most
        """Shape (topics, brokers and one for those that are not registered)."""
        self.allowance: Matrix = most - has
        """How many more each may take, in the shape of `most`; below 0 where it holds too many."""
        self._last_allowances: tuple[int, list[int]] = (-1, [])
        """The partition that was asked about last, and the answer, until something is taken."""

    def take(self, partition: int, leaving: Iterable[int], coming: Iterable[int]) -> None:
        """Count what some brokers lose and others get of a partition."""
        of = self.of[partition]
        self._last_allowances = (-1, [])
        if of:
            for broker in leaving:
                self.allowance[of, min(broker, self._count)] += 1
            for broker in coming:
                self.allowance[of, min(broker, self._count)] -= 1

    def keep(self) -> None:
        """What a broker has given by now that was above its share it does not get back."""
        has = self.most - self.allowance
        self.most[1:] = np.minimum(self.most, np.maximum(self.fair, has))[1:]
        self.allowance = self.most - has
        self._last_allowances = (-1, [])

    def allowance_of(self, partition: int) -> list[int]:
        """How many more each broker may take of the partition's topic, by its position."""
        if self._last_allowances[0] != partition:
            self._last_allowances = (partition, self.allowance[self.of[partition]].tolist())
        return self._last_allowances[1]

    def held(self, partition: int) -> list[int]:
        """What each broker has of the partition's topic."""
        of = self.of[partition]
        counts: list[int] = (self.most[of] - self.allowance[of]).tolist()
        return counts

    def _counted_topics(self, problem: PlacementProblem, rows: Ints) -> Ints:
        topics, others = problem.partitions.topic, problem.elsewhere.topic
        of_rows = np.unique(topics[rows])
        number = len(of_rows) + 1
        many = np.bincount(_numbers(topics, of_rows), minlength=number)
        many += np.bincount(_numbers(others, of_rows), minlength=number)
        new = (problem.partitions.base[rows] < 0).all(axis=1)
        ruled = most_by_rule(problem)[problem.partitions.rule[rows]] < ANY
        counted: Ints = of_rows[
            (many[1:] > FEW - self._heads) | np.isin(of_rows, topics[rows][new | ruled])
        ]
        return counted

    def _held(self, at: Positions, lists: Matrix, rows: Ints, of: Ints, topics: int) -> Matrix:
        """How many each broker has of each topic, by some rows; a column at a time, which bounds the memory."""
        width = self._count + 1
        counts = np.zeros(topics * width, dtype=np.int32)
        for slot in range(1 if self._heads else lists.shape[1]):
            brokers = np.minimum(at.find(lists[rows, slot]), self._count)
            codes = (of * width + brokers)[brokers >= 0]
            counts += np.bincount(codes, minlength=topics * width).astype(np.int32)
        return counts.reshape(topics, width)

    def _shares(
        self, problem: PlacementProblem, rows: Ints, topics: int, has: Matrix, elsewhere: Matrix
    ) -> np.ndarray:
        """What each broker should have of each topic, with what of it is not in the problem."""
        partitions = problem.partitions
        factor, rule = partitions.factor[rows], partitions.rule[rows]
        width = int(factor.max(initial=0)) + 1
        kinds, kind = np.unique(rule * width + factor, return_inverse=True)
        units = np.zeros((len(kinds), self._count))
        for number, code in enumerate(kinds.tolist()):
            units[number] = _unit(problem, problem.rules[code // width], code % width)
            units[number] /= max(code % width, 1) if self._heads else 1
        of = self.of[rows]
        many = np.bincount(of * len(kinds) + kind, minlength=topics * len(kinds))
        share = many.reshape(topics, len(kinds)) @ units
        wanted = np.bincount(of, np.ones_like(of) if self._heads else factor, minlength=topics)
        share *= (1 + elsewhere.sum(axis=1) / np.maximum(wanted, 1))[:, None]
        in_rack = np.array([r.layout is Layout.IN_RACK for r in problem.rules])[rule]
        own = np.unique(of[in_rack])
        share[own] = _of_own_racks(problem, has[own])
        return share


def most_by_rule(problem: PlacementProblem) -> Ints:
    """How many replicas of a topic each rule allows a broker; ANY where it says nothing, or more than that."""
    most = [ANY if rule.most is None else min(rule.most, ANY) for rule in problem.rules]
    return np.array(most, dtype=np.int64)


def _numbers(topics: Ints, among: Ints) -> Ints:
    """The place of each topic in `among`, from 1 on; 0 of others."""
    if not len(among):
        return np.zeros(len(topics), dtype=np.int64)
    place = np.minimum(np.searchsorted(among, topics), len(among) - 1)
    numbers: Ints = np.where(among[place] == topics, place + 1, 0)
    return numbers


def _unit(problem: PlacementProblem, rule: Rule, factor: int) -> list[float]:
    """What each broker should have of one partition."""
    brokers = problem.brokers
    able = rule.candidates & brokers.open
    parts = [0.0] * len(brokers.ids)
    for some, total in _parts(brokers.rack, rule, able, brokers.weight, factor):
        weights = [int(brokers.weight[b]) for b in some]
        for broker, part in zip(some, shared_out(total, weights, [1] * len(some)), strict=True):
            parts[broker] = float(part)
    return parts


def _parts(
    rack: Ints, rule: Rule, able: Flags, weight: Ints, factor: int
) -> list[tuple[list[int], Fraction]]:
    """Brokers that share replicas of one partition."""
    if rule.layout not in {Layout.RACK, Layout.PER_RACK} or not able.any():
        return [(np.flatnonzero(able).tolist(), Fraction(factor))]
    racks = np.unique(rack[rule.candidates])
    of = [np.flatnonzero(able & (rack == r)).tolist() for r in racks]
    if rule.layout is Layout.PER_RACK:
        wanted = [Fraction(rule.per_rack[r]) for r in racks.tolist()]
        return list(zip(of, wanted, strict=True))
    weights = [int(weight[some].sum()) for some in of]
    extra = shared_out(factor % len(racks), weights, [1] * len(racks))
    return [(some, factor // len(racks) + more) for some, more in zip(of, extra, strict=True)]


def _of_own_racks(problem: PlacementProblem, has: Matrix) -> np.ndarray:
    """The share of what lies in the rack already, where partitions keep to one rack."""
    brokers = problem.brokers
    weight = np.where(brokers.open, brokers.weight, 0).astype(float)
    share = np.zeros((len(has), len(brokers.ids)))
    for rack in np.unique(brokers.rack):
        mine = (brokers.rack == rack) & (brokers.rack != NO_RACK)
        if weight[mine].any():
            total = has[:, :-1][:, mine].sum(axis=1)
            share[:, mine] = total[:, None] * (weight[mine] / weight[mine].sum())
    return share
