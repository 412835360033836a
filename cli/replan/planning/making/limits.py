"""How much a plan changes, against the limits that the placement sets.

A plan beyond one is refused whole, or is made in stages (`stages`).

Bytes are those that are copied, between log directories of one broker too; sizes that are not known count nothing.
Leaders are those that may change: the controller's own preferred leader election follows the head of a list, whether
we ask for an election or not.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from replan.errors import BadUsage, UnsafePlan
from replan.model.declared.policy import Limit, Limits, Measure
from replan.model.names import BrokerId, TopicPartition
from replan.planning.change import Change
from replan.planning.plans.moves import Move
from replan.wording import count

LARGEST_SHOWN = 5
Offender = tuple[str, int]
"""A partition, topic or broker in words, with its part of the measure."""
LimitKey = TopicPartition | BrokerId | str
"""What a measure counts by: a partition, a broker or a topic."""
ONCE = frozenset({Measure.PARTITIONS, Measure.TOPICS})
"""Measures by which a partition or topic counts once, whatever is done to it."""


class Exceeded(Struct, frozen=True):
    """One limit that a plan exceeds."""

    limit: Limit
    amount: int
    """How much of the measure the plan would use."""
    largest: tuple[Offender, ...]
    """The largest contributions, largest first."""


class LimitExceeded(UnsafePlan):
    """The plan would change more than the placement allows."""

    def __init__(self, exceeded: Sequence[Exceeded], *, in_stages: bool = False) -> None:
        self.exceeded = tuple(exceeded)
        lines = "\n".join(f"  {e.limit.where}: {exceeded_text(e)}" for e in exceeded)
        allow = " ".join(f"--allow {e.limit.measure}={e.amount}" for e in exceeded)
        part = "Plan the part that fits with --within-limits, change" if in_stages else "Change"
        super().__init__(
            f"the plan exceeds {count(len(exceeded), 'limit')} of the placement, and is refused as a whole:\n"
            f"{lines}\n"
            f"{part} less at once, raise the limit, or allow it for this plan alone: {allow}"
        )


def raised(limits: Limits, allowed: Mapping[Measure, int]) -> Limits:
    """The limits with what is allowed for this plan alone; raises BadUsage where that raises nothing."""
    for measure, most in allowed.items():
        if measure not in limits:
            raise BadUsage(f"--allow {measure}: the placement sets no such limit; leave it out")
        if most < limits[measure].most:
            raise BadUsage(
                f"--allow {measure}={most}: the placement allows {limits[measure].most} already "
                f"({limits[measure].where}); --allow only raises a limit"
            )
    return {
        measure: Limit(measure, limit.where, allowed.get(measure, limit.most))
        for measure, limit in limits.items()
    }


class Used(Struct):
    """How much of one limit changes use, taken one by one."""

    limit: Limit
    by_key: Counter[LimitKey] = field(default_factory=Counter)
    total: int = 0

    @property
    def of_each(self) -> bool:
        """Whether the limit is one of each broker, and not of all together."""
        return self.limit.measure is Measure.BYTES_PER_BROKER

    @property
    def amount(self) -> int:
        """What the limit is held against."""
        return max(self.by_key.values(), default=0) if self.of_each else self.total

    def fits(self, change: Change) -> bool:
        """Whether a change leaves this limit kept; what adds nothing always does."""
        adds = self._adds(change)
        if self.of_each:
            return all(self.by_key[key] + added <= self.limit.most for key, added in adds.items())
        return not adds or self.total + sum(adds.values()) <= self.limit.most

    def take(self, change: Change) -> None:
        """Count a change."""
        for key, added in self._adds(change).items():
            self.by_key[key] += added
            self.total += added

    def _adds(self, change: Change) -> dict[LimitKey, int]:
        adds = dict(parts_of(change, self.limit.measure))
        if self.limit.measure in ONCE:
            return {key: added for key, added in adds.items() if key not in self.by_key}
        return {key: added for key, added in adds.items() if added}

    def exceeded(self) -> Exceeded | None:
        """What is beyond the limit, if anything is."""
        used, measure = self.amount, self.limit.measure
        if used <= self.limit.most:
            return None
        parts = Counter[str]()
        for key, amount in self.by_key.items():
            if not self.of_each or amount > self.limit.most:
                parts[_name(key, measure)] += amount
        largest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        return Exceeded(self.limit, used, tuple(largest[:LARGEST_SHOWN]))


def check_limits(changes: Iterable[Change], limits: Limits, *, in_stages: bool = False) -> None:
    """Raise LimitExceeded with every limit that these exceed.

    `in_stages`: whoever asks can have the part that fits instead.
    """
    exceeded = over_limits(changes, limits)
    if exceeded:
        raise LimitExceeded(exceeded, in_stages=in_stages)


def over_limits(changes: Iterable[Change], limits: Limits) -> tuple[Exceeded, ...]:
    """The limits that these exceed; a new partition counts as one that changes."""
    used = [Used(limit) for limit in limits.values()]
    if used:
        for change in changes:
            for one in used:
                one.take(change)
    exceeded = [e for one in used if (e := one.exceeded()) is not None]
    return tuple(sorted(exceeded, key=lambda e: e.limit.measure))


def parts_of(change: Change, measure: Measure) -> Iterator[tuple[LimitKey, int]]:
    """What a change adds to a measure: each key with how much."""
    match measure:
        case Measure.PARTITIONS:
            yield from ((partition, 1) for partition in change.partitions)
        case Measure.TOPICS:
            if change.topic is not None:
                yield change.topic, 1
        case Measure.BYTES:
            yield change.first, sum(change.copies.values())
        case Measure.BYTES_PER_BROKER:
            yield from change.copies.items()
        case Measure.LEADERS:
            yield change.first, int(change.may_change_leader)
        case Measure.REPLICATION_FACTOR_DECREASES:
            if isinstance(change, Move):
                yield change.first, int(len(change.target) < len(change.original))


def _name(key: LimitKey, measure: Measure) -> str:
    """The name that a reader looks for: a partition where its size counts, its topic where it is one of many."""
    if measure is Measure.BYTES_PER_BROKER:
        return f"broker {key}"
    if isinstance(key, TopicPartition) and measure in {Measure.PARTITIONS, Measure.LEADERS}:
        return key.topic
    return str(key)


def exceeded_text(exceeded: Exceeded) -> str:
    """What is exceeded, by how much, and what contributes most."""
    measure, most = exceeded.limit.measure, exceeded.limit.most
    amount, limit = measure.amounts(exceeded.amount, most)
    named = ", ".join(f"{name} ({measure.amounts(part)[0]})" for name, part in exceeded.largest)
    return f"{measure} {amount}, limit {limit}; largest: {named}"
