"""What a plan does, whatever it is: each change says itself what is asked of all of them.

Limits, permissions, the laws of a plan, `show` and the difference of two plans ask every change alike, and need no line
for a new kind. What a kind does not say has a default.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import ClassVar

from replan.model.names import BrokerId, TopicId, TopicPartition
from replan.wording import count

NO_COPIES: Mapping[BrokerId, int] = {}


class Rank(IntEnum):
    """What is done first where limits allow only a part; lower is earlier."""

    LEADERLESS = 0
    UNDER_MIN_ISR = 1
    AT_MIN_ISR = 2
    DRAINED = 3
    """A broker is to hold nothing."""
    LOG_DIR_DRAINED = 4
    GROWN = 5
    """A topic gets partitions."""
    SET = 6
    """A setting gets another value."""
    DECLARED = 7
    BALANCED = 8
    """What it keeps its rules without."""
    LOG_DIRS_BALANCED = 9


class Change:
    """One thing that a plan does.

    No `ABC`: msgspec's Structs have another metaclass. What each kind has to say itself raises here.
    """

    __slots__ = ()

    @property
    def topic(self) -> str | None:
        """Of which topic; None: of a broker."""
        raise NotImplementedError

    @property
    def topic_id(self) -> TopicId | None:
        """The id that its topic had when planned, where it is of that topic and of none that is made later."""
        return None

    @property
    def brokers(self) -> Sequence[BrokerId]:
        """Those that it concerns."""
        raise NotImplementedError

    @property
    def partitions(self) -> Collection[TopicPartition]:
        """Those that it is about; none where it is a setting."""
        return ()

    @property
    def first(self) -> TopicPartition:
        """The first of them, which stands for it where one has to; of a setting the first of its topic."""
        return next(iter(self.partitions), TopicPartition(str(self.topic), 0))

    @property
    def copies(self) -> Mapping[BrokerId, int]:
        """The brokers that copy, with their bytes when planned."""
        return NO_COPIES

    @property
    def may_change_leader(self) -> bool:
        """Whether another broker may lead afterwards, be it by the controller itself."""
        return False

    @property
    def needs(self) -> tuple[str, str | None]:
        """The operation that a user has to be allowed, and on which topic; None: on the cluster."""
        return "Alter", None

    @property
    def compared(self) -> Mapping[str, str]:
        """What two plans are compared by, in words, by name."""
        raise NotImplementedError


class PlannedStep(Change):
    """One of the steps beside moves; its `__str__` is what it changes: `not set -> 30 MB/s`."""

    __slots__ = ()

    rank: ClassVar[Rank]
    heading: ClassVar[str] = ""
    """Of their table where people read a plan; empty where `reporting.plans.steps_text` has another form for them."""
    column: ClassVar[str] = "partition"
    """What their labels are."""
    noun: ClassVar[str] = ""
    """What one of them is called where they are counted."""

    @property
    def label(self) -> str:
        """What it changes, by name."""
        return str(self.first)

    @property
    def compared(self) -> Mapping[str, str]:
        """The change by its name."""
        return {self.label: str(self)}

    @property
    def twice(self) -> str:
        """What is said of a plan that has it twice; what tells it from others of its kind is part of it."""
        return f"{self.label} stands there twice"

    @classmethod
    def total(cls, steps: Sequence[Change]) -> str:
        """How many there are, in the line of totals."""
        return count(len(steps), cls.noun)
