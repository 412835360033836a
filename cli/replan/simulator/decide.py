"""The controller: `decide(state, command)` says what happens, `perform` lets it happen.

Here belongs the way from a command to its family of rules. A decision reads the state and changes nothing.
"""

from typing import assert_never

from replan.simulator import (
    config_changes,
    directories,
    in_sync,
    leaders,
    lives,
    reassignment,
    topic_changes,
)
from replan.simulator.change import NoSuchReplica
from replan.simulator.codes import Code, rejected
from replan.simulator.commands import (
    AlterConfigs,
    AlterIsr,
    AlterReassignments,
    AssignDirs,
    Command,
    CordonDirs,
    CreatePartitions,
    CreateTopic,
    Decision,
    DeleteTopic,
    ElectLeaders,
    ElectUncleanLeaders,
    FenceBroker,
    LoseDirs,
    RebalanceLeaders,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from replan.simulator.events import evolve_all
from replan.simulator.state import ClusterState

_OfBrokers = RegisterBroker | FenceBroker | UnfenceBroker | ShutDownBroker | UnregisterBroker
_OfDirectories = CordonDirs | LoseDirs | AssignDirs
_Elections = ElectLeaders | RebalanceLeaders | ElectUncleanLeaders
_OfTopics = CreateTopic | CreatePartitions | DeleteTopic


def perform(state: ClusterState, command: Command) -> tuple[ClusterState, Decision]:
    """Decide a command and apply its events."""
    decision = decide(state, command)
    return evolve_all(state, decision.events), decision


def decide(state: ClusterState, command: Command) -> Decision:
    """What a command causes in this state, and what is answered.

    Where the controller itself stumbles, nothing happens and the answer is -1 to all of the request.
    """
    try:
        return _decide(state, command)
    except NoSuchReplica:
        return Decision(whole=rejected(Code.UNKNOWN_SERVER_ERROR))


def _decide(state: ClusterState, command: Command) -> Decision:
    match command:
        case AlterReassignments():
            return reassignment.alter_reassignments(state, command)
        case AlterIsr():
            return in_sync.alter_isr(state, command)
        case AlterConfigs():
            return config_changes.alter_configs(state, command)
        case ElectLeaders() | RebalanceLeaders() | ElectUncleanLeaders():
            return _decide_election(state, command)
        case CreateTopic() | CreatePartitions() | DeleteTopic():
            return _decide_topic(state, command)
        case _:
            return _decide_broker(state, command)


def _decide_election(state: ClusterState, command: _Elections) -> Decision:
    match command:
        case ElectLeaders():
            return leaders.elect_leaders(state, command)
        case RebalanceLeaders():
            return leaders.rebalance_leaders(state)
        case ElectUncleanLeaders():
            return leaders.elect_unclean_leaders(state)
        case _:
            assert_never(command)


def _decide_topic(state: ClusterState, command: _OfTopics) -> Decision:
    match command:
        case CreateTopic():
            return topic_changes.create_topic(state, command)
        case CreatePartitions():
            return topic_changes.create_partitions(state, command)
        case DeleteTopic():
            return topic_changes.delete_topic(state, command)
        case _:
            assert_never(command)


def _decide_broker(state: ClusterState, command: _OfBrokers | _OfDirectories) -> Decision:
    match command:
        case RegisterBroker():
            return lives.register(state, command)
        case FenceBroker():
            return lives.fence(state, command)
        case UnfenceBroker():
            return lives.unfence(state, command)
        case ShutDownBroker():
            return lives.shut_down(state, command)
        case UnregisterBroker():
            return lives.unregister(state, command)
        case _:
            return _decide_directories(state, command)


def _decide_directories(state: ClusterState, command: _OfDirectories) -> Decision:
    match command:
        case CordonDirs():
            return lives.cordon(state, command)
        case LoseDirs():
            return directories.lose(state, command)
        case AssignDirs():
            return directories.assign(state, command)
        case _:
            assert_never(command)
