"""Known drift: partitions that the placement asks to leave alone until a date.

A drain overrides it, and so does a partition under its effective min ISR: both must be repaired whoever waits for what.
Dates are judged by the time of the snapshot. The others are chosen as if these stayed as they are (`chosen`).
"""

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from replan.model.columns import Flags, Ints, list_lengths, take, to_matrix
from replan.model.declared.placement import LeaderBlacklist, Placement
from replan.model.declared.policy import Acknowledgement
from replan.model.declared.rules import LogDirBlacklist, ReplicaBlacklist
from replan.model.declared.topic_patterns import by_particularity
from replan.model.names import TopicPartition
from replan.model.snapshot import Snapshot, effective_minimums, topic_codes
from replan.planning.comparison.diff import Differences

AcknowledgedPartitions = tuple[Acknowledgement, Sequence[TopicPartition]]
"""An entry with the differing partitions that it covers."""


class Unacknowledged(Struct, frozen=True):
    """What is left of the differences, and what was left out."""

    differences: Differences
    acknowledged: tuple[AcknowledgedPartitions, ...] = ()
    unplaceable: frozenset[int] = frozenset()
    """The observed rows of what nothing can place, as far as no entry covers it."""


def passed(date: str, snapshot: Snapshot) -> bool:
    """Whether a date had come when the snapshot was taken: from then on, and not only after it."""
    return date <= snapshot.observed_at


def review_due(
    entry: LeaderBlacklist | ReplicaBlacklist | LogDirBlacklist, snapshot: Snapshot
) -> str | None:
    """The `reviewBy` of an entry of a blacklist once it has passed; the entry stays in force."""
    date = entry.review_by
    return date if date is not None and passed(date, snapshot) else None


def acknowledgements_of(
    names: Iterable[TopicPartition], placement: Placement, snapshot: Snapshot
) -> list[Acknowledgement | None]:
    """The entry in force that counts for each partition."""
    entries = _Entries(placement, snapshot)
    return [entries.of(name) for name in names]


class _Entries:
    """Those in force; of those that name a partition, the most particular one counts, as everywhere."""

    def __init__(self, placement: Placement, snapshot: Snapshot) -> None:
        self.entries = [e for e in placement.acknowledged if not passed(e.expires, snapshot)]
        self._of_topic: dict[str, Sequence[Acknowledgement]] = {}

    def of(self, name: TopicPartition) -> Acknowledgement | None:
        """The one that counts for a partition."""
        number, entries = name.partition, self.of_topic(name.topic)
        return next((e for e in entries if e.partitions is None or number in e.partitions), None)

    def of_topic(self, topic: str) -> Sequence[Acknowledgement]:
        """Those that name a topic, the one that counts first."""
        if topic not in self._of_topic:
            self._of_topic[topic] = self._by_particularity(topic)
        return self._of_topic[topic]

    def _by_particularity(self, topic: str) -> Sequence[Acknowledgement]:
        """Of one name or pattern, those of single partitions before that of all."""
        return [
            entry
            for name in by_particularity((e.topic for e in self.entries), topic)
            for entry in sorted(
                (e for e in self.entries if e.topic == name), key=lambda e: e.partitions is None
            )
        ]


def acknowledging_entries(
    placement: Placement, snapshot: Snapshot
) -> tuple[Sequence[Acknowledgement], Ints]:
    """The entries in force, and which of them covers each observed row: its position, -1 where none does."""
    entries = _Entries(placement, snapshot)
    entry_of_row = np.full(snapshot.partitions.num_rows, -1, dtype=np.int64)
    if not entries.entries:
        return (), entry_of_row
    names = snapshot.topics.column("name").to_pylist()
    ends = np.searchsorted(topic_codes(snapshot.partitions), np.arange(len(names) + 1))
    numbers = np.asarray(snapshot.partitions.column("partition"))
    for topic, start, end in zip(names, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        for entry in reversed(entries.of_topic(topic)):
            meant = entry.partitions is None or np.isin(numbers[start:end], entry.partitions)
            entry_of_row[start:end][meant] = entries.entries.index(entry)
    rows = np.flatnonzero(entry_of_row >= 0)
    entry_of_row[rows[_must_be_repaired(rows, placement, snapshot)]] = -1
    return entries.entries, entry_of_row


def without_acknowledged(
    differs: Differences,
    rows: Ints,
    placement: Placement,
    snapshot: Snapshot,
    unplaceable: Sequence[int] = (),
) -> Unacknowledged:
    """Leave out what an entry in force covers.

    `rows`: the observed row of each declared list; `unplaceable`: of each partition that nothing can place.
    """
    entries, by_row = acknowledging_entries(placement, snapshot)
    if not entries:
        return Unacknowledged(differs, unplaceable=frozenset(unplaceable))
    names = [
        TopicPartition(topic, number)
        for topic, number in zip(
            differs.table.column("topic").to_pylist(),
            differs.table.column("partition").to_pylist(),
            strict=True,
        )
    ]
    of_absent = _Entries(placement, snapshot)
    entry_at: dict[int, Acknowledgement] = {}
    for at, (name, row) in enumerate(zip(names, rows[differs.positions].tolist(), strict=True)):
        entry = entries[by_row[row]] if row >= 0 and by_row[row] >= 0 else None
        entry = of_absent.of(name) if row < 0 else entry
        if entry is not None:
            entry_at[at] = entry
    stays = np.array([at not in entry_at for at in range(len(names))], dtype=bool)
    others = Differences(take(differs.table, np.flatnonzero(stays)), differs.positions[stays])
    stuck = [at for at in unplaceable if by_row[at] >= 0]
    every = [(names[at], entry) for at, entry in entry_at.items()]
    every += [
        (state.partition, entries[by_row[at]])
        for at, state in zip(stuck, snapshot.states(stuck), strict=True)
    ]
    by_entry = [(e, [name for name, of in every if of is e]) for e in entries]
    return Unacknowledged(
        others,
        tuple((e, covered_names) for e, covered_names in by_entry if covered_names),
        frozenset(unplaceable).difference(stuck),
    )


def _must_be_repaired(rows: Ints, placement: Placement, snapshot: Snapshot) -> Flags:
    """Which of some observed rows are under their effective min ISR, or on a drained broker."""
    partitions = take(snapshot.partitions, rows)
    short = list_lengths(partitions.column("isr")) < effective_minimums(partitions, snapshot.topics)
    drained = np.array(sorted(placement.drained), dtype=np.int32)
    on_drained = np.isin(to_matrix(partitions.column("replicas")), drained).any(axis=1)
    return np.asarray(short | on_drained)
