"""Which brokers are registered, which of them are fenced, and what the cluster as a whole can do.

From Kafka 4.1 on DescribeCluster (version 2, KIP-1073) lists fenced brokers. An older cluster tells only
the live ones: there a member of some replica list that is not live counts as fenced, its rack is not
known, and a fenced broker that holds nothing does not show at all.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, DescribeClusterRequest
from kafka.protocol.metadata import ApiVersionsRequest

from replan.kafka.failures import API_VERSIONS, DESCRIBE_CLUSTER
from replan.kafka.reads.patience import Reads
from replan.model.broker import Broker
from replan.model.names import BrokerId
from replan.model.snapshot import Features

_TELLS_FENCED = 2
_REPLICATION_FACTOR_GUARD = 1
_ELIGIBLE_LEADERS = "eligible.leader.replicas.version"


def features(reads: Reads) -> Features:
    """Ask what the cluster can do: its request versions and finalized features."""
    told = reads.ask(API_VERSIONS, _ask_versions)
    versions = {api.api_key: api.max_version for api in told.api_keys}
    levels = {f.name: f.max_version_level for f in told.finalized_features or ()}
    altering = versions.get(AlterPartitionReassignmentsRequest.API_KEY, -1)
    return Features(
        replication_factor_guard=altering >= _REPLICATION_FACTOR_GUARD,
        eligible_leader_replicas=levels.get(_ELIGIBLE_LEADERS, 0) >= 1,
    )


def _ask_versions() -> Any:
    # Brokers refuse empty software names (KIP-511).
    return ApiVersionsRequest(client_software_name="replan", client_software_version="1")


def describe_cluster(reads: Reads) -> Any:
    """Ask for the cluster's id and its brokers."""
    return reads.ask(DESCRIBE_CLUSTER, lambda: DescribeClusterRequest(include_fenced_brokers=True))


def tells_fenced(described: Any) -> bool:
    """Whether an answer of `describe_cluster` lists fenced brokers at all."""
    return bool(described.API_VERSION >= _TELLS_FENCED)


def listed(described: Any) -> dict[BrokerId, Broker]:
    """The brokers of an answer of `describe_cluster`; nothing is cordoned yet."""
    tells = tells_fenced(described)
    return {
        BrokerId(told.broker_id): Broker(
            BrokerId(told.broker_id), told.rack, fenced=tells and bool(told.is_fenced)
        )
        for told in sorted(described.brokers, key=lambda told: told.broker_id)
    }


def with_members(
    known: Mapping[BrokerId, Broker], members: Iterable[int]
) -> dict[BrokerId, Broker]:
    """Add the members of replica lists that no broker list names, as fenced."""
    missing = {BrokerId(m) for m in members} - known.keys()
    everybody = {**known, **{b: Broker(b, fenced=True) for b in missing}}
    return {broker: everybody[broker] for broker in sorted(everybody)}
