"""Why a partition without a leader waits, or has ended without the leader that was chosen for it."""

from dataclasses import dataclass, field

from replan.applying.journal.steps import RecoveryStep
from replan.model.names import BrokerId


@dataclass(frozen=True, slots=True)
class LedByAnother:
    """Another replica leads it than the one that was chosen to lead it again."""

    leader: BrokerId
    chosen: BrokerId


@dataclass(frozen=True, slots=True)
class EvidenceChanged:
    """A replica's log is not what it was when its leader was chosen; epoch of the last record, and end."""

    broker: BrokerId
    planned: tuple[int, int] | None
    """None where nothing was known of it."""
    found: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LedAgain:
    """It is led by the chosen one: how many records that was said to lose at least, and has lost."""

    leader: BrokerId
    stated: int
    measured: int | None
    """None where it could not be measured."""


@dataclass(frozen=True, slots=True)
class LeaderlessTooShort:
    """It is to be without a leader for longer before anything is done about it."""

    wait_seconds: float
    seconds: float = field(compare=False)
    """What is left of that."""


@dataclass(frozen=True, slots=True)
class LogsSilent:
    """Logs that have to be probed again do not answer."""

    brokers: tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class RecoveryUnseen:
    """What was asked for to recover it does not show yet."""

    step: RecoveryStep


@dataclass(frozen=True, slots=True)
class RecoveryArrivalPossible:
    """A request of it, of unknown outcome, may still arrive, so nothing of it ends and the application stays open."""

    chosen: BrokerId
    """Whom an election that arrives late lets lead."""
    led: bool
    better: tuple[BrokerId, ...] = ()
    """Brokers whose logs turned out to be better than the chosen one's; with an unclean election they are cut."""
    seconds: float = field(compare=False, kw_only=True)
    """For so long."""


RecoveryWait = LeaderlessTooShort | LogsSilent | RecoveryUnseen | RecoveryArrivalPossible
