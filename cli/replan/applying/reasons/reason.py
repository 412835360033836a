"""What all reasons have: a sentence, and a name in JSON."""

import re
from abc import ABC, abstractmethod


class Reason(ABC):
    """Why something is as it is."""

    __slots__ = ()

    @abstractmethod
    def __str__(self) -> str:
        """A sentence for people, without what it is said of and without a full stop."""

    @property
    def kind(self) -> str:
        """The name in JSON: `new-broker-fenced`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()


class HoldReason(Reason):
    """Why something waits: measure, limit, way out."""

    __slots__ = ()

    @property
    def routine(self) -> bool:
        """Whether it is part of every move, and not worth a report."""
        return False


class EndReason(Reason):
    """Why something has ended without being done, and the way out; of a recovery also how it is done."""

    __slots__ = ()

    @property
    def suspected(self) -> str:
        """The same while one look alone has shown it."""
        return "topic or brokers differ from the plan"

    @property
    def listed(self) -> bool:
        """Whether it rests on what the controller lists as running, which is never old."""
        return False

    def of(self, subject: object) -> str:
        """The sentence with what has ended, as the journal keeps it."""
        return f"{subject}: {self}"


class Note(Reason):
    """What was noticed while a plan was applied, and what was done about it."""

    __slots__ = ()


class Leftover(Reason):
    """A setting of replan's that is still there at the end."""

    __slots__ = ()
