"""Which replica lists the controller takes from a person.

Here belong the checks that reassignments, new topics and new partitions share
(ReplicationControlManager.validateManualPartitionAssignment). Only registration counts: brokers that are fenced,
dead or shutting down are accepted.
"""

from replan.model.control_plane import Rejected
from replan.model.names import Replicas
from replan.simulator.controller.error_codes import Code, rejected
from replan.simulator.controller.state import ClusterState


def refusal(
    state: ClusterState, replicas: Replicas, expected: int | None = None
) -> Rejected | None:
    """Why a list is refused, brokers looked at in ascending order; None where it is taken.

    `expected` is the replication factor that the topic's earlier partitions have, where that is required.
    """
    if not replicas:
        return _bad("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker in sorted(replicas):
        registration = state.brokers.get(broker)
        if registration is None:
            return _bad(
                f"The manual partition assignment includes broker {broker}, "
                "but no such broker is registered."
            )
        if broker == previous:
            return _bad(
                f"The manual partition assignment includes the broker {broker} more than once."
            )
        if registration.cordoned and state.rules.refuses_cordoned:
            return _bad(
                f"The manual partition assignment includes broker {broker}, "
                "but all its log directories are cordoned."
            )
        previous = broker
    if expected is not None and len(replicas) != expected:
        return _bad(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {expected} replica(s)."
        )
    return None


def _bad(message: str) -> Rejected:
    return rejected(Code.INVALID_REPLICA_ASSIGNMENT, message)
