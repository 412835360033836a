"""`cluster`, `topic`, `disk`: the cluster at the beginning.

A cluster begins whole: all brokers serve, all replicas are in sync, the first of each list leads.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from msgspec.structs import replace

from replan.errors import BadScenario
from replan.faults.kinds import answer_in_words
from replan.faults.token_reader import TokenReader
from replan.model.broker import Broker, LogDir
from replan.model.configs import MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION
from replan.model.names import TopicPartition
from replan.model.snapshot import PARTITIONS_SCHEMA, TOPICS_SCHEMA, Features, Snapshot
from replan.scenarios.session import Session
from replan.simulator.cluster.disks import UNREPORTED
from replan.simulator.cluster.physical_state import Simulation, Speeds
from replan.simulator.cluster.submit import submit_command
from replan.simulator.controller.commands import CreateTopic
from replan.simulator.controller.versions import rules_of
from replan.simulator.persistence.from_snapshot import DEFAULT_VERSION, from_snapshot, with_log_dirs
from replan.snapshots.files import read_snapshot

CLUSTER_ID = "c2NlbmFyaW8tY2x1c3Rlcg"
BEGINS_AT = "2026-01-01T00:00:00Z"
USUAL_MIN_ISR = 2


def cluster(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`cluster brokers 1-5 [racks a,b,c]` or `cluster from cluster.json`, both
    `[version 4.3] [network 100MB/s] [no rebalance] [real quotas]`.

    A file is a snapshot, next to the scenario. Throttles let through exactly their rate, so that a scenario can be
    calculated by hand; `real quotas` count as Kafka does.
    """
    snapshot = _snapshot(tokens) if tokens.phrase("from") else None
    brokers = _brokers(tokens) if snapshot is None else []
    version, speeds = DEFAULT_VERSION, Speeds(throttle_check_seconds=0.0, batch_bytes=1)
    while tokens:
        if tokens.phrase("version"):
            version = tokens.one("a version, e.g. 4.3")
        elif tokens.phrase("network"):
            speeds = replace(speeds, network_bytes_per_second=tokens.rate())
        elif tokens.phrase("no", "rebalance"):
            speeds = replace(speeds, rebalance_seconds=None)
        elif tokens.phrase("real", "quotas"):
            usual = Speeds()
            speeds = replace(
                speeds,
                throttle_check_seconds=usual.throttle_check_seconds,
                batch_bytes=usual.batch_bytes,
            )
        else:
            tokens.end()
    simulation = _empty(brokers, version) if snapshot is None else from_snapshot(snapshot, version)
    session.initial = replace(simulation, world=replace(simulation.world, speeds=speeds))
    return ""


def _brokers(tokens: TokenReader) -> list[Broker]:
    tokens.expect("brokers")
    ids = tokens.brokers()
    racks: Sequence[str | None] = [None]
    if tokens.phrase("racks"):
        racks = tokens.one("racks, e.g. a,b,c").split(",")
    return [Broker(b, racks[i % len(racks)]) for i, b in enumerate(ids)]


def _snapshot(tokens: TokenReader) -> Snapshot:
    story_file, _, _line = tokens.where.rpartition(":")
    return read_snapshot(Path(story_file).parent / tokens.one("a snapshot file"))


def _empty(brokers: Sequence[Broker], version: str) -> Simulation:
    rules = rules_of(version)
    return from_snapshot(
        Snapshot(
            cluster_id=CLUSTER_ID,
            observed_at=BEGINS_AT,
            features=Features(rules.replication_factor_guard, rules.elr_by_default),
            brokers=tuple(brokers),
            topics=pa.Table.from_pylist([], schema=TOPICS_SCHEMA),
            partitions=pa.Table.from_pylist([], schema=PARTITIONS_SCHEMA),
        ),
        version,
    )


def topic(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`topic orders [1,2,3] [2,3,1]*2 [size 60MB] [min-isr 2] [unclean] [produce 1MB/s] [config KEY=VALUE]`."""
    initial = _initial(session, tokens)
    name, lists = tokens.one("a topic"), tokens.lists()
    size, produce = 0, 0.0
    configs = {MIN_INSYNC_REPLICAS: str(USUAL_MIN_ISR)}
    while tokens:
        if tokens.phrase("size"):
            size = tokens.bytes()
        elif tokens.phrase("min-isr"):
            configs[MIN_INSYNC_REPLICAS] = str(tokens.number("a minimum"))
        elif tokens.phrase("produce"):
            produce = tokens.rate()
        elif tokens.phrase("unclean"):
            configs[UNCLEAN_ELECTION] = "true"
        elif tokens.phrase("config"):
            key, _, value = tokens.one("KEY=VALUE").partition("=")
            configs[key] = value
        else:
            tokens.end()
    created = CreateTopic(name, session.topic_id(name), tuple(lists), configs)
    simulation, decision = submit_command(initial, created)
    if (refusal := answer_in_words(decision.whole)) is not None:
        raise tokens.wrong(f"Kafka would answer {refusal}")
    partitions = [TopicPartition(name, p) for p in range(len(lists))]
    world = simulation.world
    sizes = {**world.sizes, **dict.fromkeys(partitions, float(size))}
    rates = {**world.produce, **dict.fromkeys(partitions, produce)}
    world = replace(world, sizes=sizes, produce={p: r for p, r in rates.items() if r})
    session.initial = replace(simulation, world=world)
    return ""


def disk(session: Session, tokens: TokenReader, _body: Sequence[str]) -> str:
    """`disk BROKERS total 1GB usable 400MB [dirs a,b]`: one log directory on each, or these, each with so much room."""
    initial = _initial(session, tokens)
    ids = tokens.brokers()
    tokens.expect("total")
    total = tokens.bytes()
    tokens.expect("usable")
    usable = tokens.bytes()
    paths = [UNREPORTED]
    if tokens.phrase("dirs"):
        paths = tokens.one("directories, e.g. a,b").split(",")
    tokens.end()
    held = [p.replicas for _, p in initial.cluster.partitions()]
    dirs = [d for d in initial.world.log_dirs if d.broker not in ids]
    for broker in ids:
        logs = sum(broker in replicas for replicas in held)
        shares = [len(range(i, logs, len(paths))) for i in range(len(paths))]
        dirs += [
            LogDir(broker, path, total, usable, share)
            for path, share in zip(paths, shares, strict=True)
        ]
    dirs.sort(key=lambda d: (d.broker, d.path))
    session.initial = with_log_dirs(initial, dirs)
    return ""


def _initial(session: Session, tokens: TokenReader) -> Simulation:
    if session.initial is None:
        raise BadScenario(
            f"{tokens.where}: there is no cluster yet; begin with `cluster brokers 1-5`"
        )
    if session.started:
        raise tokens.wrong(
            "the cluster is in use; write this before the first command that acts or looks"
        )
    return session.initial
