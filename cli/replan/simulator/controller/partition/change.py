"""One change of one partition, in the controller's order of work.

Here belongs the pipeline that every change runs through, whatever caused it (PartitionChangeBuilder.build): complete
the reassignment, keep the ELR, elect, raise the leader epoch where replicas were dropped, write what differs. Hence
any change can complete a reassignment or refresh the ELR. Not here: why a partition changes (the families of commands).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.controller.events import NewLeader, PartitionChanged
from replan.simulator.controller.partition.election import Candidates, Elected, Election, elect
from replan.simulator.controller.partition.replica_lists import Lists, completed
from replan.simulator.controller.state import ClusterState, Directories, Partition
from replan.simulator.controller.versions import Rules

NOBODY = BrokerId(-1)


class NoSuchReplica(Exception):
    """The controller stumbles: it asks for the log directory of a live candidate that is no replica yet.

    A stale ELR or last known leader may name such a broker (PartitionRegistration.directory throws).
    """


@dataclass(frozen=True, slots=True)
class Context:
    """What a change needs to know of the cluster around its partition."""

    rules: Rules
    elr_enabled: bool
    min_isr: int
    acceptable: Callable[[BrokerId], bool]
    online: Callable[[BrokerId, str | None], bool]
    """Whether a directory of a broker is online."""
    default_dir: Callable[[BrokerId], str | None]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the cause of a change asks for; the rest of the partition stays unless the pipeline changes it."""

    lists: Lists
    election: Election = Election.ONLINE
    recovering: bool | None = None
    unclean_shutdown: frozenset[BrokerId] = frozenset()
    """Brokers that lost what they had not flushed: not to be kept in the ELR."""
    directories: Mapping[BrokerId, str] = field(default_factory=dict)
    """Where brokers say that their replicas lie."""


def context(
    state: ClusterState, topic: str, acceptable: Callable[[BrokerId], bool] | None = None
) -> Context:
    """The context of a topic's partitions; brokers that can lead are the active ones unless said otherwise."""
    return Context(
        state.rules,
        state.elr_enabled,
        state.effective_min_isr(topic),
        state.active if acceptable is None else acceptable,
        state.online,
        state.default_dir,
    )


def lists_of(partition: Partition) -> Lists:
    """A partition's lists as they are."""
    return Lists(partition.replicas, partition.isr, partition.adding, partition.removing)


def changed(
    name: TopicPartition, partition: Partition, wish: Wish, around: Context
) -> PartitionChanged | None:
    """The record that fulfils a wish; None where nothing would differ: then no epoch rises either.

    Raises:
        NoSuchReplica: as the controller does, on the way to a leader.
    """
    lists = completed(wish.lists, around.rules.completion) or wish.lists
    elr = _eligible(partition, lists.isr, wish.unclean_shutdown, around)
    elected = elect(_candidates(partition, lists, elr, around), wish.election)
    new_leader = elected.leader != partition.leader
    if new_leader and elected.leader in elr and elected.leader is not None:
        leader = elected.leader
        lists = replace(lists, isr=(leader,))
        elr = tuple(b for b in elr if b != leader)
    unclean = new_leader and elected.unclean
    record = PartitionChanged(
        name,
        leader=_leader_field(partition, lists.replicas, elected),
        isr=_isr_field(partition, lists.isr, elected, around, unclean=unclean),
        elr=_if_differs(() if unclean or not around.elr_enabled else elr, partition.elr),
        replicas=_if_differs(lists.replicas, partition.replicas),
        adding=_if_differs(lists.adding, partition.adding),
        removing=_if_differs(lists.removing, partition.removing),
        recovering=_recovering_field(partition, wish, unclean=unclean),
        directories=_directories_field(partition, lists.replicas, wish, around),
    )
    record = replace(record, last_known_elr=_last_known_field(partition, record, around))
    return None if record == PartitionChanged(name) else record


def _eligible(
    partition: Partition, isr: Replicas, unclean_shutdown: frozenset[BrokerId], around: Context
) -> Replicas:
    """The ELR: who left the ISR while it was below min ISR (PartitionChangeBuilder.maybePopulateTargetElr).

    Nothing removes brokers that are no replicas any more: Kafka keeps them, and so does this.
    """
    if not around.elr_enabled:
        return partition.elr
    if len(isr) >= around.min_isr:
        return ()
    candidates = set(partition.elr) | set(partition.isr)
    return tuple(sorted(candidates - set(isr) - unclean_shutdown))


def _able(broker: BrokerId, partition: Partition, around: Context) -> bool:
    """Whether a broker can lead: its log directory, sought among the replicas before the change, is online.

    See LeaderAcceptor.
    """
    if not around.acceptable(broker):
        return False
    if broker not in partition.replicas:
        raise NoSuchReplica
    return around.online(broker, partition.directory(broker))


def _candidates(partition: Partition, lists: Lists, elr: Replicas, around: Context) -> Candidates:
    return Candidates(
        leader=partition.leader,
        replicas=lists.replicas,
        isr=lists.isr,
        elr=elr,
        last_known_leader=_last_known_leader(partition, lists.isr, elr, around),
        acceptable=lambda broker: _able(broker, partition, around),
    )


def _last_known_leader(
    partition: Partition, isr: Replicas, elr: Replicas, around: Context
) -> BrokerId | None:
    """Who may lead when ISR and ELR are both empty (PartitionChangeBuilder.canElectLastKnownLeader)."""
    if not around.elr_enabled or isr or elr or len(partition.last_known_elr) != 1:
        return None
    (last,) = partition.last_known_elr
    usable = _able(last, partition, around) or not around.rules.last_known_leader_must_live
    return last if usable else None


def _leader_field(partition: Partition, replicas: Replicas, elected: Elected) -> NewLeader | None:
    """The leader, where it changes, and also where an old replica leaves the list: that raises the leader epoch."""
    if elected.leader != partition.leader:
        return NewLeader(elected.leader)
    if not set(partition.replicas) <= set(replicas):
        return NewLeader(partition.leader)
    return None


def _isr_field(
    partition: Partition, isr: Replicas, elected: Elected, around: Context, *, unclean: bool
) -> Replicas | None:
    """The ISR; after an unclean election the new leader alone, and empty only with ELR on."""
    if unclean and elected.leader is not None:
        return (elected.leader,)
    may_write = bool(isr) or around.elr_enabled
    return isr if may_write and isr != partition.isr else None


def _recovering_field(partition: Partition, wish: Wish, *, unclean: bool) -> bool | None:
    if wish.recovering is not None and wish.recovering != partition.recovering:
        return wish.recovering
    return True if unclean and not partition.recovering else None


def _last_known_field(
    partition: Partition, record: PartitionChanged, around: Context
) -> Replicas | None:
    """The last leader is noted when a partition becomes leaderless, and forgotten as soon as it has a leader.

    See PartitionChangeBuilder.maybeUpdateLastKnownLeader. Up to 4.0 it is noted when the ISR empties; from 4.1 on
    wherever a record says that there is no leader, so that of a partition without a leader it notes -1.
    """
    led = partition.leader if record.leader is None else record.leader.broker
    forgotten = () if led is not None and partition.last_known_elr else None
    if not around.elr_enabled:
        return forgotten
    if not around.rules.last_leader_noted_when_leaderless:
        if record.isr == () and partition.last_known_elr != (partition.leader,):
            return () if partition.leader is None else (partition.leader,)
        return forgotten
    if record.leader is None:
        return None
    if led is None and not partition.last_known_elr:
        return (NOBODY if partition.leader is None else partition.leader,)
    return forgotten


def _directories_field(
    partition: Partition, replicas: Replicas, wish: Wish, around: Context
) -> Directories | None:
    """The directories go with their replicas; new ones lie where their brokers have only one to choose.

    See PartitionChangeBuilder.setAssignmentChanges.
    """
    if replicas == partition.replicas and not wish.directories:
        return None
    reported = zip(partition.replicas, partition.directories, strict=False)
    known = {**dict(reported), **wish.directories}
    wanted = tuple(known[b] if b in known else around.default_dir(b) for b in replicas)
    before = _as_ids(partition.replicas, partition.directories)
    return wanted if _as_ids(replicas, wanted) != before else None


def _as_ids(replicas: Replicas, directories: Directories) -> list[tuple[BrokerId, str] | None]:
    """Directories as Kafka's ids: no two brokers have the same, unreported ones are all alike."""
    reported = zip(replicas, directories, strict=False)
    return [None if directory is None else (b, directory) for b, directory in reported]


def _if_differs(wanted: Replicas, present: Replicas) -> Replicas | None:
    return wanted if wanted != present else None
