"""AlterPartitionReassignments: new targets and cancels.

Here belong validation, its order, its codes and its limits (ReplicationControlManager.alterPartitionReassignments). The
arithmetic of the lists, and what a change writes, are in `partition`.
"""

from replan.model.control_plane import Accepted, Answer, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import Replicas, TopicPartition
from replan.simulator.controller.commands import (
    AlterReassignments,
    ControllerResult,
    rejection,
)
from replan.simulator.controller.events import PartitionChanged
from replan.simulator.controller.partition import (
    Election,
    NoSuchReplica,
    PartitionChange,
    PartitionLists,
    change_record,
    context,
    lists_of,
    retargeted,
    reverted,
)
from replan.simulator.controller.state import ClusterState, Partition
from replan.simulator.controller.topics import list_refusal

MAX_RECORDS = 10_000
"""Of one request (QuorumController.MAX_RECORDS_PER_USER_OP)."""


def alter_reassignments(state: ClusterState, command: AlterReassignments) -> ControllerResult:
    """Decide each partition against the state before the request; what is valid is applied together.

    The same partition twice gives two records, the later of which wins field by field. Beyond 10,000 records the
    surplus partitions fail with -1, while the first 10,000 are applied.
    """
    guarded = not command.allow_replication_factor_change
    if guarded and not state.rules.replication_factor_guard:
        return ControllerResult(
            whole=Rejected(
                35, "UNSUPPORTED_VERSION", "AllowReplicationFactorChange needs Kafka 4.1 or later."
            )
        )
    records: list[PartitionChanged] = []
    answers: list[tuple[TopicPartition, Answer]] = []
    for name, target in command.items:
        try:
            outcome = _altered(state, name, target, guarded=guarded)
        except NoSuchReplica:
            outcome = rejection(ErrorCode.UNKNOWN_SERVER_ERROR)
        answer: Answer = Accepted()
        if isinstance(outcome, Rejected):
            answer = outcome
        elif outcome is not None and len(records) == MAX_RECORDS:
            answer = rejection(ErrorCode.UNKNOWN_SERVER_ERROR)
        elif outcome is not None:
            records.append(outcome)
        answers.append((name, answer))
    return ControllerResult(tuple(records), each=tuple(answers))


def _altered(
    state: ClusterState, name: TopicPartition, target: Replicas | None, *, guarded: bool
) -> PartitionChanged | Rejected | None:
    if name.topic not in state.topics:
        return rejection(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name.topic}."
        )
    partition = state.partition(name)
    if partition is None:
        return rejection(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Unable to find partition {name.topic}:{name.partition}.",
        )
    if target is None:
        return _cancelled(state, name, partition)
    problem = list_refusal(state, target)
    if problem is None and guarded:
        problem = _factor_refusal(partition, target)
    if problem is not None:
        return problem
    wish = PartitionChange(retargeted(lists_of(partition), target))
    return change_record(name, partition, wish, context(state, name.topic))


def _factor_refusal(partition: Partition, target: Replicas) -> Rejected | None:
    """KIP-860: while something runs, the size is judged on what it will end with."""
    staying = (set(partition.replicas) | set(partition.adding)) - set(partition.removing)
    present = len(staying) if partition.reassigning else len(partition.replicas)
    if present == len(target):
        return None
    return rejection(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"The replication factor is changed from {present} to {len(target)}",
    )


def _cancelled(
    state: ClusterState, name: TopicPartition, partition: Partition
) -> PartitionChanged | Rejected | None:
    """Go back to what was before, in the order that is left of it (PartitionReassignmentRevert).

    Neither liveness nor min ISR of what remains is looked at (KAFKA-14424).
    """
    if not partition.reassigning:
        return rejection(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    revert = reverted(lists_of(partition))
    if revert is None:
        return rejection(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Invalid replica assignment: addingReplicas contains all replicas.",
        )
    may_be_unclean = state.unclean_election(name.topic)
    if revert.unclean and not may_be_unclean:
        return rejection(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Unable to revert partition assignment for {name.topic}:{name.partition} because it would "
            "require an unclean leader election.",
        )
    election = Election.UNCLEAN if may_be_unclean else Election.ONLINE
    wish = PartitionChange(PartitionLists(revert.replicas, revert.isr), election)
    return change_record(name, partition, wish, context(state, name.topic))
