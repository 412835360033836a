"""What brokers report of their log directories: which went offline, and where each replica lies (KIP-858).

Here belong the offline directories of a heartbeat (ReplicationControlManager.handleDirectoriesOffline) and
AssignReplicasToDirs (handleAssignReplicasToDirs). Where replicas physically lie, and when a disk is lost, is not the
controller's business: see `disks` and `apply_fault`.
"""

from dataclasses import replace

from replan.model.control_plane import Accepted, Answer, Rejected
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.controller.broker_lifecycle import without_broker
from replan.simulator.controller.commands import AssignDirs, Decision, LoseDirs
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.events import BrokerChanged, PartitionChanged
from replan.simulator.controller.partition import Wish, changed, context, lists_of
from replan.simulator.controller.state import ClusterState, Partition


def lose(state: ClusterState, command: LoseDirs) -> Decision:
    """Take the replicas of directories that were online until now out of ISR and leadership.

    The broker is taken out of the partitions that lie there as if it were fenced, and stays active in all others. A
    replica whose directory the controller does not know yet stays in the ISR.
    """
    registration = state.brokers[command.broker]
    lost = [d for d in registration.log_dirs if d in command.dirs]
    if not lost:
        return Decision()
    concerned = state.partitions_where(lambda p: p.directory(command.broker) in lost)
    records = without_broker(state, command.broker, concerned)
    left = tuple(d for d in registration.log_dirs if d not in lost)
    return Decision((*records, BrokerChanged(command.broker, log_dirs=left)))


def assign(state: ClusterState, command: AssignDirs) -> Decision:
    """Note where replicas lie; one that lies in a directory that is offline is lost with that.

    Up to 4.2 the record is built as if eligible leader replicas were off, which wipes them.
    """
    registration = state.brokers[command.broker]
    records: list[PartitionChanged] = []
    answers: list[tuple[TopicPartition, Answer]] = []
    offline: list[tuple[TopicPartition, Partition]] = []
    for name, directory in command.replicas:
        partition = _hosted(state, command.broker, name)
        if isinstance(partition, Rejected):
            answers.append((name, partition))
            continue
        answers.append((name, Accepted()))
        wish = Wish(lists_of(partition), directories={command.broker: directory})
        around = context(state, name.topic)
        if state.rules.assigning_dirs_wipes_elr:
            around = replace(around, elr_enabled=False)
        record = changed(name, partition, wish, around)
        records += [] if record is None else [record]
        if not registration.has_online(directory):
            offline.append((name, partition))
    records += without_broker(state, command.broker, offline)
    return Decision(tuple(records), each=tuple(answers))


def _hosted(state: ClusterState, broker: BrokerId, name: TopicPartition) -> Partition | Rejected:
    """A partition that the broker has a replica of."""
    if name.topic not in state.topics:
        return rejected(Code.UNKNOWN_TOPIC_ID)
    partition = state.partition(name)
    if partition is None:
        return rejected(Code.UNKNOWN_TOPIC_OR_PARTITION)
    return partition if broker in partition.replicas else rejected(Code.NOT_LEADER_OR_FOLLOWER)
