"""What a rehearsal finds, as values; rendering is in `report`."""

from msgspec import Struct

from replan.applying.reasons.reason import HoldReason
from replan.applying.views.outcome import AnyResult
from replan.errors import Exit
from replan.model.names import BrokerId, TopicPartition
from replan.planning.safety.plan_laws import Broken


class Headroom(Struct, frozen=True):
    """How many live in-sync replicas there are above the effective min ISR at one place and time."""

    replicas: int
    partition: TopicPartition
    at_seconds: float | None
    """None where the moment is not known."""
    in_sync: int
    min_in_sync: int
    before: int
    """The headroom of the same partition when the rehearsal began."""


class HeadroomFrom(Struct, frozen=True):
    """The least headroom of all partitions of the plan, from one moment on."""

    at_seconds: float
    replicas: int


class BrokerLoad(Struct, frozen=True):
    """One broker's share; rates in bytes per second, highest of all moments, replication and copies together."""

    broker: BrokerId
    peak_out: float
    peak_in: float
    peak_disk_bytes: int
    """The most that it held beyond what it held in the beginning."""
    final_disk_bytes: int
    sent_bytes: int
    received_bytes: int
    busiest_disk: float | None = None
    """The highest share of a log directory in use, 0 to 1; None where sizes are not known."""


class Copied(Struct, frozen=True):
    """One new replica: from when it was listed to when it was in sync."""

    partition: TopicPartition
    source: BrokerId | None
    broker: BrokerId
    bytes: int
    began: float
    in_sync: float | None
    """None where it never was."""


class Outage(Struct, frozen=True):
    """A time in which a broker did not serve."""

    broker: BrokerId
    began: float
    ended: float | None


class LeaderChange(Struct, frozen=True):
    """A leadership that went from one broker to another."""

    partition: TopicPartition
    at_seconds: float
    before: BrokerId | None
    after: BrokerId | None


class Recovered(Struct, frozen=True):
    """One partition that had no leader."""

    partition: TopicPartition
    chosen: BrokerId
    leader: BrokerId | None
    """Who leads it in the end."""
    clean: bool
    stated_loss: int
    """Records, at least, as the plan says."""
    measured_loss: int | None
    """Records; None where it was not led again, or that could not be measured."""


class Waited(Struct, frozen=True):
    """One reason to wait, over all partitions that had it."""

    reason: HoldReason
    """That of the partition that waited longest."""
    partitions: int
    longest: TopicPartition
    longest_seconds: float


class InjectedFault(Struct, frozen=True):
    """A fault as it was asked for."""

    at_seconds: float
    until_seconds: float | None
    """When it is over by itself; None where it does not end, or is over at once."""
    what: str
    refused: tuple[str, ...] = ()
    """The controller's refusals, if any."""


class Harm(Struct, frozen=True):
    """What the partitions of a plan suffered, summed over all of them."""

    under_min_isr_seconds: float
    leaderless_seconds: float
    lost_bytes: int
    """Cut off by unclean elections."""


class Rehearsal(Struct, frozen=True, kw_only=True):
    """A whole run."""

    completed: bool
    """Whether every move is done, and nothing is left behind."""
    exit_code: Exit
    """As `apply` would end."""
    given_up: bool
    """Whether it was ended from outside, as nothing happened any more or it took too long."""
    text: str
    """How it ended, in the words of the application."""
    stopped: tuple[AnyResult, ...]
    """What was not done, each with its reason."""
    seconds: float
    moves: int
    changes: int
    """All that the plan does: its moves, and creates, settings, recoveries, moves between log directories."""
    copied_bytes: int
    throttled_seconds: float
    longest_look_seconds: float
    """The most between two looks while copies ran; 0 where the applier looked when it would."""
    smallest_headroom: Headroom | None
    """Where it was met first; None where nothing is moved."""
    headroom: tuple[HeadroomFrom, ...]
    """One for each moment at which the least headroom changes, by time; none where nothing is moved."""
    harm: Harm
    without: Harm
    """The same faults without the plan."""
    brokers: tuple[BrokerLoad, ...]
    copies: tuple[Copied, ...]
    recovered: tuple[Recovered, ...]
    absent: tuple[Outage, ...]
    leaders: tuple[LeaderChange, ...]
    waits: tuple[Waited, ...]
    faults: tuple[InjectedFault, ...]
    notes: tuple[str, ...]
    broken: tuple[Broken, ...]
    """Invariants that did not hold: a bug in replan or in the simulator."""


class Distribution(Struct, frozen=True):
    """How the values of several runs are distributed."""

    least: float
    median: float
    p90: float
    """Nine of ten are no larger (nearest rank)."""
    most: float
