"""`--fault` of `apply`: what is to befall the embedded cluster while a plan is performed on it, told as it happens.

Not here: the words of a fault. A real cluster takes none.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from replan.applying.progress import Progress
from replan.commands.cluster import Connection, Target
from replan.errors import BadUsage
from replan.rehearsal.faults import Fault, parse_fault
from replan.reporting.quantities import duration
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.faults import At

Report = Callable[[Progress], None]


def read_faults(chosen: Target, texts: Sequence[str]) -> Sequence[Fault]:
    """The faults that the command line names; raises BadUsage, also where they would befall no embedded cluster."""
    if chosen.simulated is None:
        raise BadUsage("--fault befalls the embedded cluster alone; it goes with --simulated FILE")
    return [parse_fault(text) for text in texts]


def befalling(faults: Sequence[Fault], connection: Connection, report: Report) -> Report:
    """Put faults on the agenda of a simulated cluster, from now on; what is returned also reports each of them."""
    plane, now = connection.control_plane, connection.clock.now()
    if not isinstance(plane, SimulatedControlPlane):
        return report
    schedules = [fault.schedule for fault in faults]
    plane.schedule(tuple(At(now + at.seconds, at.happening) for s in schedules for at in s))
    ahead = [(f.schedule[0].seconds, f"fault: {f.text}") for f in faults]
    ahead += [(f.schedule[-1].seconds, f"over: {f.text}") for f in faults if len(f.schedule) > 1]
    ahead.sort()

    def tell(progress: Progress) -> None:
        told: list[str] = []
        while ahead and ahead[0][0] <= progress.at_seconds:
            at, text = ahead.pop(0)
            told.append(f"{duration(at)}: {text}")
        report(replace(progress, notes=(*told, *progress.notes)))

    return tell
