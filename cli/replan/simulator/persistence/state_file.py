"""A simulated cluster that lives in a file (`--simulated FILE`).

Here belong opening, keeping and locking such a file. It is a snapshot document with a part `simulation` beside it,
which may be missing. Every change that the cluster accepts is written at once, whole (a sibling is renamed over the
file): killing the process loses nothing but virtual time since the last change. Reading locks nothing. The first change
takes the lock, which keeps other processes out but no person with an editor: where the file has been edited
since it was last seen, it is read again before the next change, as something that others did to the cluster.
"""

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import IO

from replan.documents.atomic import write_file
from replan.documents.files import cannot
from replan.documents.json_text import render_document
from replan.errors import Held
from replan.simulator.clock import VirtualClock
from replan.simulator.cluster.physical_state import Simulation
from replan.simulator.persistence.kept_state import restore, written
from replan.simulator.persistence.to_snapshot import whole_snapshot
from replan.snapshots.files import read_document
from replan.snapshots.json_form import to_document


class StateFile:
    """One file, its lock, and what it looked like when this process last saw it."""

    def __init__(self, path: Path) -> None:
        self.clock = VirtualClock()
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._lock: IO[str] | None = None

    def read(self) -> Simulation:
        """The cluster as the file has it now."""
        self._seen = self._identity()
        return restore(read_document(self._path), str(self._path))

    def lock(self) -> Simulation | None:
        """Take the lock, once; raises Held where another process has it."""
        if self._lock is None:
            self._lock = self._locked()
        if self._identity() == self._seen:
            return None
        simulation = self.read()
        self.clock.jump_to(simulation.world.now)
        return simulation

    def keep(self, simulation: Simulation) -> None:
        """Write the state."""
        write_file(self._path, _text(simulation))
        self._seen = self._identity()

    def release(self, simulation: Simulation) -> None:
        """Write the last state and free the lock, where this process has changed anything; an edited file stays."""
        if self._lock is None:
            return
        if self._identity() == self._seen:
            self.keep(simulation)
        self._lock.close()
        self._lock = None

    def _identity(self) -> tuple[int, int, int] | None:
        with suppress(OSError):
            found = self._path.stat()
            return (found.st_ino, found.st_size, found.st_mtime_ns)
        return None

    def _locked(self) -> IO[str]:
        beside = self._path.with_name(f".{self._path.name}.lock")
        try:
            lock = beside.open("w", encoding="utf-8")
        except OSError as problem:
            raise cannot("write", beside, problem) from problem
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            lock.close()
            raise Held(
                f"{self._path}: another process is changing this simulated cluster; "
                "wait until it has ended, or use another file"
            ) from problem
        return lock


def _text(simulation: Simulation) -> str:
    document = to_document(whole_snapshot(simulation, simulation.world.now))
    return render_document(document | {"simulation": written(simulation)})
