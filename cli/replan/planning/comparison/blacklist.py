"""The leader blacklist (KIP-491): which entries are in force, and which partitions and replicas they reach.

An entry of a rack stands for its brokers, as the snapshot has them. An entry is in force while its broker is
registered, since no list that names another one can be changed, and known to be in the rack of the entry. One with
`until: caught-up` ends when its broker is in the ISR of everything that it reaches; the snapshot alone decides, so the
same snapshot gives the same plan. Not here: what becomes of the lists (`overlays`).
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from replan.model.broker import Broker
from replan.model.columns import Flags, Ints, Matrix, same_width, to_matrix, topics_of
from replan.model.declared.placement import LeaderBlacklist, LeaderMove, Placement, RackBlacklist
from replan.model.declared.topic_patterns import matches
from replan.model.snapshot import Snapshot
from replan.planning.comparison.leader_order import in_doubt
from replan.planning.plans.reasons import Facts, PlanWarning, WarningKind


class BlacklistedMembers(Struct, frozen=True):
    """Which members of each list are on the blacklist."""

    every: Flags
    now: Flags
    """Those whose leaderships are to go elsewhere at once."""


def blacklist_reaches(entry: LeaderBlacklist | RackBlacklist, topic: str) -> bool:
    """Whether an entry concerns a topic: every one, internal ones too, or those that its patterns mean."""
    return entry.topics is None or any(matches(pattern, topic) for pattern in entry.topics)


def within(entry: LeaderBlacklist | RackBlacklist, rows: pa.Table) -> Flags:
    """Which rows an entry's topics mean."""
    names, codes = topics_of(rows)
    reached = [blacklist_reaches(entry, name) for name in names.to_pylist()]
    return np.array([*reached, False], dtype=bool)[codes]


def in_force(placement: Placement, snapshot: Snapshot) -> tuple[LeaderBlacklist, ...]:
    """The entries whose broker is registered, and known to be listed."""
    registered = snapshot.broker_ids()
    return tuple(
        entry
        for entry in placement.leader_entries
        if entry.broker in registered and not entry.rack_unknown
    )


def keep_in_doubt(
    lists: Matrix, rows: pa.Table, observed_rows: Ints, placement: Placement, snapshot: Snapshot
) -> Matrix:
    """The lists; those with a broker whose rack is not known, and may be listed, in the order that they have.

    So a restart restores no order, and makes none. `observed_rows`: of each list, -1 where there is none.
    """
    doubtful = [entry for entry in placement.leader_entries if entry.rack_unknown]
    maybe_last = sorted(in_doubt(placement, snapshot))
    if not doubtful and not maybe_last:
        return lists
    observed = to_matrix(snapshot.partitions.column("replicas"))
    kept, observed = same_width(lists, observed)
    kept = kept.copy()
    some = blacklisted_members(kept, rows, doubtful).every | np.isin(kept, maybe_last)
    at = np.flatnonzero(some.any(axis=1) & (observed_rows >= 0))
    there = observed[observed_rows[at]]
    same = (np.sort(there, axis=1) == np.sort(kept[at], axis=1)).all(axis=1)
    kept[at[same]] = there[same]
    return kept


def blacklisted_members(
    lists: Matrix, rows: pa.Table, entries: Iterable[LeaderBlacklist]
) -> BlacklistedMembers:
    """Which members of each list are on the blacklist."""
    members = BlacklistedMembers(
        np.zeros(lists.shape, dtype=bool), np.zeros(lists.shape, dtype=bool)
    )
    for entry in entries:
        named = (lists == entry.broker) & within(entry, rows)[:, None]
        members.every[...] |= named
        if entry.move is LeaderMove.NOW:
            members.now[...] |= named
    return members


def with_brokers_of_racks(placement: Placement, snapshot: Snapshot) -> Placement:
    """The placement with an entry for each broker of a rack that a blacklist names, and no more for the rack.

    A drain is said once: by the entry of the broker, or else by the first of its rack.
    """
    if not placement.leader_racks and not placement.replica_racks:
        return placement
    unknown = sorted(snapshot.brokers_of_unknown_rack())
    leaders = [
        entry
        for of_rack in placement.leader_racks
        for entry in (
            *(of_rack.leaders_on(b.id) for b in _in_rack(of_rack, snapshot)),
            *(of_rack.leaders_on(broker, unknown=True) for broker in unknown),
        )
    ]
    drains = [
        *placement.replica_blacklist,
        *(f.drain_of(b.id) for f in placement.replica_racks for b in _in_rack(f, snapshot)),
    ]
    by_broker = {entry.broker: entry for entry in reversed(drains)}
    return replace(
        placement,
        leader_blacklist=(*placement.leader_entries, *leaders)
        if placement.leader_blacklist is not None
        else None,
        replica_blacklist=tuple(by_broker[broker] for broker in sorted(by_broker)),
        leader_racks=(),
        replica_racks=(),
    )


def _in_rack(entry: RackBlacklist, snapshot: Snapshot) -> list[Broker]:
    return sorted((b for b in snapshot.brokers if b.rack == entry.rack), key=lambda b: b.id)


def empty_rack_warnings(placement: Placement, snapshot: Snapshot) -> Iterator[PlanWarning]:
    """Racks on a blacklist that no registered broker is known to be in."""
    for entry in empty_racks((*placement.leader_racks, *placement.replica_racks), snapshot):
        facts: Facts = {"where": str(entry.where), "rack": entry.rack}
        yield PlanWarning(WarningKind.UNKNOWN_RACK, facts)


def empty_racks(entries: Iterable[RackBlacklist], snapshot: Snapshot) -> tuple[RackBlacklist, ...]:
    """The entries of racks that no registered broker is known to be in."""
    return tuple(entry for entry in entries if not _in_rack(entry, snapshot))


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
