"""What a person should know beside the moves and the refusals: warnings, which stop nothing.

Each is one line, complete in itself; partitions and topics are named, the first twenty of them.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from replan.model.placement import Placement
from replan.model.snapshot import Snapshot
from replan.planning.comparison.diff import observed_rows
from replan.planning.drift import partition_counts
from replan.planning.moves import Move
from replan.wording import count, left_out

NAMED = 20


def plan_warnings(
    placement: Placement,
    snapshot: Snapshot,
    wanted: pa.Table,
    differs: pa.Table,
    moves: Sequence[Move],
) -> Iterator[str]:
    """All warnings, the most pressing first."""
    yield from _leaderless(snapshot, wanted, differs)
    yield from _fenced(snapshot, moves)
    yield from _unclean(moves)
    yield from _on_the_way(differs)
    yield from _blacklist(placement, snapshot)
    for fewer in partition_counts(placement, snapshot):
        yield (
            f"{fewer.topic}: {_are_declared(fewer.declared)}, {fewer.observed} exist; Kafka cannot remove "
            "partitions, nothing is planned for those beyond"
        )


def _leaderless(snapshot: Snapshot, wanted: pa.Table, differs: pa.Table) -> Iterator[str]:
    """Partitions without a leader that stand as declared; where they do not, they are refused by name."""
    rows = observed_rows(wanted, snapshot.partitions)
    leaders = np.asarray(snapshot.partitions.column("leader"))
    lost = (rows >= 0) & (observed_rows(wanted, differs) < 0)
    lost[lost] = leaders[rows[lost]] < 0
    if lost.any():
        found = wanted.filter(pa.array(lost))
        yield (
            f"{_partitions(found)} without a leader: no step helps there; bring back a broker that was in sync"
        )


def _on_the_way(differs: pa.Table) -> Iterator[str]:
    converging = differs.filter(pc.equal(differs.column("kind"), "running"))
    if converging.num_rows:
        yield f"{_partitions(converging)} already on the way to the declared list: a reassignment is running"


def _fenced(snapshot: Snapshot, moves: Sequence[Move]) -> Iterator[str]:
    for broker in sorted({b for m in moves for b in m.new} - snapshot.live_brokers()):
        yield f"broker {broker} is fenced: replicas are added to it only once it is back"


def _unclean(moves: Sequence[Move]) -> Iterator[str]:
    topics = sorted({m.partition.topic for m in moves if m.unclean_election})
    if topics:
        yield (
            f"unclean.leader.election.enable is true for {_some(topics)}: Kafka itself may elect a replica "
            "that lost records; consider setting it to false"
        )


def _blacklist(placement: Placement, snapshot: Snapshot) -> Iterator[str]:
    registered = snapshot.broker_ids()
    for entry in sorted(placement.leader_blacklist, key=lambda e: (e.broker, str(e.where))):
        if entry.broker not in registered:
            yield f"{entry.where}: broker {entry.broker} is not registered; its blacklist entry does nothing"
        if entry.expires is not None and entry.expires < snapshot.observed_at:
            yield (
                f"{entry.where}: the blacklist entry of broker {entry.broker} expired on {entry.expires}; "
                "it stays in force until it is taken out"
            )


def _partitions(table: pa.Table) -> str:
    """`1 partition (orders-7) is`, `2 partitions (orders-7, orders-9) are`; sorted."""
    rows = table.select(["topic", "partition"]).sort_by(
        [("topic", "ascending"), ("partition", "ascending")]
    )
    names = [f"{r['topic']}-{r['partition']}" for r in rows.slice(0, NAMED).to_pylist()]
    if rows.num_rows == 1:
        return f"1 partition ({names[0]}) is"
    more = left_out(rows.num_rows - NAMED)
    return f"{count(rows.num_rows, 'partition')} ({' '.join([', '.join(names), *more])}) are"


def _some(names: Sequence[str]) -> str:
    return " ".join([", ".join(names[:NAMED]), *left_out(len(names) - NAMED, "topic")])


def _are_declared(number: int) -> str:
    return f"{count(number, 'partition')} {'is' if number == 1 else 'are'} declared"
