"""What the placement lets replan do for partitions that have lost every in-sync replica (KIP-966)."""

from enum import StrEnum

from msgspec import Struct

from replan.model.declared.where import Where


class RecoveryStrategy(StrEnum):
    """KIP-966's unclean.recovery.strategy; its default is balanced, here it is none."""

    NONE = "none"
    """Say what could be done, and do nothing."""
    BALANCED = "balanced"
    """The best log, once every replica that may have a better one has answered or is given up by name."""
    AGGRESSIVE = "aggressive"
    """The best log of those that answer."""


class RecoveryRule(Struct, frozen=True):
    """One entry of `recovery`: for a topic's name or a pattern."""

    where: Where
    strategy: RecoveryStrategy
    wait_seconds: int = 0
    """How long a partition must have been without a leader."""
    excepted: tuple[str, ...] = ()
    """Names and patterns of topics that the entry, of a pattern, does not mean."""

    @property
    def recovers(self) -> bool:
        """Whether a partition without a leader is given one."""
        return self.strategy is not RecoveryStrategy.NONE
