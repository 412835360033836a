"""Which replica lists the controller takes from a person.

Here belong the checks that reassignments, new topics and new partitions share
(ReplicationControlManager.validateManualPartitionAssignment). Only registration counts: brokers that are fenced,
dead or shutting down are accepted.

In which order the controller comes upon what it keeps by number.

Here belongs what of Kafka's hash tables can be seen from outside (BaseHashTable, TimelineHashMap): how many slots one
has, and which key an iteration meets first. A table grows before something is added or replaced, and never shrinks.
"""

from collections.abc import Iterable

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


GOLDEN_RATIO = 0x9E3779B97F4A7C15
HASHES = 1 << 64
FEWEST_SLOTS = 2


def slots_for(elements: int) -> int:
    """The slots of a table to which so many elements were added, and none replaced."""
    slots = FEWEST_SLOTS
    while 3 * elements > 4 * slots:
        slots *= 2
    return slots


def slots_after_replacing(elements: int) -> int:
    """The slots that a table of so many elements has at least, once one of them was replaced: room for one more."""
    return slots_for(elements + 1)


def first_of(keys: Iterable[int], slots: int) -> int:
    """The key that an iteration meets first: the latest in the first slot, where ascending keys were added."""
    return max(key for key in keys if key * GOLDEN_RATIO % HASHES * slots < HASHES)
