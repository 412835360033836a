"""The lives of brokers: registering, fencing, shutting down, leaving for good; and what that does to partitions.

Here belong the heartbeat's decisions (BrokerHeartbeatManager, ClusterControlManager.registerBroker) and the sweep
over the partitions that each causes (ReplicationControlManager.generateLeaderAndIsrUpdates). When a broker dies is
decided in `advance`.
"""

from collections.abc import Callable, Iterable, Iterator

from replan.model.names import BrokerId, TopicPartition
from replan.simulator.controller.commands import (
    CordonDirs,
    Decision,
    FenceBroker,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from replan.simulator.controller.error_codes import Code, rejected
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
    Lists,
    Wish,
    changed,
    context,
    lists_of,
    without,
)
from replan.simulator.controller.state import BrokerRegistration, ClusterState, Partition


def register(state: ClusterState, command: RegisterBroker) -> Decision:
    """Register a broker again, fenced; after an unclean shutdown it leaves every ISR and ELR.

    A broker whose session still holds is refused. Only 4.0 and later recognize a clean shutdown by the previous epoch;
    up to 3.9 a new incarnation changes no partition.
    """
    known = state.brokers.get(command.broker)
    if known is not None and known.active:
        return Decision(
            whole=rejected(
                Code.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id.",
            )
        )
    clean = known is not None and command.previous_epoch == known.epoch
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
    return Decision((*records, BrokerRegistered(registration)))


def fence(state: ClusterState, command: FenceBroker) -> Decision:
    """Take a broker out of every ISR and leadership; a fenced one stays as it is."""
    registration = state.brokers[command.broker]
    if registration.fenced:
        return Decision()
    return Decision(_fenced(state, command.broker))


def unfence(state: ClusterState, command: UnfenceBroker) -> Decision:
    """Let a broker serve; only leaderless partitions are looked at, the ISRs are left to their leaders."""
    registration = state.brokers[command.broker]
    if not registration.fenced:
        return Decision()
    records = _sweep(
        state,
        ((n, p) for n, p in state.partitions() if p.leader is None),
        lambda b: b == command.broker or state.active(b),
        lambda p: Wish(lists_of(p)),
    )
    return Decision((BrokerChanged(command.broker, fenced=False), *records))


def shut_down(state: ClusterState, command: ShutDownBroker) -> Decision:
    """One heartbeat with the wish to stop (BrokerHeartbeatManager.calculateNextBrokerState).

    While it leads something it is marked and its leaderships are moved; once it leads nothing it is fenced.
    """
    registration = state.brokers[command.broker]
    if registration.fenced:
        return Decision()
    if not any(p.leader == command.broker for _, p in state.partitions()):
        return Decision(_fenced(state, command.broker))
    if registration.shutting_down:
        return Decision()
    records = without_broker(state, command.broker, _in_isr(state, command.broker))
    return Decision((BrokerChanged(command.broker, shutting_down=True), *records))


def unregister(state: ClusterState, command: UnregisterBroker) -> Decision:
    """Forget a broker: it leaves ISRs and leaderships but stays in the replica lists."""
    records = without_broker(state, command.broker, _in_isr_or_elr(state, command.broker))
    return Decision((*records, BrokerUnregistered(command.broker)))


def cordon(state: ClusterState, command: CordonDirs) -> Decision:
    """Note which log directories take nothing new; what they hold keeps serving."""
    registration = state.brokers[command.broker]
    if registration.cordoned_dirs == command.dirs:
        return Decision()
    return Decision((BrokerChanged(command.broker, cordoned_dirs=command.dirs),))


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
        lambda p: Wish(
            Lists(p.replicas, without(p.isr, (broker,)), p.adding, p.removing),
            unclean_shutdown=frozenset({broker} if lost else ()),
        ),
    )


def _sweep(
    state: ClusterState,
    concerned: Iterable[tuple[TopicPartition, Partition]],
    acceptable: Callable[[BrokerId], bool],
    wish_for: Callable[[Partition], Wish],
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
        wish = Wish(wish.lists, election, unclean_shutdown=wish.unclean_shutdown)
        record = changed(name, partition, wish, around)
        if record is not None:
            records.append(record)
    return tuple(records)


def _in_isr(state: ClusterState, broker: BrokerId) -> Iterator[tuple[TopicPartition, Partition]]:
    return state.partitions_where(lambda p: broker in p.isr)


def _in_isr_or_elr(
    state: ClusterState, broker: BrokerId
) -> Iterator[tuple[TopicPartition, Partition]]:
    return state.partitions_where(lambda p: broker in p.isr or broker in p.elr)
