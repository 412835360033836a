"""Which cluster a command speaks to: exactly one of a real one, a simulated one, a snapshot file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from replan.errors import BadUsage
from replan.model.control_plane import Clock, ControlPlane
from replan.model.snapshot import Snapshot

BOOTSTRAP_VARIABLE = "REPLAN_BOOTSTRAP_SERVER"
CONFIG_VARIABLE = "REPLAN_COMMAND_CONFIG"


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that the flags name."""

    bootstrap_server: str | None = None
    command_config: Path | None = None
    simulated: Path | None = None
    snapshot: Path | None = None

    @property
    def is_real(self) -> bool:
        """Whether it is a real cluster rather than a file."""
        return self.bootstrap_server is not None


def target(
    bootstrap_server: str | None,
    command_config: Path | None,
    simulated: Path | None,
    snapshot: Path | None,
) -> Target:
    """Check the flags, and let the environment stand in where none is given. Raises BadUsage."""
    files = [flag for flag in (simulated, snapshot) if flag is not None]
    if bootstrap_server is None and not files:
        bootstrap_server = os.environ.get(BOOTSTRAP_VARIABLE)
    if command_config is None and bootstrap_server is not None and CONFIG_VARIABLE in os.environ:
        command_config = Path(os.environ[CONFIG_VARIABLE])
    if len(files) + (bootstrap_server is not None) != 1:
        raise BadUsage(
            "name exactly one cluster: --bootstrap-server HOST:PORT (a real one; or set "
            f"{BOOTSTRAP_VARIABLE}), --simulated FILE (the embedded one), or --snapshot FILE (read only)"
        )
    if command_config is not None and bootstrap_server is None:
        raise BadUsage("--command-config goes with --bootstrap-server")
    return Target(bootstrap_server, command_config, simulated, snapshot)


def optional_target(
    bootstrap_server: str | None,
    command_config: Path | None,
    simulated: Path | None,
    snapshot: Path | None,
) -> Target | None:
    """As `target`, for commands that can do without a cluster: None where nothing names one."""
    named = (bootstrap_server, command_config, simulated, snapshot)
    if all(flag is None for flag in named) and BOOTSTRAP_VARIABLE not in os.environ:
        return None
    return target(*named)


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
