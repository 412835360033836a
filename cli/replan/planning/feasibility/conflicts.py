"""The conflicts behind the refusals of a plan: which constraints leave no placement, over all rules at once.

For each refused partition all of its constraints are collected (`constraints`), and those that cannot be spared are
kept; partitions of the same conflict are one. Refusals that time resolves by itself have none. Room on disks is bin
packing, so what is proved (a replica fits on no broker even when everything that can leave has left; the lists declared
for one broker are together larger than its room; what `placing` proved of all disks) is said apart from what was only
not found.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.names import BrokerId, TopicPartition
from replan.planning.comparison.alignment import Alignment, declared_lists
from replan.planning.comparison.chosen import BaseLists
from replan.planning.feasibility.constraints import RefusedPartitions
from replan.planning.feasibility.one_partition import Case, RackOf, lacks, simplified
from replan.planning.placing.problem import Impossible, Obstacle
from replan.planning.plans.conflicts import (
    Conflict,
    Constraint,
    ConstraintKind,
    Lack,
    Proof,
    Shortage,
)
from replan.planning.plans.moves import Move
from replan.planning.plans.reasons import Refusal, RefusalRule
from replan.wording import NAMES_SHOWN

_T = TypeVar("_T")


def fewest(members: Sequence[_T], feasible: Callable[[Sequence[_T]], bool]) -> int:
    """How many of some members, the first ones, have to go so that the others can hold; without any they can."""
    return next((n for n in range(len(members) + 1) if feasible(members[n:])), len(members))


def irreducible(members: Sequence[_T], feasible: Callable[[Sequence[_T]], bool]) -> list[_T]:
    """A part that cannot hold and of which every member is needed; `members` cannot hold. The first go first."""
    needed = list(members)
    before = len(needed) + 1
    while len(needed) < before:
        before = len(needed)
        for member in list(needed):
            without = [m for m in needed if m is not member]
            if not feasible(without):
                needed = without
    return needed


def disjoint(members: Sequence[_T], feasible: Callable[[Sequence[_T]], bool]) -> list[list[_T]]:
    """Irreducible parts that share no member, until what is left over can hold: each has to be resolved by itself."""
    rest, parts = list(members), list[list[_T]]()
    while not feasible(rest):
        part = irreducible(rest, feasible)
        parts.append(part)
        rest = [m for m in rest if not any(m is taken for taken in part)]
        if not part:
            break
    return parts


OF_ROOM = frozenset({RefusalRule.NO_ROOM, RefusalRule.NO_ROOM_BEFORE})
EXPLAINED = OF_ROOM | {
    RefusalRule.NO_SUBSTITUTE,
    RefusalRule.TOO_FEW_BROKERS,
    RefusalRule.WITHOUT_RACK,
    RefusalRule.RACK_LACKS_BROKERS,
    RefusalRule.RACKS_LACK_BROKERS,
    RefusalRule.NO_RACK_IS_LARGE_ENOUGH,
    RefusalRule.TOPIC_CROWDS_BROKERS,
    RefusalRule.BROKERS_FULL,
    RefusalRule.RACKS_LOST,
    RefusalRule.TARGET_BELOW_MIN_ISR,
    RefusalRule.SAFE_START,
    RefusalRule.UNCLEAN_GUARD,
}
"""Refusals that constraints on the placement explain."""

ConflictPart = tuple[tuple[Constraint, ...], tuple[Lack, ...]]


def conflicts(
    aligned: Alignment,
    refusals: Iterable[Refusal],
    moves: Sequence[Move],
    chosen: BaseLists,
) -> tuple[Conflict, ...]:
    """Every conflict, by the first partition that it concerns.

    `moves`: all that were asked for, with and without room; `chosen`: what the chooser found.
    """
    refused: dict[TopicPartition, Refusal] = {}
    for refusal in refusals:
        earlier = refused.get(refusal.partition)
        if refusal.rule in EXPLAINED and (earlier is None or earlier.rule in OF_ROOM):
            refused[refusal.partition] = refusal
    if not refused:
        return ()
    names = sorted(refused)
    looked_up = RefusedPartitions.of(aligned, names, moves, chosen.apart)
    search = _Search(looked_up, refused, moves, chosen.impossible)
    firsts: dict[object, Conflict] = {}
    members: dict[object, list[TopicPartition]] = {}
    of_alike: dict[object, list[object]] = {}
    for name in names:
        of_room = refused[name].rule in OF_ROOM
        alike = name if of_room else search.looked_up.alike(name)
        if alike not in of_alike:
            by_likeness = {_likeness(conflict): conflict for conflict in search.of_partition(name)}
            of_alike[alike] = list(by_likeness)
            for likeness, conflict in by_likeness.items():
                first = firsts.get(likeness)
                firsts[likeness] = conflict if first is None else _merged(first, conflict)
        for likeness in of_alike[alike]:
            members.setdefault(likeness, []).append(name)
    return tuple(_grouped(firsts[likeness], names) for likeness, names in members.items())


def _likeness(conflict: Conflict) -> object:
    """What the conflicts of several partitions have in common: neither the lines of their lists, nor their sizes."""
    alike = [
        replace(c, where=bool(c.where) * "declared", brokers=())
        if c.kind is ConstraintKind.LIST
        else replace(c, number=0)
        if c.kind is ConstraintKind.NO_ROOM
        else replace(c, brokers=(), together=0)
        if c.kind in OF_BROKERS
        else replace(c, together=0)
        for c in conflict.constraints
    ]
    missing = [
        replace(k, needed=0)
        if k.shortage is Shortage.ROOM
        else replace(k, available=0)
        if any(c.kind in OF_BROKERS for c in conflict.constraints)
        else k
        for k in conflict.lacks
    ]
    return conflict.proof, tuple(dict.fromkeys(alike)), tuple(missing), conflict.steps


def _merged(first: Conflict, other: Conflict) -> Conflict:
    """One conflict of two alike ones: all their brokers that get nothing new, and the most that is missing."""
    by_constraint = {_identity(c): c for c in first.constraints}
    for one in other.constraints:
        same = by_constraint.get(_identity(one))
        if same is not None:
            by_constraint[_identity(one)] = replace(same, together=max(same.together, one.together))
        elif one.kind in OF_BROKERS:
            by_constraint[_identity(one)] = one
    order = {c.kind: at for at, c in reversed(list(enumerate(first.constraints)))}
    constraints = sorted(
        by_constraint.values(),
        key=lambda c: (order[c.kind], c.where, c.brokers if c.kind in OF_BROKERS else ()),
    )
    worst = zip(first.lacks, other.lacks, strict=True)
    missing = tuple(replace(a, available=min(a.available, b.available)) for a, b in worst)
    return replace(first, constraints=tuple(constraints), lacks=missing)


def _identity(of: Constraint) -> object:
    """What makes two constraints one: of brokers these, else all but how many have to change together."""
    return (of.kind, of.brokers) if of.kind in OF_BROKERS else replace(of, together=0)


def _grouped(first: Conflict, names: Sequence[TopicPartition]) -> Conflict:
    return replace(
        first,
        topics=tuple(sorted({name.topic for name in names})[:NAMES_SHOWN]),
        partitions=tuple(map(str, names[:NAMES_SHOWN])),
        count=len(names),
    )


class _Search(Struct, frozen=True):
    """Looks for the conflicts of partitions, each case once."""

    looked_up: RefusedPartitions
    refused: Mapping[TopicPartition, Refusal]
    moves: Sequence[Move]
    impossible: Sequence[Impossible]
    _answers: dict[Case, list[ConflictPart]] = field(default_factory=dict)
    _of_brokers: dict[int, Conflict | None] = field(default_factory=dict)

    def of_partition(self, name: TopicPartition) -> Iterator[Conflict]:
        """The conflicts of one partition; of room there is one in any case, proved or not."""
        refusal = self.refused[name]
        of_room = refusal.rule in OF_ROOM
        parts = self._parts(self.looked_up.case(name, with_room=of_room))
        for constraints, missing in parts:
            placed = tuple(self.looked_up.placed(c, name) for c in constraints)
            yield _conflict(Proof.IMPOSSIBLE, placed, missing)
        if of_room and not parts:
            yield self._together(name, refusal) or self._not_found(refusal)
        if refusal.rule is RefusalRule.TOPIC_CROWDS_BROKERS and not parts:
            yield self._crowded(name, refusal)
        if refusal.rule is RefusalRule.BROKERS_FULL and not parts:
            yield self._full(name, refusal)

    def _parts(self, case: Case) -> list[ConflictPart]:
        plain = simplified(case, self.looked_up.racks)
        if plain not in self._answers:
            self._answers[plain] = list(_answers(plain, self.looked_up.racks))
        return self._answers[plain]

    def _together(self, name: TopicPartition, refusal: Refusal) -> Conflict | None:
        """Why it and others have no room, where that is proved."""
        broker = refusal.facts["broker"]
        if isinstance(broker, int) and name in self.looked_up.lists:
            if broker not in self._of_brokers:
                self._of_brokers[broker] = self._overfull(broker)
            if self._of_brokers[broker] is not None:
                return self._of_brokers[broker]
        for reason in self.impossible:
            if reason.obstacle is Obstacle.ROOM_IMPOSSIBLE:
                all_disks = Constraint(
                    ConstraintKind.NO_ROOM, number=reason.needed, available=reason.available
                )
                missing = Lack(Shortage.ROOM, reason.needed, reason.available)
                return _conflict(Proof.IMPOSSIBLE, (all_disks,), (missing,))
        return None

    def _crowded(self, name: TopicPartition, refusal: Refusal) -> Conflict:
        """What the partitions of a topic, each by itself, do not show: they cannot be thinned out together."""
        facts = refusal.facts
        needed, available = (
            f if isinstance(f, int) else 0 for f in (facts["needed"], facts["available"])
        )
        case = self.looked_up.case(name, with_room=False)
        kind = ConstraintKind.MAX_REPLICAS_PER_BROKER
        ruled = tuple(c for c in case.constraints if c.kind is kind)
        return _conflict(
            Proof.IMPOSSIBLE,
            (*ruled, *self.looked_up.count_of(name)),
            (Lack(Shortage.TOPIC_REPLICAS, needed, available),),
        )

    def _full(self, name: TopicPartition, refusal: Refusal) -> Conflict:
        """New partitions, what `balance` lets a broker hold, and what keeps brokers from taking some."""
        needed, available = (
            f if isinstance(f, int) else 0
            for f in (refusal.facts["needed"], refusal.facts["available"])
        )
        most = Constraint(
            ConstraintKind.MAX_REPLICAS_PER_BROKER, str(refusal.facts["where"]), number=available
        )
        return _conflict(
            Proof.IMPOSSIBLE,
            (*self._closed(), most, *self.looked_up.count_of(name)),
            (Lack(Shortage.BROKER_REPLICAS, needed, available),),
        )

    def _closed(self) -> Iterator[Constraint]:
        """Brokers that get nothing new: by what they are, or by a drain."""
        for one in (*self.looked_up.facts, *self.looked_up.drains):
            if one.kind in OF_BROKERS or one.kind is ConstraintKind.DRAINED:
                yield one

    def _overfull(self, broker: int) -> Conflict | None:
        """The lists declared for a broker that are together larger than its room: as few as it takes, the largest."""
        coming = [m for m in self.moves if broker in m.new]
        lists = declared_lists(self.looked_up.placement, [m.partition for m in coming])
        declared = [
            m for m in coming if m.partition in lists and broker in lists[m.partition].replicas
        ]
        declared.sort(key=lambda m: (-m.bytes, m.partition))
        needed, taken = 0, list[Move]()
        most = self.looked_up.room.get(BrokerId(broker))
        for move in declared:
            if most is None or needed > most:
                break
            needed += move.bytes
            taken.append(move)
        if most is None or needed <= most:
            return None
        full = Constraint(ConstraintKind.NO_ROOM, brokers=(broker,), number=needed, available=most)
        listed = (
            Constraint(ConstraintKind.LIST, str(of.where), of.replicas, len(of.replicas))
            for of in (lists[m.partition] for m in taken)
        )
        return _conflict(Proof.IMPOSSIBLE, (full, *listed), (Lack(Shortage.ROOM, needed, most),))

    def _not_found(self, refusal: Refusal) -> Conflict:
        steps = [r.needed for r in self.impossible if r.obstacle is Obstacle.ROOM_NOT_FOUND]
        facts = refusal.facts
        broker, size, usable = facts["broker"], facts["bytes"], facts["usable"]
        numbers = [f if isinstance(f, int) else 0 for f in (broker, size, usable)]
        full = Constraint(
            ConstraintKind.NO_ROOM, brokers=(numbers[0],), number=numbers[1], available=numbers[2]
        )
        missing = Lack(Shortage.ROOM, numbers[1], numbers[2])
        return _conflict(Proof.NOT_FOUND, (full,), (missing,), steps[0] if steps else 0)


OF_BROKERS = frozenset({ConstraintKind.FENCED, ConstraintKind.CORDONED})
"""Facts of brokers, which differ with who holds the partition already."""
GROUPED_KINDS = (
    ConstraintKind.FENCED,
    ConstraintKind.CORDONED,
    ConstraintKind.DRAINED,
    ConstraintKind.NO_ROOM,
    ConstraintKind.WITHOUT_RACK,
)
"""Of these there may be many, each of some brokers, of which several have to change together."""


def _answers(case: Case, rack_of: RackOf) -> Iterator[ConflictPart]:
    """What is in the way: all that ends it by itself, where that says it all; else parts that cannot hold, one by one.

    A list, or a number of replicas, is no way out where `require` would refuse a shorter one.
    """
    every, strict = case.constraints, replace(case, shrinks=False)
    if not lacks(case, rack_of, every):
        return
    counting = (ConstraintKind.LIST, ConstraintKind.REPLICATION_FACTOR)
    groups = list(_groups(every))
    ends = [
        group
        for group in groups
        if _holds(
            strict if group[0].kind in counting else case,
            rack_of,
            [c for c in every if c not in group],
            (),
        )
    ]
    if lacks(strict, rack_of, [c for of in ends for c in of]):
        parts = [ends]
    else:
        parts = disjoint(
            groups, lambda some: _holds(case, rack_of, (), [c for of in some for c in of])
        )
    for part in parts:
        members = every if part is ends else [c for of in part for c in of]
        named = [c for of in part for c in _needed(case, rack_of, of, members)]
        yield tuple(named), tuple(lacks(case, rack_of, members))


def _groups(every: Sequence[Constraint]) -> Iterator[list[Constraint]]:
    """Constraints in their order, those together that are alike."""
    for kind in dict.fromkeys(c.kind for c in every):
        of_kind = [c for c in every if c.kind is kind]
        yield from [of_kind] if kind in GROUPED_KINDS else ([c] for c in of_kind)


def _needed(
    case: Case, rack_of: RackOf, group: Sequence[Constraint], members: Sequence[Constraint]
) -> list[Constraint]:
    """Those of some alike constraints that are in the way, and how many of them have to go together."""
    if len(group) == 1:
        return list(group)
    missing = lacks(case, rack_of, members)
    named = [
        c for c in group if lacks(case, rack_of, [o for o in members if o is not c]) != missing
    ]
    others = [c for c in members if c not in named]
    if not named or lacks(case, rack_of, others):
        named, others = list(group), [c for c in members if c not in group]
    alone = [c for c in named if _holds(case, rack_of, [o for o in members if o is not c], ())]
    if alone:
        return alone
    number = fewest(named, partial(_holds, case, rack_of, others))
    return [replace(c, together=number) for c in named]


def _holds(
    case: Case, rack_of: RackOf, others: Sequence[Constraint], more: Sequence[Constraint]
) -> bool:
    return not lacks(case, rack_of, [*others, *more])


def _conflict(
    proof: Proof, constraints: tuple[Constraint, ...], missing: tuple[Lack, ...], steps: int = 0
) -> Conflict:
    return Conflict(proof=proof, constraints=constraints, lacks=missing, steps=steps)
