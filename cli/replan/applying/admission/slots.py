"""How many copies a broker takes part in, and how many it may.

A copy takes a slot on the leader now and on each broker that receives; reassignments of other tools count too. Limits
shrink where in-sync replicas are lost and grow back with every settled move (additive increase, multiplicative
decrease), so the number of copies finds by itself what a broker bears.

The queue: the moves that have not begun, and which of them to look at next, without scanning all of them.

Here are the phases Waiting, Deferred and Parked of `partitions.phase`, by place in the plan. A move that finds a broker
full is parked in that broker's queue, in plan order; a broker with room releases as many as it has room for. A move
whose gate is closed is deferred for some seconds. So a tick costs what can change in it, not what waits: O(moves ×
brokers touched) over the whole application.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from replan.applying.partitions.phase import Deferred, Parked, Phase
from replan.applying.reasons.holds import NoSlot
from replan.model.layered import Layered
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import Reassignment


@dataclass(init=False, slots=True)
class Slots:
    """The slots of one tick: what is taken, and what may be taken yet."""

    _limits: Mapping[BrokerId, int]
    _default: int
    _taken: Counter[BrokerId]
    _others: Mapping[TopicPartition, Collection[BrokerId]]

    def __init__(
        self,
        limits: Mapping[BrokerId, int],
        default: int,
        taken: Iterable[Iterable[BrokerId]] = (),
        others: Mapping[TopicPartition, Collection[BrokerId]] | None = None,
    ) -> None:
        """`limits` of the brokers that differ from the default; `taken`: the brokers of each running copy of replan;
        `others`: those of other tools' reassignments.
        """
        self._limits = limits
        self._default = default
        self._others = others or {}
        self._taken = Counter(chain.from_iterable(map(set, taken)))
        self._taken.update(chain.from_iterable(self._others.values()))

    def limit(self, broker: BrokerId) -> int:
        """How many copies it may take part in now."""
        return self._limits.get(broker, self._default)

    def free(self, broker: BrokerId) -> int:
        """How many more it may take; negative after its limit shrank."""
        return self.limit(broker) - self._taken[broker]

    def first_full(self, brokers: Iterable[BrokerId]) -> BrokerId | None:
        """The first broker without a free slot."""
        return next((b for b in brokers if self.free(b) <= 0), None)

    def take(self, brokers: Iterable[BrokerId]) -> None:
        """Take a slot on each, all at once."""
        self._taken.update(set(brokers))

    def reserve(self, brokers: Iterable[BrokerId]) -> None:
        """Keep for a move that was passed over too often what is free on its brokers."""
        self._taken.update({b for b in brokers if self.free(b) > 0})

    def why_full(self, broker: BrokerId) -> NoSlot:
        """The wait for a slot on a broker that is full."""
        others = tuple(sorted(n for n, brokers in self._others.items() if broker in brokers))
        return NoSlot(broker, self.limit(broker), self._default, others)


def foreign_load(running: Reassignment, live: Callable[[BrokerId], bool]) -> frozenset[BrokerId]:
    """The brokers that another tool's reassignment loads; the source is taken to be the first that is not new.

    One whose new brokers are all dead loads nobody, however long it hangs.
    """
    if not any(map(live, running.adding)):
        return frozenset()
    return frozenset({*running.adding, *running.original[:1]})


def halved(
    limits: Mapping[BrokerId, int], brokers: Iterable[BrokerId], default: int
) -> dict[BrokerId, int]:
    """Limits after an in-sync replica was lost: half, at least one."""
    after = dict(limits)
    for broker in set(brokers):
        after[broker] = max(1, after.get(broker, default) // 2)
    return after


def grown(
    limits: Mapping[BrokerId, int], brokers: Iterable[BrokerId], default: int
) -> dict[BrokerId, int]:
    """Limits after a move settled without a loss: one more, at most the default."""
    after = dict(limits)
    for broker in set(brokers):
        after[broker] = after.get(broker, default) + 1
        if after[broker] >= default:
            del after[broker]
    return after


PATIENT_TIMES = 50
"""A move that was passed over so often reserves slots as they become free."""
LOOK_AHEAD = 4
"""How many more than it has room for a broker releases: some will be full elsewhere."""

Places = tuple[int, ...]
"""Places in the plan, ascending."""


@dataclass(frozen=True, slots=True)
class AdmissionQueue:
    """Places in the plan that wait; every place is in exactly one of the queues."""

    ready: Places = ()
    parked: Mapping[BrokerId, Places] = field(default_factory=dict)
    deferred: tuple[tuple[float, int], ...] = ()
    """By the time until when."""
    passed_over: Layered[int, int] = field(default_factory=Layered)
    """How often each found a broker full."""

    def __len__(self) -> int:
        parked = sum(len(places) for places in self.parked.values())
        return len(self.ready) + len(self.deferred) + parked

    def starving(self, place: int) -> bool:
        """Whether a move was passed over so often that it reserves slots, and not for ever.

        After as many times more others have their turn: one of its brokers may stay full.
        """
        return _reserves(self.passed_over.get(place, 0))

    def next(self, limit: int) -> Places:
        """Up to `limit` places to look at now, in plan order."""
        return self.ready[:limit]

    def released(self, now: float, free: Callable[[BrokerId], int]) -> "AdmissionQueue":
        """The queue after everything whose time has come, or whose broker has room, waits again."""
        due = bisect_right(self.deferred, now, key=lambda entry: entry[0])
        back = [place for _, place in self.deferred[:due]]
        parked: dict[BrokerId, Places] = {}
        for broker, places in self.parked.items():
            room = free(broker)
            some = room + LOOK_AHEAD if room > 0 else 0
            back += places[:some]
            if len(places) > some:
                parked[broker] = places[some:]
        if not back:
            return self
        ready = tuple(sorted((*self.ready, *back)))
        return replace(self, ready=ready, parked=parked, deferred=self.deferred[due:])

    def after(self, changes: Mapping[int, Phase]) -> "AdmissionQueue":
        """The queue after these places came into other phases; one that was admitted may come back."""
        if not changes:
            return self
        aside = {p: phase for p, phase in changes.items() if self._goes_aside(p, phase)}
        waits = {p for p, phase in changes.items() if isinstance(phase, Deferred | Parked)}
        stays = waits - aside.keys()
        end = bisect_right(self.ready, max(changes))
        head = {p for p in self.ready[:end] if p not in changes} | stays
        return replace(
            self,
            ready=(*sorted(head), *self.ready[end:]),
            parked=self._parked_after(aside),
            deferred=self._deferred_after(aside),
            passed_over=self._passed_over_after(changes),
        )

    def _goes_aside(self, place: int, phase: Phase) -> bool:
        """One that was passed over too often stays in view."""
        passed_over = self.passed_over.get(place, 0) + 1
        return isinstance(phase, Deferred) or (
            isinstance(phase, Parked) and not _reserves(passed_over)
        )

    def _parked_after(self, aside: Mapping[int, Phase]) -> Mapping[BrokerId, Places]:
        fresh: dict[BrokerId, list[int]] = {}
        for place, phase in aside.items():
            if isinstance(phase, Parked):
                fresh.setdefault(phase.broker, []).append(place)
        merged = {b: tuple(sorted((*self.parked.get(b, ()), *p))) for b, p in fresh.items()}
        return {**self.parked, **merged} if merged else self.parked

    def _deferred_after(self, aside: Mapping[int, Phase]) -> tuple[tuple[float, int], ...]:
        fresh = [(phase.until, p) for p, phase in aside.items() if isinstance(phase, Deferred)]
        return tuple(sorted((*self.deferred, *fresh))) if fresh else self.deferred

    def _passed_over_after(self, changes: Mapping[int, Phase]) -> Layered[int, int]:
        known = self.passed_over
        again = {p: known.get(p, 0) + 1 for p, of in changes.items() if isinstance(of, Parked)}
        begun = [
            p for p, of in changes.items() if p in known and not isinstance(of, Parked | Deferred)
        ]
        return known.changed(again, begun) if again or begun else known


def _reserves(passed_over: int) -> bool:
    return passed_over // PATIENT_TIMES % 2 == 1
