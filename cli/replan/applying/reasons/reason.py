"""What all reasons have: a sentence, and a name in JSON."""

import re
from typing import ClassVar

from msgspec import Struct


class Reason(Struct, frozen=True):
    """Why something is as it is; `str` of it is a sentence for people, without its subject and a full stop."""

    changing: ClassVar[tuple[str, ...]] = ()
    """Fields that change from tick to tick: reasons that differ in nothing else are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and self._lasting() == other._lasting()

    def __hash__(self) -> int:
        return hash(self._lasting())

    def _lasting(self) -> tuple[object, ...]:
        kept = (name for name in self.__struct_fields__ if name not in self.changing)
        return type(self), *(getattr(self, name) for name in kept)

    @property
    def kind(self) -> str:
        """The name in JSON: `new-broker-fenced`."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()


class HoldReason(Reason, frozen=True):
    """Why something waits: measure, limit, way out."""

    @property
    def routine(self) -> bool:
        """Whether it is part of every move, and not worth a report."""
        return False


class EndReason(Reason, frozen=True):
    """Why something has ended without being done, and the way out; of a recovery also how it is done."""

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


class Note(Reason, frozen=True):
    """What was noticed while a plan was applied, and what was done about it."""


class Leftover(Reason, frozen=True):
    """A setting of replan's that is still there at the end."""
