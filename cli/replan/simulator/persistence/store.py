"""What keeps a simulated cluster between the lives of processes, as the control plane needs it."""

from typing import Protocol

from replan.simulator.cluster.physical_state import Simulation


class StateStore(Protocol):
    """Keeps a simulated cluster between the lives of processes."""

    def lock(self) -> Simulation | None:
        """Keep other processes from changing it; returns the state where it was changed by another one."""
        ...

    def keep(self, simulation: Simulation) -> None:
        """Keep the state after a change."""
        ...

    def release(self, simulation: Simulation) -> None:
        """Keep the last state, if this process changed any, and let others change it again."""
        ...
