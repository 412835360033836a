"""What a rehearsal assumes: speeds, produce rates, faults, and the settings of the application."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from replan.applying.journal.records import Record
from replan.applying.settings import Settings
from replan.faults.read import FaultSpec
from replan.model.names import TopicPartition
from replan.simulator.cluster.physical_state import Speeds
from replan.wording import DAY_SECONDS


class Options(Struct, frozen=True, kw_only=True):
    """Assumptions, and how patient the rehearsal is; all times in virtual seconds."""

    produce: float | None = None
    """Bytes per second written to each partition that `rates` does not name; None: what the cluster file says, or 0."""
    rates: Mapping[TopicPartition, float] = field(default_factory=dict)
    network: float | None = None
    """Bytes per second of each broker, in each direction; None: what the cluster file says, or 100 MB/s."""
    disk: float | None = None
    """Bytes per second of each broker, reading and writing copies together; None: the file's, or unlimited."""
    faults: tuple[FaultSpec, ...] = ()
    version: str | None = None
    """Of Kafka; None: as the features of the snapshot suggest."""
    version_is_inferred: bool = False
    """Nobody named it: it is the oldest with the features of the snapshot."""
    settings: Settings = field(default_factory=Settings)
    journal: Sequence[Record] = ()
    """What the application finds in its journal: the same plan goes on, another one is held."""
    own: Collection[TopicPartition] = ()
    """What the open application of the snapshot moves, so that it is not called another tool's."""
    limit_seconds: float = 30 * DAY_SECONDS
    longest_stride_seconds: float = 60.0
    """How long nothing may be looked at while nothing happens; in long runs up to a hundredth of what has passed."""
    exact_steps: int = 1_000
    """Up to so many steps of the plan, the applier looks when it would; beyond, up to a twentieth of a move apart."""
    limit_looks: int | None = None
    """Looks at the cluster after which it is given up, for callers that must stay quick."""

    def speeds(self, of: Speeds | None = None) -> Speeds:
        """The speeds of a cluster, or else the usual ones, with those that are named here."""
        speeds = Speeds() if of is None else of
        network = speeds.network_bytes_per_second if self.network is None else self.network
        disk = speeds.disk_bytes_per_second if self.disk is None else self.disk
        return replace(speeds, network_bytes_per_second=network, disk_bytes_per_second=disk)
