"""One or two partitions, four brokers, one journal, and a process that applies a plan: what a state of it is.

The product's own pieces do everything: `ApplicationRun` looks, decides, appends and sends; the simulator's controller
decides what requests, brokers and other tools cause. Only what lies between them is made here.

State. The controller's state; the process with its memory, or none where it is dead, and the records of its journal;
messages that are late; what has happened (`Ghost`), for the laws. Two states are one where they differ only in epochs
and in ages beyond every patience (`canonical`): so clusters and processes have numbers (`Pool`), and a state is a tuple
of numbers.

Steps. `tick`: one tick of the process, everything goes well. `tick, N FATE`: the N-th crossing of its boundary has
another fate (`Fate`). `take over`: another process begins. Brokers are fenced and return, followers leave the ISR and
catch up, other tools act, late messages arrive. What makes things worse costs one of `faults`; what heals is free.

Time goes in quanta, one tick each (`settings`).

Abstracted: bytes (a copy ends when it likes), sessions (a broker dies and is fenced at once), log directories, ELR.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from tests.smallworld.process import Fate

from replan.model.api import Replicas
from replan.planning.api import Plan
from replan.simulator.api import ClusterState

T = TypeVar("T")


@dataclass(frozen=True)
class SmallWorld:
    """What is explored: a cluster, one plan or two in a row, and what may happen."""

    name: str
    cluster: ClusterState
    plans: Sequence[Plan]
    faults: int
    """How many things may go wrong on one path."""
    others_lists: Sequence[Replicas] = ()
    """Lists that another tool may ask for, for the first partition."""
    others_settings: bool = False
    """Another tool may turn unclean election on and off."""
    others_throttles: bool = False
    """Another tool may wipe throttles."""
    lags: bool = False
    """Brokers that another process asks may lag by 10 s."""
    fates: Sequence[Fate] = tuple(Fate)


class Ghost(NamedTuple):
    """What has happened, as far as the laws ask."""

    lists_changed: bool = False
    """Another tool has asked for a list, or cancelled one."""
    throttles_changed: bool = False
    settings_changed: bool = False
    settled: tuple[int, ...] = ()
    """For each move of the plan in how many looks, one in each quantum, its whole target has been in the ISR, as far as
    the laws ask."""


class Late(NamedTuple):
    """A message of replan that may yet take effect."""

    command: int
    quanta: int
    """Since it was sent."""


class State(NamedTuple):
    """Everything at one boundary between two ticks; clusters, processes and commands by their numbers."""

    cluster: int
    process: int
    late: tuple[Late, ...] = ()
    ghost: Ghost = Ghost()
    past: tuple[int, ...] = ()
    """As the cluster was before, latest first; kept only where brokers may lag."""
    lag: int = 0
    """By how many quanta the home broker of this process lags."""
    faults: int = 0
    """How many are left."""


class Pool(Generic[T]):
    """Values by number: those that behave alike have one."""

    def __init__(self, key: Callable[[T], object]) -> None:
        self._key = key
        self._numbers: dict[object, int] = {}
        self._values: dict[int, T] = {}

    def number(self, value: T) -> int:
        """The number of a value."""
        number = self._numbers.setdefault(self._key(value), len(self._numbers))
        self._values.setdefault(number, value)
        return number

    def __getitem__(self, number: int) -> T:
        return self._values[number]

    @property
    def at_hand(self) -> int:
        """How many values are not forgotten."""
        return len(self._values)

    def keep(self, numbers: Collection[int]) -> None:
        """Forget the values of all others; who has one of them again has the same number."""
        self._values = {n: self._values[n] for n in numbers}
