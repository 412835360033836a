"""`lastLeaders`: which brokers stand last in every list, and how a list is ordered by it.

It is an order that is declared for every partition, managed or not, so nothing is remembered of it. While the rack of a
broker that is down is not known, and a rack is named, its lists stay in their order (`blacklist.keep_in_doubt`).
"""

from collections.abc import Mapping

import numpy as np

from replan.model.columns import PAD, Matrix
from replan.model.declared.placement import Placement
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot


def last_leaders(placement: Placement, snapshot: Snapshot) -> Mapping[BrokerId, int]:
    """The registered brokers that stand last, with their place among them, from 1."""
    if placement.last_leaders is None:
        return {}
    ranks = {b.id: placement.last_leaders.rank(b.id, b.rack) for b in snapshot.brokers}
    return {broker: rank for broker, rank in sorted(ranks.items()) if rank}


def in_doubt(placement: Placement, snapshot: Snapshot) -> frozenset[BrokerId]:
    """Brokers that may stand last, in a rack that is not known."""
    if placement.last_leaders is None or not placement.last_leaders.names_racks:
        return frozenset()
    unknown = snapshot.brokers_of_unknown_rack()
    return frozenset(b for b in unknown if b not in placement.last_leaders.entries)


def last_leaders_last(lists: Matrix, last: Mapping[BrokerId, int]) -> Matrix:
    """The lists with these brokers last, by their place; those of one place, and the others, keep their order."""
    if not last:
        return lists
    rank = np.where(lists == PAD, len(last) + max(last.values()) + 1, 0)
    for broker, place in last.items():
        rank[lists == broker] = place
    return np.take_along_axis(lists, np.argsort(rank, axis=1, kind="stable"), axis=1)
