"""Why a partition has ended, other than done. The sentences are in `reporting.sentences.end_text`."""

from dataclasses import dataclass
from enum import StrEnum

from replan.applying.journal.steps import Reached
from replan.applying.reasons.recovery import EvidenceChanged, LedAgain, LedByAnother
from replan.model.configs import MIN_INSYNC_REPLICAS, UNCLEAN_ELECTION, ConfigScope
from replan.model.names import BrokerId, Replicas, TopicId, TopicPartition
from replan.planning.elections.available import Unavailable


class Fact(StrEnum):
    """What a plan rests on, and is read again before a partition is touched."""

    TOPIC = "topic id"
    REPLICAS = "replicas"
    MIN_ISR = MIN_INSYNC_REPLICAS
    UNCLEAN_ELECTION = UNCLEAN_ELECTION
    FACTOR = "replication factor"
    RACK = "rack"
    REGISTRATION = "registration"


@dataclass(frozen=True, slots=True)
class NotAsPlanned:
    """Something is not what it was when planned."""

    fact: Fact
    planned: TopicId | Replicas | int | bool | str | None
    found: TopicId | Replicas | int | bool | str | None
    """None where the topic or the broker is not there any more."""
    broker: BrokerId | None = None
    """Whose rack or registration, if so."""


@dataclass(frozen=True, slots=True)
class OtherReassignment:
    """Before anything was asked for, another tool's reassignment runs on it."""

    target: Replicas
    adding: Replicas
    removing: Replicas


@dataclass(frozen=True, slots=True)
class ChangedElsewhere:
    """On its way it has a list that this move never asks for."""

    target: Replicas
    found: Replicas
    running: bool
    """Whether `found` is what a reassignment leads to, or what is there."""


@dataclass(frozen=True, slots=True)
class EffectUndone:
    """What it had reached is not there any more."""

    target: Replicas
    reached: Reached
    found: Replicas


@dataclass(frozen=True, slots=True)
class RejectedByKafka:
    """Kafka's answer to the last request."""

    code: int
    name: str
    message: str
    whole: bool = False
    """The request was refused as a whole, with all partitions in it."""


@dataclass(frozen=True, slots=True)
class PreferredUnavailable:
    """An election was asked for, and the first of the list cannot lead now (80, PREFERRED_LEADER_NOT_AVAILABLE)."""

    broker: BrokerId
    why: Unavailable
    in_sync: Replicas


@dataclass(frozen=True, slots=True)
class ThrottleRefused:
    """Kafka refuses a setting that the copy needs for its throttle."""

    scope: ConfigScope
    resource: str
    code: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class OtherValue:
    """A setting has neither the value that it had when planned nor the wanted one."""

    planned: str | None
    found: str | None


@dataclass(frozen=True, slots=True)
class SubjectGone:
    """The topic or broker of a setting is not there any more."""


@dataclass(frozen=True, slots=True)
class ReplicaGone:
    """The broker has no replica of it any more, so nothing of it can move between its log directories."""

    broker: BrokerId
    found: Replicas


@dataclass(frozen=True, slots=True)
class OtherLogDir:
    """A replica lies in another log directory than when planned, or is on its way to one."""

    planned: str
    found: str | None
    """None where no directory that works has it."""


@dataclass(frozen=True, slots=True)
class StaysInLogDir:
    """The application was cancelled, and its copy to another log directory has ended: it lies where it was."""

    path: str


@dataclass(frozen=True, slots=True)
class StaysUnset:
    """The application was cancelled, and a setting that it had asked for did not arrive: it is as before."""

    before: str | None


@dataclass(frozen=True, slots=True)
class OtherPartitions:
    """Its topic has other new partitions than those that were to be created."""

    planned: int
    """How many the topic was to have."""
    found: int
    """How many it has at least."""
    different: tuple[TopicPartition, ...] = ()
    """Those of the wanted ones that lie elsewhere."""


@dataclass(frozen=True, slots=True)
class NotCreated:
    """The application was cancelled before its new partitions came to be, and no request for them may arrive."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Its application was cancelled: nothing of it runs or may arrive, and this is what is there."""

    original: Replicas
    found: Replicas


EndReason = (
    LedAgain
    | LedByAnother
    | EvidenceChanged
    | NotAsPlanned
    | OtherPartitions
    | OtherValue
    | SubjectGone
    | ReplicaGone
    | OtherLogDir
    | StaysInLogDir
    | StaysUnset
    | OtherReassignment
    | ChangedElsewhere
    | EffectUndone
    | PreferredUnavailable
    | RejectedByKafka
    | ThrottleRefused
    | NotCreated
    | TakenBack
)
