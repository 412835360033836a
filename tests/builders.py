"""Small literals for tests: a builder takes what matters and fills in the rest sanely."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from replan.model.api import (
    EXPLICIT_SCHEMA,
    TOPICS_SCHEMA,
    BalanceMeasure,
    Broker,
    BrokerId,
    ConfigSource,
    Features,
    LeaderBlacklist,
    LeaderMove,
    LogDir,
    MoveThrottle,
    PartitionState,
    Placement,
    PreferredLeader,
    RememberedOrder,
    ReplicaBlacklist,
    Replicas,
    Snapshot,
    Tolerance,
    TopicEntry,
    TopicId,
    TopicPartition,
    TopicRule,
    Where,
    from_lists,
    parse_topic_partition,
    partitions_table,
    replicas,
)
from replan.planning.api import (
    Move,
    MoveReason,
    ObservedMove,
    Plan,
    ReasonKind,
    StandaloneElection,
    named_partitions,
    partition_rows,
)

TOPIC = "orders"
TOPIC_ID = TopicId("b3JkZXJzLW9yZGVycy0wMA")
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
DECLARED = MoveReason(ReasonKind.DECLARED)
OBSERVED_AT = "2026-11-21T03:00:00Z"


def titled(names: str, cases: Sequence[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """A test of each case, whose first element is its title."""
    return pytest.mark.parametrize(
        names.split(), [case[1:] for case in cases], ids=[case[0] for case in cases]
    )


def move(
    original: Sequence[int],
    target: Sequence[int],
    *,
    partition: int = 0,
    topic: str = TOPIC,
    min_insync_replicas: int = 2,
    unclean_election: bool = False,
    elect: bool = True,
    unnameable: Sequence[int] = (),
    size: int = 0,
    leader: int | None = None,
    below_min_isr: bool = False,
    reason: MoveReason = DECLARED,
    election: StandaloneElection | None = None,
) -> Move:
    """A move of one partition."""
    return Move(
        partition=TopicPartition(topic, partition),
        topic_id=TOPIC_ID,
        original=replicas(*original),
        target=replicas(*target),
        min_insync_replicas=min_insync_replicas,
        unclean_election=unclean_election,
        reason=reason,
        bytes=size,
        elect=elect,
        unnameable=frozenset(replicas(*unnameable)),
        below_min_isr=below_min_isr,
        leader=None if leader is None else BrokerId(leader),
        election=election,
    )


def state(
    listed: Sequence[int],
    isr: Sequence[int] | None = None,
    *,
    leader: int | None = -2,
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
    partition: int = 0,
    topic: str = TOPIC,
    topic_id: TopicId = TOPIC_ID,
    size: int = 0,
) -> PartitionState:
    """A partition as observed; in sync and led by its first replica unless said otherwise."""
    in_sync = listed if isr is None else isr
    leads = (in_sync[0] if in_sync else None) if leader == -2 else leader
    return PartitionState(
        partition=TopicPartition(topic, partition),
        topic_id=topic_id,
        replicas=replicas(*listed),
        isr=replicas(*in_sync),
        leader=None if leads is None else BrokerId(leads),
        adding=replicas(*adding),
        removing=replicas(*removing),
        bytes=size,
    )


def brokers(
    count: int = 5, racks: str = "abcab", *, fenced: Sequence[int] = ()
) -> tuple[Broker, ...]:
    """Brokers 1..count over the racks, one letter each, again from the start when they run out."""
    return tuple(
        Broker(BrokerId(i), racks[(i - 1) % len(racks)], fenced=i in fenced)
        for i in range(1, count + 1)
    )


def snapshot(
    states: Sequence[PartitionState],
    *,
    registered: Sequence[Broker] | None = None,
    min_insync_replicas: int = 2,
    unclean: Sequence[str] = (),
    topic_ids: Mapping[str, TopicId] | None = None,
    features: Features | None = None,
    observed_at: str = OBSERVED_AT,
    remembered: Mapping[TopicPartition, RememberedOrder] | None = None,
    log_dirs: Sequence[LogDir] = (),
) -> Snapshot:
    """A snapshot of these partitions."""
    ordered = sorted(states, key=lambda s: s.partition)
    names = sorted({s.partition.topic for s in ordered})
    ids = dict(topic_ids or {}) | {s.partition.topic: s.topic_id for s in ordered}
    topics = pa.Table.from_pydict(
        {
            "name": names,
            "id": [ids[n] for n in names],
            "min_insync_replicas": [min_insync_replicas] * len(names),
            "min_insync_source": [int(ConfigSource.TOPIC)] * len(names),
            "unclean_election": [n in unclean for n in names],
            "leader_throttled": [None] * len(names),
            "follower_throttled": [None] * len(names),
        },
        schema=TOPICS_SCHEMA,
    )
    codes = {name: i for i, name in enumerate(names)}

    def column(of: str) -> pa.Array:
        return from_lists([getattr(s, of) for s in ordered])

    partitions = partitions_table(
        pa.array(names, pa.string()),
        pa.array([codes[s.partition.topic] for s in ordered], pa.int32()),
        {
            "partition": pa.array([s.partition.partition for s in ordered], pa.int32()),
            "leader": pa.array([-1 if s.leader is None else s.leader for s in ordered], pa.int32()),
            "leader_epoch": pa.array([s.leader_epoch for s in ordered], pa.int32()),
            **{
                c: column(c)
                for c in ("replicas", "isr", "adding", "removing", "elr", "last_known_elr")
            },
            "bytes": pa.array([s.bytes for s in ordered], pa.int64()),
        },
    )
    return Snapshot(
        cluster_id=CLUSTER_ID,
        observed_at=observed_at,
        features=features or Features(True, True),
        brokers=tuple(brokers() if registered is None else registered),
        topics=topics,
        partitions=partitions,
        remembered=remembered or {},
        log_dirs=tuple(log_dirs),
    )


def with_throttled(seen: Snapshot, **lists: str) -> Snapshot:
    """With lists of throttled leader replicas, by topic."""
    rows = [{**r, "leader_throttled": lists.get(r["name"])} for r in seen.topics.to_pylist()]
    return replace(seen, topics=pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA))


def lists(*ids: int) -> Replicas:
    """A list of replicas."""
    return replicas(*ids)


FILE = "placement.yaml"
HERE = Where(FILE, 9, 3)
"""Of an entry that may stand anywhere."""
Lists = Mapping[str, Sequence[Sequence[int]] | Mapping[int, Sequence[int]]]


def within(**parts: Fraction) -> tuple[Tolerance, ...]:
    """A balance of some measures, by the names that a placement file has for them; the first counts most."""
    return tuple(Tolerance(BalanceMeasure(name), part) for name, part in parts.items())


def placement(
    assignments: Lists | None = None,
    *,
    leaders: Mapping[str, int] | None = None,
    blacklist: Sequence[LeaderBlacklist] | None = (),
    throttle: MoveThrottle | None = None,
    below_min_isr: Sequence[str] = (),
    cluster_id: str | None = None,
    **more: Any,
) -> Placement:
    """A placement; `more` are other fields of it; a list of lists declares the count, a mapping only some partitions.

    Written as a file would be: line 1 is free, each topic takes a line (column 3) and each of its partitions
    one more (column 5); `leaders` maps `orders-0` to a broker, from line 101 on. `blacklist`: None
    where the file does not speak of a leader blacklist.
    """
    rows: list[dict[str, object]] = []
    topics: dict[str, TopicEntry] = {}
    line = 2
    for topic, lists in sorted((assignments or {}).items()):
        declared = lists if isinstance(lists, Mapping) else dict(enumerate(lists))
        count = None if isinstance(lists, Mapping) else len(lists)
        topics[topic] = TopicEntry(Where(FILE, line, 3), count, topic in below_min_isr)
        for partition, members in sorted(declared.items()):
            line += 1
            key = {"topic": topic, "partition": partition, "replicas": list(members)}
            rows.append({**key, "line": line, "column": 5})
        line += 1
    return Placement(
        explicit=_explicit(rows, list(topics)),
        topics=topics,
        cluster_id=cluster_id,
        cluster_name=None if cluster_id is None else "payments-eu",
        preferred_leaders={
            parse_topic_partition(name): PreferredLeader(BrokerId(b), Where(FILE, 101 + i, 5))
            for i, (name, b) in enumerate((leaders or {}).items())
        },
        leader_blacklist=None if blacklist is None else tuple(blacklist),
        move_throttle=throttle,
        throttle_places={
            b: Where(FILE, 300 + b, 7) for b in (throttle.brokers if throttle else ())
        },
        digest="d" * 64,
        **more,
    )


def ruled(pattern: str = TOPIC, **parts: Any) -> dict[str, TopicRule]:
    """An entry of `assignments` by rule."""
    return {pattern: TopicRule(HERE, pattern, **parts)}


def drain(*ids: int) -> tuple[ReplicaBlacklist, ...]:
    """Entries of the blacklist of replicas."""
    return tuple(ReplicaBlacklist(BrokerId(b), HERE, reason="decommission") for b in ids)


def _explicit(rows: Sequence[Mapping[str, object]], topics: Sequence[str]) -> pa.Table:
    codes = {topic: i for i, topic in enumerate(topics)}
    topic = pa.DictionaryArray.from_arrays(
        pa.array([codes[str(r["topic"])] for r in rows], pa.int32()), pa.array(topics, pa.string())
    )
    others = [pa.array([r[f.name] for r in rows], f.type) for f in list(EXPLICIT_SCHEMA)[1:]]
    return pa.Table.from_arrays([topic, *others], schema=EXPLICIT_SCHEMA)


def listed_leader(
    broker: int,
    *,
    topics: Sequence[str] | None = None,
    reason: str | None = None,
    review_by: str | None = None,
    line: int = 201,
    later: bool = False,
    until_caught_up: bool = False,
) -> LeaderBlacklist:
    """An entry of the leader blacklist."""
    return LeaderBlacklist(
        BrokerId(broker),
        Where(FILE, line, 7),
        reason=reason,
        review_by=review_by,
        topics=None if topics is None else tuple(topics),
        move=LeaderMove.LATER if later else LeaderMove.NOW,
        until_caught_up=until_caught_up,
    )


def judged_in(snapshot: Snapshot, plan: Plan) -> list[ObservedMove]:
    """The moves of a plan beside what a snapshot shows; those of partitions that it does not have are left out."""
    rows = partition_rows(named_partitions(m.partition for m in plan.moves), snapshot.partitions)
    known = [(move, int(row)) for move, row in zip(plan.moves, rows, strict=True) if row >= 0]
    states = snapshot.states(row for _, row in known)
    return [(move, seen) for (move, _), seen in zip(known, states, strict=True)]
