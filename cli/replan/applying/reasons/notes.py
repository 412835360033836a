"""What is noted of throttles, commands and slow readings beside the partitions, and what is left over at the end."""

from replan.applying.journal.records import Verb, rate_number
from replan.applying.reasons.reason import Leftover, Note
from replan.model.configs import ConfigScope
from replan.model.control_plane import TopicPermission
from replan.model.declared.placement import LARGEST_RATE, SMALLEST_RATE
from replan.model.names import BrokerId, Replicas, TopicPartition
from replan.wording import NAMES_SHOWN, brokers, capped, rate


def _set(*, again: bool) -> str:
    if again:
        return "for the second time: no more copies are started until you rerun to resume"
    return "set again, this once"


class EntriesRemoved(Note, frozen=True):
    """Entries that replan had set in a throttled-replicas list are gone."""

    topic: str
    config: str
    entries: tuple[str, ...]
    again: bool
    """Not for the first time: nothing new is started."""

    def __str__(self) -> str:
        what = f"{self.config} of topic {self.topic}: another tool removed {','.join(self.entries)}"
        return f"{what}; {_set(again=self.again)}"


class RateRemoved(Note, frozen=True):
    """A rate that replan had set is gone."""

    broker: BrokerId
    config: str
    again: bool

    def __str__(self) -> str:
        what = f"{self.config} of broker {self.broker}: another tool removed it"
        return f"{what}; {_set(again=self.again)}"


class RateChanged(Note, frozen=True):
    """While copies run a rate has another value than replan had set; it is left alone."""

    broker: BrokerId
    config: str
    observed: str
    """Bytes per second."""

    def __str__(self) -> str:
        return (
            f"{self.config} of broker {self.broker} was changed to {self.observed} B/s by another tool; "
            "it is left alone, copies go at that rate"
        )


class SlowerAlready(Note, frozen=True):
    """A rate that another tool has set is lower than what is asked for its reassignments; it is left alone."""

    broker: BrokerId
    config: str
    observed: int
    """Bytes per second, as `rate`."""
    rate: int

    def __str__(self) -> str:
        return (
            f"{self.config} of broker {self.broker} is {rate(self.observed)}, set by another tool, "
            f"and lower than the {rate(self.rate)} asked for; it is left alone"
        )


class RateLowered(Note, frozen=True):
    """A rate that another tool has set is higher than what is asked for; it is lowered, and restored at the end."""

    broker: BrokerId
    config: str
    before: int
    """Bytes per second, as `rate`."""
    rate: int

    def __str__(self) -> str:
        return (
            f"{self.config} of broker {self.broker} was {rate(self.before)}, set by another tool; "
            f"lowered to {rate(self.rate)}, and restored at the end"
        )


class RateGivesWay(Note, frozen=True):
    """A rate that replan had set goes back while a replica catches up that another tool's entry would hold at it."""

    broker: BrokerId
    config: str
    partition: TopicPartition

    def __str__(self) -> str:
        return (
            f"{self.config} of broker {self.broker}: lifted while {self.partition} catches up, "
            "which an entry that is not of these copies would hold at this rate"
        )


class RateKept(Note, frozen=True):
    """A rate was to be restored and has another value than replan had set; it is left as it is."""

    broker: BrokerId
    config: str
    observed: str | None
    before: str | None

    def __str__(self) -> str:
        now = "removed" if self.observed is None else f"changed to {self.observed} B/s"
        before = "it was not set" if self.before is None else f"it was {self.before} B/s"
        return (
            f"{self.config} of broker {self.broker} was {now} by another tool; "
            f"it is left as it is (before this application {before})"
        )


class RateUnused(Note, frozen=True):
    """A rate that replan had set on a broker that is not registered any more: it stays written down."""

    broker: BrokerId
    config: str
    before: str | None

    def __str__(self) -> str:
        to = "removed" if self.before is None else f"set back to {self.before} B/s"
        return (
            f"{self.config} of broker {self.broker} is still replan's, and no broker of that id is registered: if one "
            f"is again, it is {to} by the next application or `replan throttle clear`"
        )


class ReadingsApart(Note, frozen=True):
    """Two readings of the cluster were so far apart that confirming takes longer, or begins again."""

    seconds: float
    silent: tuple[BrokerId, ...]
    """The live brokers that did not answer meanwhile."""

    def __str__(self) -> str:
        why = f"; silent: {brokers(self.silent)}" if self.silent else ""
        return (
            f"readings of the cluster were {self.seconds:.0f} s apart{why}; "
            "confirming that replicas stay in sync takes longer"
        )


class Obeyed(Note, frozen=True):
    """A command that came through the inbox."""

    verb: Verb
    rate: str
    """Of `throttle`: bytes per second, or `unlimited`."""
    sender: str
    others: bool | None = None
    """Of `throttle`: whether for reassignments of other tools, too; None leaves that as it is."""

    def __str__(self) -> str:
        to = ""
        if self.verb is Verb.THROTTLE:
            to = f" {rate(rate_number(self.rate))}"
        if self.others is not None:
            to += (
                ", other tools' reassignments, too" if self.others else ", replan's own copies only"
            )
        return f"{self.verb}{to}, by {self.sender or 'unknown'}"


class RateRefused(Note, frozen=True):
    """A command that came through the inbox and was not obeyed, as it asks for rates at which nothing is to go."""

    rates: tuple[str, ...]
    """Bytes per second."""
    sender: str

    def __str__(self) -> str:
        named = ", ".join(f"{bytes_per_second} B/s" for bytes_per_second in self.rates)
        limits = f"{SMALLEST_RATE} to {LARGEST_RATE} B/s, or unlimited"
        return f"throttle {named}, by {self.sender or 'unknown'}: not obeyed; a rate is {limits}"


class ListsLeft(Note, frozen=True):
    """Moves that were given up after they had begun to add replicas: their lists stay longer than they were."""

    partitions: tuple[TopicPartition, ...]

    def __str__(self) -> str:
        names = ", ".join(capped(self.partitions, str, limit=NAMES_SHOWN))
        return (
            f"with more replicas than before, as their moves had begun to add some: {names}; the next plan makes "
            "them as they were, or as the placement declares them"
        )


class ArrivedLate(Note, frozen=True):
    """A list that was asked for earlier arrived when its partition was done: it is taken up again."""

    partition: TopicPartition
    listed: Replicas

    def __str__(self) -> str:
        return (
            f"{self.partition}: {list(self.listed)} runs there after it was done, as an earlier request wanted; "
            "it is taken back, unless its topic was made again"
        )


class UnrestoredRate(Leftover, frozen=True):
    """A rate that replan has set on a broker that does not answer."""

    broker: BrokerId
    config: str
    before: str | None
    """What it is to be restored to, in bytes per second; None where it was not set."""

    def __str__(self) -> str:
        to = "to be removed" if self.before is None else f"back to {self.before} B/s"
        return (
            f"rate of broker {self.broker} to be restored: {self.config} {to}; broker {self.broker} does not answer. "
            "Rerun, or run `replan throttle clear`, when it is back"
        )


class RefusedSetting(Leftover, frozen=True):
    """A setting that is to be restored, and Kafka refuses the change."""

    scope: ConfigScope
    resource: str
    code: int
    name: str
    message: str

    def __str__(self) -> str:
        said = f"Kafka answered {self.code} {self.name}: {self.message}"
        return f"{self.scope} {self.resource}: {said}"


class UnreadList(Leftover, frozen=True):
    """Entries that replan has set at a topic whose settings this user may not read any more."""

    topic: str
    config: str
    permission: TopicPermission

    def __str__(self) -> str:
        return (
            f"list of topic {self.topic} to be restored: {self.config}; "
            f"this user lacks the ACL {self.permission} on Topic {self.topic}. "
            "Rerun, or run `replan throttle clear`, when it is granted"
        )
