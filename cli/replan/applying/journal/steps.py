"""What the journal holds of the steps of an application: one record for each partition, setting or replica it touched.

Each is cumulative: the latest one says all that is known of its step. What an application is, what was there before,
and commands are in `records`.
"""

from enum import IntEnum, StrEnum

from replan.documents.forms import Broker, Brokers, Form, Int32, ReplicaList, Text, once_each
from replan.model.configs import ConfigScope, SettingName
from replan.model.names import Replicas, TopicId, TopicPartition
from replan.planning.plans.requests import RequestKind


class Status(StrEnum):
    """How one partition of an application stands; all but OPEN are final, and DONE until a late request undoes it."""

    OPEN = "open"
    DONE = "done"
    STALE = "stale"
    REJECTED = "rejected"
    FOREIGN = "foreign"
    CANCELLED = "cancelled"
    """Nothing of it runs any more, and nothing of it may arrive; where it is not at its original, it goes back next."""


class Reached(IntEnum):
    """How far a move was seen to get; it never goes back, except by our own cancel."""

    NOTHING = 0
    EXPANDED = 1
    ASSIGNED = 2


class Asked(Form, frozen=True):
    """The last request of a partition."""

    kind: RequestKind
    replicas: Brokers
    """The list asked for; for an election the leader alone; empty for a cancel."""
    confirmed: bool = False
    """Its outcome is definite: no copy of it can still be on its way."""


class MoveRecord(Form, frozen=True):
    """One partition that an application has touched or ended; cumulative, one record."""

    application: Text
    partition: TopicPartition
    topic_id: TopicId
    original: ReplicaList
    target: ReplicaList
    status: Status = Status.OPEN
    asked: Asked | None = None
    past: tuple[Replicas, ...] = ()
    """Every list that was asked for so far: a running state that equals one of them is an echo."""
    reached: Reached = Reached.NOTHING
    message: str = ""
    """Why it ended, when not done."""
    changed_at: str = ""
    """The date and time of its last step, for people; nothing is decided by it."""

    def __post_init__(self) -> None:
        once_each(original=self.original, target=self.target)
        check_name(self.partition)

    @property
    def expanding(self) -> bool:
        """Whether expand is what was asked last: it runs, or has ended and waits for assign."""
        return self.asked is not None and self.asked.kind is RequestKind.EXPAND

    @property
    def given_up(self) -> bool:
        """Whether it has ended in the middle: its copy may still run."""
        return self.expanding and self.status not in {Status.OPEN, Status.DONE}

    @property
    def list_pending(self) -> bool:
        """Whether a list, or a cancel, was asked for last whose outcome is not definite."""
        asked = self.asked
        return asked is not None and not asked.confirmed and asked.kind is not RequestKind.ELECT

    @property
    def key(self) -> str:
        """Its key; the topic's id, so that a topic of the same name made later is another one."""
        return f"own/{self.application}/{self.topic_id}-{self.partition.partition}"


class CreateRecord(Form, frozen=True):
    """Partitions that an application has asked for, of one topic; which ones says its plan."""

    application: Text
    topic: Text
    topic_id: TopicId
    count: Int32
    """How many the topic has afterwards."""
    status: Status = Status.OPEN
    message: str = ""
    """Why it ended, when not done."""

    @property
    def key(self) -> str:
        """Its key."""
        return f"create/{self.application}/{self.topic_id}"


class StandingRecord(Form, frozen=True):
    """A throttle setting that an application has asked for and that is to stay."""

    application: Text
    scope: ConfigScope
    name: Text
    config: str
    status: Status = Status.OPEN
    message: str = ""
    """Why it ended, when not done."""

    @property
    def setting(self) -> SettingName:
        """What is set."""
        return SettingName(self.scope, self.name, self.config)

    @property
    def key(self) -> str:
        """Its key."""
        return f"standing/{self.application}/{self.scope}/{self.name}/{self.config}"


class RecoveryStep(StrEnum):
    """What a recovery asks for."""

    LIST = "list"
    """The chosen replica first in the list."""
    ELECT = "elect"
    BACK = "list back"
    """The list that was found, once the application is cancelled."""


class RecoveryRecord(Form, frozen=True, kw_only=True):
    """A partition that an application has begun to let somebody lead again, on what evidence; kept after its end."""

    application: Text
    partition: TopicPartition
    topic_id: TopicId
    order: ReplicaList
    """The chosen one first."""
    method: str
    clean: bool
    evidence: str
    """What each replica said, in one line for people; the plan has it in full."""
    lost: int
    """Records that it loses, as stated before: at least."""
    asked: RecoveryStep | None = None
    """The last request."""
    measured: int | None = None
    """Records that it has lost, as measured afterwards."""
    status: Status = Status.OPEN
    message: str = ""
    """Why it ended, when not done."""

    @property
    def key(self) -> str:
        """Its key; the topic's id, so that a topic of the same name made later is another one."""
        return f"recovery/{self.application}/{self.topic_id}-{self.partition.partition}"


class LogMoveRecord(Form, frozen=True):
    """A replica that an application has sent to another log directory of its broker."""

    application: Text
    partition: TopicPartition
    topic_id: TopicId
    broker: Broker
    target: Text
    status: Status = Status.OPEN
    message: str = ""
    """Why it ended, when not done."""

    def __post_init__(self) -> None:
        check_name(self.partition)

    @property
    def key(self) -> str:
        """Its key."""
        return f"log/{self.application}/{self.broker}/{self.topic_id}-{self.partition.partition}"


def check_name(partition: TopicPartition) -> None:
    """Raise ValueError unless it is the name of a partition."""
    if not partition.topic or partition.partition < 0:
        raise ValueError(".partition: expected a topic and the number of a partition")
