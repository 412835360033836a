"""Hypothesis: any snapshot that a cluster could give, and documents broken in one place."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    TOPICS_SCHEMA,
    Broker,
    BrokerId,
    Configs,
    ConfigSource,
    ConfigValue,
    Features,
    LogDir,
    RememberedOrder,
    Replicas,
    Snapshot,
    TopicId,
    TopicPartition,
    from_lists,
    partitions_table,
)

NAMES = st.text('abcz._-é"\\ \n', min_size=1, max_size=6)
BROKER_IDS = st.integers(0, 2**31 - 1).map(BrokerId)
BYTES = st.integers(0, 2**63 - 1)
SOURCES = st.sampled_from(ConfigSource)


def lists_of(members: Replicas) -> st.SearchStrategy[Replicas]:
    """Some of these brokers, in any order."""
    return st.lists(st.sampled_from(members), unique=True).map(tuple) if members else st.just(())


REPLICAS = st.lists(BROKER_IDS, min_size=1, max_size=4, unique=True).map(tuple)


@st.composite
def partition_rows(draw: st.DrawFn) -> dict[str, Any]:
    """One row of the partitions table, without its topic and number."""
    replicas = draw(REPLICAS)
    isr = draw(lists_of(replicas))
    others = st.one_of(st.just(()), lists_of(replicas), REPLICAS)
    return {
        "leader": draw(st.sampled_from((-1, *replicas))),
        "leader_epoch": draw(st.integers(0, 2**31 - 1)),
        "replicas": replicas,
        "isr": isr,
        "adding": draw(others),
        "removing": draw(others),
        "elr": draw(others),
        "last_known_elr": draw(others),
        "bytes": draw(st.integers(0, 2**50)),
    }


@st.composite
def topic_rows(draw: st.DrawFn, name: str, topic_id: str) -> dict[str, Any]:
    """One row of the topics table."""
    listed = st.none() | st.sampled_from(("", "*", "0:1,1:2"))
    return {
        "name": name,
        "id": topic_id,
        "min_insync_replicas": draw(st.integers(1, 4)),
        "min_insync_source": int(draw(SOURCES)),
        "unclean_election": draw(st.booleans()),
        "leader_throttled": draw(listed),
        "follower_throttled": draw(listed),
    }


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Any snapshot."""
    brokers = draw(
        st.lists(
            st.builds(Broker, BROKER_IDS, st.none() | NAMES, st.booleans(), st.booleans()),
            max_size=4,
            unique_by=lambda b: b.id,
        ).map(lambda found: tuple(sorted(found, key=lambda b: b.id)))
    )
    names = sorted(draw(st.lists(NAMES, max_size=4, unique=True)))
    texts = st.text("abAB09-_", min_size=22, max_size=22)
    ids = draw(st.lists(texts, min_size=len(names), max_size=len(names), unique=True))
    rows = [draw(topic_rows(*named)) for named in zip(names, ids, strict=True)]
    topics = pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)
    log_dirs = tuple(d for b in brokers for d in draw(st.lists(_log_dirs(b.id), max_size=2)))
    keys = st.sampled_from((LEADER_RATE, FOLLOWER_RATE))
    values = st.builds(ConfigValue, st.integers(0, 2**63 - 1).map(str), SOURCES)
    configs: dict[BrokerId, Configs] = {
        b.id: draw(st.dictionaries(keys, values, min_size=1))
        for b in brokers
        if draw(st.booleans())
    }
    remembered = draw(
        st.dictionaries(
            st.builds(TopicPartition, NAMES, st.integers(0, 9)),
            st.builds(RememberedOrder, REPLICAS, NAMES.map(TopicId), REPLICAS, st.booleans()),
            max_size=2,
        )
    )
    return Snapshot(
        cluster_id=draw(NAMES),
        observed_at="2026-11-21T03:00:00Z",
        features=Features(draw(st.booleans()), draw(st.booleans())),
        brokers=brokers,
        topics=topics,
        partitions=_partitions(draw, names),
        log_dirs=log_dirs,
        broker_configs=configs,
        silent=tuple(sorted(draw(st.sets(BROKER_IDS, max_size=2)))),
        hidden=tuple(sorted(draw(st.sets(NAMES, max_size=2)))),
        remembered=remembered,
        offline=draw(
            st.dictionaries(
                st.builds(TopicPartition, NAMES, st.integers(0, 9)),
                REPLICAS.filter(bool),
                max_size=2,
            )
        ),
    )


def _partitions(draw: st.DrawFn, names: list[str]) -> pa.Table:
    numbers = st.sets(st.integers(0, 5), max_size=4).map(sorted)
    keys = [(code, n) for code in range(len(names)) for n in draw(numbers)]
    rows = [draw(partition_rows()) for _ in keys]
    columns = {"partition": pa.array([n for _, n in keys], pa.int32())}
    for name in ("leader", "leader_epoch"):
        columns[name] = pa.array([r[name] for r in rows], pa.int32())
    for name in ("replicas", "isr", "adding", "removing", "elr", "last_known_elr"):
        columns[name] = from_lists([r[name] for r in rows])
    columns["bytes"] = pa.array([r["bytes"] for r in rows], pa.int64())
    return partitions_table(
        pa.array(names, pa.string()), pa.array([code for code, _ in keys], pa.int32()), columns
    )


def _log_dirs(broker: BrokerId) -> st.SearchStrategy[LogDir]:
    return st.builds(
        LogDir,
        st.just(broker),
        NAMES,
        st.none() | BYTES,
        st.none() | BYTES,
        st.integers(0, 2**31 - 1),
        st.booleans(),
        st.none() | NAMES,
    )


WRONG: st.SearchStrategy[Any] = st.sampled_from(
    (None, True, -1, 1.5, "x", "", [], [1, 1], [[]], [{}], {}, {"x": 1}, 2**70)
)


@st.composite
def broken(draw: st.DrawFn, document: Any) -> Any:
    """The document with one value in it exchanged, one key taken away or one added."""
    if isinstance(document, dict) and document and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(sorted(document)))
        match draw(st.integers(0, 4)):
            case 0:
                return {k: v for k, v in document.items() if k != key}
            case 1:
                return {**document, draw(st.sampled_from(("typo", "isr", "id"))): draw(WRONG)}
            case _:
                return {**document, key: draw(broken(document[key]))}
    if isinstance(document, list) and document and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(document) - 1))
        return [*document[:at], draw(broken(document[at])), *document[at + 1 :]]
    return draw(WRONG)
