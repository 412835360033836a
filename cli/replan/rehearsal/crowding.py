"""What copies took of the networks that they share with replicas that come back, which are late by so much."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from replan.faults.read import FaultSpec
from replan.model.names import BrokerId, TopicPartition
from replan.planning.safety.slack import Crowding
from replan.rehearsal.result import Copied
from replan.simulator.cluster.faults import SlowBroker
from replan.simulator.cluster.physical_state import Simulation


def crowding_by_broker(
    stage: Simulation,
    faults: Sequence[FaultSpec],
    copies: Sequence[Copied],
    span: tuple[float, float],
) -> Mapping[BrokerId, Sequence[Crowding]]:
    """The copies that each broker sent or received; `span`: the seconds when the run began and ended.

    What is written and replicated has its part of a network in any case, whoever leads; copies are counted with what
    that leaves of the slowest network or disk that there was.
    """
    began, ended = span
    speeds = stage.world.speeds
    slowed = [
        at.fault.bytes_per_second
        for fault in faults
        for at in fault.schedule
        if isinstance(at.fault, SlowBroker) and at.fault.bytes_per_second
    ]
    slowest = min(speeds.network_bytes_per_second, speeds.disk_bytes_per_second, *slowed)
    taken = _taken_by_producing(stage, copies)
    found: dict[BrokerId, list[Crowding]] = {}
    for copy in copies:
        until = ended if copy.in_sync is None else began + copy.in_sync
        for broker in (copy.broker, copy.source):
            if broker is not None:
                left = slowest - taken[broker]
                seconds = copy.bytes / left if left > 0 else math.inf
                found.setdefault(broker, []).append(Crowding(began + copy.began, until, seconds))
    return found


def _taken_by_producing(stage: Simulation, copies: Sequence[Copied]) -> Counter[BrokerId]:
    """Bytes per second that each broker at most sends, or receives, of what is written."""
    new: dict[TopicPartition, set[BrokerId]] = {}
    for copy in copies:
        new.setdefault(copy.partition, set()).add(copy.broker)
    taken = Counter[BrokerId]()
    for name, rate in stage.world.produce.items():
        partition = stage.cluster.partition(name)
        members = new.get(name, set()) | set(() if partition is None else partition.replicas)
        for broker in members:
            taken[broker] += math.ceil(rate * max(1, len(members) - 1))
    return taken
