"""Virtual time: the simulator's Clock.

Here belongs the passing of time alone. A cluster catches up with its clock when it is next looked at, so sleeping
costs nothing; with a pace, it really sleeps, so that a person can watch.
"""

import time


class VirtualClock:
    """A Clock whose seconds pass only when somebody sleeps on it."""

    def __init__(self, start: float = 0.0, *, pace: float | None = None) -> None:
        """`pace`: virtual seconds per real second, for people who watch; None never really sleeps."""
        self._now = start
        self._pace = pace

    def now(self) -> float:
        """Virtual seconds since the cluster began."""
        return self._now

    def jump_to(self, moment: float) -> None:
        """Stand at a later moment at once; an earlier one changes nothing."""
        self._now = max(self._now, moment)

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds} s")
        if self._pace is not None:
            time.sleep(seconds / self._pace)
        self._now += seconds
