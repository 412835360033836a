"""The cluster that a command speaks to, opened. Which one that is stands in `target`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from replan.commands.target import Target
from replan.errors import BadUsage
from replan.model.control_plane import Clock, ControlPlane
from replan.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Connection:
    """An open control plane and the clock that its time runs by."""

    control_plane: ControlPlane
    clock: Clock


@contextmanager
def connect(chosen: Target) -> Iterator[Connection]:
    """Open the cluster for reading and acting; heavy clients are imported only here."""
    if chosen.simulated is not None:
        from replan.simulator.state_file import open_simulated

        simulated = open_simulated(chosen.simulated)
        try:
            yield Connection(simulated, simulated.clock)
        finally:
            simulated.close()
        return
    if chosen.bootstrap_server is None:
        raise BadUsage("this command acts on a cluster; --snapshot can only be read")
    from replan.kafka.clock import SystemClock
    from replan.kafka.control_plane import open_cluster

    clock = SystemClock()
    real = open_cluster(chosen.bootstrap_server, chosen.command_config, clock=clock)
    try:
        yield Connection(real, clock)
    finally:
        real.close()


def observe(chosen: Target) -> Snapshot:
    """Everything at this moment, from wherever the flags say."""
    if chosen.snapshot is not None:
        from replan.snapshots.files import read_snapshot

        return read_snapshot(chosen.snapshot)
    with connect(chosen) as connection:
        return connection.control_plane.observe()
