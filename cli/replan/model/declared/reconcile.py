"""What a placement lets `reconcile` put right by itself: which kinds of deviations, after how long, and when."""

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct, field

REST_SECONDS = 300.0
"""How long a loop rests between two rounds, unless `--every` says another time, if nothing is due before."""


class DeviationKind(StrEnum):
    """What happened, as `reconcile.putRight` spells it; in the order in which reports list them."""

    BROKER_DOWN = "brokerDown"
    """A registered broker does not serve, and has replicas."""
    LOG_DIR_FULL = "logDirFull"
    """A log directory is used above a share."""
    PLACEMENT_CHANGED = "placementChanged"
    """What is declared differs from what it was when a round last completed, and the cluster is as it was then."""
    CHANGED_ELSEWHERE = "changedElsewhere"
    """The cluster differs from what was declared when a round last completed: a person or a tool changed it."""
    LEADERSHIP_MOVED = "leadershipMoved"
    """Another replica leads than the first of the list, which is in sync."""
    OUT_OF_BALANCE = "outOfBalance"
    """A partition keeps its rule where it is, and would stand elsewhere for the balance."""
    STALE_THROTTLE = "staleThrottle"
    """A throttle is set that nothing needs and nobody declares."""


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 24 * 60


class Window(Struct, frozen=True):
    """Hours of some days; one that does not end after it begins goes on into the next day."""

    days: tuple[int, ...]
    """On which it begins, sorted: 0 is Monday."""
    begin_minute: int
    """Of the day, 0 to 1439."""
    end_minute: int
    """Of the day, 0 to 1440; at most the beginning: of the next day."""
    zone: str = "UTC"
    """An IANA name."""

    def __str__(self) -> str:
        days = ",".join(DAYS[day] for day in self.days)
        return f"{days} {_clock(self.begin_minute)}-{_clock(self.end_minute)} {self.zone}"


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


class Windows(Struct, frozen=True):
    """When a loop may act."""

    open: tuple[Window, ...] = ()
    """None: at any time."""
    excepted: frozenset[DeviationKind] = frozenset()
    """Kinds that are put right at any time."""


class HoldLimits(Struct, frozen=True):
    """As many brokers or racks down as this, or more, and a loop does nothing; the defaults hold without the key."""

    brokers_down: int | Fraction = Fraction(1, 5)
    """In number, or as a share of those that are registered; of a share, at least two."""
    racks_down: int = 1


class Reconcile(Struct, frozen=True):
    """The section `reconcile`. Without one a loop reports, and puts nothing right."""

    put_right: Mapping[DeviationKind, int] = field(default_factory=dict)
    """For how many seconds each must have lasted. Kinds that are not there are never put right."""
    full_above: Fraction = Fraction(85, 100)
    """The share of a log directory above which it counts as full."""
    windows: Windows = Windows()
    hold: HoldLimits = HoldLimits()

    @property
    def log_dir_share(self) -> Fraction | None:
        """The share of a log directory above which the loop empties it again; None: it empties none."""
        return self.full_above if DeviationKind.LOG_DIR_FULL in self.put_right else None
