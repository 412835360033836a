"""Which cluster a command speaks to: exactly one of a real one, a simulated one, a snapshot file.

Here belong the flags and the environment. Nothing heavy is imported: every start of the program reads this module.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from replan.errors import BadUsage

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
