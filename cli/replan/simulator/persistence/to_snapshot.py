"""What an observer sees of a simulated cluster."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from replan.model.broker import LogDir
from replan.model.columns import from_lists
from replan.model.names import BrokerId
from replan.model.snapshot import TOPICS_SCHEMA, Features, Snapshot, partitions_table
from replan.simulator.client_view import broker_configs, broker_seen, topic_settings
from replan.simulator.cluster.disk_failures import offline_replicas
from replan.simulator.cluster.physical_state import Simulation, World
from replan.simulator.controller.state import (
    ClusterState,
)
from replan.simulator.persistence.snapshot_log_dirs import (
    log_dir_described,
    log_dir_seen,
    with_replicas,
)

MOST_BYTES = 2**63 - 1


def to_snapshot(simulation: Simulation, now: float) -> Snapshot:
    """What an observer sees at a virtual second: dead brokers answer neither sizes nor configurations."""
    cluster, serving = simulation.cluster, _serving(simulation)
    unresponsive = {b for b, r in cluster.brokers.items() if not r.fenced} - serving
    whole = whole_snapshot(simulation, now)
    return replace(
        whole,
        log_dirs=with_replicas(simulation, log_dirs_described(simulation)),
        broker_configs={b: c for b, c in whole.broker_configs.items() if b in serving},
        silent=tuple(sorted({*whole.silent, *unresponsive} & cluster.brokers.keys())),
    )


def log_dirs_described(simulation: Simulation) -> tuple[LogDir, ...]:
    """The log directories of the brokers that answer."""
    serving = _serving(simulation)
    dirs = (d for d in simulation.world.log_dirs if d.broker in serving)
    return tuple(log_dir_described(log_dir_seen(simulation, d)) for d in dirs)


def _serving(simulation: Simulation) -> set[BrokerId]:
    brokers, world = simulation.cluster.brokers, simulation.world
    return {b for b, r in brokers.items() if not r.fenced and world.serves(b)}


def whole_snapshot(simulation: Simulation, now: float) -> Snapshot:
    """The snapshot with what dead brokers cannot answer, to be saved."""
    cluster, world = simulation.cluster, simulation.world
    configured = {b: broker_configs(cluster, b) for b in sorted(cluster.brokers)}
    return Snapshot(
        cluster_id=cluster.cluster_id,
        observed_at=_wall_clock(world, now),
        features=features_of(cluster),
        brokers=tuple(broker_seen(r) for _, r in sorted(cluster.brokers.items())),
        topics=_topics_table(cluster),
        partitions=_partitions_table(cluster, world),
        log_dirs=tuple(
            log_dir_seen(simulation, d) for d in world.log_dirs if d.broker in configured
        ),
        broker_configs={b: found for b, found in configured.items() if found},
        silent=world.silent,
        remembered=world.remembered,
        offline=offline_replicas(simulation),
    )


def features_of(cluster: ClusterState) -> Features:
    """What a cluster of this version and these features can do."""
    return Features(cluster.rules.replication_factor_guard, cluster.elr_enabled)


def _topics_table(cluster: ClusterState) -> pa.Table:
    rows = []
    for name, topic in sorted(cluster.topics.items()):
        settings = topic_settings(cluster, name)
        rows.append(
            {
                "name": name,
                "id": topic.id,
                "min_insync_replicas": settings.min_insync_replicas,
                "min_insync_source": int(settings.min_insync_source),
                "unclean_election": settings.unclean_election,
                "leader_throttled": settings.leader_throttled,
                "follower_throttled": settings.follower_throttled,
            }
        )
    return pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)


def _partitions_table(cluster: ClusterState, world: World) -> pa.Table:
    names = sorted(cluster.topics)
    codes = {name: code for code, name in enumerate(names)}
    rows = list(cluster.partitions())

    def lists(of: str) -> pa.Array:
        return from_lists([getattr(p, of) for _, p in rows])

    def numbers(values: Iterable[int], kind: pa.DataType) -> pa.Array:
        return pa.array(list(values), kind)

    return partitions_table(
        pa.array(names, pa.string()),
        numbers((codes[n.topic] for n, _ in rows), pa.int32()),
        {
            "partition": numbers((n.partition for n, _ in rows), pa.int32()),
            "leader": numbers((-1 if p.leader is None else p.leader for _, p in rows), pa.int32()),
            "leader_epoch": numbers((p.leader_epoch for _, p in rows), pa.int32()),
            **{
                c: lists(c)
                for c in ("replicas", "isr", "adding", "removing", "elr", "last_known_elr")
            },
            "bytes": numbers(
                (min(round(world.sizes.get(n, 0.0)), MOST_BYTES) for n, _ in rows), pa.int64()
            ),
        },
    )


def _wall_clock(world: World, now: float) -> str:
    """The moment of a virtual second, whole seconds, as RFC 3339 writes it."""
    started = datetime.fromisoformat(world.started_at)
    moment = (started + timedelta(seconds=now)).astimezone(UTC)
    return moment.replace(microsecond=0).isoformat().replace("+00:00", "Z")
