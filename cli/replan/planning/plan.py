"""A plan as a value: what was read, what was decided, and nothing of when or by whom, so that two plans of one
state are the same bytes.

The written form is in `plan_file`; the ordered steps are derived by `steps`; safety and refusals by `refusals`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replan.model.names import BrokerId, TopicPartition
from replan.model.placement import MoveThrottle
from replan.planning.moves import Move


@dataclass(frozen=True, slots=True)
class Refusal:
    """A partition, broker or key that the plan does not serve, and why: what, measure, limit, way out."""

    subject: str
    """What is refused, as a user names it: `orders-7`, `broker 9`, `topic clicks`."""
    rule: str
    """A short, stable name: `unknown-broker`, `safe-start`, `unclean-guard`, `target-below-min-isr`, …"""
    message: str
    """One sentence or two, complete with file:line:column where the manifest is meant."""
    held: bool = False
    """Somebody else's reassignment is in the way: exit 4 rather than 3."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Moves in the order in which they are admitted, and all that is needed to perform them safely."""

    cluster_id: str
    manifest_digest: str
    racks: Mapping[BrokerId, str | None]
    """Registered brokers when planned; a target that is gone or has moved racks makes its moves stale."""
    moves: tuple[Move, ...]
    throttle: MoveThrottle | None = None
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
    remember: frozenset[TopicPartition] = field(default_factory=frozenset)
    """Partitions whose original order only the leader blacklist changes: it is journalled before the change."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do and nothing was refused."""
        return not self.moves and not self.refusals
