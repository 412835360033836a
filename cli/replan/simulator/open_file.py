"""Open the simulated cluster in a file (`--simulated FILE`)."""

from pathlib import Path

from replan.simulator.clock import VirtualClock
from replan.simulator.control_plane import SimulatedControlPlane
from replan.simulator.persistence.state_file import StateFile


def open_simulated(path: Path, *, pace: float | None = None) -> SimulatedControlPlane:
    """The cluster in a file, with a clock at the time of the file.

    `pace` is virtual seconds per real second, for people who watch; None lets waiting cost nothing.

    Raises:
        BadFile: the file cannot be read, or describes no cluster.
    """
    kept = StateFile(path)
    simulation = kept.read()
    kept.clock = VirtualClock(simulation.world.now, pace=pace)
    return SimulatedControlPlane(simulation, kept.clock, store=kept)
