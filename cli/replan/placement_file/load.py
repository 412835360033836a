"""Load a placement file: files and folders of YAML into one placement. This is the way in.

`read` has checked what is declared; here it becomes a `Placement`, with its explicit lists in columns. Only this and
`digest` import numpy and pyarrow, so that `validate` does without them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replan.model.columns import EXPLICIT_SCHEMA, Ints, list_column, number_column, take
from replan.model.declared.placement import (
    LastLeaders,
    LeaderBlacklist,
    MoveThrottle,
    Placement,
    PreferredLeader,
    RackBlacklist,
    Side,
    SideRates,
    StandingRate,
    StandingThrottles,
    ThrottledReplicas,
    TopicEntry,
)
from replan.model.declared.policy import Acknowledgement, InStages, Limit, Requirement
from replan.model.declared.reconcile import DeviationKind, HoldLimits, Reconcile, Windows
from replan.model.declared.recovery import RecoveryRule
from replan.model.declared.rules import (
    Apart,
    Balance,
    LeaderRule,
    LogDirBlacklist,
    ReplicaBlacklist,
    TopicRule,
)
from replan.model.names import BrokerId, TopicPartition
from replan.placement_file.digest import placement_with_digest
from replan.placement_file.read import (
    BROKER_RATES_PATH,
    KEEP,
    RATE,
    Merged,
    explicit_topics,
    read_files,
    read_sources,
)
from replan.placement_file.sections import (
    BrokerRate,
    Declaration,
    ExplicitTopic,
    HoldFrom,
    Keep,
    NoLeaderListed,
    PreferredLeaders,
    PutRight,
    Rate,
)
from replan.placement_file.sources import KeyPath, Source
from replan.placement_file.yaml_text import EventParser, YamlValue

SmallInts = npt.NDArray[np.int32]
_T = TypeVar("_T")


def declared_placement(merged: Merged) -> Placement:
    """The placement that was declared."""
    topics = explicit_topics(merged)
    return Placement(
        explicit=explicit_table(topics),
        topics={t.name: TopicEntry(t.where, t.partition_count, t.below_min_isr) for t in topics},
        rules=_by_name(merged, TopicRule),
        cluster_name=_text(merged, ("cluster", "name")),
        cluster_id=_text(merged, ("cluster", "id")),
        preferred_leaders=dict(sorted(_preferred_leaders(merged))),
        leader_rules=_by_name(merged, LeaderRule),
        leader_blacklist=_leader_blacklist(merged),
        replica_blacklist=_sorted(merged, ReplicaBlacklist),
        last_leaders=_one(merged, LastLeaders),
        leader_racks=_racks(merged, "leaders"),
        replica_racks=_racks(merged, "replicas"),
        log_dir_blacklist=_sorted(merged, LogDirBlacklist),
        apart=_sorted(merged, Apart),
        balance=_one(merged, Balance),
        move_throttle=_move_throttle(merged),
        throttle_places={broker: rates.where for broker, rates in _broker_rates(merged)},
        standing=_standing(merged),
        recovery=_by_name(merged, RecoveryRule),
        requirements=_by_name(merged, Requirement),
        limits={limit.measure: limit for limit in _sorted(merged, Limit)},
        in_stages=(stages := _one(merged, InStages)) is not None and stages.wanted,
        acknowledged=tuple(dict.fromkeys(_sorted(merged, Acknowledgement))),
        reconcile=_reconcile(merged),
    )


def _reconcile(merged: Merged) -> Reconcile:
    usual = HoldLimits()
    put_right = [d.declared for d in merged.values() if isinstance(d.declared, PutRight)]
    seconds = {rule.kind: rule.seconds for rule in put_right if rule.seconds is not None}
    hold = HoldLimits(
        _hold_from(merged, "brokersDown", usual.brokers_down),
        int(_hold_from(merged, "racksDown", usual.racks_down)),
    )
    return Reconcile(
        {kind: seconds[kind] for kind in DeviationKind if kind in seconds},
        next((f.above for f in put_right if f.above is not None), Reconcile().full_above),
        _one(merged, Windows) or Windows(),
        hold,
    )


def _hold_from(merged: Merged, key: str, usual: int | Fraction) -> int | Fraction:
    declaration = merged.get(("reconcile", "hold", key))
    return (
        declaration.declared.most
        if declaration and isinstance(declaration.declared, HoldFrom)
        else usual
    )


def explicit_table(topics: Sequence[ExplicitTopic]) -> pa.Table:
    """All rows, sorted by (topic, partition); the rows were checked, the topics are sorted by name."""
    counts = np.fromiter((len(t.rows) for t in topics), np.int64, len(topics))
    codes = np.repeat(np.arange(len(topics), dtype=np.int32), counts)
    total = len(codes)
    numbers = np.fromiter(chain.from_iterable(t.numbers for t in topics), np.int32, total)
    replicas = _list_array(list(chain.from_iterable(t.rows for t in topics)))
    lines, columns = _lines_and_columns(topics, counts)
    table = pa.Table.from_arrays(
        [
            pa.DictionaryArray.from_arrays(
                number_column(codes), pa.array([t.name for t in topics], pa.string())
            ),
            number_column(numbers),
            replicas,
            number_column(lines),
            number_column(columns),
        ],
        schema=EXPLICIT_SCHEMA,
    )
    order = np.lexsort((numbers, codes))
    return table if (np.diff(order) == 1).all() else take(table, order)


def lines_and_columns(source: Source, indexes: Ints) -> tuple[SmallInts, SmallInts]:
    """The places of many characters of a text."""
    starts = np.frombuffer(source.line_starts, np.int64)
    lines = np.searchsorted(starts, indexes, "right")
    return lines.astype(np.int32), (indexes - starts[lines - 1] + 1).astype(np.int32)


def _sorted(merged: Merged, kind: type[_T]) -> tuple[_T, ...]:
    """All that was declared of one kind, whatever the order of the files."""
    keyed = [(key, d.declared) for key, d in merged.items() if isinstance(d.declared, kind)]
    return tuple(declared for _, declared in sorted(keyed, key=lambda item: item[0]))


def _by_name(merged: Merged, kind: type[_T]) -> dict[str, _T]:
    """What was declared of one kind, by topic or pattern."""
    return {
        str(key[-1]): d.declared
        for key, d in sorted(merged.items(), key=lambda item: str(item[0][-1]))
        if isinstance(d.declared, kind)
    }


def _one(merged: Merged, kind: type[_T]) -> _T | None:
    return next((d.declared for d in merged.values() if isinstance(d.declared, kind)), None)


def _leader_blacklist(merged: Merged) -> tuple[LeaderBlacklist, ...] | None:
    """None where no file has the key."""
    empty = any(isinstance(d.declared, NoLeaderListed) for d in merged.values())
    spoken_of = empty or bool(_racks(merged, "leaders"))
    return _sorted(merged, LeaderBlacklist) or (() if spoken_of else None)


def _racks(merged: Merged, blacklist: str) -> tuple[RackBlacklist, ...]:
    path: KeyPath = ("blacklists", blacklist)
    return _sorted({k: d for k, d in merged.items() if d.path == path}, RackBlacklist)


def _standing(merged: Merged) -> StandingThrottles | None:
    topics = _by_name(merged, ThrottledReplicas)
    brokers = {BrokerId(int(b)): rate for b, rate in _by_name(merged, StandingRate).items()}
    return StandingThrottles(topics, brokers) if topics or brokers else None


def _text(merged: Merged, path: KeyPath) -> str | None:
    declaration = merged.get(path)
    return (
        declaration.declared
        if declaration is not None and isinstance(declaration.declared, str)
        else None
    )


def _preferred_leaders(merged: Merged) -> Iterator[tuple[TopicPartition, PreferredLeader]]:
    for path, declaration in merged.items():
        if isinstance(declaration.declared, PreferredLeaders):
            for number, preferred in declaration.declared.by_partition.items():
                yield TopicPartition(str(path[-1]), number), preferred


def _move_throttle(merged: Merged) -> MoveThrottle | None:
    rate = merged.get(RATE)
    if rate is None or not isinstance(rate.declared, Rate):
        return None
    others = rate.declared.bytes_per_second
    brokers = {
        broker: _both_sides(declaration.declared.by_side, others)
        for broker, declaration in _broker_rates(merged)
        if isinstance(declaration.declared, BrokerRate)
    }
    kept = merged.get(KEEP)
    keep = kept is not None and isinstance(kept.declared, Keep) and kept.declared.keep
    return MoveThrottle(others, brokers, keep)


def _both_sides(by_side: Mapping[str, int | None], others: int | None) -> int | SideRates | None:
    """One rate where both sides have the same, else one for each."""
    leader, follower = (by_side.get(side, others) for side in Side)
    return leader if leader == follower else SideRates(leader, follower)


def _broker_rates(merged: Merged) -> list[tuple[BrokerId, Declaration]]:
    by_broker = {BrokerId(int(p[-1])): d for p, d in merged.items() if p[:-1] == BROKER_RATES_PATH}
    return sorted(by_broker.items(), key=lambda item: item[0])


def _list_array(rows: Sequence[YamlValue]) -> pa.ListArray:
    lists = cast("Sequence[Sequence[int]]", rows)
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    return list_column(np.fromiter(chain.from_iterable(lists), np.int64), lengths)


def _lines_and_columns(
    topics: Sequence[ExplicitTopic], counts: Ints
) -> tuple[SmallInts, SmallInts]:
    total = int(counts.sum())
    places = np.fromiter(chain.from_iterable(t.places for t in topics), np.int64, total)
    sources = list({id(t.source): t.source for t in topics}.values())
    number_of = {id(source): i for i, source in enumerate(sources)}
    owner = np.repeat(
        np.fromiter((number_of[id(t.source)] for t in topics), np.int64, len(topics)), counts
    )
    lines, columns = np.zeros(total, np.int32), np.zeros(total, np.int32)
    for i, source in enumerate(sources):
        mine = owner == i
        lines[mine], columns[mine] = lines_and_columns(source, places[mine])
    return lines, columns


def load_placement(paths: Sequence[Path]) -> Placement:
    """Load and merge these files and folders; raises BadPlacement with everything that is wrong."""
    return placement_with_digest(declared_placement(read_files(paths)))


def load_sources(sources: Sequence[Source], parser_of: Callable[[str], EventParser]) -> Placement:
    """Load texts that are already read; raises BadPlacement with everything that is wrong."""
    return placement_with_digest(declared_placement(read_sources(sources, parser_of)))
