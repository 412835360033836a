"""What every partition in reach should look like: the declared lists under their overlays.

The order of precedence is that of the placement file: base list (`chosen`: declared, drained, by rule), then
preferredLeaders (this replica first, or by rule), then lastLeaders (these brokers last), then the leader blacklist
(listed brokers last, stable). The base
of a partition that no entry declares is the order it has, or the one that comes back (`remembered`): so taking a broker
off the blacklist restores every order with nothing to remember in the file.

Not here: comparing with the cluster (`diff`), whether it is safe or possible (`refusals`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Struct

from replan.model.columns import (
    PAD,
    Flags,
    Ints,
    Matrix,
    from_matrix,
    list_in_row,
    number_column,
    plain_names,
    same_width,
    take,
    topics_of,
    widened,
)
from replan.model.declared.placement import Placement
from replan.model.declared.rules import LeaderRule, TopicRule
from replan.model.names import Replicas, led_by
from replan.model.partition import PartitionState
from replan.model.snapshot import Snapshot
from replan.planning.comparison.alignment import Alignment, named_partitions, partition_rows
from replan.planning.comparison.blacklist import (
    blacklisted_members,
    in_force,
    keep_in_doubt,
    within,
)
from replan.planning.comparison.chosen import BaseLists, choose_base_lists
from replan.planning.comparison.diff import LED, targets_of
from replan.planning.comparison.leader_order import last_leaders, last_leaders_last, ordered_by_rule
from replan.planning.comparison.remembered import recalled


class _Undeclared(Struct, frozen=True):
    """Partitions that only an overlay or a remembered order reaches."""

    rows: Ints
    """Their rows in the snapshot's `partitions`."""
    observed: Matrix
    bases: Matrix
    """What is observed, or the remembered order."""
    order_kept: Flags
    """Whether no order is lost where this one changes: it is remembered, or its replicas change as well."""
    chosen: BaseLists


class WantedLists(Struct, frozen=True):
    """The list that each partition in reach should have."""

    table: pa.Table
    """Topic, partition, replicas; and `led`, as the column LED."""
    rows: Ints
    """The observed row of each, -1 where the cluster has none."""
    explicit: Flags
    """A list in the placement names the partition; otherwise only an overlay reaches it."""
    demoted: Flags
    """The leader blacklist changed the list."""
    remember: Flags
    """The observed order is written down nowhere else, and is about to be changed."""
    ordered: Flags
    """An order is declared, or changed here; otherwise only the set counts, and who leads is left as it is."""
    led: Flags
    """The first of the list is wanted as leader now, and not where a listed broker may lead on (`move: later`)."""
    chosen: BaseLists
    """What rules and drains made of the lists."""


def lay_overlays(aligned: Alignment, fixed: Sequence[int] = ()) -> WantedLists:
    """Lay the overlays over what is declared; a partition that nothing can place keeps what it has.

    `fixed`: observed rows that the balance has to do without.
    """
    placement, snapshot, explicit = aligned.placement, aligned.snapshot, aligned.placement.explicit
    reached = _undeclared(aligned, fixed)
    names = _names_of(explicit, take(snapshot.partitions, reached.rows))
    bases = np.concatenate(same_width(reached.chosen.explicit, reached.bases))
    observed_rows = np.concatenate([aligned.explicit_rows, reached.rows])
    led = partition_rows(named_partitions(placement.preferred_leaders), names)
    by_rule = _leader_rules(aligned, names)
    preferred = _prefer(bases, led, placement)
    entries = in_force(placement, snapshot)
    demoting = blacklisted_members(preferred, names, entries).every
    last = last_leaders(placement, snapshot)
    demoting |= np.isin(preferred, list(last))
    preferred = ordered_by_rule(preferred, demoting, by_rule, observed_rows, snapshot)
    before, preferred = preferred, last_leaders_last(preferred, last)
    last_moved = (preferred != before).any(axis=1)
    marks = blacklisted_members(preferred, names, entries)
    led_by = preferred == _leaders(observed_rows, snapshot)[:, None]
    led_by_listed, pressed = ((led_by & of).any(axis=1) for of in (marks.every, marks.now))
    lists, behind = _listed_last(preferred, marks.every)
    behind |= np.isin(lists, list(last))
    led_by_last = (led_by & np.isin(preferred, list(last))).any(axis=1) & ~behind[:, :1].any(axis=1)
    pressed |= led_by_last
    lists = _lead_for_now(lists, behind, pressed, observed_rows, snapshot)
    lists = keep_in_doubt(lists, names, observed_rows, placement, snapshot)
    preferred, lists = same_width(preferred, lists)
    named = np.arange(len(lists)) < explicit.num_rows
    demoted = (lists != preferred).any(axis=1)
    remember = demoted & ~named
    remember[explicit.num_rows :] &= ~reached.order_kept
    ours = named.copy()
    ours[led[led >= 0]] = True
    ours[[row for row, rule in enumerate(by_rule) if rule is not None]] = True
    ordered = ours.copy()
    ours |= pressed | last_moved
    ordered |= ours | demoted
    if len(reached.chosen.led):
        ordered[explicit.num_rows :] |= reached.chosen.led[reached.rows]
    wanted, observed = same_width(lists[explicit.num_rows :], reached.observed)
    ours[explicit.num_rows :] |= (wanted != observed).any(axis=1)
    refused = [at for reason in reached.chosen.impossible for at in reason.partitions]
    ours &= ~np.isin(observed_rows, refused)
    led = ~led_by_listed | pressed
    table = names.append_column("replicas", from_matrix(lists))
    table = table.append_column(LED, number_column(led, np.int8))
    return WantedLists(
        take(table, np.flatnonzero(ours)),
        observed_rows[ours],
        named[ours],
        demoted[ours],
        remember[ours],
        ordered[ours],
        led[ours],
        reached.chosen,
    )


def _undeclared(aligned: Alignment, fixed: Sequence[int]) -> _Undeclared:
    """Find them. What a reassignment runs on is left alone, unless its leader is declared.

    Then it is judged by where the reassignment leads.
    """
    snapshot, partitions = aligned.snapshot, aligned.snapshot.partitions
    lists, running = targets_of(partitions)
    reached = np.zeros(partitions.num_rows, dtype=bool)
    for entry in in_force(aligned.placement, snapshot):
        reached |= (lists == entry.broker).any(axis=1) & within(entry, partitions)
    reached |= np.isin(lists, list(last_leaders(aligned.placement, snapshot))).any(axis=1)
    orders = recalled(lists, aligned)
    bases, order_kept = orders.lists, orders.kept
    shorter = _given_up(lists, aligned, bases)
    order_kept |= shorter
    bases, on_the_way = _on_the_way(bases, aligned)
    bases, lists = same_width(bases, lists)
    held = np.where((shorter & ~on_the_way)[:, None], lists, bases) if shorter.any() else bases
    made = choose_base_lists(aligned, bases, held, fixed)
    reached = (
        ((reached | orders.back | order_kept) & ~running)
        | made.changed
        | on_the_way
        | _led_by_rule(aligned)
    )
    for rows, reach in ((aligned.leader_rows, True), (aligned.explicit_rows, False)):
        reached[rows[rows >= 0]] = reach
    rows = np.flatnonzero(reached)
    order_kept |= made.changed | on_the_way
    return _Undeclared(rows, lists[rows], made.observed[rows], order_kept[rows], made)


def managed(aligned: Alignment) -> Flags:
    """Which observed partitions an entry of `assignments` or `preferredLeaders` is about."""
    names, codes = topics_of(aligned.snapshot.partitions)
    entries = aligned.intents.entries
    by_rule = [isinstance(entries.get(name), TopicRule) for name in names.to_pylist()]
    is_managed = np.array([*by_rule, False], dtype=bool)[codes] | _led_by_rule(aligned)
    for rows in (aligned.explicit_rows, aligned.leader_rows):
        is_managed[rows[rows >= 0]] = True
    return is_managed


def _led_by_rule(aligned: Alignment) -> Flags:
    """Which observed partitions have a preferred leader by rule."""
    names, codes = topics_of(aligned.snapshot.partitions)
    rules = aligned.intents.leaders
    return np.array([*(n in rules for n in names.to_pylist()), False], dtype=bool)[codes]


def _leader_rules(aligned: Alignment, rows: pa.Table) -> list[LeaderRule | None]:
    """Of each row."""
    names, codes = topics_of(rows)
    rules = aligned.intents.leaders
    of_topic = [rules.get(name) for name in names.to_pylist()]
    return [of_topic[code] for code in codes] if rules else [None] * len(codes)


def _given_up(lists: Matrix, aligned: Alignment, bases: Matrix) -> Flags:
    """Put the lists in place from which a move had begun that was given up, and say where that is.

    Only where no entry declares the partition, and as long as it has exactly the list that the move has left.
    """
    snapshot = aligned.snapshot
    given_up = np.zeros(len(lists), dtype=bool)
    orders = {name: kept for name, kept in snapshot.remembered.items() if kept.left}
    ruled = aligned.intents.rules
    for name, at in zip(
        orders, aligned.observed.rows(named_partitions(orders)).tolist(), strict=True
    ):
        kept = orders[name]
        same = at >= 0 and kept.topic_id == snapshot.topic_id(name.topic)
        if same and list_in_row(lists, at) == kept.left and name.topic not in ruled:
            bases[at] = PAD
            bases[at, : len(kept.order)] = kept.order
            given_up[at] = True
    return given_up


def _on_the_way(lists: Matrix, aligned: Alignment) -> tuple[Matrix, Flags]:
    """The lists to which replan's own application moves what a rule or a drain reaches, and where that is.

    Between its requests a partition has more replicas than it had, and than it shall have: a list that is chosen from
    those would be another one.
    """
    on_the_way = np.zeros(len(lists), dtype=bool)
    names = list(aligned.snapshot.own_targets)
    rows = aligned.observed.rows(named_partitions(names))
    ruled, drained = aligned.intents.rules, aligned.placement.drained
    width = max((len(target) for target in aligned.snapshot.own_targets.values()), default=0)
    changed = widened(lists, width).copy()
    for name, at in zip(names, rows.tolist(), strict=True):
        target = aligned.snapshot.own_targets[name]
        has = set(list_in_row(lists, at)) if at >= 0 else set(target)
        if has != set(target) and (name.topic in ruled or not drained.isdisjoint(has)):
            changed[at] = PAD
            changed[at, : len(target)] = target
            on_the_way[at] = True
    return changed, on_the_way


def _names_of(explicit: pa.Table, reached: pa.Table) -> pa.Table:
    """Topic and partition: explicit rows, then the reached ones."""
    return pa.concat_tables([plain_names(explicit), plain_names(reached)])


def _prefer(lists: Matrix, preferred_rows: Ints, placement: Placement) -> Matrix:
    """Put each preferred leader first; the rest keeps its order. One not in the list changes nothing.

    `preferred_rows`: the row of each partition with a preferred leader, -1 where it has none.
    """
    chosen = preferred_rows[preferred_rows >= 0]
    first = np.array([p.broker for p in placement.preferred_leaders.values()], dtype=np.int32)
    before = lists[chosen]
    rank = np.where(before == PAD, 2, before != first[preferred_rows >= 0][:, None])
    changed: Matrix = lists.copy()
    changed[chosen] = np.take_along_axis(before, _stable(rank), axis=1)
    return changed


def _listed_last(lists: Matrix, listed: Flags) -> tuple[Matrix, Flags]:
    """Listed brokers last, in a stable order; a list of only listed brokers stays as it is (KIP-491)."""
    order = _stable(np.where(lists == PAD, 2, listed))
    return np.take_along_axis(lists, order, axis=1), np.take_along_axis(listed, order, axis=1)


def _stable(rank: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How to sort each row by its ranks, equal ones in their order."""
    return np.argsort(rank, axis=1, kind="stable")


def _lead_for_now(
    lists: Matrix, listed: Flags, pressed: Flags, observed_rows: Ints, snapshot: Snapshot
) -> Matrix:
    """Where a listed broker leads, and the first of the order is out of sync, an unlisted one that is in sync leads.

    `pressed`: where the listed leader is to go at once; where it may lead on, nobody needs to stand in.
    Kafka's preferred election would answer 80 there (PREFERRED_LEADER_NOT_AVAILABLE) and leave the listed one.
    The substitute then stays, until the first of the order is in sync again.
    """
    leaders = _leaders(observed_rows, snapshot)
    headed = listed.any(axis=1) & ~listed[:, :1].any(axis=1)
    chosen = np.flatnonzero(
        headed & (leaders >= 0) & (lists[:, :1] != leaders[:, None]).any(axis=1)
    )
    changed = lists.copy()
    for at, state in zip(chosen, snapshot.states(observed_rows[chosen]), strict=True):
        order = list_in_row(lists, int(at))
        demoted = {int(b) for b in lists[at][listed[at]]}
        stand_in = _stand_in(order, demoted, state, pressed=bool(pressed[at]))
        if stand_in is not None:
            changed[at, : len(stand_in)] = stand_in
    return changed


def _stand_in(
    order: Replicas, demoted: set[int], state: PartitionState, *, pressed: bool
) -> Replicas | None:
    """The order with another one first for now; None where the order itself will do.

    A new replica at the head is in sync when it is assigned, and so are all where one leaves: no substitute is needed.
    """
    if order[0] in state.isr or order[0] not in state.replicas or state.running is not None:
        return None
    if not set(state.replicas) <= set(order):
        return None
    unlisted = [b for b in order if b in state.isr and b not in demoted]
    if pressed and unlisted:
        return led_by(unlisted[0], order)
    stays = [b for b in unlisted if b == state.leader and state.replicas == led_by(b, order)]
    return state.replicas if stays else None


def _leaders(observed_rows: Ints, snapshot: Snapshot) -> Ints:
    """The leader of each row, -1 where there is none or the partition does not exist."""
    leaders = np.full(len(observed_rows), -1, dtype=np.int64)
    leaders[observed_rows >= 0] = np.asarray(snapshot.partitions.column("leader"))[
        observed_rows[observed_rows >= 0]
    ]
    return leaders
