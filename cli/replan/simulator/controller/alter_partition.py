"""AlterPartition: a leader asks for another ISR.

Here belong the admission of such a request (ReplicationControlManager.validateAlterPartitionData) and its answer.
When a leader asks, and with what list, is decided in `advance`.
"""

from replan.model.control_plane import Accepted, Answer
from replan.model.names import BrokerId
from replan.simulator.controller.commands import AlterIsr, Decision
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.events import merged
from replan.simulator.controller.partition import Election, Wish, changed, context, lists_of
from replan.simulator.controller.state import ClusterState, Partition

NO_EPOCH = -1


def alter_isr(state: ClusterState, command: AlterIsr) -> Decision:
    """Take the new ISR if the caller leads with these epochs and every member may be in it.

    Where the change completes a reassignment and thereby takes the leadership away from the caller, it is written
    *and* the answer is NEW_LEADER_ELECTED.
    """
    partition = state.partition(command.partition)
    if partition is None:
        return Decision(whole=rejected(Code.UNKNOWN_TOPIC_OR_PARTITION))
    code = _stale(partition, command) or _malformed(partition, command)
    if code is None and any(_ineligible(state, b, command) for b in command.isr):
        code = Code.INELIGIBLE_REPLICA
    if code is not None:
        return Decision(whole=rejected(code))
    topic = command.partition.topic
    lists = lists_of(partition)
    wish = Wish(
        type(lists)(lists.replicas, command.isr, lists.adding, lists.removing),
        Election.UNCLEAN if state.unclean_election(topic) else Election.ONLINE,
        recovering=command.recovering,
    )
    record = changed(command.partition, partition, wish, context(state, topic))
    if record is None:
        return Decision()
    answer: Answer = Accepted()
    if record.leader is not None and merged(partition, record).leader != command.broker:
        answer = rejected(Code.NEW_LEADER_ELECTED)
    return Decision((record,), whole=answer)


def _stale(partition: Partition, command: AlterIsr) -> Code | None:
    """A caller that knows more than the controller has met an old controller; one that knows less is late."""
    if command.leader_epoch > partition.leader_epoch:
        return Code.NOT_CONTROLLER
    if command.partition_epoch > partition.partition_epoch:
        return Code.NOT_CONTROLLER
    if command.leader_epoch < partition.leader_epoch:
        return Code.FENCED_LEADER_EPOCH
    if command.broker != partition.leader:
        return Code.INVALID_REQUEST
    if command.partition_epoch < partition.partition_epoch:
        return Code.INVALID_UPDATE_VERSION
    return None


def _malformed(partition: Partition, command: AlterIsr) -> Code | None:
    """The ISR is a set of replicas with the leader in it; while the leader recovers, it is alone."""
    isr = command.isr
    distinct = len(set(isr)) == len(isr)
    if not isr or not distinct or not set(isr) <= set(partition.replicas):
        return Code.INVALID_REQUEST
    if partition.leader not in isr:
        return Code.INVALID_REQUEST
    if command.recovering and (len(isr) > 1 or not partition.recovering):
        return Code.INVALID_REQUEST
    return None


def _ineligible(state: ClusterState, broker: BrokerId, command: AlterIsr) -> bool:
    """Not registered, fenced, shutting down, or another incarnation than the leader has seen."""
    registration = state.brokers.get(broker)
    if registration is None or not registration.active:
        return True
    return command.epochs.get(broker, NO_EPOCH) not in {NO_EPOCH, registration.epoch}
