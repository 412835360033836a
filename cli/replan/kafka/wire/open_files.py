"""How many connections this process may hold: a broker of a large cluster may need a file that is not there."""

import contextlib
import resource
from dataclasses import dataclass

from replan.kafka.wire.connection import Connection
from replan.model.names import BrokerId

_OTHERS = 64
"""Files that are open for something else."""
_EACH = 3
"""Files that a broker may need while its connection is made: the name is looked up beside it."""
_AT_ONCE = 250


@dataclass(frozen=True, slots=True)
class Room:
    """How many connections there may be."""

    connections: int

    @property
    def at_once(self) -> int:
        """How many brokers may be asked at the same time."""
        return max(1, min(_AT_ONCE, self.connections // _EACH))

    def make(self, held: dict[BrokerId, Connection]) -> None:
        """Close those that have rested longest where there are as many as there may be."""
        resting = [broker for broker, connection in held.items() if not connection.busy]
        for broker in resting[: max(0, len(held) + _EACH * self.at_once - self.connections)]:
            held.pop(broker).close()


def room_for_connections(brokers: int) -> Room:
    """Raise the soft limit of open files as far as these brokers need and the hard limit lets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = brokers + _EACH * _AT_ONCE + _OTHERS
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    limit = wanted if soft == resource.RLIM_INFINITY else soft
    return Room(max(_EACH, limit - _OTHERS))
