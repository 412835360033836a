"""Which faults the controller refuses, as Kafka would: the report says so, since such a fault has no effect."""

from collections import defaultdict
from collections.abc import Sequence

from replan.faults.answers import refusals as refusals_of
from replan.faults.read import FaultSpec
from replan.simulator.cluster.apply_fault import apply_fault
from replan.simulator.cluster.physical_state import Simulation


class Refused:
    """Looks at the cluster right before each fault happens."""

    def __init__(self, faults: Sequence[FaultSpec], stage: Simulation) -> None:
        """The faults count from the present of the stage."""
        self.refusals: dict[int, list[str]] = defaultdict(list)
        """By the place of the fault in the order in which they were asked for."""
        began = stage.world.now
        found = [
            (began + at.seconds, number, at.fault)
            for number, fault in enumerate(faults)
            for at in fault.schedule
        ]
        self._ahead = sorted(found, key=lambda due: due[0])
        self.look(stage, began)

    def look(self, simulation: Simulation, until: float) -> None:
        """Take in the cluster up to a moment; nothing but bytes has happened to it before that."""
        while self._ahead and self._ahead[0][0] <= until:
            _, number, fault = self._ahead.pop(0)
            self.refusals[number] += refusals_of(simulation.cluster, fault)
            simulation = apply_fault(simulation, fault)
