"""What the entries of a leader blacklist do at this moment, and the orders that come back when they go."""

import numpy as np
from msgspec import Struct

from replan.model.columns import to_matrix
from replan.model.declared.placement import LeaderBlacklist, Placement, RackBlacklist
from replan.model.names import Replicas, TopicPartition
from replan.model.snapshot import Snapshot
from replan.planning.comparison.acknowledged import review_due
from replan.planning.comparison.blacklist import (
    empty_racks,
    has_ended,
    with_brokers_of_racks,
    within,
)
from replan.planning.comparison.cluster_check import check_cluster
from replan.wording import WordedName


class EntryState(WordedName):
    """Whether an entry counts."""

    IN_FORCE = ("in-force", "in force")
    ENDED = ("ended", "ended: its broker has caught up, take it out")
    """Its broker has caught up (`until: caught-up`)."""
    UNREGISTERED = ("unregistered", "no effect: its broker is not registered")
    """Its broker is not registered: it does nothing."""
    RACK_UNKNOWN = ("rack-unknown", "orders stay: its broker is down, and its rack is not known")
    """It is that of a rack, and nobody knows whether its broker is in it: the order of what it reaches stays."""


class EntryReport(Struct, frozen=True):
    """One entry."""

    entry: LeaderBlacklist
    state: EntryState
    review_due: bool
    """Its date has passed, whatever its state: no date moves data."""
    replicas: int
    """Partitions that it reaches."""
    leads: int
    """Of them: how many its broker leads."""
    behind: int
    """Of them: for how many its broker is out of sync."""
    last: int
    """Of them: how many lists name its broker last."""


class BlacklistReport(Struct, frozen=True):
    """All entries, those of racks by broker, and the remembered orders."""

    declared: bool
    """The placement has the key `blacklists.leaders`; without it what a blacklist changed stays."""
    entries: tuple[EntryReport, ...]
    idle: tuple[RackBlacklist, ...]
    """Racks that no registered broker is in."""
    remembered: tuple[tuple[TopicPartition, Replicas], ...]


def blacklist_report(placement: Placement, snapshot: Snapshot) -> BlacklistReport:
    """Judge every entry; raises WrongCluster."""
    check_cluster(placement, snapshot)
    idle = empty_racks(placement.leader_racks, snapshot)
    placement = with_brokers_of_racks(placement, snapshot)
    entries = sorted(placement.leader_entries, key=lambda e: (e.broker, e.where))
    orders = sorted((name, kept.order) for name, kept in snapshot.remembered.items())
    declared = placement.leader_blacklist is not None
    judged = tuple(_judged(e, snapshot) for e in entries)
    return BlacklistReport(declared, judged, idle, tuple(orders))


def _judged(entry: LeaderBlacklist, snapshot: Snapshot) -> EntryReport:
    partitions = snapshot.partitions
    lists = to_matrix(partitions.column("replicas"))
    named = (lists == entry.broker).any(axis=1) & within(entry, partitions)
    in_sync = (to_matrix(partitions.column("isr")) == entry.broker).any(axis=1)
    leads = np.asarray(partitions.column("leader")) == entry.broker
    lengths = (lists >= 0).sum(axis=1)
    last = np.zeros(len(lists), dtype=bool)
    last[lengths > 0] = lists[lengths > 0, lengths[lengths > 0] - 1] == entry.broker
    return EntryReport(
        entry,
        _state(entry, snapshot),
        review_due(entry, snapshot) is not None,
        int(named.sum()),
        int((named & leads).sum()),
        int((named & ~in_sync).sum()),
        int((named & last).sum()),
    )


def _state(entry: LeaderBlacklist, snapshot: Snapshot) -> EntryState:
    if entry.broker not in snapshot.broker_ids():
        return EntryState.UNREGISTERED
    if entry.rack_unknown:
        return EntryState.RACK_UNKNOWN
    if has_ended(entry, snapshot):
        return EntryState.ENDED
    return EntryState.IN_FORCE
