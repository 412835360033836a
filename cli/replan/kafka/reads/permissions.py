"""What the user of a connection may do on the cluster, as DescribeCluster says it when asked (KIP-430)."""

from replan.kafka.failures import DESCRIBE_CLUSTER
from replan.kafka.reads.patience import Reads
from replan.kafka.wire.bootstrap import describe_cluster

OPERATIONS = {
    5: "Create",
    7: "Alter",
    8: "Describe",
    9: "ClusterAction",
    10: "DescribeConfigs",
    11: "AlterConfigs",
    12: "IdempotentWrite",
}
"""Bits of the answer (org.apache.kafka.common.acl.AclOperation)."""
_NOT_SAID = -(2**31)
"""What a broker answers that was not asked, or that does not let this user describe the cluster."""


def allowed_on_cluster(reads: Reads) -> frozenset[str] | None:
    """The operations on the resource Cluster; None where the cluster does not say."""
    answer = reads.ask(DESCRIBE_CLUSTER, describe_cluster(operations=True))
    bits = int(answer.cluster_authorized_operations)
    if bits == _NOT_SAID:
        return None
    return frozenset(name for bit, name in OPERATIONS.items() if bits & (1 << bit))
