"""`--fault` of `apply`: what is to befall the embedded cluster while a plan is performed on it, told as it happens.

Not here: the words of a fault. A real cluster takes none.
"""

from collections.abc import Sequence
from dataclasses import replace

from replan.applying.progress import Progress, Report
from replan.commands.cluster import Connection
from replan.faults.read import read_fault
from replan.rehearsal.stage import surroundings
from replan.reporting.quantities import duration
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.faults import At


class Befalling:
    """Faults for a simulated cluster, read and not begun yet."""

    def __init__(self, connection: Connection, texts: Sequence[str]) -> None:
        """Raises BadUsage; a cluster that is not simulated is the caller's mistake."""
        plane = connection.control_plane
        if not isinstance(plane, SimulatedControlPlane):
            raise TypeError("faults befall a simulated cluster alone")
        self._plane = plane
        around = surroundings(plane.simulation)
        self._faults = [read_fault(text, around) for text in texts]

    def __call__(self, report: Report) -> Report:
        """Begin: put them on the agenda, from now on; what is returned also reports each of them."""
        now = self._plane.clock.now()
        schedules = [fault.schedule for fault in self._faults]
        self._plane.schedule(tuple(At(now + a.seconds, a.happening) for s in schedules for a in s))
        ahead = [(f.at_seconds, f"fault: {f.text}") for f in self._faults]
        ahead += [
            (over, f"over: {f.text}")
            for f in self._faults
            if (over := f.schedule[-1].seconds) > f.at_seconds
        ]
        ahead.sort()

        def tell(progress: Progress) -> None:
            told: list[str] = []
            while ahead and ahead[0][0] <= progress.at_seconds:
                at, text = ahead.pop(0)
                told.append(f"{duration(at)}: {text}")
            report(replace(progress, notes=(*told, *progress.notes)))

        return tell
