"""Many replicas at a time: the smallest partitions first, each straight from who has too many to who has too few.

What copies nothing goes first: new replicas that a rule asks for anyhow. Of the members of a list the broker with most
to give gives, and of those that may take it the one that lacks most takes. A partition is looked at once in a pass, so
a pass takes as long as there are partitions. What it leaves, as no straight step is legal, is for the flow.
"""

import numpy as np

from replan.model.columns import Flags, Ints
from replan.planning.placing.flow import Bounds
from replan.planning.placing.steps import Steps, Way

CHUNK = 256
"""Partitions whose legal steps are found at a time."""


def sweep(counts: Ints, bounds: Bounds, steps: Steps) -> None:
    """Bring `counts`, which changes, within the bounds as far as straight steps do."""
    passes = (
        (bounds.most, bounds.least),  # from who has too many to who has too few
        (bounds.most, bounds.most),
        (bounds.least, bounds.least),
    )
    for down_to, up_to in passes:
        _Pass(counts, down_to, up_to, steps).run()


class _Pass:
    """From who has more than it shall give down to, to who has less than it shall take up to."""

    def __init__(self, counts: Ints, down_to: Ints, up_to: Ints, steps: Steps) -> None:
        self._counts, self._steps = counts, steps
        self._gives: list[int] = (counts - down_to).tolist()
        self._takes: list[int] = (up_to - counts).tolist()

    def run(self) -> None:
        """Take steps until nobody gives or takes, or none is legal."""
        while self._once() and self._steps.way is Way.MORE:
            pass

    def _once(self) -> bool:
        """Whether any step was taken."""
        order, taken = self._order(), False
        for start in range(0, len(order), CHUNK):
            givers, takers = (np.array(of) > 0 for of in (self._gives, self._takes))
            if not givers.any() or not takers.any():
                break
            taken |= self._take_some(order[start : start + CHUNK], givers, np.flatnonzero(takers))
        return taken

    def _order(self) -> Ints:
        """Partitions by what a copy costs; of equal ones the first of each topic, then the second."""
        steps = self._steps
        by_topic = np.argsort(steps.topic, kind="stable")
        topic = steps.topic[by_topic]
        number = np.empty_like(by_topic)
        number[by_topic] = np.arange(len(topic)) - np.searchsorted(topic, topic)
        found: Ints = np.lexsort((number, np.where(steps.new > 0, 0, steps.size)))
        return found

    def _take_some(self, rows: Ints, givers: Flags, takers: Ints) -> bool:
        """Steps of some partitions, one of each at most."""
        lists = self._steps.lists[rows]
        at, slot = np.nonzero((lists >= 0) & givers[lists])
        sources = lists[at, slot]
        legal = self._steps.legal(rows[at], sources, takers)
        some = np.flatnonzero(legal.any(axis=1))
        ways: dict[int, list[tuple[int, list[int]]]] = {}
        for row, source, may in zip(
            rows[at[some]].tolist(), sources[some].tolist(), legal[some], strict=True
        ):
            ways.setdefault(row, []).append((source, takers[may].tolist()))
        taken = False
        for row, of in ways.items():
            taken |= self._take(row, of)
        return taken

    def _take(self, row: int, ways: list[tuple[int, list[int]]]) -> bool:
        """The best step of one partition, if any still brings something."""
        gives, takes = self._gives, self._takes
        left = self._steps.spread.left_of(int(self._steps.rows[row]))
        ways.sort(key=lambda way: (-gives[way[0]], left[way[0]], way[0]))
        for source, targets in ways:
            able = [(-takes[b], -left[b], b) for b in targets if takes[b] > 0 and left[b] > 0]
            if gives[source] > 0 and able:
                target = min(able)[2]
                self._steps.take(row, source, target)
                for broker, more in ((source, -1), (target, 1)):
                    self._counts[broker] += more
                    gives[broker] += more
                    takes[broker] -= more
                return True
        return False
