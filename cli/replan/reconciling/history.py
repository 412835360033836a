"""What was declared when a round last completed: by it a changed placement and a changed cluster are known apart.

It is kept partition by partition: each that is as it is declared is remembered so, and one that differs keeps what was
remembered of it. One that differs when the history begins is remembered as unknown: nobody can say which of the two was
changed, until it is once as it is declared.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.columns import PAD, Matrix, same_width, to_matrix
from replan.model.names import TopicPartition
from replan.model.snapshot import topic_codes
from replan.planning.compared import Comparison
from replan.planning.comparison.diff import targets_of
from replan.planning.comparison.overlays import managed

UNKNOWN: tuple[int, ...] = ()
"""Of a partition that differed when the history began: nobody knows whether placement or cluster was changed."""
_Lists = dict[str, dict[int, tuple[int, ...]]]


class History(Struct, frozen=True):
    """What is remembered; nothing before the first round that has compared."""

    digest: str = ""
    """Of what it was made from: the same again changes nothing."""
    lists: _Lists = field(default_factory=dict)
    """By topic and partition; UNKNOWN where nobody can say."""
    standing: str = ""
    """A digest of the throttles that were declared to stay; empty where nobody can say."""
    log_dirs: str = ""
    """The same of `blacklists.logDirs`."""

    @property
    def is_known(self) -> bool:
        """Whether there is any."""
        return bool(self.digest)

    def of(self, name: TopicPartition) -> tuple[int, ...] | None:
        """The list of a partition; None where it was not declared then."""
        return self.lists.get(name.topic, {}).get(name.partition)

    def after(self, done: Mapping[TopicPartition, tuple[int, ...]]) -> "History":
        """Once a round has put these lists in place, which were declared when it was planned.

        What is released while it runs is known by that as a changed placement.
        """
        if not done or not self.is_known:
            return self
        lists = dict(self.lists)
        for topic in {name.topic for name in done}:
            lists[topic] = dict(lists.get(topic, {}))
        for name, listed in done.items():
            lists[name.topic][name.partition] = listed
        of = f"{self.digest} {sorted(done.items())}".encode()
        return replace(self, digest=hashlib.sha256(of).hexdigest(), lists=lists)


class Differs(Struct, frozen=True):
    """What is not as it is declared, of what a history keeps."""

    lists: Collection[TopicPartition]
    for_balance: Collection[TopicPartition] = ()
    """Of these what keeps its rule where it is: so it stands as it was declared."""
    standing: bool = False
    """Throttles that are to stay."""
    log_dirs: bool = False


def remembered(before: History, comparison: Comparison, differs: Differs) -> History:
    """The history once a round has compared."""
    declared = _Declared.of(comparison)
    standing, log_dirs = said(comparison)
    settings = (standing, log_dirs, (differs.standing, differs.log_dirs))
    names = "\0".join(sorted(map(str, differs.lists)))
    digest = declared.digest_with(names.encode(), repr(settings).encode())
    if digest == before.digest:
        return before
    lists: _Lists = {}
    away = frozenset(differs.lists)
    for name, listed in declared.lists():
        if name not in away:
            lists.setdefault(name.topic, {})[name.partition] = listed
    for name in away:
        kept = before.of(name)
        if (
            not kept
            and name in differs.for_balance
            and (state := comparison.observed.partition(name))
        ):
            kept = tuple(map(int, state.replicas))
        if kept is not None or not before.is_known:
            lists.setdefault(name.topic, {})[name.partition] = kept or UNKNOWN
    return History(
        digest,
        lists,
        before.standing if differs.standing else standing,
        before.log_dirs if differs.log_dirs else log_dirs,
    )


class _Declared(Struct, frozen=True):
    """The list that each declared partition is to have, in columns: mostly nobody asks for more than their digest."""

    topics: list[str]
    codes: Matrix
    """Which of the topics, row by row."""
    numbers: Matrix
    wanted: Matrix

    @classmethod
    def of(cls, comparison: Comparison) -> "_Declared":
        snapshot = comparison.aligned.snapshot
        rows = np.flatnonzero(managed(comparison.aligned))
        return cls(
            snapshot.topics.column("name").to_pylist(),
            topic_codes(snapshot.partitions)[rows],
            snapshot.partitions.column("partition").to_numpy()[rows],
            _wanted(comparison)[rows],
        )

    def digest_with(self, *more: bytes) -> str:
        """Of all of it, and of more."""
        topics, wanted = "\0".join(self.topics).encode(), np.ascontiguousarray(self.wanted)
        return hashlib.sha256(
            b"".join([topics, self.codes.tobytes(), wanted.tobytes(), *more])
        ).hexdigest()

    def lists(self) -> Iterator[tuple[TopicPartition, tuple[int, ...]]]:
        """Partition by partition."""
        columns = (self.codes.tolist(), self.numbers.tolist(), self.wanted.tolist())
        for code, number, listed in zip(*columns, strict=True):
            yield TopicPartition(self.topics[code], number), tuple(b for b in listed if b != PAD)


def said(comparison: Comparison) -> tuple[str, str]:
    """What the placement says of standing throttles and of log directories, each as one digest."""
    placement = comparison.declared
    standing, dirs = placement.standing, placement.log_dir_blacklist
    entries = (
        ()
        if standing is None
        else (
            sorted((n, sorted(t.leader), sorted(t.follower)) for n, t in standing.topics.items()),
            sorted((b, r.leader, r.follower) for b, r in standing.brokers.items()),
        )
    )
    return _digest(entries), _digest(sorted((d.broker, d.path) for d in dirs))


def _digest(of: object) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()[:16]


def _wanted(comparison: Comparison) -> Matrix:
    """The list that each observed partition is to have: its own, where nothing asks for another."""
    lists, _ = targets_of(comparison.aligned.snapshot.partitions)
    wanted, rows = to_matrix(comparison.wanted.table.column("replicas")), comparison.wanted.rows
    lists, wanted = same_width(lists, wanted)
    lists = lists.copy()
    lists[rows[rows >= 0]] = wanted[rows >= 0]
    return lists
