"""What the user of a connection may do, and what time it is at the cluster: asked by `doctor`, `plan` and `apply`.

Operations on the cluster come with DescribeCluster (KIP-430), those on topics with DescribeTopicPartitions, which has
them in any case (KIP-966). Whether a transactional id may be described shows in the code of DescribeTransactions
(KIP-664), and whether a topic may be created in that of a CreateTopics that only validates.
Of the time, Kafka says one thing: the active controller gives its own clock as the moment at which it was caught up
with itself (DescribeQuorum from version 1 on, KIP-836; LeaderState.describeReplicaState). Brokers do not give theirs.
"""

from collections.abc import Callable, Collection
from datetime import datetime

from replan.errors import ClusterRefused
from replan.kafka.failures import Operation
from replan.kafka.messages import request_class
from replan.kafka.reads.partitions import pages
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.frames import Question
from replan.kafka.wire.wire import cluster_question
from replan.model.access import Access, ClockDifference, Operations
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId

OPERATIONS = {
    3: "Read",
    4: "Write",
    5: "Create",
    6: "Delete",
    7: "Alter",
    8: "Describe",
    9: "ClusterAction",
    10: "DescribeConfigs",
    11: "AlterConfigs",
    12: "IdempotentWrite",
}
"""Bits of the answers (org.apache.kafka.common.acl.AclOperation)."""
DESCRIBE_QUORUM = Operation("DescribeQuorum", "Describe on Cluster")
DESCRIBE_TRANSACTIONS = Operation("DescribeTransactions", "Describe on TransactionalId")
VALIDATE_TOPIC = Operation("CreateTopics, validating only", "Create on Topic")
_CREATE_MS = 5_000
_NOT_SAID = -(2**31)
"""What a broker answers that was not asked."""
_NO_ID = "A" * 22
"""Of a topic that was named and does not exist (Uuid.ZERO_UUID)."""
_SAYS_TIME = 1
_METADATA_LOG = "__cluster_metadata"


def access(
    reads: Reads,
    journals: Collection[str],
    transactional_id: str,
    principal: str,
    topics: Collection[str] | None = None,
) -> Access:
    """All that can be known without changing anything; `journals`: topics of the journal, which may not exist yet.

    `topics`: which are asked about; all that this user may describe, where none are named.
    """
    cluster = reads.ask(cluster_question(operations=True))
    operations = _on_topics(reads, topics) | (_on_topics(reads, journals) if journals else {})
    return Access(
        _operations(int(cluster.cluster_authorized_operations)),
        operations,
        describes_transactions=_describes(reads, transactional_id),
        not_created=frozenset(
            j for j in journals if not operations.get(j) and not _creates(reads, j)
        ),
        transactional_id=transactional_id,
        principal=principal,
    )


def _on_topics(reads: Reads, topics: Collection[str] | None) -> dict[str, Operations]:
    """What may be done with each that exists; with one that may not be described, nothing is known to be allowed."""
    described = [topic for page in pages(reads, topics) for topic in page.topics]
    operations = {t.name: _operations(t.operations) for t in described if t.id != _NO_ID}
    operations |= {t.name: frozenset() for t in described if t.hidden}
    return {name: allowed for name, allowed in operations.items() if allowed is not None}


def _operations(bits: int) -> Operations | None:
    if bits == _NOT_SAID:
        return None
    return frozenset(name for bit, name in OPERATIONS.items() if bits & (1 << bit))


def _describes(reads: Reads, transactional_id: str) -> bool | None:
    """A broker checks the permission before it looks whether the id is its own to coordinate."""
    request = request_class("DescribeTransactions")
    if not reads.wire.knows(request, 0):
        return None
    question = Question(DESCRIBE_TRANSACTIONS, request(transactional_ids=[transactional_id]))
    (state,) = reads.ask(question).transaction_states
    return bool(state.error_code != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _creates(reads: Reads, topic: str) -> bool:
    """Kafka says whether it would create the topic, and does not (`validate_only`); other objections do not count."""
    request = request_class("CreateTopics")
    wanted = request.CreatableTopic(
        name=topic, num_partitions=1, replication_factor=-1, assignments=[], configs=[]
    )
    message = request(topics=[wanted], timeout_ms=_CREATE_MS, validate_only=True)
    (topic_answer,) = reads.ask(Question(VALIDATE_TOPIC, message, forwarded=True)).topics
    return topic_answer.error_code not in {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }


def clock_difference(reads: Reads, wall_clock: Callable[[], datetime]) -> ClockDifference | None:
    """Compare this machine's clock with the active controller's; None where the cluster does not say its time."""
    request = request_class("DescribeQuorum")
    if not reads.wire.knows(request, _SAYS_TIME):
        return None
    topic, partition = request.TopicData, request.TopicData.PartitionData
    log = topic(topic_name=_METADATA_LOG, partitions=[partition(partition_index=0)])
    message = request(topics=[log], min_version=_SAYS_TIME)
    question = Question(DESCRIBE_QUORUM, message, forwarded=True)
    before = wall_clock().timestamp()
    try:
        answer = reads.ask(question)
    except ClusterRefused:
        return None
    after = wall_clock().timestamp()
    (quorum,) = answer.topics[0].partitions
    for voter in quorum.current_voters:
        if voter.replica_id == quorum.leader_id and voter.last_caught_up_timestamp > 0:
            there = voter.last_caught_up_timestamp / 1000
            middle = (before + after) / 2
            return ClockDifference(BrokerId(quorum.leader_id), middle - there, (after - before) / 2)
    return None
