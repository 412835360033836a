"""Which brokers are registered, which of them are fenced, and what the cluster as a whole can do.

From Kafka 4.1 on DescribeCluster (version 2, KIP-1073) lists fenced brokers. An older cluster tells only
the live ones: there a member of some replica list that is not live counts as fenced, its rack is not
known, and a fenced broker that holds nothing does not show at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from replan.kafka.failures import DESCRIBE_CLUSTER
from replan.kafka.messages import AlterPartitionReassignments
from replan.kafka.reads.patience import Reading, Reads
from replan.kafka.wire.bootstrap import addresses_in, describe_cluster
from replan.kafka.wire.wire import Wire
from replan.model.broker import Broker
from replan.model.names import BrokerId
from replan.model.snapshot import Features

_TELLS_FENCED = 2
_REPLICATION_FACTOR_GUARD = 1
_ELIGIBLE_LEADERS = "eligible.leader.replicas.version"


def features(wire: Wire) -> Features:
    """What the cluster can do: its request versions and finalized features, as the home broker told at once."""
    return Features(
        replication_factor_guard=wire.knows(AlterPartitionReassignments, _REPLICATION_FACTOR_GUARD),
        eligible_leader_replicas=wire.features.get(_ELIGIBLE_LEADERS, 0) >= 1,
    )


def describing() -> Reading:
    """The question for the cluster's id and its brokers."""
    return Reading(DESCRIBE_CLUSTER, describe_cluster())


def described(reads: Reads) -> Any:
    """Ask for the cluster's id and its brokers."""
    return noted(reads.wire, reads.ask(DESCRIBE_CLUSTER, describe_cluster()))


def noted(wire: Wire, told: Any) -> Any:
    """Let the wire know where brokers listen now."""
    wire.listens(addresses_in(told))
    return told


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
    known: Mapping[BrokerId, Broker],
    members: Iterable[int],
    formerly: Mapping[BrokerId, Broker] | None = None,
) -> dict[BrokerId, Broker]:
    """Add the brokers that no list names as fenced: members of replica lists, and those that were listed formerly."""
    before = formerly or {}
    missing = ({BrokerId(m) for m in members} | before.keys()) - known.keys()
    everybody = {**known} | {
        b: replace(before[b], fenced=True) if b in before else Broker(b, fenced=True)
        for b in missing
    }
    return {broker: everybody[broker] for broker in sorted(everybody)}
