"""What was declared when a round last completed: by it a changed placement and a changed cluster are known apart.

It is kept partition by partition: each that is as it is declared is remembered so, and one that differs keeps what was
remembered of it. One that differs when the history begins is remembered as unknown: nobody can say which of the two was
changed, until it is once as it is declared.
"""

import hashlib
from collections.abc import Collection, Mapping

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.columns import PAD, Flags, Matrix, same_width, to_matrix
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


def remembered(
    before: History,
    comparison: Comparison,
    differing: Collection[TopicPartition],
    settings: tuple[bool, bool],
    for_balance: Collection[TopicPartition] = (),
) -> History:
    """The history once a round has compared.

    `settings`: whether standing throttles, and log directories, differ; `for_balance`: what differs, and keeps its
    rule where it is: so it stands as it was declared.
    """
    names, codes = _names(comparison)
    lists, declared = _wanted(comparison), managed(comparison.aligned)
    standing, log_dirs = said(comparison)
    digest = hashlib.sha256(
        b"".join(
            [
                "\0".join(names).encode(),
                codes[declared].tobytes(),
                np.ascontiguousarray(lists[declared]).tobytes(),
                "\0".join(sorted(map(str, differing))).encode(),
                repr((standing, log_dirs, settings)).encode(),
            ]
        )
    ).hexdigest()
    if digest == before.digest:
        return before
    return History(
        digest,
        _remembered(before, comparison, differing, names, codes, lists, declared, for_balance),
        before.standing if settings[0] else standing,
        before.log_dirs if settings[1] else log_dirs,
    )


def _remembered(
    before: History,
    comparison: Comparison,
    differing: Collection[TopicPartition],
    names: list[str],
    codes: Matrix,
    lists: Matrix,
    declared: Flags,
    for_balance: Collection[TopicPartition],
) -> _Lists:
    rows = np.flatnonzero(declared)
    numbers = comparison.aligned.snapshot.partitions.column("partition").to_numpy()[rows].tolist()
    result: _Lists = {}
    away = set(differing)
    for code, number, listed in zip(
        codes[rows].tolist(), numbers, lists[rows].tolist(), strict=True
    ):
        name = TopicPartition(names[code], number)
        if name not in away:
            result.setdefault(name.topic, {})[number] = tuple(b for b in listed if b != PAD)
    for name in away:
        kept = before.of(name)
        if not kept and name in for_balance and (state := comparison.observed.partition(name)):
            kept = tuple(map(int, state.replicas))
        if kept is not None or not before.is_known:
            result.setdefault(name.topic, {})[name.partition] = kept or UNKNOWN
    return result


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


def _names(comparison: Comparison) -> tuple[list[str], Matrix]:
    snapshot = comparison.aligned.snapshot
    return snapshot.topics.column("name").to_pylist(), topic_codes(snapshot.partitions)


def _wanted(comparison: Comparison) -> Matrix:
    """The list that each observed partition is to have: its own, where nothing asks for another."""
    lists, _ = targets_of(comparison.aligned.snapshot.partitions)
    wanted, rows = to_matrix(comparison.wanted.table.column("replicas")), comparison.wanted.rows
    lists, wanted = same_width(lists, wanted)
    lists = lists.copy()
    lists[rows[rows >= 0]] = wanted[rows >= 0]
    return lists
