"""Processes of a loop that die at one of their effects, each followed by another one that goes on from the journal."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace
from tests.unit.applying.lab import Boundary, Killed, MortalWriter

from replan.applying.api import Command, MemoryJournal, Record, Verb
from replan.errors import BadPlacement
from replan.model.api import Clock
from replan.reconciling.api import LoopPorts, LoopSettings, LoopStore, Read
from replan.rehearsal.api import Lives, WatchedLoop, one_life

T = TypeVar("T")
PERSON = "a person"
SLICE_SECONDS = 20.0
"""How often a process that rests renews its lease, or looks at that of another one."""


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


class MortalJournal(MemoryJournal):
    """A journal whose appends are effects, and that keeps when a person's cancel was obeyed."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: list[float] = []
        self.clock: Clock | None = None
        self.boundary: Boundary | None = None

    def append(self, records: Sequence[Record]) -> None:
        if self.boundary is None or not records:
            return self._keep(records)
        return self.boundary.cross("append", lambda: self._keep(records))

    def _keep(self, records: Sequence[Record]) -> None:
        super().append(records)
        obeyed = (r for r in records if isinstance(r, Command) and r.verb is Verb.CANCEL)
        if self.clock is not None and any(r.sender == PERSON for r in obeyed):
            self.cancelled.append(self.clock.now())


class _MortalStore:
    def __init__(self, kept: LoopStore, boundary: Boundary) -> None:
        self._kept, self._boundary, self.read = kept, boundary, kept.read

    def write(self, records: Sequence[Record]) -> None:
        self._boundary.cross("remember", lambda: self._kept.write(records))


class Span(Struct, frozen=True):
    """From when to when something is otherwise, and by how much."""

    at: float
    until: float
    seconds: float = 0.0


def lives(
    deadly: Deadly,
    journal: MortalJournal,
    *,
    broken: Sequence[Span] = (),
    jumps: Sequence[Span] = (),
    stops: Sequence[Span] = (),
    leased: bool = False,
) -> Lives:
    """Process after process, until one of them comes to the end.

    `broken`: when the placement cannot be read; `jumps`: when the wall clock is put forward, or back; `stops`: when a
    process is asked to leave, and until when none is there.
    """

    def run(ports: LoopPorts, settings: LoopSettings, watched: WatchedLoop) -> None:
        clock, leaving = ports.clock, list(stops)
        deadly.clock = journal.clock = clock
        journal.boundary = deadly

        def read() -> Read:
            if any(of.at <= clock.now() < of.until for of in broken):
                raise BadPlacement("placement.yaml:3:1: this is not YAML")
            return ports.read()

        def wall() -> float:
            now = clock.now()
            return ports.wall() + sum(of.seconds for of in jumps if of.at <= now < of.until)

        def asked_to_leave() -> bool:
            return ports.stop() or bool(leaving and leaving[0].at <= clock.now())

        mortal = replace(
            ports,
            writer=MortalWriter(ports.writer, deadly),
            store=_MortalStore(ports.store, deadly),
            read=read,
            wall=wall,
            stop=asked_to_leave,
        )
        settings = replace(
            settings,
            leased=leased,
            slice_seconds=SLICE_SECONDS if leased else settings.slice_seconds,
        )
        while not ports.stop():
            try:
                one_life(mortal, settings, watched)
            except Killed:
                clock.sleep(deadly.bury())
            else:
                if leaving and leaving[0].at <= clock.now():
                    clock.sleep(max(1.0, leaving.pop(0).until - clock.now()))

    return run
