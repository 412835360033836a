"""Who comes first where `preferredLeaders` goes by rule: racks in order of preference, or leaders balanced.

Racks sort a list, and leave equal ones in their order. Balanced leaders are chosen for all partitions of one entry
together (`placing.leaders`); the chosen one comes first, and the rest keeps its order. A broker on the leader blacklist
is not chosen. Who is fenced plays no part: the order is static, so a rolling restart changes nothing.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from replan.model.columns import PAD, Ints, Matrix, row, to_matrix
from replan.model.declared.rules import LeaderRule
from replan.model.snapshot import Snapshot
from replan.planning.placing.problem import Flags


def ordered_by_rule(
    lists: Matrix,
    listed: Flags,
    of_row: Sequence[LeaderRule | None],
    found: Ints,
    snapshot: Snapshot,
) -> Matrix:
    """The lists with who shall lead first.

    `listed`: members on the leader blacklist; `found`: the observed row of each list, -1 where the cluster has none.
    """
    rows_of: dict[str, list[int]] = {}
    rules = {rule.pattern: rule for rule in of_row if rule is not None}
    for at, rule in enumerate(of_row):
        if rule is not None:
            rows_of.setdefault(rule.pattern, []).append(at)
    changed = lists.copy()
    for pattern, rows in sorted(rows_of.items()):
        some = lists[rows]
        if rules[pattern].balanced:
            from replan.planning.placing.leaders import (  # noqa: PLC0415 (few entries ask for it)
                balanced_heads,
            )

            order = _as_observed(some, found[rows], snapshot)
            may_lead = (some != PAD) & ~listed[rows]
            heads = balanced_heads(
                np.take_along_axis(some, order, axis=1), np.take_along_axis(may_lead, order, axis=1)
            )
            rank = (some != heads[:, None]).astype(np.int64)
        else:
            rank = _by_rack(some, rules[pattern], found[rows], snapshot)
        last = np.iinfo(np.int64).max
        order = np.argsort(np.where(some == PAD, last, rank), axis=1, kind="stable")
        changed[rows] = np.take_along_axis(some, order, axis=1)
    return changed


def _as_observed(lists: Matrix, found: Ints, snapshot: Snapshot) -> Ints:
    """How to put first who comes first in the cluster now: leaders that are balanced already stay as they are."""
    first = np.full(len(lists), PAD, dtype=np.int64)
    if (found >= 0).any():
        observed = snapshot.partitions.column("replicas").take(pa.array(found[found >= 0]))
        first[found >= 0] = to_matrix(observed)[:, 0]
    rank = np.where(lists == PAD, 2, lists != first[:, None])
    return np.argsort(rank, axis=1, kind="stable")


def _by_rack(lists: Matrix, rule: LeaderRule, found: Ints, snapshot: Snapshot) -> Ints:
    """The place of each broker's rack among those of the rule; the same behind them for all others.

    A list with a broker whose rack is not known keeps the order that it has.
    """
    rank = np.full(lists.shape, len(rule.racks), dtype=np.int64)
    for broker in snapshot.brokers:
        if broker.rack in rule.racks:
            rank[lists == broker.id] = rule.racks.index(broker.rack)
    unknown = sorted(snapshot.brokers_of_unknown_rack())
    stay = np.flatnonzero(np.isin(lists, unknown).any(axis=1) & (found >= 0))
    for at, seen in zip(stay, snapshot.states(found[stay].tolist()), strict=True):
        if sorted(seen.replicas) == sorted(row(lists, int(at))):
            rank[at, : len(seen.replicas)] = [seen.replicas.index(b) for b in row(lists, int(at))]
    return rank
