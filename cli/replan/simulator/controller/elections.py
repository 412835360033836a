"""Elections that a client or a timer asks for.

ElectLeaders and the controller's two periodic elections (ReplicationControlManager.electLeaders,
maybeBalancePartitionLeaders, maybeElectUncleanLeaders). Who is chosen is decided in `partition`.
"""

from collections.abc import Iterable
from itertools import islice

from replan.model.control_plane import Accepted, Answer, ElectionType, OutcomeUnknown, Rejected
from replan.model.error_codes import ErrorCode
from replan.model.names import TopicPartition
from replan.simulator.controller.commands import (
    ControllerResult,
    ElectLeaders,
    ElectUncleanLeaders,
    RebalanceLeaders,
    rejection,
)
from replan.simulator.controller.events import PartitionChanged
from replan.simulator.controller.partition import (
    Election,
    PartitionChange,
    change_record,
    context,
    lists_of,
)
from replan.simulator.controller.reassignment import MAX_RECORDS
from replan.simulator.controller.state import ClusterState

MAX_ELECTIONS_PER_RUN = 1_000
"""Of one run of a periodic election (ReplicationControlManager.maxElectionsPerImbalance)."""


def elect_leaders(state: ClusterState, command: ElectLeaders) -> ControllerResult:
    """Decide each election; for all partitions (None), those that need none are left out of the answers.

    More than 10,000 records: the whole request fails. Exactly 10,000: the active controller resigns over an empty
    last batch (seen on 3.9.2, 4.3.1 and 4.4.0), and the outcome of the request stays unknown.
    """
    everything = command.partitions is None
    wanted = [name for name, _ in state.partitions()] if everything else command.partitions
    records: list[PartitionChanged] = []
    answers: list[tuple[TopicPartition, Answer]] = []
    for name in wanted or ():
        outcome = _elected(state, name, command.kind)
        needless = isinstance(outcome, Rejected) and outcome.code == ErrorCode.ELECTION_NOT_NEEDED
        if isinstance(outcome, PartitionChanged):
            records.append(outcome)
        if not (everything and needless):
            answers.append((name, outcome if isinstance(outcome, Rejected) else Accepted()))
    if len(records) > MAX_RECORDS:
        text = f"Unable to perform excessively large batch operation: {len(records)} elections."
        return ControllerResult(whole=rejection(ErrorCode.POLICY_VIOLATION, text))
    if len(records) == MAX_RECORDS:
        return ControllerResult(
            whole=OutcomeUnknown("the active controller resigned: exactly 10,000 elections")
        )
    return ControllerResult(tuple(records), each=tuple(answers))


def _elected(
    state: ClusterState, name: TopicPartition, kind: ElectionType
) -> PartitionChanged | Rejected:
    """One election. A record is a success, whatever it changed: also one that only tidied the ELR."""
    if name.topic not in state.topics:
        return rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name.topic}")
    partition = state.partition(name)
    if partition is None:
        return rejection(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}")
    preferred = kind is ElectionType.PREFERRED
    if partition.led_by_preferred if preferred else partition.leader is not None:
        return rejection(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if preferred else Election.UNCLEAN
    wish = PartitionChange(lists_of(partition), election)
    record = change_record(name, partition, wish, context(state, name.topic))
    if record is not None:
        return record
    return rejection(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        if preferred
        else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    )


def rebalance_leaders(state: ClusterState, _command: RebalanceLeaders) -> ControllerResult:
    """Elect the preferred leader of whatever is led by another; the imbalance percentage is ignored in KRaft."""
    names = (name for name, _ in state.not_led_by_preferred())
    return _periodic(state, names, ElectionType.PREFERRED)


def elect_unclean_leaders(state: ClusterState, _command: ElectUncleanLeaders) -> ControllerResult:
    """Elect leaders for leaderless partitions whose topic allows unclean elections."""
    names = (
        name
        for name, partition in state.not_led_by_preferred()
        if partition.leader is None and state.unclean_election(name.topic)
    )
    return _periodic(state, names, ElectionType.UNCLEAN)


def _periodic(
    state: ClusterState, names: Iterable[TopicPartition], kind: ElectionType
) -> ControllerResult:
    outcomes = (_elected(state, name, kind) for name in names)
    records = (outcome for outcome in outcomes if isinstance(outcome, PartitionChanged))
    return ControllerResult(tuple(islice(records, MAX_ELECTIONS_PER_RUN)))
