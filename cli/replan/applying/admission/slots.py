"""How many copies a broker takes part in, and how many it may.

A copy takes a slot on the leader now and on each broker that receives; reassignments of other tools count too. Limits
shrink where in-sync replicas are lost and grow back with every settled move (additive increase, multiplicative
decrease), so the number of copies finds by itself what a broker bears. Which moves wait for a slot is in `queue`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from replan.applying.reasons.gates import NoSlot
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
