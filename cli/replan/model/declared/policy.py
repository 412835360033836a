"""What the placement says about plans rather than about replicas: what may be declared, changed, or left as it is."""

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct

from replan.model.declared.rules import Spread, TopicRule
from replan.model.declared.where import Where
from replan.wording import count, size

GB = 10**9
"""Bytes that a price is for."""


class Requirement(Struct, frozen=True):
    """One entry of `require`: the least that may be declared for a topic or a pattern."""

    where: Where
    replication_factor: int | None = None
    racks: int | None = None
    excepted: tuple[str, ...] = ()
    """Names and patterns of topics that the entry, of a pattern, does not mean."""


def factor_too_small(replicas: int | None, required: Requirement) -> str | None:
    """What is wrong with so many replicas, and what to do; None where nothing is, or where none are declared."""
    least = required.replication_factor
    if least is None or replicas is None or replicas >= least:
        return None
    return f"{count(replicas, 'replica')}, and `require` at {required.where} wants at least {least}; declare more"


def spread_too_narrow(rule: TopicRule, required: Requirement) -> str | None:
    """What is wrong with how a rule spreads replicas; None where nothing is, or where it declares no replicas."""
    least, factor = required.racks, rule.replication_factor
    declares = factor is not None or rule.spread is not None or rule.brokers is not None
    if least is None or least == 1 or not declares:
        return None
    if rule.replicas_per_rack:
        number = len(rule.replicas_per_rack)
        told = (
            f"`require` at {required.where} wants {least} racks, and replicasPerRack names {number}"
        )
        return None if number >= least else f"{told}; name more"
    if rule.spread is not Spread.RACK:
        instead = "" if rule.in_rack is None else f" instead of inRack: {rule.in_rack}"
        return f"`require` at {required.where} wants {least} racks; write spread: rack{instead}"
    if factor is not None and factor < least:
        return f"{factor} replicas cannot be in {least} racks, as `require` at {required.where} wants; declare more"
    return None


class Measure(StrEnum):
    """What a plan is measured by; as `limits` and `--allow` spell it."""

    PARTITIONS = "partitions"
    BYTES = "bytes"
    BYTES_PER_BROKER = "bytesPerBroker"
    LEADERS = "leaders"
    REPLICATION_FACTOR_DECREASES = "replicationFactorDecreases"
    TOPICS = "topics"

    def amounts(self, *numbers: int) -> list[str]:
        """Numbers of it in words: bytes as `1 GB`, but in full where two of them would read alike."""
        sizes = [size(number) for number in numbers]
        in_bytes = self in {Measure.BYTES, Measure.BYTES_PER_BROKER}
        if in_bytes and len(set(sizes)) == len(set(numbers)):
            return sizes
        return [f"{number:,}" for number in numbers]


class Limit(Struct, frozen=True):
    """The most that one plan may change; partitions, topics and leaders in number, bytes in bytes."""

    measure: Measure
    where: Where
    most: int


Limits = Mapping[Measure, Limit]


class InStages(Struct, frozen=True):
    """Whether a plan beyond a limit is made in stages, each within the limits, and not refused whole."""

    where: Where
    wanted: bool


class Acknowledgement(Struct, frozen=True):
    """Known drift: neither reported nor planned until it expires."""

    topic: str
    """A topic's name or a pattern."""
    partitions: tuple[int, ...] | None
    """None: all of them."""
    where: Where
    reason: str
    expires: str
    """RFC 3339; judged by the time of the snapshot."""
    owner: str | None = None

    def __str__(self) -> str:
        return self.topic if self.partitions is None else f"{self.topic} {list(self.partitions)}"


class Prices(Struct, frozen=True):
    """What copies and storage cost; for showing only."""

    currency: str
    cross_rack_per_gb: Decimal | None = None
    """Per 10^9 bytes that cross racks."""
    per_gb_month: Decimal | None = None
    """Per 10^9 bytes stored for a month."""
