"""Processes of a loop that die at one of their effects, each followed by another one that goes on from the journal."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.unit.applying.lab import Boundary, Killed, MortalWriter

from replan.applying.journal.ledger import fold
from replan.applying.journal.protocol import MemoryJournal
from replan.applying.journal.records import Command, Record, Verb
from replan.model.control_plane import Clock
from replan.reconciling.loop import LoopPorts, LoopSettings
from replan.reconciling.store import LoopStore
from replan.rehearsal.reconcile import Lives, one_life
from replan.rehearsal.watched import Watched

T = TypeVar("T")


class Deadly(Boundary):
    """Kills the process before, or after, one of its effects, counted from a moment on; each of several times."""

    def __init__(self, kills: Sequence[tuple[float, int, bool, float]]) -> None:
        """`kills`: from when on, which effect, whether before it, and how long until another process begins."""
        super().__init__()
        self.died: list[float] = []
        self.clock: Clock | None = None
        self._coming = sorted(kills)
        self._left = 0

    def cross(self, what: str, effect: Callable[[], T]) -> T:
        del what
        now = 0.0 if self.clock is None else self.clock.now()
        if self._coming and now >= self._coming[0][0]:
            _, effects, before, _ = self._coming[0]
            self._left = self._left or effects
            self._left -= 1
            if self._left == 0:
                if not before:
                    effect()
                self.died.append(now)
                raise Killed
        return effect()

    def bury(self) -> float:
        """The process is dead; after how long another one begins."""
        return self._coming.pop(0)[3]


class PeoplesJournal(MemoryJournal):
    """A journal to which people send a cancel, at a moment at which an application is open."""

    def __init__(self, cancels: Sequence[float] = ()) -> None:
        super().__init__()
        self.cancelled: list[float] = []
        self.clock: Clock | None = None
        self.boundary: Boundary | None = None
        self._coming = sorted(cancels)

    def arrived(self) -> Sequence[Command]:
        now = 0.0 if self.clock is None else self.clock.now()
        if self._coming and self._coming[0] <= now:
            late = now - self._coming.pop(0) > 60.0
            opened = fold(self.read()).application
            if opened is not None and not late:
                self.cancelled.append(now)
                name = f"{int(now):016x}-person"
                self.inbox.append(Command(opened.id, name, Verb.CANCEL, sender="a person"))
        return super().arrived()

    def append(self, records: Sequence[Record]) -> None:
        if self.boundary is None or not records:
            return super().append(records)
        return self.boundary.cross("append", lambda: super(PeoplesJournal, self).append(records))


class _MortalStore:
    def __init__(self, kept: LoopStore, boundary: Boundary) -> None:
        self._kept, self._boundary, self.read = kept, boundary, kept.read

    def write(self, records: Sequence[Record]) -> None:
        self._boundary.cross("remember", lambda: self._kept.write(records))


def lives(deadly: Deadly, journal: PeoplesJournal) -> Lives:
    """Process after process, until one of them comes to the end."""

    def run(ports: LoopPorts, settings: LoopSettings, watched: Watched) -> None:
        deadly.clock = journal.clock = ports.clock
        journal.boundary = deadly
        mortal = replace(
            ports,
            writer=MortalWriter(ports.writer, deadly),
            store=_MortalStore(ports.store, deadly),
        )
        while True:
            try:
                one_life(mortal, settings, watched)
            except Killed:
                ports.clock.sleep(deadly.bury())
            else:
                return

    return run
