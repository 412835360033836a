"""A partition that is to be led again, as a plan holds it: what was found, who is to lead, and what that loses."""

from msgspec import field

from replan.documents.typed import Form, Int32, Int64, ReplicaList, Text, once_each
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.planning.change import PlannedStep, Rank
from replan.planning.recovery.candidates import Candidate, Loss
from replan.wording import WordedName


class RecoveryMethod(WordedName):
    """By what a leader is chosen."""

    BALANCED = ("balanced", "the best log")
    """The best log, where no better one may return."""
    AGGRESSIVE = ("aggressive", "the best log that answers")
    """The best log of those that answer."""
    UNCLEAN = ("unclean", "the first live replica, as Kafka chooses")
    """As Kafka does: the first live replica of the list."""
    DESIGNATED = ("designated", "the one that was named")
    """The one that was named."""


class Recovery(Form, PlannedStep, frozen=True, kw_only=True):
    """One partition without a leader, and who is to lead it."""

    rank = Rank.LEADERLESS

    topic: Text
    number: Int32 = field(name="partition")
    topic_id: TopicId
    original: ReplicaList
    """The list that was found."""
    order: ReplicaList
    """The same replicas with the chosen one first, without brokers that are not registered."""
    method: RecoveryMethod
    """By what the leader was chosen."""
    clean: bool
    """The chosen one is in the ISR or the ELR: nothing is lost, and no unclean election is asked for."""
    reassigned: bool = False
    """A reassignment runs on it, so its list stays: Kafka elects the chosen one by the list as it is."""
    leader_epoch: Int32
    """Of the partition when it was found without a leader."""
    wait_seconds: int = 0
    """How long the partition must have been without a leader."""
    bytes: Int64 = 0
    """Of its largest replica, as far as known."""
    loss: Loss
    """What it loses, at least: the records of all tails, each once."""
    candidates: tuple[Candidate, ...]
    """What its replicas said of their logs, in the order of the list."""

    def __post_init__(self) -> None:
        once_each(original=self.original, order=self.order)
        if not set(self.order) <= set(self.original):
            raise ValueError(".order: it names a broker that is not in `original`")
        if tuple(c.broker for c in self.candidates) != self.original:
            raise ValueError(".candidates: expected the brokers of `original`, in that order")

    @property
    def partition(self) -> TopicPartition:
        """Which partition."""
        return TopicPartition(self.topic, self.number)

    @property
    def brokers(self) -> Replicas:
        """Those that it concerns."""
        return (*self.original, *self.order)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """That one."""
        return (self.partition,)

    @property
    def may_change_leader(self) -> bool:
        """It gets one."""
        return True

    def __str__(self) -> str:
        """Who is to lead, and why."""
        how = "cleanly" if self.clean else f"unclean, by {self.method.words}"
        return f"no leader -> {self.chosen}  ({how})"

    @property
    def reorders(self) -> bool:
        """Whether the list is changed first, so that the election takes the chosen one.

        Kafka elects the first able replica of the list; a clean one needs no order unless it was named.
        """
        if (
            self.reassigned
            or self.method is RecoveryMethod.UNCLEAN
            or (self.clean and self.method is not RecoveryMethod.DESIGNATED)
        ):
            return False
        return self.order != self.original

    @property
    def chosen(self) -> BrokerId:
        """Who is to lead."""
        return self.order[0]
