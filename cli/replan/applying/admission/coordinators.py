"""How leaders of internal topics move: so far apart that the coordinators on their new broker keep up.

Whoever leads a partition of __consumer_offsets, __transaction_state or __share_group_state coordinates the groups, the
transactions or the share groups that hash to it. When the leader moves, the new one reads that log from its beginning
before it answers for them (CoordinatorLoader, TransactionStateManager.loadTransactionsForTxnTopicPartition): until then
they get COORDINATOR_LOAD_IN_PROGRESS, commit nothing, and end no transaction. Members stay in their groups meanwhile,
as the session timeout (45 s) is far longer than a load. What would make it so long that they do not:

* Many logs for one broker at once: one after the other is loaded, so the last waits for all of them. So a leader moves
  to a broker only when the partition that it began to lead before is likely to be loaded, by its size, at a rate that
  brokers are faster than. Each group depends on one partition alone, so leaders may move to different brokers at once.

Copies, and lists that keep the leader, disturb no group: they go like those of any topic, and only the list that lets
another broker lead waits here. The election that follows such a list is not held again: the list has had its turn, and
Kafka may elect by it at any moment (auto.leader.rebalance.enable). Elections alone, without a list, are asked for
together, as Kafka's own tool does. A process that has just begun knows of no load: the first leader moves at once.

Here is who waits. That moves of internal topics come last in a plan is in `planning.making.admission_order`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replan.applying.reasons.gates import CoordinatorLoads
from replan.model.names import BrokerId, is_internal
from replan.model.partition import PartitionState
from replan.planning.plans.moves import Move
from replan.planning.plans.requests import Request, RequestKind

LEAST_SECONDS = 1.0
"""Between two leaders that move to one broker, however small: clients find the new coordinator in that time."""
BYTES_PER_SECOND = 20_000_000
"""At which a coordinator reads a log, at least."""

Loads = Mapping[BrokerId, float]
"""Until when each broker is likely to read the log of a partition that it has begun to lead."""


@dataclass(slots=True)
class Coordinators:
    """Who loads what in one tick; what is asked for in the tick counts."""

    now: float
    loads: dict[BrokerId, float] = field(default_factory=dict)

    @classmethod
    def at(cls, now: float, before: Loads) -> "Coordinators":
        """What is still being loaded now."""
        return cls(now, {broker: until for broker, until in before.items() if until > now})

    def busy(self, move: Move, ask: Request, found: PartitionState) -> CoordinatorLoads | None:
        """Why a list waits that makes another broker lead; it is taken as asked for where nothing keeps it."""
        broker = move.target[0]
        stays = found.leader in ask.replicas and (not move.elect or found.leader == broker)
        if ask.kind is not RequestKind.ASSIGN or stays or not is_internal(move.partition.topic):
            return None
        if broker in self.loads:
            return CoordinatorLoads(broker)
        size = max(move.bytes, found.bytes)
        self.loads[broker] = self.now + LEAST_SECONDS + size / BYTES_PER_SECOND
        return None
