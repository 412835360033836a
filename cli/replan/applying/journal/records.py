"""What the journal holds: one frozen value per kind of record, and the key of each.

The latest record of a key is the whole truth about it; `Forget` takes a key away. Each is written as its fields say
(`record_json`); what all of them together mean is in `ledger`. Nothing here is secret: lists, digests, rates, names.

Of the steps of an application it has one record for each partition, setting or replica that was touched. Each is
cumulative: the latest one says all that is known of its step.
"""

from collections.abc import Hashable
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from time import time
from typing import Annotated, ClassVar, Self

from msgspec import Meta, Struct
from msgspec.structs import replace

from replan.documents.typed import (
    BrokerIds,
    Form,
    Int32,
    Int64,
    ReplicaList,
    Text,
    ValidBrokerId,
    once_each,
)
from replan.model.configs import ConfigScope, SettingName
from replan.model.control_plane import ReplicaName
from replan.model.declared.placement import LARGEST_RATE, SMALLEST_RATE
from replan.model.names import Replicas, TopicId, TopicPartition
from replan.model.partition import Reassignment
from replan.planning.plans.requests import RequestKind
from replan.wording import UNLIMITED


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


class LastRequest(Form, frozen=True):
    """The last request of a partition."""

    kind: RequestKind
    replicas: BrokerIds
    """The list asked for; for an election the leader alone; empty for a cancel."""
    confirmed: bool = False
    """Its outcome is definite: no copy of it can still be on its way."""


class MoveRecord(Form, frozen=True):
    """One partition that an application has touched or ended; cumulative, one record."""

    begins = "own"
    application: Text
    partition: TopicPartition
    topic_id: TopicId
    original: ReplicaList
    target: ReplicaList
    status: Status = Status.OPEN
    asked: LastRequest | None = None
    past: tuple[Replicas, ...] = ()
    """Every list that was asked for so far: a running state that equals one of them is an echo."""
    reached: Reached = Reached.NOTHING
    message: str = ""
    """Why it ended, when not done."""
    changed_at: str = ""
    """The date and time of its last step, for people; nothing is decided by it."""

    def __post_init__(self) -> None:
        once_each(original=self.original, target=self.target)
        check_partition_name(self.partition)

    @property
    def expanding(self) -> bool:
        """Whether expand is what was asked last: it runs, or has ended and waits for assign."""
        return self.asked is not None and self.asked.kind is RequestKind.EXPAND

    @property
    def cancelling(self) -> bool:
        """Whether a cancel is what was asked last: it may not have arrived."""
        return self.asked is not None and self.asked.kind is RequestKind.CANCEL

    def began(self, running: Reassignment | None) -> bool:
        """Whether what runs is a list that was asked for of it: the echo of a request, and no other tool's."""
        return running is not None and running.target in self.past

    def confirmed(self) -> "MoveRecord":
        """The same once the outcome of its last request is definite."""
        if self.asked is None or self.asked.confirmed:
            return self
        return replace(self, asked=replace(self.asked, confirmed=True))

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
        return f"{self.begins}/{self.application}/{self.topic_id}-{self.partition.partition}"


class _OfApplication(Form, frozen=True):
    """What is written down of one application."""

    application: Text


class StepRecord(_OfApplication, frozen=True, kw_only=True):
    """What an application does beside moves; each kind of step has one of its own here, and in the schema."""

    begins: ClassVar[str]
    """What its keys begin with."""
    stays: ClassVar[bool] = False
    """Whether it is kept after the end of its application, for as long as that one is."""
    asked: bool = False
    """Whether the application has asked for it: else it was there already, and is not what the application has done."""
    status: Status = Status.OPEN
    message: str = ""
    """Why it ended, when not done."""

    @property
    def about(self) -> Hashable:
        """What it is about, which no other step of its kind is."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """The key in the journal: what kind of step it is, its application and its subject."""
        raise NotImplementedError


class CreateRecord(StepRecord, frozen=True):
    """Partitions that an application has asked for, of one topic; which ones says its plan."""

    begins = "create"
    topic: Text
    topic_id: TopicId
    count: Int32
    """How many the topic has afterwards."""

    @property
    def about(self) -> str:
        """Of which topic."""
        return self.topic

    @property
    def key(self) -> str:
        """`create/APPLICATION/TOPIC-ID` in the journal."""
        return f"{self.begins}/{self.application}/{self.topic_id}"


class StandingRecord(StepRecord, frozen=True):
    """A throttle setting that is to stay."""

    begins = "standing"
    scope: ConfigScope
    name: Text
    config: str

    @property
    def about(self) -> SettingName:
        """What is set."""
        return SettingName(self.scope, self.name, self.config)

    @property
    def key(self) -> str:
        """`standing/APPLICATION/SCOPE/NAME/CONFIG` in the journal."""
        return f"{self.begins}/{self.application}/{self.scope}/{self.name}/{self.config}"


class RecoveryStep(StrEnum):
    """What a recovery asks for."""

    LIST = "list"
    """The chosen replica first in the list."""
    ELECT = "elect"
    BACK = "list back"
    """The list that was found, once the application is cancelled."""


class RecoveryRecord(StepRecord, frozen=True):
    """A partition that an application has begun to let somebody lead again, on what evidence; kept after its end."""

    begins = "recovery"
    stays = True  # what is said to be lost is kept
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
    step: RecoveryStep | None = None
    """The last request."""
    measured: int | None = None
    """Records that it has lost, as measured afterwards."""

    @property
    def about(self) -> TopicPartition:
        """Which partition."""
        return self.partition

    @property
    def key(self) -> str:
        """Its key; the topic's id, so that a topic of the same name made later is another one."""
        return f"{self.begins}/{self.application}/{self.topic_id}-{self.partition.partition}"


class LogMoveRecord(StepRecord, frozen=True):
    """A replica that an application has sent to another log directory of its broker."""

    begins = "log"
    partition: TopicPartition
    topic_id: TopicId
    broker: ValidBrokerId
    target: Text

    def __post_init__(self) -> None:
        check_partition_name(self.partition)

    @property
    def about(self) -> ReplicaName:
        """Which replica."""
        return (self.partition, self.broker)

    @property
    def key(self) -> str:
        """`log/APPLICATION/BROKER/TOPIC-ID-PARTITION` in the journal."""
        return f"{self.begins}/{self.application}/{self.broker}/{self.topic_id}-{self.partition.partition}"


def check_partition_name(partition: TopicPartition) -> None:
    """Raise ValueError unless it is the name of a partition."""
    if not partition.topic or partition.partition < 0:
        raise ValueError(".partition: expected a topic and the number of a partition")


ThrottledEntry = Annotated[str, Meta(pattern="^[0-9]{1,10}:[0-9]{1,10}$")]
"""Of a throttled-replicas list: partition and broker."""
RateText = Annotated[str, Meta(pattern="^[0-9]{1,19}$")]
"""Bytes per second, as Kafka keeps it."""
OwnRate = Annotated[str, Meta(pattern="^([0-9]{1,19}|unlimited)$")]
SteeredRate = Annotated[str, Meta(pattern="^([0-9]{1,19}|unlimited)?$")]
"""Bytes per second, or `unlimited`; empty for what the plan says."""


def rate_text(bytes_per_second: int | None) -> str:
    """A rate as records have it; None: without a limit."""
    return UNLIMITED if bytes_per_second is None else str(bytes_per_second)


def rate_number(text: str) -> int | None:
    """Bytes per second; None where there is no limit."""
    return int(text) if text.isdigit() else None


class ApplicationStatus(StrEnum):
    """How an application stands."""

    OPEN = "open"
    CLOSED = "closed"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"
    """What it had not finished was taken back; another application may do the rest of that."""


class Verb(StrEnum):
    """What the process at work can be asked for."""

    PAUSE = "pause"
    RESUME = "resume"
    THROTTLE = "throttle"
    CANCEL = "cancel"
    ABANDON = "abandon"
    """To leave the application to the sender, who gives it up."""


class BrokerRates(Form, frozen=True):
    """The rates of one broker, where they are its own."""

    broker: ValidBrokerId
    leader: OwnRate
    follower: OwnRate


class Application(Form, frozen=True):
    """One run of one plan, however many processes it takes."""

    begins = "app"
    id: Text
    status: ApplicationStatus
    plan_digest: str
    placement_digest: str
    cluster_id: str
    owner: str
    """Who opened it and where, for people: `alice@ops-1 (pid 4711)`."""
    summary: str = ""
    """How it ended."""
    moves: Int32 = 0
    """Of its plan; 0 where it was opened by a version that did not write it."""
    opened_at: str = ""
    """When, on the clock of whoever did it; for people, as nothing is decided by it."""
    ended_at: str = ""
    paused_by: str = ""
    """Who paused it; empty where nothing new is kept from beginning."""
    rate: SteeredRate = ""
    """The rate of its copies since somebody changed it."""
    settle: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds that the process at work, or the last one, waits before a replica is removed; 0 where it did not say."""
    slots: Int32 = 0
    """Copies of a broker at once, by that process; 0 where it did not say."""
    cancelled_by: str = ""
    """Who cancelled it; empty where nobody did. It never goes back to empty."""
    takes_back: str = ""
    """The cancelled application whose unfinished moves this one takes back."""

    keep_throttles: bool = False
    """Leave the throttles of its moves in place at the end."""
    bytes: Int64 = 0
    """What its finished copies had copied, by the sizes of its plan."""
    others: bool = False
    """Its rate holds for reassignments of other tools, too, until none runs."""
    placement_commit: str = ""
    """The commit of git that its placement was read from; empty where it was read from files."""
    brokers: tuple[BrokerRates, ...] | None = None
    """The brokers with rates of their own since somebody changed them; None where the plan says which."""

    @property
    def is_cancelled(self) -> bool:
        """Whether what is not finished goes back, or this one takes it back."""
        return bool(self.cancelled_by or self.takes_back)

    @property
    def key(self) -> str:
        """`app/ID` in the journal."""
        return f"{self.begins}/{self.id}"

    @property
    def throttles_others(self) -> bool:
        """Whether reassignments of other tools are to be throttled; while it is taken back they are not."""
        return self.others and not self.cancelled_by


CHUNK_CHARACTERS = 225_000
"""At most 900 kB in UTF-8, within Kafka's default max.message.bytes."""


def pieces(text: str) -> list[str]:
    """A text as records hold it, one piece each."""
    return [text[at : at + CHUNK_CHARACTERS] for at in range(0, len(text), CHUNK_CHARACTERS)]


class ApplicationChunk(Form, frozen=True):
    """A piece of a text that is kept of an application."""

    begins: ClassVar[str]
    application: Text
    index: Int32
    text: str

    @classmethod
    def of(cls, application: str, text: str) -> list[Self]:
        """All pieces of a text."""
        return [cls(application, index, piece) for index, piece in enumerate(pieces(text))]

    @property
    def key(self) -> str:
        """Its key; the number is padded so that keys sort as the pieces do."""
        return f"{self.begins}/{self.application}/{self.index:06d}"


class PlanChunk(ApplicationChunk, frozen=True):
    """A piece of the plan file of an application."""

    begins = "plan"


class OriginalsChunk(ApplicationChunk, frozen=True):
    """A piece of what an ended application keeps of its moves (`originals`)."""

    begins = "originals"


class SavedReplicaList(Form, frozen=True):
    """One throttled-replicas list of a topic: what was there before, and which entries are ours."""

    begins = "prior/topic"
    topic: str
    config: str
    overridden: bool
    """Whether the topic had an override before ours, however empty."""
    ours: tuple[ThrottledEntry, ...]
    kept: bool = False
    """Left in place on purpose, after the application that set it."""

    @property
    def key(self) -> str:
        """`prior/topic/TOPIC/CONFIG` in the journal."""
        return f"{self.begins}/{self.topic}/{self.config}"


class SavedRate(Form, frozen=True):
    """One throttle rate of a broker: its own dynamic value before, and the values that are ours."""

    begins = "prior/broker"
    broker: ValidBrokerId
    config: str
    before: str | None
    ours: Annotated[tuple[RateText, ...], Meta(min_length=1)]
    """All values that we set or are about to set; the last is the wanted one."""
    kept: bool = False
    """Left in place on purpose, after the application that set it; or its broker is not registered any more."""

    @property
    def key(self) -> str:
        """`prior/broker/BROKER/CONFIG` in the journal."""
        return f"{self.begins}/{self.broker}/{self.config}"


class Order(Form, frozen=True):
    """The order that a partition had before a leader blacklist or a recovery changed it.

    Or the list before a move was given up.
    """

    begins = "order"
    partition: TopicPartition
    topic_id: TopicId
    replicas: ReplicaList
    left: BrokerIds = ()
    """The longer list that the move has left; empty for an order."""
    recovered: bool = False
    """A recovery changed it, and no leader blacklist."""

    def __post_init__(self) -> None:
        once_each(replicas=self.replicas, left=self.left)
        check_partition_name(self.partition)

    @property
    def key(self) -> str:
        """`order/TOPIC-ID-PARTITION` in the journal."""
        return order_key(self.topic_id, self.partition.partition)


def order_key(topic: TopicId, partition: int) -> str:
    """The key of what is remembered of a partition."""
    return f"{Order.begins}/{topic}-{partition}"


class Command(Form, frozen=True):
    """What somebody asks of the process at work; `applying.steering` says how it is obeyed."""

    begins = "inbox"
    application: Text
    id: Text
    """Of this command; ids sort by the time at which they were made."""
    verb: Verb
    rate: SteeredRate = ""
    """Of `throttle`."""
    sender: str = ""
    """Who and where, for people."""
    obeyed_by: str = ""
    """Who obeyed, and where, or refused it; empty while it waits."""
    brokers: tuple[BrokerRates, ...] | None = None
    """Of `throttle`: the brokers with rates of their own; None leaves them as they are."""
    others: bool | None = None
    """Of `throttle`: whether the rate is to hold for reassignments of other tools; None leaves that as it is."""
    refused: bool = False
    """Whether it was answered and not obeyed, because it asks for a rate that no command line sends."""

    @property
    def wrong_rates(self) -> tuple[str, ...]:
        """The rates that it asks for and that nothing is to be set to, in bytes per second."""
        if self.verb is not Verb.THROTTLE:
            return ()
        rates = {self.rate, *(r for b in self.brokers or () for r in (b.leader, b.follower))}
        numbers = (rate for rate in rates if rate.isdigit())
        return tuple(sorted(r for r in numbers if not SMALLEST_RATE <= int(r) <= LARGEST_RATE))

    @property
    def key(self) -> str:
        """`inbox/APPLICATION/ID` in the journal."""
        return f"{INBOX}{self.application}/{self.id}"


INBOX = f"{Command.begins}/"
"""What the keys of commands begin with."""


class LoopChunk(Form, frozen=True):
    """A piece of what a loop that reconciles remembers (`reconciling.store`); written without the lock."""

    begins = "loop"
    name: Text
    """What it is a piece of."""
    index: Int32
    text: str
    digest: str = ""
    """Of the whole: pieces of two writings do not belong together."""

    @property
    def key(self) -> str:
        """`loop/NAME/INDEX` in the journal."""
        return f"{self.begins}/{self.name}/{self.index:06d}"


class Lease(Form, frozen=True):
    """Which loop works on the cluster; the lock of the cluster is another one, and held only while it applies."""

    begins = "lease"
    holder: Text
    """Of one process: another one has another."""
    owner: str
    """Who and where, for people: `alice@ops-1 (pid 4711)`."""
    since: str = ""
    """When it was taken, for people."""
    beat: Int64 = 0
    """Counts up: an equal lease is one without a sign of life between."""
    released: bool = False

    @property
    def key(self) -> str:
        """`lease/loop` in the journal."""
        return LEASE


LEASE = f"{Lease.begins}/loop"


class LoopCommand(Form, frozen=True):
    """What somebody asks of the loop while no application is open; written without the lock (`reconciling.store`)."""

    begins = "loop-inbox"
    id: Text
    """Of this command; ids sort by the time at which they were made."""
    verb: Verb
    """`pause` or `resume`; others ask nothing of a loop."""
    sender: str = ""
    """Who and where, for people."""
    obeyed_by: str = ""
    """Who obeyed, and where; empty while it waits."""

    @property
    def key(self) -> str:
        """`loop-inbox/ID` in the journal."""
        return f"{self.begins}/{self.id}"


class Forget(Struct, frozen=True):
    """A tombstone."""

    key: str


Kept = (
    Application
    | PlanChunk
    | OriginalsChunk
    | MoveRecord
    | StepRecord
    | SavedReplicaList
    | SavedRate
    | Order
    | Command
    | LoopChunk
    | Lease
    | LoopCommand
)
Record = Kept | Forget


def timestamp_now() -> str:
    """Now, as RFC 3339 writes it: UTC, whole seconds."""
    return moment_of(time())


def moment_of(seconds: float) -> str:
    """The same of a moment in seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(application: Application) -> int | None:
    """How long an application was open; None while it is, or where its moments are not known.

    By the clocks of whoever opened and whoever ended it: two machines may not agree.
    """
    try:
        opened = datetime.fromisoformat(application.opened_at)
        ended = datetime.fromisoformat(application.ended_at)
    except ValueError:
        return None
    return max(0, round((ended - opened).total_seconds()))
