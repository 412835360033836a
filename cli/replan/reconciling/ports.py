"""The outside of a loop, as the loop and what watches over its applications ask it."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from msgspec import Struct

from replan.applying.journal.ledger import JournalState
from replan.applying.journal.protocol import SteeredJournal
from replan.applying.run.loop import never
from replan.applying.views.progress import ProgressListener
from replan.model.control_plane import Clock, ClusterReader, ClusterWriter
from replan.model.declared.placement import Placement
from replan.model.rates import Rates
from replan.planning.plans.plan import Plan
from replan.reconciling.status import Observer, PlacementSource
from replan.reconciling.store import LoopStore


class Read(Struct, frozen=True):
    """A placement as one round read it."""

    placement: Placement
    source: PlacementSource
    rates: Rates | None = None
    """What producers write, where somebody says so."""


class LoopPorts(Struct, frozen=True, kw_only=True):
    """The outside of a loop."""

    reader: ClusterReader
    writer: ClusterWriter
    clock: Clock
    """Monotonic, as the applier's."""
    wall: Callable[[], float]
    """Seconds since 1970-01-01T00:00:00Z."""
    read: Callable[[], Read]
    """The placement, as it is now. Raises BadPlacement, BadFile, BadUsage, and ClusterUnreachable where git fails."""
    journal: Callable[[str], JournalState]
    """Of the cluster of that id. Raises ClusterUnreachable, ClusterRefused, BadFile, Held."""
    own: Callable[[Plan, Callable[[], object]], AbstractContextManager[SteeredJournal]]
    """Takes the lock of the journal; calls the function now and then while it watches a lock that may be dead.

    Raises Held, and as `journal`."""
    store: LoopStore
    stop: Callable[[], bool]
    observer: Observer
    report: ProgressListener = lambda _progress: None
    """Hears of the progress of what is applied, as of any `apply`."""
    idle: Callable[[], bool] = never
    rest: Callable[[float, float], None] | None = None
    """Rests so long, and until the other moment at most while nothing happens, as only a simulated cluster knows."""
    lease_clock: Clock | None = None
    """What a lease is watched on, where `clock` is not that of the other loops: a simulated one may be ahead."""
    pace: Clock | None = None
    """What the applier sleeps on, where that is another one of the same time: a simulated one takes longer strides."""
