"""The controller: `decide(state, command)` says what happens, `perform` lets it happen.

Here belongs the way from a command to its family of rules. A decision reads the state and changes nothing.
"""

from typing import assert_never

from replan.simulator.controller import (
    alter_partition,
    broker_lifecycle,
    configs,
    elections,
    log_dirs,
    reassignment,
    topics,
)
from replan.simulator.controller.commands import (
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
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.events import evolve_all
from replan.simulator.controller.partition.change import NoSuchReplica
from replan.simulator.controller.state import ClusterState

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
            return alter_partition.alter_isr(state, command)
        case AlterConfigs():
            return configs.alter_configs(state, command)
        case ElectLeaders() | RebalanceLeaders() | ElectUncleanLeaders():
            return _decide_election(state, command)
        case CreateTopic() | CreatePartitions() | DeleteTopic():
            return _decide_topic(state, command)
        case _:
            return _decide_broker(state, command)


def _decide_election(state: ClusterState, command: _Elections) -> Decision:
    match command:
        case ElectLeaders():
            return elections.elect_leaders(state, command)
        case RebalanceLeaders():
            return elections.rebalance_leaders(state)
        case ElectUncleanLeaders():
            return elections.elect_unclean_leaders(state)
        case _:
            assert_never(command)


def _decide_topic(state: ClusterState, command: _OfTopics) -> Decision:
    match command:
        case CreateTopic():
            return topics.create_topic(state, command)
        case CreatePartitions():
            return topics.create_partitions(state, command)
        case DeleteTopic():
            return topics.delete_topic(state, command)
        case _:
            assert_never(command)


def _decide_broker(state: ClusterState, command: _OfBrokers | _OfDirectories) -> Decision:
    match command:
        case RegisterBroker():
            return broker_lifecycle.register(state, command)
        case FenceBroker():
            return broker_lifecycle.fence(state, command)
        case UnfenceBroker():
            return broker_lifecycle.unfence(state, command)
        case ShutDownBroker():
            return broker_lifecycle.shut_down(state, command)
        case UnregisterBroker():
            return broker_lifecycle.unregister(state, command)
        case _:
            return _decide_directories(state, command)


def _decide_directories(state: ClusterState, command: _OfDirectories) -> Decision:
    match command:
        case CordonDirs():
            return broker_lifecycle.cordon(state, command)
        case LoseDirs():
            return log_dirs.lose(state, command)
        case AssignDirs():
            return log_dirs.assign(state, command)
        case _:
            assert_never(command)
