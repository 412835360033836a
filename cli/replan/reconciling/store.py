"""Where a loop keeps its memory, and the lease by which one loop at a time works on a cluster.

A loop writes beside the journal, without the lock of the cluster, which is held only while something is applied. What
it writes are records like any: pieces of its memory and of its history, and the lease. The pieces of a writing stand
beside those of the one before, which are forgotten once all are there: killed between, the one before counts.

The lease, of one process:

    held      the record names this process; it counts its `beat` up every `LEASE_BEAT_SECONDS`
    waiting   the record names another one; watched on this process's own monotonic clock
    claiming  the record was released, or has not changed for `LEASE_DEAD_SECONDS`: this process writes itself into it,
              waits a second, and reads it again

Commands of people to the loop itself, while no application is open (`applying.steering` has those to an application),
are a record each, `loop-inbox/ID`, of a plain producer, or a file in the folder of the loop:

    waiting   it stays until a loop obeys: a pause holds before anything else is begun, by whichever loop
    obeyed    whoever has the lease obeys all of them in the order of their ids, at the beginning of a turn: it keeps
              its memory first, then it writes who obeyed; killed between, the next one obeys once more, which changes
              nothing
    forgotten with the next one that is obeyed

Invariants: nobody writes a record before reading it, so a process that was suspended sees that it was taken over; of
two that claim at once the later write counts for both. Two may take themselves for the holder for no longer than a
beat; the lock of the journal, which a taker fences, keeps them from applying at once all the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from replan.applying.journal.originals import compressed, decompressed
from replan.applying.journal.protocol import latest
from replan.applying.journal.record_json import decode_entry, encode_entry
from replan.applying.journal.records import (
    LEASE,
    Forget,
    Kept,
    Lease,
    LoopChunk,
    LoopCommand,
    Record,
    pieces,
)
from replan.documents.files import cannot, write_file
from replan.errors import BadFile
from replan.model.control_plane import Clock
from replan.reconciling.history import History
from replan.reconciling.memory import Memory
from replan.reconciling.status import LeaseHeld

LEASE_DEAD_SECONDS = 45.0
"""Of a lease that nobody renews: with the beat and the claim it is taken over within a minute."""
LEASE_BEAT_SECONDS = 8.0
CLAIM_SECONDS = 1.0
MEMORY_RECORDS = "memory"
HISTORY_RECORDS = "history"


class LoopStore(Protocol):
    """The records of a loop."""

    def read(self) -> Sequence[Record]:
        """The latest record of every key; others of the journal may be among them.

        Raises ClusterUnreachable, ClusterRefused, BadFile.
        """
        ...

    def write(self, records: Sequence[Record]) -> None:
        """Make them durable. Raises as `read` does; some may be written then."""
        ...


class MemoryStore:
    """Records that live as long as the process."""

    def __init__(self) -> None:
        self._latest: dict[str, Kept] = {}

    def read(self) -> Sequence[Record]:
        """The latest record of every key."""
        return list(self._latest.values())

    def write(self, records: Sequence[Record]) -> None:
        """Keep them."""
        self._latest = latest(self._latest, records)


class FolderStore:
    """A file for each record, in a folder beside a journal file."""

    def __init__(self, journal: Path) -> None:
        self._folder = journal.with_name(journal.name + ".loop")

    def read(self) -> Sequence[Record]:
        """What the files hold; one that cannot be read is an error."""
        records: list[Record] = []
        try:
            paths = sorted(self._folder.glob("*.json"))
        except OSError:
            return records
        for path in paths:
            try:
                records.append(decode_entry(path.read_bytes()))
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise cannot("read", path, problem) from problem
            except ValueError as problem:
                raise BadFile(
                    f"{path}: {problem}\n"
                    "Restore this file, or remove it: the loop begins again with what it remembered there."
                ) from problem
        return records

    def write(self, records: Sequence[Record]) -> None:
        """Replace the files."""
        for record in records:
            path = self._folder / (record.key.replace("/", "-") + ".json")
            try:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                if isinstance(record, Forget):
                    path.unlink(missing_ok=True)
                    continue
            except OSError as problem:
                raise cannot("write", path, problem) from problem
            write_file(path, encode_entry(record))


def load(records: Sequence[Record]) -> tuple[Memory, History]:
    """The memory and the history among the records; raises BadFile where they are of a newer release."""
    try:
        memory = msgspec.json.decode(_joined(records, MEMORY_RECORDS) or "{}", type=Memory)
        kept = _joined(records, HISTORY_RECORDS)
        return memory, decompressed(kept, History) if kept else History()
    except (msgspec.MsgspecError, ValueError) as problem:
        raise BadFile(
            f"what the loop remembers cannot be read: {problem}\n"
            "A newer replan may have written it; use that one, or a newer one."
        ) from problem


def as_obeyed(records: Sequence[Record], now: float) -> tuple[Memory, History]:
    """The same for those who only look: what people ask counts as obeyed, as it is before anything else."""
    memory, history = load(records)
    for command in waiting_commands(records):
        memory = memory.obeyed(command, now)
    return memory, history


def memory_records(memory: Memory, before: Sequence[Record]) -> list[Record]:
    """The records of a memory; `before`: those that are there."""
    return _chunks(MEMORY_RECORDS, msgspec.json.encode(memory).decode(), before)


def history_records(history: History, before: Sequence[Record]) -> list[Record]:
    """The records that keep a history; `before`: those that are there."""
    return _chunks(HISTORY_RECORDS, compressed(history), before)


def _chunks(name: str, text: str, before: Sequence[Record]) -> list[Record]:
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    parts = pieces(text)
    old = _pieces(before, name)
    first = max((piece.index + 1 for piece in old), default=0)
    if len(old) == len(parts) == 1:  # one record is there as a whole, or not at all
        first = old[0].index
    new = [LoopChunk(name, first + number, part, digest) for number, part in enumerate(parts)]
    keys = {piece.key for piece in new}
    return [*new, *(Forget(piece.key) for piece in old if piece.key not in keys)]


def _pieces(records: Sequence[Record], name: str) -> list[LoopChunk]:
    chunks = (r for r in records if isinstance(r, LoopChunk) and r.name == name)
    return sorted(chunks, key=lambda piece: piece.index)


def _joined(records: Sequence[Record], name: str) -> str:
    """The text of the last writing of which all pieces are there; empty where there is none."""
    texts: dict[str, str] = {}
    for piece in _pieces(records, name):
        texts[piece.digest] = texts.pop(piece.digest, "") + piece.text
    whole = (t for d, t in texts.items() if d == hashlib.sha256(t.encode()).hexdigest()[:16])
    return max(enumerate(whole), default=(0, ""))[1]


class LeaseKeeper:
    """The lease, as one process keeps it or waits for it."""

    def __init__(self, store: LoopStore, clock: Clock, owner: str, moment: str) -> None:
        self._store, self._clock, self._owner, self._moment = store, clock, owner, moment
        self.id = uuid4().hex[:12]
        self._lease: Lease | None = None
        self._since = self._beat_at = float("-inf")
        self.held = False
        self.waiting: tuple[LoopCommand, ...] = ()
        """What people ask of the loop, as of the last look."""
        self.alive = False
        """Whether the one who has it has shown a sign of life while this process watched."""

    def keep(self, now: float) -> LeaseHeld | None:
        """Renew it, take it, or say who has it. `now`: for people. Raises as the store does."""
        at, lease = self._clock.now(), self._read()
        if lease is not None and lease.holder == self.id and not lease.released:
            if at - self._beat_at >= LEASE_BEAT_SECONDS:
                self._write(replace(lease, beat=lease.beat + 1), at)
            self.held = True
            return None
        self.held = False
        if lease != self._lease:
            self.alive = self._lease is not None
            self._lease, self._since = lease, at
        silent = at - self._since
        if lease is not None and not lease.released and silent < LEASE_DEAD_SECONDS:
            return LeaseHeld(lease.owner, now - silent, silent, LEASE_DEAD_SECONDS)
        beat = 0 if lease is None else lease.beat + 1
        self._write(Lease(self.id, self._owner, self._moment, beat), at)
        if lease is not None:  # another one may claim it in the same moment
            self._clock.sleep(CLAIM_SECONDS)
        lease = self._read()
        if lease is not None and lease.holder != self.id:
            self._lease, self._since = lease, self._clock.now()
            return LeaseHeld(lease.owner, now, 0.0, LEASE_DEAD_SECONDS)
        self.held = True
        return None

    def release(self) -> None:
        """Let the next one have it at once."""
        lease = self._read()
        if lease is not None and lease.holder == self.id:
            self._write(replace(lease, beat=lease.beat + 1, released=True), self._clock.now())
        self.held = False

    def _read(self) -> Lease | None:
        records = self._store.read()
        self.waiting = waiting_commands(records)
        return lease_of(records)

    def _write(self, lease: Lease, at: float) -> None:
        self._store.write([lease])
        self._beat_at = at


def lease_of(records: Sequence[Record]) -> Lease | None:
    """The lease as it was written last."""
    leases: Mapping[str, Record] = {r.key: r for r in records if isinstance(r, Lease)}
    lease = leases.get(LEASE)
    return lease if isinstance(lease, Lease) else None


def waiting_commands(records: Sequence[Record]) -> tuple[LoopCommand, ...]:
    """What people ask of the loop and nobody has obeyed, the earliest first."""
    waiting = [r for r in records if isinstance(r, LoopCommand) and not r.obeyed_by]
    return tuple(sorted(waiting, key=lambda c: c.id))


def loop_obeyed_records(
    obeyed: Sequence[LoopCommand], owner: str, before: Sequence[Record]
) -> list[LoopCommand | Forget]:
    """The records that say who obeyed; those that were obeyed before are forgotten."""
    old = [Forget(r.key) for r in before if isinstance(r, LoopCommand) and r.obeyed_by]
    return [*old, *(replace(command, obeyed_by=owner) for command in obeyed)]
