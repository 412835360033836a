"""Who comes first where `preferredLeaders` goes by rule, and who last by `lastLeaders`.

By rule it goes by racks in order of preference, or leaders are balanced. Racks sort a list, and leave equal ones in
their order. Balanced leaders are chosen for all partitions of one entry together (`placing.balanced_heads`); the chosen
one comes first, and the rest keeps its order. A broker on the leader blacklist is not chosen. Who is fenced plays no
part: the order is static, so a rolling restart changes nothing.

`lastLeaders` is an order that is declared for every partition, managed or not, so nothing is remembered of it. While
the rack of a broker that is down is not known, and a rack is named, its lists stay in their order
(`blacklist.keep_in_doubt`).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from replan.model.columns import PAD, Flags, Ints, Matrix, list_in_row, take, to_matrix
from replan.model.declared.placement import Placement
from replan.model.declared.rules import LeaderRule
from replan.model.names import BrokerId
from replan.model.snapshot import Snapshot


def ordered_by_rule(
    lists: Matrix,
    listed: Flags,
    of_row: Sequence[LeaderRule | None],
    observed_rows: Ints,
    snapshot: Snapshot,
) -> Matrix:
    """The lists with who shall lead first.

    `listed`: members on the leader blacklist; `observed_rows`: of each list, -1 where the cluster has none.
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
            from replan.planning.placing.balanced_heads import (  # noqa: PLC0415 (few entries ask for it)
                balanced_heads,
            )

            order = _as_observed(some, observed_rows[rows], snapshot)
            may_lead = (some != PAD) & ~listed[rows]
            heads = balanced_heads(
                np.take_along_axis(some, order, axis=1), np.take_along_axis(may_lead, order, axis=1)
            )
            rank = (some != heads[:, None]).astype(np.int64)
        else:
            rank = _by_rack(some, rules[pattern], observed_rows[rows], snapshot)
        last = np.iinfo(np.int64).max
        order = np.argsort(np.where(some == PAD, last, rank), axis=1, kind="stable")
        changed[rows] = np.take_along_axis(some, order, axis=1)
    return changed


def _as_observed(lists: Matrix, observed_rows: Ints, snapshot: Snapshot) -> Ints:
    """How to put first who comes first in the cluster now: leaders that are balanced already stay as they are."""
    first = np.full(len(lists), PAD, dtype=np.int64)
    if (observed_rows >= 0).any():
        observed = take(snapshot.partitions.column("replicas"), observed_rows[observed_rows >= 0])
        first[observed_rows >= 0] = to_matrix(observed)[:, 0]
    rank = np.where(lists == PAD, 2, lists != first[:, None])
    return np.argsort(rank, axis=1, kind="stable")


def _by_rack(lists: Matrix, rule: LeaderRule, observed_rows: Ints, snapshot: Snapshot) -> Ints:
    """The place of each broker's rack among those of the rule; the same behind them for all others.

    A list with a broker whose rack is not known keeps the order that it has.
    """
    rank = np.full(lists.shape, len(rule.racks), dtype=np.int64)
    for broker in snapshot.brokers:
        if broker.rack in rule.racks:
            rank[lists == broker.id] = rule.racks.index(broker.rack)
    unknown = sorted(snapshot.brokers_of_unknown_rack())
    stay = np.flatnonzero(np.isin(lists, unknown).any(axis=1) & (observed_rows >= 0))
    for at, state in zip(stay, snapshot.states(observed_rows[stay].tolist()), strict=True):
        if sorted(state.replicas) == sorted(list_in_row(lists, int(at))):
            rank[at, : len(state.replicas)] = [
                state.replicas.index(b) for b in list_in_row(lists, int(at))
            ]
    return rank


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
