"""What copies took of the networks that they share with replicas that come back, which are late by so much."""

from collections.abc import Mapping, Sequence

from replan.faults.read import FaultSpec
from replan.model.names import BrokerId
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

    Each is counted with the slowest network or disk that there was.
    """
    began, ended = span
    speeds = stage.world.speeds
    slowed = [
        at.fault.bytes_per_second
        for fault in faults
        for at in fault.schedule
        if isinstance(at.fault, SlowBroker) and at.fault.bytes_per_second
    ]
    least = min(speeds.network_bytes_per_second, speeds.disk_bytes_per_second, *slowed)
    found: dict[BrokerId, list[Crowding]] = {}
    for copy in copies:
        until = ended if copy.in_sync is None else began + copy.in_sync
        took = Crowding(began + copy.began, until, copy.bytes / least)
        for broker in (copy.broker, copy.source):
            if broker is not None:
                found.setdefault(broker, []).append(took)
    return found
