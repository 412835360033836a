"""How much a plan changes, against the limits that the placement sets: a plan beyond one is refused whole, never cut.

Bytes are those that are copied, between log directories of one broker too; sizes that are not known count nothing.
Leaders are those that may change: the controller's own preferred leader election follows the head of a list, whether
we ask for an election or not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from replan.errors import BadUsage, UnsafePlan
from replan.model.configs import ConfigScope
from replan.model.declared.policy import Limit, Limits, Measure
from replan.model.names import TopicPartition
from replan.planning.plans.creates import Create
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move
from replan.planning.plans.standing_throttles import ThrottleSetting
from replan.planning.recovery.recovery import Recovery
from replan.wording import count

SHOWN = 5
Offender = tuple[str, int]
"""A partition, topic or broker in words, with its part of the measure."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """One limit that a plan exceeds."""

    limit: Limit
    found: int
    largest: tuple[Offender, ...]
    """The largest contributions, largest first."""


class LimitExceeded(UnsafePlan):
    """The plan would change more than the placement allows."""

    def __init__(self, exceeded: Sequence[Exceeded]) -> None:
        self.exceeded = tuple(exceeded)
        lines = "\n".join(f"  {e.limit.where}: {exceeded_text(e)}" for e in exceeded)
        allow = " ".join(f"--allow {e.limit.measure}={e.found}" for e in exceeded)
        super().__init__(
            f"the plan exceeds {count(len(exceeded), 'limit')} of the placement, and is refused as a whole:\n"
            f"{lines}\n"
            f"Change less at once, raise the limit, or allow it for this plan alone: {allow}"
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


class _Changes(NamedTuple):
    """All that a plan changes."""

    moves: Sequence[Move]
    creates: Sequence[Create]
    configured: Set[str]
    """Topics whose settings change."""
    recovered: Sequence[TopicPartition]
    """Partitions that get a leader again."""
    log_moves: Sequence[LogMove]


def check_limits(
    moves: Sequence[Move],
    limits: Limits,
    creates: Sequence[Create] = (),
    standing: Sequence[ThrottleSetting] = (),
    recoveries: Sequence[Recovery] = (),
    log_moves: Sequence[LogMove] = (),
) -> None:
    """Raise LimitExceeded with every limit that these exceed."""
    found = over_limits(moves, limits, creates, standing, recoveries, log_moves)
    if found:
        raise LimitExceeded(found)


def over_limits(
    moves: Sequence[Move],
    limits: Limits,
    creates: Sequence[Create] = (),
    standing: Sequence[ThrottleSetting] = (),
    recoveries: Sequence[Recovery] = (),
    log_moves: Sequence[LogMove] = (),
) -> tuple[Exceeded, ...]:
    """The limits that these exceed; a new partition counts as one that changes."""
    topics = {s.setting.name for s in standing if s.setting.scope is ConfigScope.TOPIC}
    changes = _Changes(moves, creates, topics, [r.partition for r in recoveries], log_moves)
    found = [_exceeded(changes, limit) for limit in limits.values()]
    exceeded = [e for e in found if e is not None]
    return tuple(sorted(exceeded, key=lambda e: e.limit.measure))


def _exceeded(changes: _Changes, limit: Limit) -> Exceeded | None:
    parts = Counter[str]()
    for name, amount in _parts(changes, limit.measure):
        parts[name] += amount
    one_is_judged = limit.measure is Measure.BYTES_PER_BROKER
    found = max(parts.values(), default=0) if one_is_judged else sum(parts.values())
    if found <= limit.most:
        return None
    largest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    if one_is_judged:
        largest = [part for part in largest if part[1] > limit.most]
    return Exceeded(limit, found, tuple(largest[:SHOWN]))


def _parts(changes: _Changes, measure: Measure) -> Iterator[Offender]:
    """What each move and create adds to a measure, under the name that a reader looks for."""
    moves, creates, configured, recovered, log_moves = changes
    match measure:
        case Measure.PARTITIONS:
            names = {m.partition for m in moves} | {m.partition for m in log_moves}
            names = names.union(recovered, *(c.partitions for c in creates))
            yield from ((name.topic, 1) for name in names)
        case Measure.BYTES:
            yield from ((str(m.partition), m.copies_bytes) for m in moves if m.new)
            yield from ((str(m.partition), m.bytes) for m in log_moves)
        case Measure.BYTES_PER_BROKER:
            yield from ((f"broker {broker}", m.bytes) for m in moves for broker in m.new)
            yield from ((f"broker {m.broker}", m.bytes) for m in log_moves)
        case Measure.LEADERS:
            yield from ((m.partition.topic, 1) for m in moves if may_change_leader(m))
            yield from ((name.topic, 1) for name in recovered)
        case Measure.REPLICATION_FACTOR_DECREASES:
            yield from ((str(m.partition), 1) for m in moves if len(m.target) < len(m.original))
        case Measure.TOPICS:
            names_of = {m.partition.topic for m in moves} | {c.topic for c in creates} | configured
            names_of |= {name.topic for name in recovered} | {m.partition.topic for m in log_moves}
            yield from ((topic, 1) for topic in sorted(names_of))


def may_change_leader(move: Move) -> bool:
    """Whether another replica may lead afterwards: the head of the list or the wanted leader changes."""
    return move.original[0] != move.target[0] or (move.elect and move.leader != move.target[0])


def exceeded_text(exceeded: Exceeded) -> str:
    """What is exceeded, by how much, and what contributes most."""
    limit, amount = exceeded.limit, exceeded.found
    named = ", ".join(f"{name} ({part:,})" for name, part in exceeded.largest)
    return f"{limit.measure} {amount:,}, limit {limit.most:,}; largest: {named}"
