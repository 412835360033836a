"""Waits of a copy that runs or is about to: for its throttle, for its replicas, for the settle time."""

from dataclasses import dataclass, field

from replan.model.names import BrokerId, Replicas, TopicPartition


@dataclass(frozen=True, slots=True)
class NoLeader:
    """Nobody leads it."""

    refused: str = ""
    """What Kafka says to a cancel of its copy meanwhile; empty where it was not asked, or takes it."""


@dataclass(frozen=True, slots=True)
class AwaitingSync:
    """Replicas that have to be in the ISR are not."""

    missing: Replicas
    fenced: Replicas = ()
    unregistered: Replicas = ()
    without_log: Replicas = ()
    """Live brokers that show no log of it: that disk may be lost (KIP-858)."""


@dataclass(frozen=True, slots=True)
class CopyStopsWrites:
    """min.insync.replicas was raised: with the copy in the list more are needed in sync than there are."""

    in_sync: Replicas
    min_insync_replicas: int
    needed: int


@dataclass(frozen=True, slots=True)
class CopyNeverEnds:
    """A copy of a partition that is to end waits for brokers that are not registered any more: it is taken back."""

    brokers: Replicas


@dataclass(frozen=True, slots=True)
class NeverEnding:
    """Lists of another tool have left a reassignment that Kafka does not end from 4.3 on (KAFKA-19975)."""

    brokers: Replicas
    """Both adding and removing; a cancel takes them out."""


@dataclass(frozen=True, slots=True)
class Confirming:
    """The target is in sync, and has to stay so for the settle time."""

    seconds: float = field(compare=False)


@dataclass(frozen=True, slots=True)
class CopyGoesOn:
    """It has ended in the middle, and its copy still runs: the throttle stays until that ends."""


@dataclass(frozen=True, slots=True)
class AwaitingThrottle:
    """Its throttle is set, and not read back yet."""

    unread: Replicas = ()
    """Live brokers whose rate could not be read."""
    catching_up: tuple[TopicPartition, ...] = ()
    """Partitions that would come back at one of its rates, because of entries that replan did not set."""
    unanswered: Replicas = ()
    """Brokers that did not answer when they were last asked to set their rate."""


@dataclass(frozen=True, slots=True)
class CopyingInBroker:
    """Its broker copies it to another log directory; bytes."""

    copied: int = field(compare=False)
    total: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Stalled:
    """A copy that does not move, and so has given its slots back."""

    broker: BrokerId
    bytes: int | None = field(default=None, compare=False)
    """What is there; None where the broker is fenced."""
    seconds: float = field(default=0.0, compare=False)
