"""What is said of throttles and of slow readings beside the partitions, and what is left over at the end."""

from dataclasses import dataclass

from replan.applying.journal.records import Verb
from replan.model.configs import ConfigScope
from replan.model.control_plane import TopicPermission
from replan.model.names import BrokerId, Replicas, TopicPartition


@dataclass(frozen=True, slots=True)
class EntriesRemoved:
    """Entries that replan had set in a throttled-replicas list are gone."""

    topic: str
    config: str
    entries: tuple[str, ...]
    again: bool
    """Not for the first time: nothing new is started."""


@dataclass(frozen=True, slots=True)
class RateRemoved:
    """A rate that replan had set is gone."""

    broker: BrokerId
    config: str
    again: bool


@dataclass(frozen=True, slots=True)
class RateChanged:
    """While copies run a rate has another value than replan had set; it is left alone."""

    broker: BrokerId
    config: str
    found: str
    """Bytes per second."""


@dataclass(frozen=True, slots=True)
class SlowerAlready:
    """A rate that another tool has set is lower than what is asked for its reassignments; it is left alone."""

    broker: BrokerId
    config: str
    found: int
    """Bytes per second, as `rate`."""
    rate: int


@dataclass(frozen=True, slots=True)
class RateLowered:
    """A rate that another tool has set is higher than what is asked for; it is lowered, and restored at the end."""

    broker: BrokerId
    config: str
    before: int
    """Bytes per second, as `rate`."""
    rate: int


@dataclass(frozen=True, slots=True)
class RateGivesWay:
    """A rate that replan had set goes back while a replica catches up that another tool's entry would hold at it."""

    broker: BrokerId
    config: str
    partition: TopicPartition


@dataclass(frozen=True, slots=True)
class RateKept:
    """A rate was to be restored and has another value than replan had set; it is left as it is."""

    broker: BrokerId
    config: str
    found: str | None
    before: str | None


@dataclass(frozen=True, slots=True)
class RateUnused:
    """A rate that replan had set on a broker that is not registered any more: it stays written down."""

    broker: BrokerId
    config: str
    before: str | None


@dataclass(frozen=True, slots=True)
class ReadingsApart:
    """Two readings of the cluster were so far apart that confirming takes longer, or begins again."""

    seconds: float
    silent: tuple[BrokerId, ...]
    """The live brokers that did not answer meanwhile."""


@dataclass(frozen=True, slots=True)
class Obeyed:
    """A command that came through the inbox."""

    verb: Verb
    rate: str
    """Of `throttle`: bytes per second, or `unlimited`."""
    sender: str
    others: bool | None = None
    """Of `throttle`: whether for reassignments of other tools, too; None leaves that as it is."""


@dataclass(frozen=True, slots=True)
class RateRefused:
    """A command that came through the inbox and was not obeyed, as it asks for rates at which nothing is to go."""

    rates: tuple[str, ...]
    """Bytes per second."""
    sender: str


@dataclass(frozen=True, slots=True)
class ListsLeft:
    """Moves that were given up after they had begun to add replicas: their lists stay longer than they were."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ArrivedLate:
    """A list that was asked for earlier arrived when its partition was done: it is taken up again."""

    partition: TopicPartition
    listed: Replicas


Note = (
    EntriesRemoved
    | RateRemoved
    | RateChanged
    | RateGivesWay
    | RateKept
    | RateUnused
    | SlowerAlready
    | RateLowered
    | ReadingsApart
    | Obeyed
    | RateRefused
    | ListsLeft
    | ArrivedLate
)


@dataclass(frozen=True, slots=True)
class UnrestoredRate:
    """A rate that replan has set on a broker that does not answer."""

    broker: BrokerId
    config: str
    before: str | None
    """What it is to be restored to, in bytes per second; None where it was not set."""


@dataclass(frozen=True, slots=True)
class RefusedSetting:
    """A setting that is to be restored, and Kafka refuses the change."""

    scope: ConfigScope
    resource: str
    code: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class UnreadList:
    """Entries that replan has set at a topic whose settings this user may not read any more."""

    topic: str
    config: str
    permission: TopicPermission


Leftover = UnrestoredRate | UnreadList | RefusedSetting
