"""One change of one partition, whatever asked for it (PartitionChangeBuilder, PartitionReassignmentReplicas).

Here are the order of work of a change, the choice of a leader and the arithmetic of replica lists; and AlterPartition,
by which a leader asks for another ISR: whether the request is taken
(ReplicationControlManager.validateAlterPartitionData) and what it is answered. When a leader asks, and for what ISR, is
decided in `advance`.
"""

from collections.abc import Callable, Mapping
from enum import Enum

from msgspec import Struct, field
from msgspec.structs import replace

from replan.model.control_plane import Accepted, Answer
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.simulator.controller.commands import AlterIsr, ControllerResult, rejection
from replan.simulator.controller.events import NewLeader, PartitionChanged, merge_change
from replan.simulator.controller.state import ClusterState, Directories, Partition
from replan.simulator.controller.versions import Completion, Rules

# Who leads: the choice of a leader among the replicas of one partition.
#
# Here belongs the choice alone (PartitionChangeBuilder.electLeader). What else a change writes is in `change_record`,
# the requests and timers that cause elections in `elections`.


class Election(Enum):
    """How far an election may go (PartitionChangeBuilder.Election)."""

    PREFERRED = "the first replica, else the present leader, else any in-sync one"
    ONLINE = "the present leader, else any in-sync one"
    UNCLEAN = "as ONLINE, else the first live replica, whatever it has lost"


class Candidates(Struct, frozen=True):
    """What an election chooses from: the target lists of the change under way."""

    leader: BrokerId | None
    replicas: Replicas
    isr: Replicas
    elr: Replicas
    last_known_leader: BrokerId | None
    """None where it may not be used: ELR off, or ISR and ELR not both empty."""
    acceptable: Callable[[BrokerId], bool]
    """Whether a broker is able to lead at all: registered, not fenced, not shutting down."""

    def valid(self, broker: BrokerId) -> bool:
        """Whether a broker may lead cleanly: in the ISR, or in the ELR while the ISR is empty."""
        eligible = self.isr or self.elr
        return broker in eligible and self.acceptable(broker)


class Elected(Struct, frozen=True):
    """The outcome; None leads where nobody can."""

    leader: BrokerId | None
    unclean: bool = False


def choose_leader(among: Candidates, election: Election) -> Elected:
    """Choose the leader: in list order, never in order of ISR or id."""
    first = among.replicas[0]
    if election is Election.PREFERRED and among.valid(first):
        return Elected(first)
    if among.leader is not None and among.valid(among.leader):
        return Elected(among.leader)
    clean = next(filter(among.valid, among.replicas), None)
    if clean is not None:
        return Elected(clean)
    if among.last_known_leader is not None:
        return Elected(among.last_known_leader, unclean=True)
    if election is Election.UNCLEAN:
        stale = next(filter(among.acceptable, among.replicas), None)
        return Elected(stale, unclean=stale is not None)
    return Elected(None)


# The lists of a reassignment: how they merge with a new target, when they are complete, what a cancel leaves.
#
# Here belongs arithmetic on replica lists alone (PartitionReassignmentReplicas, PartitionReassignmentRevert).


class PartitionLists(Struct, frozen=True):
    """The four lists that a change of one partition works on."""

    replicas: Replicas
    isr: Replicas
    adding: Replicas = ()
    removing: Replicas = ()


def retargeted(lists: PartitionLists, target: Replicas) -> PartitionLists:
    """The lists after a request for `target`, before anything completes.

    Both sets come out in ascending order, and are computed against the transitional list; an *empty* result leaves
    the stored set as it was, so stale members survive (ReplicationControlManager.changePartitionReassignment).
    """
    removing = tuple(sorted(set(lists.replicas) - set(target)))
    adding = tuple(sorted(set(target) - set(lists.replicas)))
    return replace(
        lists,
        replicas=target + removing,
        adding=adding or lists.adding,
        removing=removing or lists.removing,
    )


def completed(lists: PartitionLists, rule: Completion) -> PartitionLists | None:
    """The lists after the reassignment completed; None where it has not, or where none runs."""
    if not lists.adding and not lists.removing:
        return None
    isr = without_members(lists.isr, lists.removing)
    target = without_members(lists.replicas, lists.removing)
    if lists.removing and not (isr and target):
        return None
    if not _complete(frozenset(isr), target, lists, rule):
        return None
    return PartitionLists(target, isr)


def _complete(
    isr: frozenset[BrokerId], target: Replicas, lists: PartitionLists, rule: Completion
) -> bool:
    match rule:
        case Completion.WHOLE_TARGET_IN_SYNC:
            return isr.issuperset(target)
        case Completion.ADDING_IN_SYNC:  # the second condition keeps the ISR from shrinking
            enough = len(lists.adding) >= len(lists.removing) or isr.issuperset(target)
            return isr.issuperset(lists.adding) and enough


class Reverted(Struct, frozen=True):
    """What a cancel asks for; `unclean` where nobody of the ISR would stay."""

    replicas: Replicas
    isr: Replicas
    unclean: bool


def reverted(lists: PartitionLists) -> Reverted | None:
    """The lists after a cancel: the adding ones go, the order before is lost; None where nothing would stay."""
    kept = without_members(lists.replicas, lists.adding)
    isr = without_members(lists.isr, lists.adding)
    if not kept:
        return None
    return Reverted(kept, isr or kept[:1], unclean=not isr)


def without_members(replicas: Replicas, dropped: Replicas) -> Replicas:
    """The list without some members, in its own order."""
    return tuple(b for b in replicas if b not in dropped)


# One change of one partition, in the controller's order of work.
#
# Here belongs the pipeline that every change runs through, whatever caused it (PartitionChangeBuilder.build): complete
# the reassignment, keep the ELR, elect, raise the leader epoch where replicas were dropped, write what differs. Hence
# any change can complete a reassignment or refresh the ELR. Not here: why a partition changes (the families of
# commands).

NO_LEADER = BrokerId(-1)


class NoSuchReplica(Exception):
    """The controller stumbles: it asks for the log directory of a live candidate that is no replica yet.

    A stale ELR or last known leader may name such a broker (PartitionRegistration.directory throws).
    """


class Context(Struct, frozen=True):
    """What a change needs to know of the cluster around its partition."""

    rules: Rules
    elr_enabled: bool
    min_isr: int
    acceptable: Callable[[BrokerId], bool]
    online: Callable[[BrokerId, str | None], bool]
    """Whether a directory of a broker is online."""
    default_dir: Callable[[BrokerId], str | None]


class PartitionChange(Struct, frozen=True):
    """What the cause of a change asks for; the rest of the partition stays unless the pipeline changes it."""

    lists: PartitionLists
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


def lists_of(partition: Partition) -> PartitionLists:
    """A partition's lists as they are."""
    return PartitionLists(partition.replicas, partition.isr, partition.adding, partition.removing)


def change_record(
    name: TopicPartition, partition: Partition, wish: PartitionChange, around: Context
) -> PartitionChanged | None:
    """The record that fulfils a wish; None where nothing would differ: then no epoch rises either.

    Raises:
        NoSuchReplica: as the controller does, on the way to a leader.
    """
    lists = completed(wish.lists, around.rules.completion) or wish.lists
    elr = _eligible(partition, lists.isr, wish.unclean_shutdown, around)
    elected = choose_leader(_candidates(partition, lists, elr, around), wish.election)
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


def _candidates(
    partition: Partition, lists: PartitionLists, elr: Replicas, around: Context
) -> Candidates:
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


def _recovering_field(partition: Partition, wish: PartitionChange, *, unclean: bool) -> bool | None:
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
        return (NO_LEADER if partition.leader is None else partition.leader,)
    return forgotten


def _directories_field(
    partition: Partition, replicas: Replicas, wish: PartitionChange, around: Context
) -> Directories | None:
    """The directories go with their replicas; new ones lie where their brokers have only one to choose.

    See PartitionChangeBuilder.setAssignmentChanges.
    """
    if replicas == partition.replicas and not wish.directories:
        return None
    reported = zip(partition.replicas, partition.directories, strict=False)
    directory_of = {**dict(reported), **wish.directories}
    wanted = tuple(
        directory_of[b] if b in directory_of else around.default_dir(b) for b in replicas
    )
    before = _as_ids(partition.replicas, partition.directories)
    return wanted if _as_ids(replicas, wanted) != before else None


def _as_ids(replicas: Replicas, directories: Directories) -> list[tuple[BrokerId, str] | None]:
    """Directories as Kafka's ids: no two brokers have the same, unreported ones are all alike."""
    reported = zip(replicas, directories, strict=False)
    return [None if directory is None else (b, directory) for b, directory in reported]


def _if_differs(wanted: Replicas, present: Replicas) -> Replicas | None:
    return wanted if wanted != present else None


NO_BROKER_EPOCH = -1


def alter_isr(state: ClusterState, command: AlterIsr) -> ControllerResult:
    """Take the new ISR if the caller leads with these epochs and every member may be in it.

    Where the change completes a reassignment and thereby takes the leadership away from the caller, it is written
    *and* the answer is NEW_LEADER_ELECTED.
    """
    partition = state.partition(command.partition)
    if partition is None:
        return ControllerResult(whole=rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    code = _stale(partition, command) or _malformed(partition, command)
    if code is None and any(_ineligible(state, b, command) for b in command.isr):
        code = ErrorCode.INELIGIBLE_REPLICA
    if code is not None:
        return ControllerResult(whole=rejection(code))
    topic = command.partition.topic
    lists = lists_of(partition)
    wish = PartitionChange(
        replace(lists, isr=command.isr),
        Election.UNCLEAN if state.unclean_election(topic) else Election.ONLINE,
        recovering=command.recovering,
    )
    record = change_record(command.partition, partition, wish, context(state, topic))
    if record is None:
        return ControllerResult()
    answer: Answer = Accepted()
    if record.leader is not None and merge_change(partition, record).leader != command.broker:
        answer = rejection(ErrorCode.NEW_LEADER_ELECTED)
    return ControllerResult((record,), whole=answer)


def _stale(partition: Partition, command: AlterIsr) -> ErrorCode | None:
    """A caller that knows more than the controller has met an old controller; one that knows less is late."""
    if command.leader_epoch > partition.leader_epoch:
        return ErrorCode.NOT_CONTROLLER
    if command.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if command.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if command.broker != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if command.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    return None


def _malformed(partition: Partition, command: AlterIsr) -> ErrorCode | None:
    """The ISR is a set of replicas with the leader in it; while the leader recovers, it is alone."""
    isr = command.isr
    distinct = len(set(isr)) == len(isr)
    if not isr or not distinct or not set(isr) <= set(partition.replicas):
        return ErrorCode.INVALID_REQUEST
    if partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if command.recovering and (len(isr) > 1 or not partition.recovering):
        return ErrorCode.INVALID_REQUEST
    return None


def _ineligible(state: ClusterState, broker: BrokerId, command: AlterIsr) -> bool:
    """Not registered, fenced, shutting down, or another incarnation than the leader has seen."""
    registration = state.brokers.get(broker)
    if registration is None or not registration.active:
        return True
    return command.epochs.get(broker, NO_BROKER_EPOCH) not in {NO_BROKER_EPOCH, registration.epoch}
