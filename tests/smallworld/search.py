"""Breadth first through a small world: every state once, until none is new or a bound is met."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.smallworld.laws import broken
from tests.smallworld.steps import SmallWorld, Step, calm, steps
from tests.smallworld.world import State, key_of

CALM_TICKS = 60
"""Within so many ticks everything ends once nothing more goes wrong: two quarantines, the settle time, its end."""


@dataclass
class Found:
    """What a search has seen."""

    states: int = 0
    longest: int = 0
    """Steps of the longest shortest path."""
    closed: bool = False
    broken: dict[str, list[str]] = field(default_factory=dict)
    """What is broken, and the shortest path to it."""


class Search:
    """One search; it keeps a key and the step before of every state."""

    def __init__(self, world: SmallWorld, most: int, stop_at: int = 1) -> None:
        self._world, self._most, self._stop_at = world, most, stop_at
        self._before: list[tuple[int, str]] = []
        self._ends: set[int] = set()
        """Of states from which everything ends when nothing more goes wrong."""

    def run(self) -> Found:
        world, found = self._world, Found()
        start = world.start
        seen = {key_of(start)}
        queue = deque([(start, 0, 0)])
        self._before.append((-1, "start"))
        while queue and len(seen) < self._most and len(found.broken) < self._stop_at:
            state, number, depth = queue.popleft()
            for step in steps(world, state):
                after = step.after
                laws = list(broken(world, state, step))
                key = key_of(after)
                if laws:
                    self._note(found, laws, number, step)
                    continue
                if key in seen:
                    continue
                seen.add(key)
                self._before.append((number, step.label))
                queue.append((after, len(self._before) - 1, depth + 1))
                found.longest = max(found.longest, depth + 1)
                if not self._ends_when_calm(after, key):
                    self._note(found, ["it never ends, although all is well"], number, step)
        found.states, found.closed = len(seen), not queue
        return found

    def _note(self, found: Found, laws: Iterable[str], number: int, step: Step) -> None:
        for law in laws:
            found.broken.setdefault(law, [*self._path(number), step.label])

    def _path(self, number: int) -> list[str]:
        path = list[str]()
        while number > 0:
            number, label = self._before[number]
            path.append(label)
        return path[::-1]

    def _ends_when_calm(self, state: State, key: int) -> bool:
        way = [key]
        for _ in range(CALM_TICKS):
            if way[-1] in self._ends:
                break
            step = calm(self._world, state)
            if step is None or _may_wait(step):
                break
            state = step.after
            way.append(key_of(state))
        else:
            return False
        self._ends.update(way)
        return True


def _may_wait(step: Step) -> bool:
    """Another tool contests the throttles: nothing new is admitted, and that is said."""
    progress = step.sent.progress
    return (
        progress is not None
        and progress.admission is not None
        and step.after.ghost.throttles_changed
    )
