"""Which brokers are registered, which of them are fenced, and what the cluster as a whole can do.

From Kafka 4.1 on DescribeCluster (version 2, KIP-1073) lists fenced brokers. An older cluster tells only
the live ones: there a member of some replica list that is not live counts as fenced, its rack is not
known, and a fenced broker that holds nothing does not show at all. Whether such a member is registered
at all is known where this user may create topics: the controller refuses a list that names a broker
that is not (39, ReplicationControlManager.validateManualPartitionAssignment), also when it only validates.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from replan.errors import ClusterRefused, ClusterUnreachable
from replan.kafka.failures import Operation
from replan.kafka.messages import AlterPartitionReassignments, request_class
from replan.kafka.reads.patience import REQUEST_SECONDS, Reads
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import Wire, addresses_in, cluster_question
from replan.model.broker import Broker
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId
from replan.model.snapshot import Features

_TELLS_FENCED = 2
_REPLICATION_FACTOR_GUARD = 1
_ELIGIBLE_LEADERS = "eligible.leader.replicas.version"
VALIDATE_LISTS = Operation("CreateTopics, validating only", "Create on Cluster")
_PROBE = "__replan_probe"
"""What topics are called that are never created."""
_PROBE_VERSION = 4
"""The last whose answer does not have all settings of the topic."""
_VALIDATE_MS = 5_000
_PROBED_SECONDS = 30.0
"""For so long nobody asks again of a missing broker: each question passes the cluster's policy and quota."""


def features(wire: Wire) -> Features:
    """What the cluster can do: its request versions and finalized features, as the home broker told at once."""
    return Features(
        replication_factor_guard=wire.knows(AlterPartitionReassignments, _REPLICATION_FACTOR_GUARD),
        eligible_leader_replicas=wire.features.get(_ELIGIBLE_LEADERS, 0) >= 1,
    )


def ask_brokers(reads: Reads) -> Any:
    """Ask for the cluster's id and its brokers."""
    return note_addresses(reads.wire, reads.ask(cluster_question()))


def note_addresses(wire: Wire, told: Any) -> Any:
    """Let the wire know where brokers listen now."""
    wire.listens(addresses_in(told))
    return told


def tells_fenced(described: Any) -> bool:
    """Whether an answer of `cluster_question` lists fenced brokers at all."""
    return bool(described.API_VERSION >= _TELLS_FENCED)


def described_brokers(described: Any) -> dict[BrokerId, Broker]:
    """The brokers of an answer of `cluster_question`; nothing is cordoned yet. `broker.rack=` is no rack."""
    tells = tells_fenced(described)
    return {
        BrokerId(told.broker_id): Broker(
            BrokerId(told.broker_id), told.rack or None, fenced=tells and bool(told.is_fenced)
        )
        for told in sorted(described.brokers, key=lambda told: told.broker_id)
    }


def registered_brokers(
    reads: Reads,
    listed: Mapping[BrokerId, Broker],
    members: Iterable[int],
    listed_before: Mapping[BrokerId, Broker] | None = None,
) -> dict[BrokerId, Broker]:
    """With the brokers that no list names (`with_members`), but for those that the controller does not know."""
    registered = with_members(listed, members, listed_before)
    missing = sorted(registered.keys() - listed.keys())
    if not listed or VALIDATE_LISTS in reads.earlier.denied:
        return registered
    now, told = reads.clock.now(), reads.earlier.registrations
    for broker in [b for b, (_, at) in told.items() if b in listed or now - at >= _PROBED_SECONDS]:
        del told[broker]
    unknown = [b for b in missing if b not in told]
    if unknown:
        gone = _unregistered(reads, min(listed), unknown)
        told |= {} if gone is None else {b: (b not in gone, now) for b in unknown}
    return {b: broker for b, broker in registered.items() if b not in told or told[b][0]}


def with_members(
    listed: Mapping[BrokerId, Broker],
    members: Iterable[int],
    listed_before: Mapping[BrokerId, Broker] | None = None,
) -> dict[BrokerId, Broker]:
    """Add the brokers that no list names as fenced: members of replica lists, and those that were listed before."""
    before = listed_before or {}
    missing = ({BrokerId(m) for m in members} | before.keys()) - listed.keys()
    everybody = {**listed} | {
        b: replace(before[b], fenced=True) if b in before else Broker(b, fenced=True)
        for b in missing
    }
    return {broker: everybody[broker] for broker in sorted(everybody)}


def _unregistered(
    reads: Reads, live: BrokerId, brokers: Sequence[BrokerId]
) -> frozenset[BrokerId] | None:
    """Who of these is not registered; None where the controller does not say.

    A list is refused in the same way where all of it is fenced. So each has a live broker in front, and a list of that
    one alone shows whether the controller takes it for live, too.
    """
    request = request_class("CreateTopics")
    topic = request.CreatableTopic
    lists = {_PROBE: [live], **{f"{_PROBE}_{broker}": [live, broker] for broker in brokers}}
    topics = [
        topic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[topic.CreatableReplicaAssignment(partition_index=0, broker_ids=of)],
            configs=[],
        )
        for name, of in lists.items()
    ]
    message = request(
        topics=topics, timeout_ms=_VALIDATE_MS, validate_only=True, max_version=_PROBE_VERSION
    )
    question = Question(VALIDATE_LISTS, message, forwarded=True)
    try:
        (answer,), _ = reads.round([question], {}, min(REQUEST_SECONDS, reads.patience_seconds))
    except (ClusterRefused, ClusterUnreachable):
        return None
    codes = {told.name: told.error_code for told in answer.topics}
    if codes[_PROBE] == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        reads.earlier.denied.add(VALIDATE_LISTS)
    if codes[_PROBE] in {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    }:
        return None
    return frozenset(
        b for b in brokers if codes[f"{_PROBE}_{b}"] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    )
