"""The moves that have not begun, and which of them to look at next, without scanning all of them.

A move that finds a broker full is parked in that broker's queue, ordered by its place in the plan; a broker with room
gives back as many as it has room for. A move whose gate is closed is put off for some seconds. So a tick costs what
can change in it, not what waits: O(moves × brokers touched) over the whole application.

Moves of internal topics come last, one at a time, and only when nothing else waits or runs.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from replan.model.names import BrokerId

PATIENT_TIMES = 50
"""A move that was passed over so often reserves slots as they become free."""
LOOK_AHEAD = 4
"""How many more than it has room for a broker gives back: some will be full elsewhere."""


class AdmissionQueue:
    """Places in the plan that wait; every place is in exactly one of the queues."""

    def __init__(self, ordinary: Iterable[int], internal: Iterable[int] = ()) -> None:
        """`ordinary` and `internal`: places in the plan, ascending."""
        self._ready = list(ordinary)
        self._internal = list(internal)
        self._parked: dict[BrokerId, list[int]] = {}
        self._deferred: list[tuple[float, int]] = []
        self._passed_over: dict[int, int] = {}

    def __len__(self) -> int:
        parked = sum(len(queue) for queue in self._parked.values())
        return len(self._ready) + len(self._internal) + len(self._deferred) + parked

    def next(
        self, limit: int, now: float, free: Callable[[BrokerId], int], *, alone: bool
    ) -> list[int]:
        """Up to `limit` places to look at now, in plan order; `alone`: nothing is in flight."""
        self._release(now, free)
        if self._ready:
            return self._ready[:limit]
        return self._internal[:1] if alone and len(self) == len(self._internal) else []

    def _release(self, now: float, free: Callable[[BrokerId], int]) -> None:
        while self._deferred and self._deferred[0][0] <= now:
            insort(self._ready, heappop(self._deferred)[1])
        for broker, queue in list(self._parked.items()):
            room = free(broker)
            for _ in range(min(len(queue), room + LOOK_AHEAD) if room > 0 else 0):
                insort(self._ready, heappop(queue))
            if not queue:
                del self._parked[broker]

    def park(self, place: int, broker: BrokerId) -> None:
        """Put a move aside until this broker has room; one that was passed over too often stays in view."""
        self._passed_over[place] = self._passed_over.get(place, 0) + 1
        if not self.starving(place) and self._take_out(place):
            heappush(self._parked.setdefault(broker, []), place)

    def defer(self, place: int, until: float) -> None:
        """Put a move aside for a time; internal ones stay, they are looked at alone anyway."""
        if self._take_out(place):
            heappush(self._deferred, (until, place))

    def remove(self, place: int) -> None:
        """Take out a move that begins or has ended."""
        if not self._take_out(place):
            self._internal = [p for p in self._internal if p != place]
        self._passed_over.pop(place, None)

    def readmit(self, place: int) -> None:
        """Take in a move again that was admitted and asked for nothing."""
        insort(self._ready, place)

    def starving(self, place: int) -> bool:
        """Whether a move was passed over so often that it reserves slots."""
        return self._passed_over.get(place, 0) >= PATIENT_TIMES

    def _take_out(self, place: int) -> bool:
        """Take a place out of the ready ones, near whose head it stands."""
        try:
            self._ready.remove(place)
        except ValueError:
            return False
        return True
