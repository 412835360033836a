"""`--fault` of `apply`: injects faults into the embedded cluster while a plan is performed on it, and reports them.

Not here: the words of a fault. A real cluster takes none.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from replan.applying.views.progress import Progress, ProgressListener
from replan.commands.shared.target import Connection
from replan.wording import duration


def with_faults(
    texts: Sequence[str], connection: Connection
) -> Callable[[ProgressListener], ProgressListener]:
    """Read faults. What is returned begins them, from then on, and reports each of them beside the progress.

    Raises BadUsage; a cluster that is not simulated is the caller's mistake.
    """
    if not texts:
        return lambda report: report
    from replan.faults.read import read_fault, schedule_of
    from replan.rehearsal.setup import fault_context
    from replan.simulator.control_plane import SimulatedControlPlane

    plane = connection.control_plane
    if not isinstance(plane, SimulatedControlPlane):
        raise TypeError("only a simulated cluster takes faults")
    around = fault_context(plane.simulation)
    faults = [read_fault(text, around) for text in texts]

    def begin(report: ProgressListener) -> ProgressListener:
        now = plane.clock.now()
        plane.schedule(schedule_of(faults, now))
        ahead = [(f.at_seconds, f"fault: {f.text}") for f in faults]
        ends = ((f.schedule[-1].seconds, f) for f in faults)
        ahead += [(end, f"over: {f.text}") for end, f in ends if end > f.at_seconds]
        ahead.sort()

        def report_faults(progress: Progress) -> None:
            lines: list[str] = []
            while ahead and ahead[0][0] <= progress.at_seconds:
                at, text = ahead.pop(0)
                lines.append(f"{duration(at)}: {text}")
            report(replace(progress, notes=(*lines, *progress.notes)))

        return report_faults

    return begin
