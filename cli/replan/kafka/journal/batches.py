"""The records in a Fetch answer that are committed: control batches and aborted transactions taken out.

A broker gives the batches up to the last stable offset, and names the aborted transactions among them (KIP-98).
The checksums of batches are not computed again, as that takes a second per megabyte in Python: the brokers checked them
when they stored the batches, and a plan has a digest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kafka.record.memory_records import MemoryRecords


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the topic."""

    offset: int
    key: bytes | None
    value: bytes | None
    """None is a tombstone."""


@dataclass(slots=True)
class CommittedEntries:
    """What one answer holds; iterate once, then `next_offset` says where to go on."""

    records: bytes
    aborted: Iterable[tuple[int, int]]
    """Producer id and first offset of each transaction that was aborted."""
    next_offset: int = -1
    """Behind the last whole batch; -1 where there was none."""
    _dropped: set[int] = field(default_factory=set, init=False)

    def __iter__(self) -> Iterator[Entry]:
        pending = sorted(self.aborted, key=lambda of: of[1], reverse=True)
        for batch in MemoryRecords(self.records):
            while pending and pending[-1][1] <= batch.last_offset:
                self._dropped.add(pending.pop()[0])
            self.next_offset = batch.next_offset
            if batch.is_control_batch:
                self._end(batch)
            elif not (batch.is_transactional and batch.producer_id in self._dropped):
                yield from (Entry(r.offset, r.key, r.value) for r in batch)

    def _end(self, batch: Any) -> None:
        if any(marker.abort for marker in batch):
            self._dropped.discard(batch.producer_id)
