"""Orders that the journal remembers: which come back, and which stay as a leader blacklist has left them.

KIP-491's blacklist is a setting of the cluster that lasts until somebody changes it. So a placement without
`blacklists.leaders` brings no order back that a blacklist changed; one that has the key, empty or without the broker,
does. An order that a recovery changed comes back in any case.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Matrix, list_in_row
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.model.snapshot import RememberedOrder
from replan.planning.comparison.alignment import Alignment, named_partitions
from replan.planning.comparison.diff import targets_of
from replan.planning.plans.reasons import PlanWarning, WarningKind, first_named


class Recalled(Struct, frozen=True):
    """The lists of a snapshot with the orders that come back."""

    lists: Matrix
    back: Flags
    """Where one came back."""
    kept: Flags
    """Of them: where it is remembered as what a blacklist changed, so that no other order is to be kept there."""


class _Remembered(Struct, frozen=True):
    """A remembered order whose topic and replicas are still the same."""

    partition: TopicPartition
    at: int
    order: Replicas
    observed: Replicas
    recovered: bool


def recalled(lists: Matrix, aligned: Alignment) -> Recalled:
    """Put the orders that come back in place."""
    ordered = lists.copy()
    back, kept = (np.zeros(len(lists), dtype=bool) for _ in range(2))
    speaks = aligned.placement.leader_blacklist is not None
    for remembered in _still_remembered(lists, aligned):
        if speaks or remembered.recovered:
            ordered[remembered.at, : len(remembered.order)] = remembered.order
            back[remembered.at] = True
            kept[remembered.at] = not remembered.recovered
    return Recalled(ordered, back, kept)


def still_demoted(aligned: Alignment) -> dict[TopicPartition, frozenset[BrokerId]]:
    """Where a blacklist goes on that the placement says nothing of, and the brokers that it keeps from leading."""
    if aligned.placement.leader_blacklist is not None:
        return {}
    lists, _ = targets_of(aligned.snapshot.partitions)
    declared = set(aligned.explicit_rows.tolist())
    by_partition = {
        kept.partition: demoted(kept.order, kept.observed)
        for kept in _still_remembered(lists, aligned)
        if not kept.recovered and kept.at not in declared
    }
    return {name: brokers for name, brokers in sorted(by_partition.items()) if brokers}


def goes_on(aligned: Alignment) -> Iterator[PlanWarning]:
    """A warning of a leader blacklist that the placement says nothing of."""
    by_partition = still_demoted(aligned)
    if by_partition:
        brokers = tuple(sorted(frozenset().union(*by_partition.values())))
        named = first_named("partitions", [*by_partition])
        yield PlanWarning(WarningKind.BLACKLIST_STAYS, {"brokers": brokers, **named})


def demoted(before: Replicas, after: Replicas) -> frozenset[BrokerId]:
    """The brokers that a blacklist has put last, in an order or behind a stand-in; else all that went back."""
    for was, now in ((before, after), (tuple(b for b in before if b != after[0]), after[1:])):
        for number in range(1, len(now)):
            last = frozenset(now[-number:])
            if was != now == tuple(sorted(was, key=lambda b: b in last)):
                return last
    return behind(before, after)


def behind(before: Replicas, after: Replicas) -> frozenset[BrokerId]:
    """The brokers that stand behind one before which they stood."""
    place = {broker: at for at, broker in enumerate(after)}
    return frozenset(
        broker
        for at, broker in enumerate(before)
        if any(place[broker] > place[other] for other in before[at + 1 :])
    )


def _still_remembered(lists: Matrix, aligned: Alignment) -> Iterator[_Remembered]:
    snapshot = aligned.snapshot
    orders: dict[TopicPartition, RememberedOrder] = {
        name: kept for name, kept in snapshot.remembered.items() if not kept.left
    }
    rows = aligned.observed.rows(named_partitions(orders)).tolist()
    for (name, kept), at in zip(orders.items(), rows, strict=True):
        observed = list_in_row(lists, at) if at >= 0 else ()
        same = kept.topic_id == snapshot.topic_id(name.topic)
        if observed and same and sorted(kept.order) == sorted(observed):
            yield _Remembered(name, at, kept.order, observed, kept.recovered)
