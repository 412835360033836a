"""The leader blacklist (KIP-491): which entries are in force, and which partitions and replicas they reach.

An entry is in force while its broker is registered: no list that names another one can be changed. One with
`until: caught-up` ends when its broker is in the ISR of everything that it reaches; the snapshot alone decides, so the
same snapshot gives the same plan. Not here: what becomes of the lists (`overlays`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replan.model.columns import Matrix, to_matrix
from replan.model.declared.placement import LeaderBlacklist, LeaderMove, Placement
from replan.model.declared.topic_patterns import matches
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import topics_of

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Listed:
    """Which members of each list are on the blacklist."""

    every: Flags
    now: Flags
    """Those whose leaderships are to go elsewhere at once."""


def blacklist_reaches(entry: LeaderBlacklist, topic: str) -> bool:
    """Whether an entry concerns a topic: every one, internal ones too, or those that its patterns mean."""
    return entry.topics is None or any(matches(pattern, topic) for pattern in entry.topics)


def within(entry: LeaderBlacklist, rows: pa.Table) -> Flags:
    """Which rows an entry's topics mean."""
    names, codes = topics_of(rows)
    reached = [blacklist_reaches(entry, name) for name in names.to_pylist()]
    return np.array([*reached, False], dtype=bool)[codes]


def in_force(placement: Placement, snapshot: Snapshot) -> tuple[LeaderBlacklist, ...]:
    """The entries whose broker is registered."""
    registered = snapshot.broker_ids()
    return tuple(entry for entry in placement.leader_entries if entry.broker in registered)


def listed(lists: Matrix, rows: pa.Table, entries: Iterable[LeaderBlacklist]) -> Listed:
    """Which members of each list are on the blacklist."""
    found = Listed(np.zeros(lists.shape, dtype=bool), np.zeros(lists.shape, dtype=bool))
    for entry in entries:
        named = (lists == entry.broker) & within(entry, rows)[:, None]
        found.every[...] |= named
        if entry.move is LeaderMove.NOW:
            found.now[...] |= named
    return found


def without_ended(placement: Placement, snapshot: Snapshot) -> Placement:
    """The placement without entries that have ended; the others go on, whatever a plan brings in sync."""
    if not any(entry.until_caught_up for entry in placement.leader_entries):
        return placement
    kept = [e for e in placement.leader_entries if not has_ended(e, snapshot)]
    return replace(
        placement, leader_blacklist=tuple(replace(e, until_caught_up=False) for e in kept)
    )


def has_ended(entry: LeaderBlacklist, snapshot: Snapshot) -> bool:
    """Whether an entry was to hold until its broker has caught up, and it has."""
    if not entry.until_caught_up:
        return False
    partitions = snapshot.partitions
    holds = (to_matrix(partitions.column("replicas")) == entry.broker).any(axis=1)
    in_sync = (to_matrix(partitions.column("isr")) == entry.broker).any(axis=1)
    return not bool((holds & ~in_sync & within(entry, partitions)).any())
