"""Waits for a request to show its effect, for its outcome, or for what a look has not shown yet."""

from dataclasses import dataclass, field

from replan.applying.reasons.ends import EndReason
from replan.model.control_plane import TopicPermission
from replan.model.names import BrokerId, Replicas
from replan.planning.plans.requests import RequestKind


@dataclass(frozen=True, slots=True)
class MetadataBehind:
    """The broker that was asked has not caught up with the controller."""


@dataclass(frozen=True, slots=True)
class NotPermitted:
    """This user may not read its topic any more, so nothing can be said of it; what was asked for goes on."""

    topic: str
    permission: TopicPermission


@dataclass(frozen=True, slots=True)
class PartitionsUnseen:
    """New partitions were asked for, and brokers do not show them yet."""

    code: int | None = None
    """Kafka's answer, where it was one that says: look again, or ask again."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class CreateArrivalPossible:
    """New partitions were asked for and do not show; the request may still arrive, so nothing of them ends."""

    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class SameListElsewhere:
    """Another tool reassigns it to the list that is wanted."""


@dataclass(frozen=True, slots=True)
class Rechecking:
    """A look has shown what would end it; another one has to agree."""

    suspected: EndReason


@dataclass(frozen=True, slots=True)
class EffectUnseen:
    """A request shows no effect yet; before it is asked again another look has to agree."""

    request: RequestKind
    code: int | None = None
    """Kafka's answer, where it was one that says: look again."""
    name: str = ""


@dataclass(frozen=True, slots=True)
class RejectionPending:
    """Rejected, but an earlier copy of the request may still arrive."""

    code: int
    name: str
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class RepeatPending:
    """Nobody knows what became of a request; it is sent again, each time after a longer pause."""

    request: RequestKind
    seconds: float = field(compare=False)
    refusal: str = ""
    """What the cluster said where it refused the request as a whole: a permission is missing, which may come back."""


@dataclass(frozen=True, slots=True)
class LookTooOld:
    """Between a look and the requests that follow from it passed more time than may, so nothing was sent."""

    seconds: float = field(compare=False)
    limit: float


@dataclass(frozen=True, slots=True)
class OutcomePending:
    """A request may still arrive, so a different one has to wait."""

    asked: RequestKind
    replicas: Replicas
    following: RequestKind
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class ArrivalPossible:
    """Nothing more is asked for it; its last request may still arrive, so the application stays for so long."""

    asked: RequestKind
    replicas: Replicas
    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class ClusterSilent:
    """The cluster does not answer; what runs goes on by itself."""

    seconds: float = field(compare=False)
    error: str = field(compare=False)
    waits_for: str | None = None
    """Who does not answer although brokers do: the active controller."""
    refuses: bool = False
    """It answers, and refuses what this user asks for."""


@dataclass(frozen=True, slots=True)
class JournalSilent:
    """The journal cannot be written, so nothing is asked for; what runs goes on under its throttles."""

    seconds: float = field(compare=False)
    error: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class SettingUnread:
    """The value of a setting cannot be read now."""


@dataclass(frozen=True, slots=True)
class SettingUnseen:
    """A setting was asked for, and does not show yet or may still be changed by an earlier request."""


@dataclass(frozen=True, slots=True)
class ReplicaUnread:
    """A broker does not say in which log directories its replicas lie."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class NextBatch:
    """A tick asks for no more than this."""

    elections: bool
