"""What a difference is, and its class: who must act. How they are found is in `drift`.

A snapshot shows a state and no cause, so each class has the rule that it goes by; docs/fleet.md lists them.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.plans.standing_throttles import ThrottleSetting


class DriftClass(StrEnum):
    """Who or what made the difference."""

    IN_FLIGHT = "in-flight"
    """It is on the way to what is declared. Alone it is no drift."""
    OTHER_TOOL = "other-tool"
    """Another tool is moving it elsewhere at this moment."""
    FAILURE = "failure"
    """Brokers that are down or out of sync are the reason; it passes with them, or the next plan repairs it."""
    OPERATOR = "operator"
    """Somebody changed the cluster or the placement, and not the other."""
    MISTAKE = "mistake"
    """The placement contradicts itself or the cluster: nothing is planned before it is corrected."""
    PARTITION_COUNT = "partition-count"
    """A topic has another number of partitions than is declared."""
    STALE_THROTTLE = "stale-throttle"
    """A throttle is set that nothing needs and nobody declares."""
    REVIEW_DUE = "review-due"
    """An entry of a blacklist is there after its `reviewBy`."""
    UNKNOWN = "unknown"
    """None of the rules fits."""


class DriftRule(StrEnum):
    """What a class goes by; the first that fits, in this order."""

    CONVERGES = "converges"
    NO_LEADER = "no-leader"
    INTERRUPTED = "interrupted"
    RUNS_ELSEWHERE = "runs-elsewhere"
    BROKER_DOWN = "broker-down"
    LEADERSHIP_MOVED = "leadership-moved"
    TOO_FEW_PARTITIONS = "too-few-partitions"
    TOO_MANY_PARTITIONS = "too-many-partitions"
    TOPIC_ABSENT = "topic-absent"
    LISTS_DIFFER = "lists-differ"
    LOG_DIR_DRAINED = "log-dir-drained"
    THROTTLE_DIFFERS = "throttle-differs"
    NOTHING_RUNS = "nothing-runs"
    DATE_PASSED = "date-passed"
    OUT_OF_BALANCE = "out-of-balance"
    CONTRADICTS = "contradicts"
    JOURNAL_UNREAD = "journal-unread"


CLASS_OF: Mapping[DriftRule, DriftClass] = {
    DriftRule.CONVERGES: DriftClass.IN_FLIGHT,
    DriftRule.NO_LEADER: DriftClass.FAILURE,
    DriftRule.INTERRUPTED: DriftClass.OPERATOR,
    DriftRule.RUNS_ELSEWHERE: DriftClass.OTHER_TOOL,
    DriftRule.BROKER_DOWN: DriftClass.FAILURE,
    DriftRule.LEADERSHIP_MOVED: DriftClass.FAILURE,
    DriftRule.TOO_FEW_PARTITIONS: DriftClass.PARTITION_COUNT,
    DriftRule.TOO_MANY_PARTITIONS: DriftClass.PARTITION_COUNT,
    DriftRule.TOPIC_ABSENT: DriftClass.OPERATOR,
    DriftRule.LISTS_DIFFER: DriftClass.OPERATOR,
    DriftRule.LOG_DIR_DRAINED: DriftClass.OPERATOR,
    DriftRule.THROTTLE_DIFFERS: DriftClass.OPERATOR,
    DriftRule.NOTHING_RUNS: DriftClass.STALE_THROTTLE,
    DriftRule.DATE_PASSED: DriftClass.REVIEW_DUE,
    DriftRule.OUT_OF_BALANCE: DriftClass.UNKNOWN,
    DriftRule.CONTRADICTS: DriftClass.MISTAKE,
    DriftRule.JOURNAL_UNREAD: DriftClass.UNKNOWN,
}
PERHAPS_OWN = frozenset(
    {
        DriftRule.RUNS_ELSEWHERE,
        DriftRule.LISTS_DIFFER,
        DriftRule.LOG_DIR_DRAINED,
        DriftRule.THROTTLE_DIFFERS,
        DriftRule.NOTHING_RUNS,
    }
)
"""What replan's own open application may have made, which only its journal tells."""


class OtherKind(StrEnum):
    """What differs where it is not the list or the leader of a partition."""

    PARTITIONS = "partitions"
    """A topic has another number of partitions."""
    LOG_DIR = "log-dir"
    """A replica lies in a log directory that is to be empty."""
    STANDING = "standing"
    """A throttle that is declared to stay."""
    THROTTLE = "throttle"
    """A throttle that nothing needs."""
    LEADER_BLACKLIST = "leader-blacklist"
    REPLICA_BLACKLIST = "replica-blacklist"
    LOG_DIR_BLACKLIST = "log-dir-blacklist"
    BALANCE = "balance"
    PLACEMENT = "placement"
    """A line of the placement file."""


class Difference(Struct, frozen=True):
    """What is not as declared: of a partition, or of a topic, a broker or the cluster where no partition is named."""

    rule: DriftRule
    kind: DifferenceKind | OtherKind
    topic: str | None = None
    partition: int | None = None
    broker: BrokerId | None = None
    declared: Replicas = ()
    observed: Replicas = ()
    leader: BrokerId | None = None
    detail: str = ""
    """For people: what is set, or where it is written."""
    setting: ThrottleSetting | None = None
    """Of a throttle: from what it is to what is declared, or to no value of its own where nothing needs it."""

    @property
    def drift_class(self) -> DriftClass:
        """Who must act."""
        return CLASS_OF[self.rule]

    @property
    def is_drift(self) -> bool:
        """Whether it counts as drift; what is on its way does not."""
        return self.drift_class is not DriftClass.IN_FLIGHT

    @property
    def name(self) -> TopicPartition | None:
        """The partition; None where it is of something else."""
        if self.topic is None or self.partition is None:
            return None
        return TopicPartition(self.topic, self.partition)
