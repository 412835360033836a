"""Breadth first through a small world: every state once, until none is new or a bound is met; then whether all ends.

Liveness is read from the graph. From each state one way goes on when nothing more goes wrong: first everything heals,
then the process acts. All these steps are in the graph; a state whose way leads into a circle never ends.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.smallworld.laws import broken_by_tick, broken_in, may_wait
from tests.smallworld.steps import Step, Steps
from tests.smallworld.world import SmallWorld, State

ENDS, UNKNOWN, ON_THE_WAY = -1, -2, -3
"""Instead of the number of the state to which a way leads: nothing is left to do; nobody knows; being followed."""
ENDLESS = "it never ends, although all is well"


@dataclass
class Found:
    """What a search has seen."""

    states: int = 0
    steps: int = 0
    longest: int = 0
    """Steps of the longest shortest path."""
    closed: bool = False
    longest_end: int = 0
    """Steps of the longest way to an end once nothing more goes wrong."""
    broken: dict[str, list[str]] = field(default_factory=dict)
    """What is broken, and the shortest path to it."""


class Search:
    """One search; of every state it keeps the step before, and where it goes when all is well."""

    def __init__(self, world: SmallWorld, most: int, stop_at: int = 1) -> None:
        self._steps = Steps(world)
        self._most, self._stop_at = most, stop_at
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._before = array("q")
        self._labels: list[str] = []
        self._calm = array("q")
        """The next state when nothing goes wrong."""
        self.found = Found()

    def run(self) -> Found:
        """Search until nothing is new or a bound is met."""
        found, states = self.found, self._states
        self._number(self._steps.start(), -1, "start")
        here, layer = 0, 1
        while here < len(states) < self._most and len(found.broken) < self._stop_at:
            if here == layer:
                found.longest, layer = found.longest + 1, len(states)
                self._steps.keep(states[here:])
            self._expand(here)
            here += 1
        found.states, found.closed = len(states), here == len(states)
        self._follow()
        return found

    def _expand(self, number: int) -> None:
        state, calm = self._states[number], None
        for step in self._steps.steps(state):
            self.found.steps += 1
            laws = list(broken_by_tick(self._steps, state, step.sent)) if step.sent else []
            if laws:
                self._note(laws, number, step.label)
            after = UNKNOWN if laws else self._reached(number, step)
            if calm is None and not step.fault:
                waits = step.sent is not None and may_wait(step.sent, step.after)
                calm = ENDS if waits else after
        self._calm[number] = ENDS if calm is None else calm

    def _reached(self, number: int, step: Step) -> int:
        known = self._numbers.get(step.after)
        if known is not None:
            return known
        laws = list(broken_in(self._steps, step.after))
        if laws:
            self._note(laws, number, step.label)
            return UNKNOWN
        return self._number(step.after, number, step.label)

    def _number(self, state: State, before: int, label: str) -> int:
        number = self._numbers[state] = len(self._states)
        self._states.append(state)
        self._before.append(before)
        self._labels.append(label)
        self._calm.append(UNKNOWN)
        return number

    def _note(self, laws: Iterable[str], number: int, *last: str) -> None:
        for law in laws:
            self.found.broken.setdefault(law, [*self._path(number), *last])

    def _path(self, number: int) -> list[str]:
        path = list[str]()
        while number > 0:
            path.append(self._labels[number])
            number = self._before[number]
        return path[::-1]

    def _follow(self) -> None:
        """Follow the ways of all states to their ends; one that comes back to itself has none."""
        far = array("q", [UNKNOWN]) * len(self._states)
        for start in range(len(self._states)):
            way, at = list[int](), start
            while at >= 0 and far[at] == UNKNOWN:
                far[at] = ON_THE_WAY
                way.append(at)
                at = self._calm[at]
            if at >= 0 and far[at] == ON_THE_WAY:
                self._note([ENDLESS], start)
            steps = far[at] if at >= 0 else 0
            for passed in reversed(way):
                steps = far[passed] = max(0, steps) + 1
            self.found.longest_end = max(self.found.longest_end, steps)
