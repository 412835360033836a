"""What differs between Kafka versions: the rules of the oldest, then what each later version changes.

Here belongs every switch that the controller's behaviour takes from its version. Nothing else in the
simulator reads a version number; it reads a field of `Rules`.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace


class Completion(Enum):
    """When a running reassignment is complete (PartitionReassignmentReplicas.maybeCompleteReassignment)."""

    WHOLE_TARGET_IN_SYNC = "every replica of the target is in the ISR"
    ADDING_IN_SYNC = "every adding replica is in the ISR, and no more leave than join (KAFKA-19975)"


class Rules(Struct, frozen=True, kw_only=True):
    """The controller's rules in one version."""

    completion: Completion
    knows_elr: bool
    """Eligible leader replicas (KIP-966 part 1) can be on."""
    elr_by_default: bool
    """A newly formatted cluster has them on."""
    last_known_leader_must_live: bool
    """The last known leader is elected only where it is alive (KAFKA-19522)."""
    last_leader_noted_when_leaderless: bool
    """The last leader is noted whenever a partition becomes leaderless, not only when the ISR empties."""
    clean_shutdown_by_epoch: bool
    """A broker that registers again with its previous epoch has shut down cleanly and stays in the ELR."""
    session_outlives_stop: bool
    """After a clean stop, too, a broker is refused (101) until its session has ended (hasValidSession)."""
    rebalance_waits_for_imbalance: bool
    """The interval of the automatic rebalance begins when a partition is led by another than its preferred replica."""
    assigning_dirs_wipes_elr: bool
    """AssignReplicasToDirs forgets that eligible leader replicas are on, and clears the partition's."""
    lists_fenced: bool
    """DescribeCluster lists fenced brokers, with their racks (KIP-1073)."""
    replication_factor_guard: bool
    """AlterPartitionReassignments knows AllowReplicationFactorChange (KIP-860)."""
    refuses_cordoned: bool
    """Manual assignments that name a fully cordoned broker are refused (KAFKA-20832)."""
    further_topic_keys: frozenset[str]
    """Configuration keys of topics, beyond those that every version knows (LogConfig)."""


_KEYS_UNTIL_3_9 = frozenset({"message.downconversion.enable", "message.format.version"})
_KEYS_SINCE_4_4 = frozenset({"remote.copy.lag.bytes", "remote.copy.lag.ms"})

_V3_9 = Rules(
    completion=Completion.WHOLE_TARGET_IN_SYNC,
    knows_elr=False,
    elr_by_default=False,
    last_known_leader_must_live=False,
    last_leader_noted_when_leaderless=False,
    clean_shutdown_by_epoch=False,
    session_outlives_stop=False,
    rebalance_waits_for_imbalance=True,
    assigning_dirs_wipes_elr=False,
    lists_fenced=False,
    replication_factor_guard=False,
    refuses_cordoned=False,
    further_topic_keys=_KEYS_UNTIL_3_9,
)
_V4_0 = replace(
    _V3_9,
    knows_elr=True,
    clean_shutdown_by_epoch=True,
    session_outlives_stop=True,
    rebalance_waits_for_imbalance=False,
    assigning_dirs_wipes_elr=True,
    further_topic_keys=frozenset(),
)
_V4_1 = replace(
    _V4_0,
    elr_by_default=True,
    last_known_leader_must_live=True,
    last_leader_noted_when_leaderless=True,
    lists_fenced=True,
    replication_factor_guard=True,
)
_V4_3 = replace(_V4_1, completion=Completion.ADDING_IN_SYNC, assigning_dirs_wipes_elr=False)
_V4_4 = replace(_V4_3, refuses_cordoned=True, further_topic_keys=_KEYS_SINCE_4_4)

RULES: Mapping[str, Rules] = MappingProxyType(
    {"3.9": _V3_9, "4.0": _V4_0, "4.1": _V4_1, "4.2": _V4_1, "4.3": _V4_3, "4.4": _V4_4}
)


def rules_of(version: str) -> Rules:
    """The rules of a version such as `4.3` or `4.3.1`; raises ValueError where it is not imitated."""
    minor = ".".join(version.split(".")[:2])
    if minor not in RULES:
        versions = ", ".join(RULES)
        raise ValueError(
            f"Kafka {version!r} is not simulated; the simulated versions are {versions}"
        )
    return RULES[minor]
