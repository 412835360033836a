"""What every partition that concerns us should look like: the declared lists under their overlays.

The order of precedence is that of the placement file: base list, then preferredLeaders (this replica first),
then the leader blacklist (listed brokers last, stable). The base of a partition that no entry declares is the
order it has, or the one remembered from before a blacklist changed it: so taking a broker off the blacklist
restores every order with nothing to remember in the file.

Not here: comparing with the cluster (`kernel`), whether it is safe or possible (`refusals`).
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replan.model.columns import PAD, Matrix, from_lists, from_matrix, row, same_width, to_matrix
from replan.model.names import Replicas, TopicPartition, is_internal
from replan.model.placement import LeaderBlacklist, Placement
from replan.model.snapshot import Snapshot, topic_codes
from replan.planning.kernel import observed_rows

Flags = npt.NDArray[np.bool_]


def wanted_table(placement: Placement, snapshot: Snapshot) -> pa.Table:
    """The list that each partition in reach should have: topic, partition, replicas, explicit.

    `explicit` is true where a list in the manifest names the partition, false where only an overlay reaches it.
    """
    explicit = placement.explicit.select(["topic", "partition", "replicas"])
    reached = _undeclared_in_reach(placement, snapshot)
    rows, lists = _stacked(explicit, reached)
    lists = _prefer(lists, rows, placement)
    lists = _blacklist(lists, rows, placement, snapshot)
    declared = np.arange(len(lists)) < explicit.num_rows
    return rows.append_column("replicas", from_matrix(lists)).append_column(
        "explicit", pa.array(declared)
    )


def _undeclared_in_reach(
    placement: Placement, snapshot: Snapshot
) -> dict[TopicPartition, Replicas]:
    """Base lists of partitions that only an overlay or a remembered order reaches."""
    rows: set[int] = set()
    for name in {tp.topic for tp in placement.preferred_leaders}:
        rows.update(snapshot.topic_rows(name))
    named = {r for r in rows if _name_of(snapshot.partitions, r) in placement.preferred_leaders}
    for entry in placement.leader_blacklist:
        named.update(_rows_with(entry, snapshot))
    for tp in snapshot.remembered:
        named.update(
            r for r in snapshot.topic_rows(tp.topic) if _name_of(snapshot.partitions, r) == tp
        )
    explicit = _explicit_names(placement, {_name_of(snapshot.partitions, r).topic for r in named})
    bases: dict[TopicPartition, Replicas] = {}
    for seen in snapshot.states(sorted(named)):
        if seen.partition in explicit or seen.running is not None:
            continue
        kept = snapshot.remembered.get(seen.partition)
        remembered = (
            kept is not None
            and kept.topic_id == seen.topic_id
            and set(kept.order) == set(seen.replicas)
        )
        bases[seen.partition] = kept.order if kept is not None and remembered else seen.replicas
    return bases


def _name_of(rows: pa.Table, at: int) -> TopicPartition:
    return TopicPartition(rows.column("topic")[at].as_py(), rows.column("partition")[at].as_py())


def _explicit_names(placement: Placement, topics: Iterable[str]) -> set[TopicPartition]:
    """The explicitly declared partitions of some topics."""
    chosen = placement.explicit.filter(
        pc.is_in(
            placement.explicit.column("topic").cast(pa.string()),
            value_set=pa.array(sorted(topics), pa.string()),
        )
    )
    return {
        TopicPartition(t, p)
        for t, p in zip(
            chosen.column("topic").to_pylist(), chosen.column("partition").to_pylist(), strict=True
        )
    }


def _rows_with(entry: LeaderBlacklist, snapshot: Snapshot) -> list[int]:
    """Observed partitions that this entry's broker is a replica of, within the entry's topics."""
    lists = to_matrix(snapshot.partitions.column("replicas"))
    codes = topic_codes(snapshot.partitions)
    names = snapshot.topics.column("name").to_pylist()
    reached = np.array([blacklist_reaches(entry, n) for n in names], dtype=bool)
    inside = reached[codes] if len(names) else np.zeros(0, dtype=bool)
    return [int(r) for r in np.flatnonzero((lists == entry.broker).any(axis=1) & inside)]


def blacklist_reaches(entry: LeaderBlacklist, topic: str) -> bool:
    """Whether an entry concerns a topic; internal topics only when their two underscores are written."""
    if entry.topics is None:
        return not is_internal(topic)
    return any(
        fnmatchcase(topic, pattern) and (not is_internal(topic) or pattern.startswith("__"))
        for pattern in entry.topics
    )


def _stacked(
    explicit: pa.Table, reached: Mapping[TopicPartition, Replicas]
) -> tuple[pa.Table, Matrix]:
    """Explicit rows, then the reached ones: topic and partition as a table, lists as a matrix."""
    names = sorted(reached)
    more = pa.table(
        {
            "topic": pa.array([tp.topic for tp in names], pa.string()),
            "partition": pa.array([tp.partition for tp in names], pa.int32()),
        }
    )
    first = explicit.select(["topic", "partition"]).cast(more.schema)
    lists = same_width(
        to_matrix(explicit.column("replicas")), to_matrix(from_lists(reached[tp] for tp in names))
    )
    return pa.concat_tables([first, more]), np.concatenate(lists)


def _prefer(lists: Matrix, rows: pa.Table, placement: Placement) -> Matrix:
    """Put each preferred leader first; the rest keeps its order. One not in the list changes nothing."""
    if not placement.preferred_leaders:
        return lists
    changed = lists.copy()
    topics = pa.array(sorted({tp.topic for tp in placement.preferred_leaders}), pa.string())
    for at in np.flatnonzero(np.asarray(pc.is_in(rows.column("topic"), value_set=topics))):
        tp = _name_of(rows, int(at))
        preferred = placement.preferred_leaders.get(tp)
        before = row(lists, int(at))
        if preferred is not None and preferred.broker in before:
            after = (preferred.broker, *(b for b in before if b != preferred.broker))
            changed[at, : len(after)] = after
    return changed


def _blacklist(lists: Matrix, rows: pa.Table, placement: Placement, snapshot: Snapshot) -> Matrix:
    """Listed brokers last, in a stable order; a list of only listed brokers stays as it is (KIP-491)."""
    if not placement.leader_blacklist or not len(lists):
        return lists
    listed = np.zeros(lists.shape, dtype=bool)
    topics = pc.dictionary_encode(rows.column("topic").combine_chunks())
    names = topics.dictionary.to_pylist()
    codes = np.asarray(topics.indices, dtype=np.int64)
    for entry in placement.leader_blacklist:
        reached = np.array([blacklist_reaches(entry, n) for n in names], dtype=bool)
        listed |= (lists == entry.broker) & reached[codes][:, None]
    rank = np.where(lists == PAD, 2, listed.astype(np.int8))
    order = np.argsort(rank, axis=1, kind="stable")
    ordered: Matrix = np.take_along_axis(lists, order, axis=1)
    return _lead_for_now(ordered, np.take_along_axis(listed, order, axis=1), rows, snapshot)


def _lead_for_now(lists: Matrix, listed: Flags, rows: pa.Table, snapshot: Snapshot) -> Matrix:
    """Where a listed broker leads and the first of the order is out of sync, an unlisted one in sync leads.

    Kafka's preferred election would answer 80 there (PREFERRED_LEADER_NOT_AVAILABLE) and leave the listed one.
    """
    found = observed_rows(rows, snapshot.partitions)
    leaders = np.full(len(lists), -1, dtype=np.int64)
    leaders[found >= 0] = np.asarray(snapshot.partitions.column("leader"))[found[found >= 0]]
    led_by_listed = ((lists == leaders[:, None]) & listed).any(axis=1) & ~listed[:, 0]
    chosen = np.flatnonzero(led_by_listed & (leaders >= 0))
    changed = lists.copy()
    for at, seen in zip(chosen, snapshot.states(found[chosen]), strict=True):
        brokers = row(lists, int(at))
        shunned = {int(b) for b in lists[at][listed[at]]}
        if brokers[0] in seen.isr:
            continue
        stand_in = next((b for b in brokers if b in seen.isr and b not in shunned), None)
        if stand_in is not None:
            after = (stand_in, *(b for b in brokers if b != stand_in))
            changed[at, : len(after)] = after
    return changed
