"""Sizes of logs that grow by themselves: known at one moment, worked out when asked for at a later one.

Here belongs that mapping alone; up to what size they grow is in `retention`. A cluster has thousands of logs that are
written to and few that anybody asks for.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from replan.model.names import TopicPartition

Sizes = Mapping[TopicPartition, float]


@dataclass(frozen=True, slots=True, eq=False)
class GrowingSizes(Mapping[TopicPartition, float]):
    """Bytes of logs after some seconds of growth; a log of no leader does not grow, nor one at its limit."""

    base: Sizes
    rates: Mapping[TopicPartition, float]
    leaderless: Collection[TopicPartition]
    limits: Mapping[TopicPartition, float]
    seconds: float

    def __getitem__(self, name: TopicPartition) -> float:
        size = self.base[name]
        if name in self.leaderless:
            return size
        larger = size + self.rates.get(name, 0.0) * self.seconds
        return min(larger, max(size, self.limits.get(name, larger)))

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self.base)

    def __len__(self) -> int:
        return len(self.base)


def grown(
    sizes: Sizes,
    rates: Mapping[TopicPartition, float],
    leaderless: Collection[TopicPartition],
    limits: Mapping[TopicPartition, float],
    seconds: float,
) -> Sizes:
    """The sizes so much later; what was worked out for the same rates before is gone on with."""
    if not rates:
        return sizes
    if isinstance(sizes, GrowingSizes):
        if sizes.rates is rates and sizes.limits is limits and sizes.leaderless == leaderless:
            return GrowingSizes(sizes.base, rates, leaderless, limits, sizes.seconds + seconds)
        sizes = dict(sizes)
    return GrowingSizes(sizes, rates, leaderless, limits, seconds)
