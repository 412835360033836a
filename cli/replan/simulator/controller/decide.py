"""The controller: `decide_command(state, command)` says what happens, `decide_and_apply` lets it happen.

Here belongs the table of rules, one for each command. A decision reads the state and changes nothing.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from replan.model.error_codes import ErrorCode
from replan.simulator.controller import (
    broker_lifecycle,
    configs,
    elections,
    partition,
    reassignment,
    topics,
)
from replan.simulator.controller.commands import (
    AlterConfigs,
    AlterIsr,
    AlterReassignments,
    AssignDirs,
    ControllerCommand,
    ControllerResult,
    CordonDirs,
    CreatePartitions,
    CreateTopic,
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
    rejection,
)
from replan.simulator.controller.events import evolve_all
from replan.simulator.controller.partition import NoSuchReplica
from replan.simulator.controller.state import ClusterState

COMMAND_RULES: Mapping[type[ControllerCommand], Callable[[ClusterState, Any], ControllerResult]] = (
    MappingProxyType(
        {
            AlterReassignments: reassignment.alter_reassignments,
            AlterIsr: partition.alter_isr,
            AlterConfigs: configs.alter_configs,
            ElectLeaders: elections.elect_leaders,
            RebalanceLeaders: elections.rebalance_leaders,
            ElectUncleanLeaders: elections.elect_unclean_leaders,
            CreateTopic: topics.create_topic,
            CreatePartitions: topics.create_partitions,
            DeleteTopic: topics.delete_topic,
            RegisterBroker: broker_lifecycle.register,
            FenceBroker: broker_lifecycle.fence,
            UnfenceBroker: broker_lifecycle.unfence,
            ShutDownBroker: broker_lifecycle.shut_down,
            UnregisterBroker: broker_lifecycle.unregister,
            CordonDirs: broker_lifecycle.cordon,
            LoseDirs: broker_lifecycle.lose,
            AssignDirs: broker_lifecycle.assign,
        }
    )
)
"""Each takes commands of its own type."""
OF_REGISTERED = (
    FenceBroker,
    UnfenceBroker,
    ShutDownBroker,
    UnregisterBroker,
    CordonDirs,
    LoseDirs,
    AssignDirs,
)
"""Commands of a broker that the controller has to know."""


def decide_and_apply(
    state: ClusterState, command: ControllerCommand
) -> tuple[ClusterState, ControllerResult]:
    """Decide a command and apply its events."""
    decision = decide_command(state, command)
    return evolve_all(state, decision.events), decision


def decide_command(state: ClusterState, command: ControllerCommand) -> ControllerResult:
    """What a command causes in this state, and what is answered.

    Where the controller itself stumbles, nothing happens and the answer is -1 to all of the request.
    """
    if isinstance(command, OF_REGISTERED) and command.broker not in state.brokers:
        text = f"Broker ID {command.broker} is not currently registered"
        return ControllerResult(whole=rejection(ErrorCode.BROKER_ID_NOT_REGISTERED, text))
    try:
        return COMMAND_RULES[type(command)](state, command)
    except NoSuchReplica:
        return ControllerResult(whole=rejection(ErrorCode.UNKNOWN_SERVER_ERROR))
