"""An application that several tests disturb: three moves under a throttle, beside what another tool has set."""

from tests.builders import move, state
from tests.unit.applying.lab import MB, Lab, lab

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_REPLICAS,
    BrokerId,
    ConfigOperation,
    MoveThrottle,
    broker_change,
    topic_change,
)

MOVES = (
    move([1, 2, 3], [4, 2, 5], partition=0, size=20 * MB),
    move([2, 3, 1], [3, 2, 1], partition=1, size=20 * MB),
    move([3, 1, 2], [5, 1], partition=2, size=10 * MB),
)


def three_moves() -> Lab:
    """Three moves under a throttle, with entries, an order and a rate that another tool has set."""
    made = lab(
        [state(m.original, partition=m.partition.partition, size=m.bytes) for m in MOVES],
        MOVES,
        throttle=MoveThrottle(5 * MB),
    )
    made.plane.alter_configs(
        [
            topic_change("orders", LEADER_REPLICAS, ConfigOperation.SET, "7:8,0:1"),
            broker_change(BrokerId(5), FOLLOWER_RATE, ConfigOperation.SET, "9000000"),
            broker_change(BrokerId(4), FOLLOWER_RATE, ConfigOperation.SET, "1000000"),
        ]
    )
    return made


def stands_at_the_target(made: Lab) -> bool:
    """Every list is as it is wanted, and its first leads."""
    return all(
        (found := made.partition(m)).replicas == m.target and found.leader == m.target[0]
        for m in MOVES
    )
