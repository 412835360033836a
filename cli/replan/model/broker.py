"""A broker as the controller knows it."""

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct, field

from replan.model.names import BrokerId

HEADROOM = 0.10
"""Of a volume, what has to stay free after a copy."""


class Broker(Struct, frozen=True):
    """A registered broker; `fenced` means registered but not usable (dead, starting, or cut off)."""

    id: BrokerId
    rack: str | None = None
    fenced: bool = False
    cordoned: bool = False
    """All of its log directories are cordoned (KIP-1066): nothing new may be placed on it."""

    @property
    def live(self) -> bool:
        """Whether it can lead and follow now."""
        return not self.fenced

    @property
    def takes_new(self) -> bool:
        """Whether a new replica may be placed on it."""
        return self.live and not self.cordoned


class LogDir(Struct, frozen=True):
    """One log directory of one live broker, as DescribeLogDirs (KIP-827, KIP-1066) reports it."""

    broker: BrokerId
    path: str
    total_bytes: int | None = None
    usable_bytes: int | None = None
    """Of the whole volume; directories on one volume repeat it. None where the broker is too old to say."""
    logs: int = 0
    """How many logs it holds: a new replica is placed where there are fewest."""
    cordoned: bool = False
    error: str | None = None
    replicas: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The partitions whose replica lies in it, by topic; only of a broker that has several directories."""

    @property
    def takes_new(self) -> bool:
        """Whether a new replica may be made in it: it works, and is not cordoned."""
        return self.error is None and not self.cordoned

    def room(self, free: float | Fraction = HEADROOM) -> int | None:
        """How many more bytes it takes with this part of its volume left free, below 0 if less is; None: not known."""
        if self.usable_bytes is None or self.total_bytes is None:
            return None
        return self.usable_bytes - int(self.total_bytes * free)
