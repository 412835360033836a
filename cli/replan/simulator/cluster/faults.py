"""What happens to a cluster from outside, as values at virtual times: deaths, other tools, lost requests.

Here belong the faults and the schedule that holds them. What each does is in `apply_fault`; how a lost request
looks to its sender is in `control_plane`.
"""

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from replan.model.control_plane import ReplicaName
from replan.model.names import BrokerId, TopicPartition
from replan.simulator.controller.commands import ControllerCommand


class WriteKind(Enum):
    """The writing requests of the ControlPlane port, by their words in faults."""

    REASSIGN = "reassign"
    ELECT = "elect"
    CONFIGURE = "configs"
    CREATE = "create"
    MOVE_LOGS = "log-dirs"


class KillBroker(Struct, frozen=True):
    """The process dies: it serves no more, and is fenced when its session ends."""

    broker: BrokerId


class StopBroker(Struct, frozen=True):
    """A controlled shutdown: leaderships are moved first, then the process ends."""

    broker: BrokerId


class StartBroker(Struct, frozen=True):
    """The process starts again; after a kill it has lost what was not flushed, as far as the controller can tell."""

    broker: BrokerId


class LoseDisk(Struct, frozen=True):
    """The disk of a log directory fails; None: of the broker's last one.

    A broker goes on without it if it has others, unless it was the first: that holds the metadata log, and it halts.
    """

    broker: BrokerId
    path: str | None = None


class ReplaceDisks(Struct, frozen=True):
    """A broker gets empty disks for those that it has lost, and is restarted: a live one by a controlled shutdown."""

    broker: BrokerId


class DropFromIsr(Struct, frozen=True):
    """The leader drops a follower that fell behind by so many bytes."""

    partition: TopicPartition
    broker: BrokerId
    lag_bytes: int


class Produce(Struct, frozen=True):
    """From now on so many bytes per second are written to a partition."""

    partition: TopicPartition
    bytes_per_second: float


class SlowBroker(Struct, frozen=True):
    """From now on a broker's network carries so little in each direction; None: as much as everybody's."""

    broker: BrokerId
    bytes_per_second: float | None


class SendRequest(Struct, frozen=True):
    """A request of another tool, or a late one of replan, reaches the controller."""

    command: ControllerCommand


class SendLogMoves(Struct, frozen=True):
    """A late request of replan for other log directories reaches those brokers of these replicas that serve."""

    paths: Mapping[ReplicaName, str]


class LoseRequests(Struct, frozen=True):
    """The next requests of a kind time out for their sender.

    `effect_after_seconds`: None if they never reach the controller, 0 if only the answer is lost, more if a broker
    re-sends them that much later (NodeToControllerChannelManager queues for up to 60 s plus the request's timeout).
    """

    kind: WriteKind
    times: int = 1
    effect_after_seconds: float | None = None


class RepeatRequests(Struct, frozen=True):
    """The next requests of a kind reach the controller twice, and only the second answer comes back.

    Brokers send a forwarded request again when their connection to the controller drops: a repeated cancel is answered
    85, a repeated election 84, although the first delivery did the work.
    """

    kind: WriteKind
    times: int = 1


class Disconnect(Struct, frozen=True):
    """Nobody answers for a while: reads fail, writes have no known outcome and no effect."""

    seconds: float


class LagMetadata(Struct, frozen=True):
    """From now on brokers show partitions as they were so many seconds ago; the controller does not lag."""

    seconds: float


class BrokerQuestion(Enum):
    """What a broker is asked about itself, or asked to change in itself."""

    RATES = "rates"
    SIZES = "sizes"
    """And cordons: DescribeLogDirs answers both."""
    CHANGES = "changes"


class Unresponsive(Struct, frozen=True):
    """From now on a live broker answers replan none of these questions about itself; it serves everybody else."""

    broker: BrokerId
    to: frozenset[BrokerQuestion]


class SlowLooks(Struct, frozen=True):
    """From now on every look of replan takes so many seconds more; what it shows is as old as that."""

    seconds: float


class Permission(Enum):
    """An ACL of replan's user, on the cluster or on a topic."""

    DESCRIBE = "describe"
    DESCRIBE_CONFIGS = "describe-configs"
    ALTER = "alter"
    ALTER_CONFIGS = "alter-configs"


class Forbid(Struct, frozen=True):
    """From now on replan's user may not do this with a topic, or with the cluster; everybody else may."""

    topic: str | None
    """None: the cluster."""
    permissions: frozenset[Permission]
    """None of them: it may do everything again."""


Fault = (
    KillBroker
    | StopBroker
    | StartBroker
    | LoseDisk
    | ReplaceDisks
    | DropFromIsr
    | Produce
    | SlowBroker
    | SendRequest
    | SendLogMoves
    | LoseRequests
    | RepeatRequests
    | Disconnect
    | LagMetadata
    | Unresponsive
    | SlowLooks
    | Forbid
)


class At(Struct, frozen=True):
    """A fault and its virtual second."""

    seconds: float
    fault: Fault


Schedule = tuple[At, ...]
"""Faults in any order; those of the same second happen in the order given."""
