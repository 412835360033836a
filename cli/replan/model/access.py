"""What a connection finds out about itself: what its user may do there, and how its clock differs from the cluster's.

Here belong the values that `doctor`, `plan` and `apply` judge. Not here: which command needs what
(`planning.findings.checkup`).
"""

from collections.abc import Mapping

from msgspec import Struct

from replan.model.names import BrokerId

TIMEOUT_SECONDS = 60.0
"""How long a cluster may take to answer, unless `--timeout` or a fleet file says otherwise: longer than the 30 s for
which brokers keep talking to a frozen controller (controller.socket.timeout.ms)."""

Operations = frozenset[str]
"""Kafka's names of operations: `Describe`, `AlterConfigs` … (org.apache.kafka.common.acl.AclOperation)."""


class ClockDifference(Struct, frozen=True):
    """How this machine's clock compares with that of the active controller."""

    controller: BrokerId
    ahead_seconds: float
    """This machine's clock minus the controller's; negative where this one is behind."""
    within_seconds: float
    """Half of what the answer took: the difference is known no better."""


class Access(Struct, frozen=True):
    """What the user of a connection may do."""

    cluster: Operations | None
    """On the resource Cluster; None where the cluster does not say."""
    topics: Mapping[str, Operations]
    """On each topic that this user may describe; the others do not exist for it."""
    not_created: frozenset[str] = frozenset()
    """Topics of the journal and its lock that do not exist and may not be created."""
    describes_transactions: bool | None = None
    """Whether Describe on the journal's TransactionalId is given; None where no broker says."""
    transactional_id: str = ""
    """The journal's."""
    principal: str = ""
    """As whom Kafka knows the user, as far as that can be known here."""
