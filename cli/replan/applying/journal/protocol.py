"""The protocol of journals, and the one that lives in memory.

A journal keeps records so that they outlive the process; what they mean is in `ledger`. Two keep them for good:
`file` here, and the compacted topic in `kafka`. The one in memory serves rehearsals and simulations.
How one is opened, closed, and read without being opened is each store's own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from replan.applying.journal.records import Command, Forget, Kept, Record
from replan.errors import ClusterUnreachable
from replan.model.control_plane import Clock

_AGAIN_SECONDS = 1.0


class Journal(Protocol):
    """Where records are kept."""

    def read(self) -> Sequence[Record]:
        """The latest record of every key, in the order in which the keys first came."""
        ...

    def append(self, records: Sequence[Record]) -> None:
        """Make the records of one tick durable, all or none, before it returns; none is a sign of life.

        Raises BadFile or ClusterUnreachable where that is not possible now: the records may be there or not, and the
        next append that succeeds makes it as if they were not. Raises Held where another has taken over.
        """
        ...


class SteeredJournal(Journal, Protocol):
    """A journal with an inbox, which one process owns."""

    @property
    def silent_since(self) -> float | None:
        """Since when, on the clock, the process before has been seen to write nothing; None where nobody watched it.

        What it requested was requested within `Settings.look_seconds` after a write: so nothing new since then.
        """
        ...

    def arrived(self) -> Sequence[Command]:
        """The commands that no append of this process has answered, in the order in which they were sent; never fails.

        Those that were there when it was opened are not among them.
        """
        ...


class PatientJournal:
    """A journal for those who can do nothing while it cannot be written: an append is repeated for so long."""

    def __init__(
        self, journal: Journal, clock: Clock, patience_seconds: float, note: Callable[[str], None]
    ) -> None:
        self._journal, self._clock, self._patience = journal, clock, patience_seconds
        self._note = note
        self.read = journal.read

    def append(self, records: Sequence[Record]) -> None:
        """As `Journal.append`; raises ClusterUnreachable once the patience is over."""
        until, noted = self._clock.now() + self._patience, False
        while True:
            try:
                return self._journal.append(records)
            except ClusterUnreachable as silent:
                if self._clock.now() >= until:
                    raise
                if not noted:
                    self._note(f"{silent}; waiting for up to {self._patience:.0f} s")
                noted = True
            self._clock.sleep(_AGAIN_SECONDS)


class MemoryJournal:
    """A journal that lives as long as the process."""

    def __init__(self) -> None:
        self._latest: dict[str, Kept] = {}
        self.inbox: list[Command] = []
        """Commands; whoever shares the process puts them here."""
        self.silent_since: float | None = None

    def arrived(self) -> Sequence[Command]:
        """The commands that no append has answered."""
        return [c for c in self.inbox if c.key not in self._latest]

    def read(self) -> Sequence[Record]:
        """The latest record of every key."""
        return list(self._latest.values())

    def append(self, records: Sequence[Record]) -> None:
        """Keep records."""
        _take_in(self._latest, records)


def latest(before: Mapping[str, Kept], records: Sequence[Record]) -> dict[str, Kept]:
    """The latest record of every key, in the order in which the keys first came."""
    after = dict(before)
    _take_in(after, records)
    return after


def _take_in(kept: dict[str, Kept], records: Sequence[Record]) -> None:
    for record in records:
        if isinstance(record, Forget):
            kept.pop(record.key, None)
        else:
            kept[record.key] = record
