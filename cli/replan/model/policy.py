"""What the manifest says about plans rather than about replicas: what may be declared, changed, or left as it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from replan.model.where import Where


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of `require`: the least that may be declared for a topic or a pattern."""

    where: Where
    replication_factor: int | None = None
    racks: int | None = None


class Measure(StrEnum):
    """What a plan is measured by; as `limits` and `--allow` spell it."""

    PARTITIONS = "partitions"
    BYTES = "bytes"
    BYTES_PER_BROKER = "bytesPerBroker"
    LEADERS = "leaders"
    REPLICATION_FACTOR_DECREASES = "replicationFactorDecreases"
    TOPICS = "topics"


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that one plan may change; partitions, topics and leaders in number, bytes in bytes."""

    measure: Measure
    where: Where
    most: int


Limits = Mapping[Measure, Limit]


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Known drift: neither reported nor planned until it expires."""

    partitions: str
    """A partition such as `orders-7`, or a pattern over such names."""
    where: Where
    reason: str
    expires: str
    """RFC 3339; judged by the time of the snapshot."""
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What copies and storage cost; for showing only."""

    currency: str
    cross_rack_per_gb: Decimal | None = None
    """Per 10^9 bytes that cross racks."""
    per_gb_month: Decimal | None = None
    """Per 10^9 bytes stored for a month."""
