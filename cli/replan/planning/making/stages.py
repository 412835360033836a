"""A plan in stages: of all that differs the part that the limits of the placement allow, the most urgent first.

A stage is a plan like any other. The next one is planned from what is there when it has ended, and the last one leaves
the cluster as the whole plan would. What a stage leaves out stays as it is, so that no list breaks a rule that it kept
before. Changes are taken by rank, one by one; one is left for a later stage where

* a limit has no room for it beside those that were taken,
* a broker has no room for its copy before something that is left has moved away,
* a broker would come to hold more of a topic than its rule allows, or topics that are declared apart, as long as what
  is left has not moved away; unless all that fits waits so, for one another or for what no stage takes,
* it moves a partition that another change creates, and that one is left.

A change that is beyond a limit all by itself fits into no stage: it is refused by name.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from replan.errors import BadUsage
from replan.model.broker import Volumes
from replan.model.declared.policy import Limit, Limits
from replan.model.partition import PartitionState
from replan.planning.change import Change, Rank
from replan.planning.comparison.alignment import Alignment
from replan.planning.making.admission_order import Urgency, admission_order, urgency
from replan.planning.making.limits import Used
from replan.planning.making.room import Disks, in_room_order
from replan.planning.placing.problem import NO_LIMIT
from replan.planning.plans.creates import Create
from replan.planning.plans.log_dirs import LogMove
from replan.planning.plans.moves import Move, ObservedMove, ReasonKind
from replan.planning.plans.plan import BesideMoves
from replan.planning.plans.reasons import Facts, PlanWarning, Refusal, RefusalRule, WarningKind


class Changes(BesideMoves, frozen=True, kw_only=True):
    """All that a plan changes, by kind."""

    judged: Sequence[ObservedMove] = ()
    """In the order of admission."""
    log_balance: Collection[LogMove] = ()
    """Those of `log_moves` that empty no directory, and are made for the balance alone."""

    @property
    def moves(self) -> list[Move]:
        """The moves alone."""
        return [move for move, _ in self.judged]

    def __iter__(self) -> Iterator[Change]:
        """All of them."""
        yield from self.beside_moves
        yield from self.moves

    def by_rank(self) -> list[Change]:
        """All of them, the most urgent first."""
        balance = set(map(id, self.log_balance))
        ranked: list[tuple[Rank, Change]] = [
            (Rank.LOG_DIRS_BALANCED if id(step) in balance else step.rank, step)
            for step in self.beside_moves
        ]
        ranked += [(_rank(move, state), move) for move, state in self.judged]
        return [change for _, change in sorted(ranked, key=lambda of: of[0])]


class PlanStage(Struct, frozen=True):
    """The part of a plan that is done now, and what is not."""

    changes: Changes
    beyond: tuple[tuple[Change, Limit, int], ...] = ()
    """What no stage takes: the limit, and how much of it is needed."""
    later: tuple[Change, ...] = ()
    """What waits for a later stage."""
    at_least: int = 0
    """So many stages more, as none takes more than the limits allow."""

    @property
    def refusals(self) -> Iterator[Refusal]:
        """What no stage takes, by name."""
        for change, limit, amount in self.beyond:
            facts: Facts = {"where": str(limit.where), "measure": limit.measure.value}
            amounts: Facts = {"found": amount, "most": limit.most}
            yield Refusal(*change.first, RefusalRule.BEYOND_LIMIT, {**facts, **amounts})

    @property
    def warnings(self) -> Iterator[PlanWarning]:
        """How much waits for later stages, where anything does."""
        if self.later:
            facts: Facts = {"stages": self.at_least, "count": len(self.later)}
            yield PlanWarning(WarningKind.MORE_STAGES, facts)


def _rank(move: Move, state: PartitionState) -> Rank:
    urgency_of_move = urgency(move, state)
    if urgency_of_move is Urgency.HEAL:
        return Rank.UNDER_MIN_ISR
    if move.reason.kind is ReasonKind.BALANCE:
        return Rank.BALANCED
    if urgency_of_move is Urgency.ENDANGERED:
        return Rank.AT_MIN_ISR
    return Rank.DRAINED if move.reason.kind is ReasonKind.DRAIN else Rank.DECLARED


def require_limits(limits: Limits) -> None:
    """Raise BadUsage where there are none that a stage could keep."""
    if not limits:
        raise BadUsage(
            "--within-limits: the placement sets no limits, e.g. limits: {bytes: 2TB}; set some, or leave it out"
        )


def staged(whole: Changes, limits: Limits, volumes: Volumes, rules: "Together") -> PlanStage:
    """The first stage of what a plan changes."""
    waiting, beyond = _alone(whole.by_rank(), limits)
    used = [Used(limit) for limit in limits.values()]
    chosen = _Chosen({c.topic: c for c in whole.creates}, Disks.of(volumes), rules)
    while True:
        blocked, rest = 0, []
        before = len(chosen.changes)
        for change in waiting:
            fits = all(limit.fits(change) for limit in used)
            if not fits or chosen.awaits(change):
                blocked += fits
                rest.append(change)
                continue
            chosen.take(change)
            for limit in used:
                limit.take(change)
        waiting = rest
        if len(chosen.changes) > before and blocked:
            continue
        if not (rules.heeded and blocked and blocked == len(waiting)):
            break
        rules.heeded = False  # they wait for one another, or for what no stage takes
    never = {c.topic: c for c, _, _ in beyond if isinstance(c, Create)}
    changes, late = _of(whole, chosen, volumes)
    later = (*(c for c in waiting if not _needs(c, never)), *late)
    return PlanStage(changes, tuple(beyond), later, _at_least(later, limits))


class Together:
    """What rules say of partitions together, `maxReplicasPerBroker` of a topic and `apart`, while changes are taken."""

    def __init__(self, aligned: Alignment) -> None:
        """By what a placement declares, and what lies where it does."""
        snapshot, rules = aligned.snapshot, aligned.intents.rules
        topics = snapshot.topics.column("name").to_pylist()
        ruled = {topic: rule.max_replicas_per_broker for topic, rule in rules.items()}
        self._most = {topic: most for topic, most in ruled.items() if most is not None}
        self._sides = [group.sides(topics) for group in aligned.placement.apart]
        self._held: Counter[tuple[str, int]] = Counter()
        self._of_side: Counter[tuple[int, int, int]] = Counter()
        """By group, side and broker."""
        self.heeded = bool(self._most or self._sides)
        """Whether a change that would break one has to wait."""
        if self.heeded:
            columns = (
                snapshot.partitions.column(name).to_pylist() for name in ("topic", "replicas")
            )
            for topic, brokers in zip(*columns, strict=True):
                self._count(topic, brokers, 1)

    def broken_by(self, change: Change) -> bool:
        """Whether a broker that keeps one of them would not, once a change is done."""
        return any(
            self._held[topic, broker] + number > self._most.get(topic, NO_LIMIT)
            or any(self._meets_others(group, topic, broker) for group in range(len(self._sides)))
            for topic, coming, _ in _lists_of(change)
            for broker, number in Counter(coming).items()
        )

    def _meets_others(self, group: int, topic: str, broker: int) -> bool:
        """Whether a broker that has nothing of a topic's side has something of another."""
        sides = self._sides[group]
        mine = sides.get(topic)
        if mine is None or self._of_side[group, mine, broker]:
            return False
        return any(self._of_side[group, side, broker] for side in set(sides.values()))

    def take(self, change: Change) -> None:
        """Count a change as done."""
        if self.heeded:
            for topic, coming, leaving in _lists_of(change):
                self._count(topic, coming, 1)
                self._count(topic, leaving, -1)

    def _count(self, topic: str, brokers: Iterable[int], more: int) -> None:
        for broker in brokers:
            self._held[topic, broker] += more
            for group, sides in enumerate(self._sides):
                if topic in sides:
                    self._of_side[group, sides[topic], broker] += more


def _lists_of(change: Change) -> Iterator[tuple[str, Sequence[int], Sequence[int]]]:
    """The topic whose replicas a change brings to brokers and takes from others; a broker as often as it gets some."""
    if isinstance(change, Move):
        leaving = [b for b in change.original if b not in change.target]
        yield change.partition.topic, change.new, leaving
    elif isinstance(change, Create):
        yield change.topic, [b for listed in change.lists for b in listed], []


class _Chosen(Struct):
    """What a stage has taken so far, and what that makes possible."""

    awaited: dict[str, Create]
    """By topic: creates that were not taken."""
    disks: Disks
    rules: Together
    changes: list[Change] = field(default_factory=list)

    def awaits(self, change: Change) -> bool:
        """Whether something that is not taken has to happen before a change."""
        if self.rules.heeded and self.rules.broken_by(change):
            return True
        if not isinstance(change, Move):
            return False
        return _needs(change, self.awaited) or self.disks.lacking(change) is not None

    def take(self, change: Change) -> None:
        """Count a change as done."""
        self.changes.append(change)
        self.rules.take(change)
        if isinstance(change, Create):
            del self.awaited[change.topic]
        elif isinstance(change, Move):
            self.disks.done(change)


def _needs(change: Change, creates: Mapping[str, Create]) -> bool:
    """Whether a change moves a partition that one of these, by topic, creates."""
    if not isinstance(change, Move):
        return False
    create = creates.get(change.topic)
    return create is not None and change.partition.partition >= create.present


def _alone(
    changes: Iterable[Change], limits: Limits
) -> tuple[list[Change], list[tuple[Change, Limit, int]]]:
    """The changes that keep each limit by themselves, and those that do not, with what they need of one."""
    keep: list[Change] = []
    beyond: list[tuple[Change, Limit, int]] = []
    for change in changes:
        for limit in limits.values():
            used = Used(limit)
            if not used.fits(change):
                used.take(change)
                beyond.append((change, limit, used.amount))
                break
        else:
            keep.append(change)
    return keep, beyond


def _of(whole: Changes, chosen: _Chosen, volumes: Volumes) -> tuple[Changes, list[Move]]:
    """What was chosen of each kind, moves in the order of admission, and the moves that have no room in that order."""
    taken = set(map(id, chosen.changes))
    judged = {m.partition: (m, state) for m, state in whole.judged if id(m) in taken}
    ordered, late = in_room_order(admission_order(judged.values()), volumes)
    rest = {k: tuple(c for c in of if id(c) in taken) for k, of in whole.by_kind.items()}
    changes = Changes(judged=[judged[m.partition] for m in ordered], **rest)
    return changes, [of.move for of in late]


def _at_least(later: Sequence[Change], limits: Limits) -> int:
    """How many stages these need at least; 0 without any."""
    needed = 1 if later else 0
    for limit in limits.values():
        used = Used(limit)
        for change in later:
            used.take(change)
        needed = max(needed, -(-used.amount // max(1, limit.most)))
    return needed
