"""Why a partition, a setting, a replica or a recovery has ended; the journal keeps the sentence."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from replan.applying.journal.records import Reached
from replan.applying.reasons.reason import EndReason
from replan.model.configs import MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, ConfigScope
from replan.model.error_codes import ErrorCode
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.planning.available import Unavailable
from replan.wording import capped, listed

REPLAN = "make a new plan"


class Fact(StrEnum):
    """What a plan rests on, and is read again before a partition is touched."""

    TOPIC = "topic id"
    REPLICAS = "replicas"
    MIN_ISR = MIN_INSYNC_REPLICAS
    UNCLEAN_ELECTION = UNCLEAN_ELECTION
    FACTOR = "replication factor"
    RACK = "rack"
    REGISTRATION = "registration"


class NotAsPlanned(EndReason, frozen=True):
    """Something is not what it was when planned."""

    fact: Fact
    planned: TopicId | Replicas | int | bool | str | None
    observed: TopicId | Replicas | int | bool | str | None
    """None where the topic or the broker is not there any more."""
    broker: BrokerId | None = None
    """Whose rack or registration, if so."""

    def __str__(self) -> str:
        return f"{self._difference()}; {REPLAN}"

    def _difference(self) -> str:
        planned, observed = _value(self.planned), _value(self.observed)
        match self.fact:
            case Fact.TOPIC:
                now = "no such partition" if self.observed is None else f"topic id {observed}"
                return f"planned for topic id {planned}, found {now}"
            case Fact.REPLICAS:
                return f"planned from {planned}, found {observed}"
            case Fact.REGISTRATION:
                return f"broker {self.broker} was registered when planned, now it is not"
            case Fact.RACK:
                return (
                    f"broker {self.broker} was planned in rack {planned}, found in rack {observed}"
                )
            case Fact.MIN_ISR | Fact.UNCLEAN_ELECTION | Fact.FACTOR:
                return f"planned with {self.fact} {planned}, found {observed}"

    @property
    def suspected(self) -> str:
        match self.fact:
            case Fact.REPLICAS:
                return "replicas differ from the plan"
            case Fact.TOPIC:
                return "its topic is not the one that was planned for"
            case _:
                return "topic or brokers differ from the plan"


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return str(list(value))
        case _:
            return str(value)


class OtherReassignment(EndReason, frozen=True):
    """Before anything was asked for, another tool's reassignment runs on it."""

    listed = True
    suspected = "another tool reassigns it"

    target: Replicas
    adding: Replicas
    removing: Replicas

    def __str__(self) -> str:
        return (
            f"another tool's reassignment to {list(self.target)} is running (adding {list(self.adding)}, removing "
            f"{list(self.removing)}); let it end or cancel it, then {REPLAN}"
        )


class ChangedElsewhere(EndReason, frozen=True):
    """On its way it has a list that this move never asks for."""

    suspected = "possibly changed by another tool"

    target: Replicas
    observed: Replicas
    running: bool
    """Whether `observed` is what a reassignment leads to, or what is there."""

    def __str__(self) -> str:
        what = f"{'a reassignment to' if self.running else 'replicas'} {list(self.observed)}"
        return (
            f"on the way to {list(self.target)} another tool changed it: found {what}; it is left as it is. "
            f"Find out which tool, then {REPLAN}"
        )

    @property
    def listed(self) -> bool:
        return self.running


class EffectUndone(EndReason, frozen=True):
    """What it had reached is not there any more."""

    suspected = "possibly undone by another tool"

    target: Replicas
    reached: Reached
    observed: Replicas

    def __str__(self) -> str:
        return (
            f"it was {self.reached.name.lower()} on the way to {list(self.target)}, and another tool undid that: found "
            f"replicas {list(self.observed)}; it is not asked for again. Find out which tool, then {REPLAN}"
        )


class RejectedByKafka(EndReason, frozen=True):
    """Kafka's answer to the last request."""

    code: int
    name: str
    message: str
    whole: bool = False
    """The request was refused as a whole, with all partitions in it."""

    def __str__(self) -> str:
        what = "the whole request" if self.whole else "it"
        said = as_sentence(self.message)
        return f"Kafka rejected {what} with {self.code} {self.name}: {said} {rejection_advice(self.code)}"

    @property
    def suspected(self) -> str:
        return f"Kafka rejects it with {self.code} {self.name}"


class PreferredUnavailable(EndReason, frozen=True):
    """An election was asked for, and the first of the list cannot lead now (80, PREFERRED_LEADER_NOT_AVAILABLE)."""

    broker: BrokerId
    why: Unavailable
    in_sync: Replicas

    def __str__(self) -> str:
        return f"{self.suspected} (in sync: {list(self.in_sync)}); ask again once it is in sync"

    @property
    def suspected(self) -> str:
        return f"its preferred replica {self.broker} is not available: {self.why.words}"


class ThrottleRefused(EndReason, frozen=True):
    """Kafka refuses a setting that the copy needs for its throttle."""

    scope: ConfigScope
    resource: str
    code: int
    name: str
    message: str

    def __str__(self) -> str:
        return (
            f"the throttle of {self.scope} {self.resource} cannot be set: Kafka answered {self.code} "
            f"{self.name}: {as_sentence(self.message)} The copy was not started without it; "
            f"{throttle_advice(self.code)}"
        )


class OtherValue(EndReason, frozen=True):
    """A setting has neither the value that it had when planned nor the wanted one."""

    planned: str | None
    observed: str | None

    def __str__(self) -> str:
        values = f"was {self.planned or 'not set'} when planned, found {self.observed or 'not set'}"
        return f"{values}; it is left as it is; {REPLAN}"


class SubjectGone(EndReason, frozen=True):
    """The topic or broker of a setting is not there any more."""

    def __str__(self) -> str:
        return f"it does not exist any more; {REPLAN}"


class ReplicaGone(EndReason, frozen=True):
    """The broker has no replica of it any more, so nothing of it can move between its log directories."""

    broker: BrokerId
    observed: Replicas

    def __str__(self) -> str:
        what = f"broker {self.broker} has no replica of it any more"
        return f"{what}: found replicas {list(self.observed)}; {REPLAN}"


class OtherLogDir(EndReason, frozen=True):
    """A replica lies in another log directory than when planned, or is on its way to one."""

    planned: str
    observed: str | None
    """None where no directory that works has it."""

    def __str__(self) -> str:
        where = (
            f"lies in {self.observed}" if self.observed else "lies in no log directory that works"
        )
        return f"its replica lay in {self.planned} when planned, and now {where}; {REPLAN}"


class StaysInLogDir(EndReason, frozen=True):
    """The application was cancelled, and its copy to another log directory has ended: it lies where it was."""

    suspected = "nothing runs on it"

    path: str

    def __str__(self) -> str:
        return f"cancelled; its replica stays in {self.path}"


class StaysUnset(EndReason, frozen=True):
    """The application was cancelled, and a setting that it had asked for did not arrive: it is as before."""

    suspected = "nothing runs on it"

    before: str | None

    def __str__(self) -> str:
        return f"cancelled; it stays as it was: {self.before or 'not set'}"


class OtherPartitions(EndReason, frozen=True):
    """Its topic has other new partitions than those that were to be created."""

    planned: int
    """How many the topic was to have."""
    observed: int
    """How many it has at least."""
    different: tuple[TopicPartition, ...] = ()
    """Those of the wanted ones that lie elsewhere."""

    def __str__(self) -> str:
        named = listed(capped(self.different, str, limit=5))
        where = f", elsewhere {named}" if self.different else ""
        return (
            f"its topic was to have {self.planned} partitions, and another tool made others: found "
            f"{self.observed}{where}. They are left as they are; {REPLAN}"
        )


class NotCreated(EndReason, frozen=True):
    """The application was cancelled before its new partitions came to be, and no request for them may arrive."""

    suspected = "there are no such partitions"

    def __str__(self) -> str:
        return "cancelled; the new partitions were not created"


class TakenBack(EndReason, frozen=True):
    """Its application was cancelled: nothing of it runs or may arrive, and this is what is there."""

    suspected = "nothing runs on it"

    original: Replicas
    observed: Replicas

    def __str__(self) -> str:
        if self.observed == self.original:
            return f"cancelled; it is at its original {list(self.original)}"
        return f"cancelled; it goes from {list(self.observed)} back to {list(self.original)}"


class LedByAnother(EndReason, frozen=True):
    """Another replica leads it than the one that was chosen to lead it again."""

    leader: BrokerId
    chosen: BrokerId

    def __str__(self) -> str:
        leads = f"broker {self.leader} leads it, not {self.chosen}"
        return f"{leads}; {REPLAN} where that is not wanted"

    @property
    def suspected(self) -> str:
        return f"broker {self.leader} leads it"


class EvidenceChanged(EndReason, frozen=True):
    """A replica's log is not what it was when its leader was chosen; epoch of the last record, and end."""

    broker: BrokerId
    planned: tuple[int, int] | None
    """None where nothing was known of it."""
    observed: tuple[int, int]

    def __str__(self) -> str:
        before = "nothing was known of it" if self.planned is None else _rank(self.planned)
        what = f"the log of broker {self.broker} is not as planned"
        return f"{what}: {before}, found {_rank(self.observed)}; {REPLAN}"


def _rank(rank: tuple[int, int]) -> str:
    return f"last epoch {rank[0]}, end {rank[1]:,}"


class LedAgain(EndReason, frozen=True):
    """It is led by the chosen one: how many records that was said to lose at least, and has lost."""

    leader: BrokerId
    stated: int
    measured: int | None
    """None where it could not be measured."""

    def __str__(self) -> str:
        lost = "could not be measured" if self.measured is None else f"{self.measured:,}"
        return f"led again by {self.leader}; records lost: stated at least {self.stated:,}, measured {lost}"


def as_sentence(message: str) -> str:
    """What Kafka says, ready for another sentence behind it."""
    said = message.strip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def throttle_advice(code: int) -> str:
    """What to do about a throttle setting that Kafka refuses."""
    match code:
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED | ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return "grant ALTER_CONFIGS or plan without throttles"
        case ErrorCode.POLICY_VIOLATION:
            return (
                "a policy of this cluster forbids it (alter.config.policy.class.name): ask those who run it to allow "
                "throttles, or plan without them"
            )
        case _:
            return "the log of the active controller says why; or plan without throttles"


def rejection_advice(code: int) -> str:
    """What to do about a rejection."""
    again = "Make a new plan; if it is rejected again, the log of the active controller says why."
    return _ADVICE.get(code, again)


_NOT_ALLOWED = (
    "The principal needs the operation ALTER on the cluster; grant it, then rerun to resume."
)
_ADVICE: Mapping[int, str] = MappingProxyType(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED: _NOT_ALLOWED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED: _NOT_ALLOWED,
        ErrorCode.INVALID_REPLICATION_FACTOR: "Another tool changes its number of replicas; let that end, "
        "then make a new plan.",
        ErrorCode.INVALID_REPLICA_ASSIGNMENT: "A broker in the list is not registered, or all its log directories "
        "are cordoned; bring it back, uncordon it, or declare another one.",
        ErrorCode.POLICY_VIOLATION: "A policy of this cluster forbids it; ask those who run it.",
        ErrorCode.KAFKA_STORAGE_ERROR: "While one of a broker's log directories is offline, Kafka moves nothing "
        "between its others; replace the disk and restart the broker, then make a new plan.",
        ErrorCode.REASSIGNMENT_IN_PROGRESS: "Another reassignment runs on it; let it end, then make a new plan.",
    }
)
