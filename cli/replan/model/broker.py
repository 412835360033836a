"""A broker as the controller knows it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, field

from replan.model.names import BrokerId

HEADROOM = 0.10
"""Of a volume, what has to stay free after a copy."""
NEARLY_THE_SAME = 0.01
"""Of a volume: free space of directories that differs by less may be that of one, asked for one after the other."""
ALMOST_EMPTY = 0.10
"""Of a volume, in use at most: what a file system takes for itself (5 % of ext4 by default), and little more."""
TOO_MUCH_FOR_ONE = 1.5
"""So many times what a volume has in use does not lie on it, by sizes that are those of the largest replicas."""


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


Volume = tuple[LogDir, ...]
"""The log directories of one broker that lie on one volume, the one with least free space first."""
Volumes = Mapping[BrokerId, Sequence[Volume]]
"""Those of each broker."""


def _nothing_lies(_: LogDir) -> int:
    return 0


def volumes(
    log_dirs: Iterable[LogDir], lies_in: Callable[[LogDir], int] = _nothing_lies
) -> Volumes:
    """Which directories share a volume. `lies_in`: how many bytes lie in a directory; 0 where nobody says.

    Kafka says of each directory how large its file system is and how much of that is free (KIP-827), and not which file
    system it is. So directories of a broker whose volumes have one size, and nearly the same free space, are taken to
    lie on one. To take two volumes for one is too careful: what would fit is refused, or waits. To take one for two
    counts its room twice and fills a disk, so that is the error to avoid. But equal disks are what brokers with several
    directories mostly have, and two things tell them apart:

    * more lies in the directories than one volume has in use: in those of two disks that are equally full it is twice
      as much, in those of one volume never more;
    * almost nothing is in use. Nothing tells then, and a broker that joins with empty disks would be given no more than
      one of them holds, so these count as two. What comes to them is copied a few replicas at a time, the room is read
      again meanwhile, and once more than a tenth is in use they are judged as above.

    A directory that does not say its sizes is by itself.
    """
    by_broker: dict[BrokerId, list[list[LogDir]]] = {}
    for log_dir in sorted(
        log_dirs, key=lambda d: (d.broker, d.total_bytes or 0, d.usable_bytes or 0, d.path)
    ):
        of_broker = by_broker.setdefault(log_dir.broker, [])
        volume = next((of for of in of_broker if _on_one(of, log_dir, lies_in)), None)
        if volume is None:
            of_broker.append([log_dir])
        else:
            volume.append(log_dir)
    return {broker: [tuple(of) for of in of_broker] for broker, of_broker in by_broker.items()}


def _on_one(volume: Sequence[LogDir], log_dir: LogDir, lies_in: Callable[[LogDir], int]) -> bool:
    """Whether a directory, which has no less free space, may lie on the volume of these."""
    first = volume[0]
    total, least, usable = first.total_bytes, first.usable_bytes, log_dir.usable_bytes
    if log_dir.total_bytes != total:
        return False
    if not total or least is None or usable is None or usable - least > NEARLY_THE_SAME * total:
        return False
    used = total - least
    if used <= ALMOST_EMPTY * total:
        return False
    return sum(map(lies_in, (*volume, log_dir))) <= TOO_MUCH_FOR_ONE * used
