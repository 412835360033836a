"""What replan's user may not do with a simulated cluster, and how requests and readings show that.

What concerns one topic is answered for that topic alone; what concerns the cluster refuses the whole request, as Kafka
does (KafkaApis, AclAuthorizer): DescribeLogDirs, ListPartitionReassignments and every list and election.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

import pyarrow as pa

from replan.errors import ClusterRefused
from replan.model.configs import UNREAD
from replan.model.control_plane import Answer, Look, TopicPermission, Wanted
from replan.model.snapshot import TOPICS_SCHEMA, Snapshot
from replan.simulator.cluster.faults import Permission
from replan.simulator.cluster.physical_state import Simulation, World
from replan.simulator.controller.error_codes import Code, rejected

_ACLS = {
    Permission.DESCRIBE: "Describe",
    Permission.DESCRIBE_CONFIGS: "DescribeConfigs",
    Permission.ALTER: "Alter",
    Permission.ALTER_CONFIGS: "AlterConfigs",
}


def lacks(world: World, permission: Permission, topic: str | None = None) -> bool:
    """Whether the user may not do this with a topic, or with the cluster."""
    return permission in world.forbidden.get(topic, ())


def check_cluster(world: World, *needed: Permission) -> None:
    """Raise ClusterRefused where the user may not do all of this with the cluster."""
    for permission in needed:
        if lacks(world, permission):
            raise ClusterRefused(f"this user needs the ACL {_ACLS[permission]} on Cluster")


def refused(
    world: World, permission: Permission, resources: Iterable[tuple[str | None, str]]
) -> dict[str, Answer]:
    """The answers to what the user may not do; each resource with the topic that it is, None for a broker."""
    return {
        name: rejected(
            Code.CLUSTER_AUTHORIZATION_FAILED if topic is None else Code.TOPIC_AUTHORIZATION_FAILED,
            f"this user needs the ACL {_ACLS[permission]}",
        )
        for topic, name in resources
        if lacks(world, permission, topic)
    }


def readable(world: World, wanted: Wanted, seen: Look) -> Look:
    """A look without what this user may not read of topics."""
    asked = {name.topic for name in wanted.partitions}
    hidden = {t for t in asked if lacks(world, Permission.DESCRIBE, t)}
    unread = {t for t in wanted.topics if lacks(world, Permission.DESCRIBE_CONFIGS, t)}
    if not hidden and not unread:
        return seen
    return replace(
        seen,
        partitions={n: state for n, state in seen.partitions.items() if n.topic not in hidden},
        unclear=frozenset(n for n in seen.unclear if n.topic not in hidden),
        topics={t: settings for t, settings in seen.topics.items() if t not in unread},
        forbidden=dict.fromkeys(unread, TopicPermission.DESCRIBE_CONFIGS)
        | dict.fromkeys(hidden, TopicPermission.DESCRIBE),
    )


def without_hidden(simulation: Simulation) -> Simulation:
    """The cluster with the topics that this user may describe."""
    cluster, hidden = simulation.cluster, hidden_topics(simulation)
    if not hidden:
        return simulation
    kept = {name: topic for name, topic in cluster.topics.items() if name not in hidden}
    return replace(simulation, cluster=replace(cluster, topics=kept))


def hidden_topics(simulation: Simulation) -> tuple[str, ...]:
    """The topics that this user may not describe."""
    world = simulation.world
    return tuple(
        t for t in sorted(simulation.cluster.topics) if lacks(world, Permission.DESCRIBE, t)
    )


def with_unread(world: World, snapshot: Snapshot) -> Snapshot:
    """A snapshot in which the settings of topics that this user may not read are marked."""
    unread = [t for t in world.forbidden if t and lacks(world, Permission.DESCRIBE_CONFIGS, t)]
    return replace(snapshot, topics=_marked(snapshot.topics, unread)) if unread else snapshot


def _marked(topics: pa.Table, unread: Collection[str]) -> pa.Table:
    nothing = {
        "min_insync_replicas": UNREAD.min_insync_replicas,
        "min_insync_source": int(UNREAD.min_insync_source),
        "unclean_election": UNREAD.unclean_election,
        "leader_throttled": None,
        "follower_throttled": None,
    }
    rows = [row | nothing if row["name"] in unread else row for row in topics.to_pylist()]
    return pa.Table.from_pylist(rows, schema=TOPICS_SCHEMA)
