"""Virtual time: the simulator's Clock.

A cluster catches up with its clock when it is next looked at, so sleeping costs nothing.
"""


class VirtualClock:
    """A Clock whose seconds pass only when somebody sleeps on it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

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
        self._now += seconds
