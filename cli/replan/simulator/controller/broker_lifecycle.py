"""Broker registration, fencing, shutdown and unregistration; offline log directories; and what they do to partitions.

Here belong the heartbeat's decisions (BrokerHeartbeatManager, ClusterControlManager.registerBroker), its offline
directories (ReplicationControlManager.handleDirectoriesOffline), AssignReplicasToDirs (KIP-858,
handleAssignReplicasToDirs), and the sweep over the partitions that each causes (generateLeaderAndIsrUpdates). When a
broker dies is decided in `advance`; where replicas physically lie, and when a disk is lost, in `disks` and
`apply_fault`.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from replan.model.control_plane import Accepted, Answer, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.controller.commands import (
    AssignDirs,
    ControllerResult,
    CordonDirs,
    FenceBroker,
    LoseDirs,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
    rejection,
)
from replan.simulator.controller.events import (
    BrokerChanged,
    BrokerRegistered,
    BrokerUnregistered,
    Event,
    PartitionChanged,
)
from replan.simulator.controller.partition import (
    Context,
    Election,
    PartitionChange,
    PartitionLists,
    change_record,
    context,
    lists_of,
    without_members,
)
from replan.simulator.controller.state import BrokerRegistration, ClusterState, Partition


def register(state: ClusterState, command: RegisterBroker) -> ControllerResult:
    """Register a broker again, fenced; after an unclean shutdown it leaves every ISR and ELR.

    A broker whose session still holds is refused. Only 4.0 and later recognize a clean shutdown by the previous epoch;
    up to 3.9 a new incarnation changes no partition.
    """
    before = state.brokers.get(command.broker)
    if before is not None and before.active:
        return ControllerResult(
            whole=rejection(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id.",
            )
        )
    clean = before is not None and command.previous_epoch == before.epoch
    if not state.rules.clean_shutdown_by_epoch:
        records: tuple[PartitionChanged, ...] = ()
    elif clean:
        records = without_broker(state, command.broker, _in_isr(state, command.broker))
    else:
        members = _in_isr_or_elr(state, command.broker)
        records = without_broker(state, command.broker, members, lost=True)
    registration = BrokerRegistration(
        command.broker,
        command.rack,
        epoch=state.next_broker_epoch,
        fenced=True,
        log_dirs=command.log_dirs,
        cordoned_dirs=command.cordoned_dirs,
    )
    return ControllerResult((*records, BrokerRegistered(registration)))


def fence(state: ClusterState, command: FenceBroker) -> ControllerResult:
    """Take a broker out of every ISR and leadership; a fenced one stays as it is."""
    registration = state.brokers[command.broker]
    if registration.fenced:
        return ControllerResult()
    return ControllerResult(_fenced(state, command.broker))


def unfence(state: ClusterState, command: UnfenceBroker) -> ControllerResult:
    """Let a broker serve; only leaderless partitions are looked at, the ISRs are left to their leaders."""
    registration = state.brokers[command.broker]
    if not registration.fenced:
        return ControllerResult()
    records = _sweep(
        state,
        ((n, p) for n, p in state.partitions() if p.leader is None),
        lambda b: b == command.broker or state.active(b),
        lambda p: PartitionChange(lists_of(p)),
    )
    return ControllerResult((BrokerChanged(command.broker, fenced=False), *records))


def shut_down(state: ClusterState, command: ShutDownBroker) -> ControllerResult:
    """One heartbeat with the wish to stop (BrokerHeartbeatManager.calculateNextBrokerState).

    While it leads something it is marked and its leaderships are moved; once it leads nothing it is fenced.
    """
    registration = state.brokers[command.broker]
    if registration.fenced:
        return ControllerResult()
    if not any(p.leader == command.broker for _, p in state.partitions()):
        return ControllerResult(_fenced(state, command.broker))
    if registration.shutting_down:
        return ControllerResult()
    records = without_broker(state, command.broker, _in_isr(state, command.broker))
    return ControllerResult((BrokerChanged(command.broker, shutting_down=True), *records))


def unregister(state: ClusterState, command: UnregisterBroker) -> ControllerResult:
    """Forget a broker: it leaves ISRs and leaderships but stays in the replica lists."""
    records = without_broker(state, command.broker, _in_isr_or_elr(state, command.broker))
    return ControllerResult((*records, BrokerUnregistered(command.broker)))


def cordon(state: ClusterState, command: CordonDirs) -> ControllerResult:
    """Note which log directories take nothing new; what they hold keeps serving."""
    registration = state.brokers[command.broker]
    dirs = frozenset(registration.log_dirs) if command.dirs is None else command.dirs
    if registration.cordoned_dirs == dirs:
        return ControllerResult()
    return ControllerResult((BrokerChanged(command.broker, cordoned_dirs=dirs),))


def _fenced(state: ClusterState, broker: BrokerId) -> tuple[Event, ...]:
    records = without_broker(state, broker, _in_isr(state, broker))
    return (*records, BrokerChanged(broker, fenced=True))


def without_broker(
    state: ClusterState,
    broker: BrokerId,
    concerned: Iterable[tuple[TopicPartition, Partition]],
    *,
    lost: bool = False,
) -> tuple[PartitionChanged, ...]:
    """Take a broker out of ISR and leadership of the partitions concerned; `lost`: out of the ELR as well."""
    return _sweep(
        state,
        concerned,
        lambda b: b != broker and state.active(b),
        lambda p: PartitionChange(
            PartitionLists(p.replicas, without_members(p.isr, (broker,)), p.adding, p.removing),
            unclean_shutdown=frozenset({broker} if lost else ()),
        ),
    )


def _sweep(
    state: ClusterState,
    concerned: Iterable[tuple[TopicPartition, Partition]],
    acceptable: Callable[[BrokerId], bool],
    wish_for: Callable[[Partition], PartitionChange],
) -> tuple[PartitionChanged, ...]:
    """Run the pipeline over partitions; unclean elections are allowed where their topic allows them."""
    records: list[PartitionChanged] = []
    contexts: dict[str, tuple[Context, Election]] = {}
    for name, partition in concerned:
        if name.topic not in contexts:
            unclean = state.unclean_election(name.topic)
            election = Election.UNCLEAN if unclean else Election.ONLINE
            contexts[name.topic] = (context(state, name.topic, acceptable), election)
        around, election = contexts[name.topic]
        wish = wish_for(partition)
        wish = PartitionChange(wish.lists, election, unclean_shutdown=wish.unclean_shutdown)
        record = change_record(name, partition, wish, around)
        if record is not None:
            records.append(record)
    return tuple(records)


def _in_isr(state: ClusterState, broker: BrokerId) -> Iterator[tuple[TopicPartition, Partition]]:
    return state.partitions_where(lambda p: broker in p.isr)


def _in_isr_or_elr(
    state: ClusterState, broker: BrokerId
) -> Iterator[tuple[TopicPartition, Partition]]:
    return state.partitions_where(lambda p: broker in p.isr or broker in p.elr)


def lose(state: ClusterState, command: LoseDirs) -> ControllerResult:
    """Take the replicas of directories that were online until now out of ISR and leadership.

    The broker is taken out of the partitions that lie there as if it were fenced, and stays active in all others. A
    replica whose directory the controller does not know yet stays in the ISR.
    """
    registration = state.brokers[command.broker]
    lost = [d for d in registration.log_dirs if d in command.dirs]
    if not lost:
        return ControllerResult()
    concerned = state.partitions_where(lambda p: p.directory(command.broker) in lost)
    records = without_broker(state, command.broker, concerned)
    left = tuple(d for d in registration.log_dirs if d not in lost)
    return ControllerResult((*records, BrokerChanged(command.broker, log_dirs=left)))


def assign(state: ClusterState, command: AssignDirs) -> ControllerResult:
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
        wish = PartitionChange(lists_of(partition), directories={command.broker: directory})
        around = context(state, name.topic)
        if state.rules.assigning_dirs_wipes_elr:
            around = replace(around, elr_enabled=False)
        record = change_record(name, partition, wish, around)
        records += [] if record is None else [record]
        if not registration.has_online(directory):
            offline.append((name, partition))
    records += without_broker(state, command.broker, offline)
    return ControllerResult(tuple(records), each=tuple(answers))


def _hosted(state: ClusterState, broker: BrokerId, name: TopicPartition) -> Partition | Rejected:
    """A partition that the broker has a replica of."""
    if name.topic not in state.topics:
        return rejection(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = state.partition(name)
    if partition is None:
        return rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return (
        partition if broker in partition.replicas else rejection(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    )
