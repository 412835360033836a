"""Since when something drifts, how often it came back, and when that is flapping."""

from collections.abc import Sequence

from msgspec import Struct

from replan.model.names import BrokerId

FLAPPING_DAYS = 7
FLAPPING_SPELLS = 3
"""What began so often within so many days flaps."""

DriftKey = tuple[str | None, int | None, BrokerId | None, str]
"""What drifts, from one comparison to the next: topic, partition, broker, kind."""


class Spell(Struct, frozen=True):
    """The newest time that something drifted without a break, as far as comparisons were kept; moments are RFC 3339."""

    since: str
    """The first comparison that found it."""
    resolved_at: str | None = None
    """The first comparison after it that did not; None while it goes on."""
    spells: int = 1
    """How often it began, this time included."""
    began: tuple[str, ...] = ()
    """When it did so in the last `FLAPPING_DAYS`."""

    @property
    def flapping(self) -> bool:
        """Whether it began often of late."""
        return flaps(self.began)

    def again(self, now: str) -> "Spell":
        """The spell that begins after this one."""
        return Spell(now, None, self.spells + 1, (*self.began, now))


def flaps(began: Sequence[str]) -> bool:
    """Whether something flaps that began at these moments of the last `FLAPPING_DAYS`."""
    return len(began) >= FLAPPING_SPELLS
