"""Whether copies come to their end at their throttle: more must flow than producers write meanwhile.

A throttled leader counts every fetch of a listed partition, also those of followers that are in sync (`LeaderReplicas`
of ReplicationQuotaManager, KIP-73): so of a partition that is written with w bytes per second and has n followers while
it is copied, n * w pass before the copy gains anything. A throttled follower counts what its new replicas fetch. At
once run as many copies of a broker as it has slots; where those with the largest rates need more than the broker may
send or fetch, they never converge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from replan.errors import UnsafePlan
from replan.model.declared.placement import MoveThrottle, Side
from replan.model.names import BrokerId, TopicPartition
from replan.model.rates import Rates, check_rates
from replan.planning.plans.moves import Move
from replan.planning.plans.plan import JudgedBy
from replan.planning.plans.requests import SLOTS
from replan.wording import NAMES_SHOWN, capped, count

SLOW_PARTITIONS_SHOWN = 5


class TooSlow(Struct, frozen=True):
    """One side of one broker whose copies never end at its rate; bytes per second."""

    broker: BrokerId
    side: Side
    rate: int
    needed: int
    """What producers make pass there while its largest copies run: the rate must be above it."""
    partitions: tuple[TopicPartition, ...]
    """The copies, those that need most first."""

    @property
    def smallest(self) -> int:
        """The smallest rate with which they end, in whole kB/s."""
        return (self.needed // 1000 + 1) * 1000


class NeverConverges(UnsafePlan):
    """Copies of the plan would never end at their throttle."""

    def __init__(self, too_slow: Sequence[TooSlow]) -> None:
        self.too_slow = tuple(too_slow)
        lines = "\n".join(
            f"  {line}" for line in capped(self.too_slow, _sentence, limit=NAMES_SHOWN)
        )
        super().__init__(
            f"the throttle never lets the copies of {count(len(self.too_slow), 'broker side')} end, so the plan is "
            f"refused as a whole:\n{lines}\n"
            "Raise `throttles.moves` there at least so far, or plan fewer of these partitions at once, with --only"
        )


def check_convergence(
    moves: Sequence[Move], throttle: MoveThrottle | None, rates: Rates, cluster_id: str
) -> JudgedBy:
    """Raise NeverConverges with every side of a broker whose rate is too low, WrongCluster for rates of another one."""
    check_rates(rates, cluster_id)
    if throttle is not None:
        too_slow = list(_too_slow(moves, throttle, rates.bytes_per_second))
        if too_slow:
            raise NeverConverges(too_slow)
    unknown = sum(1 for m in moves if m.new and m.partition not in rates.bytes_per_second)
    return JudgedBy(rates.digest, unknown)


def _too_slow(
    moves: Iterable[Move], throttle: MoveThrottle, written: Mapping[TopicPartition, int]
) -> Iterator[TooSlow]:
    needs: dict[tuple[BrokerId, Side], list[tuple[int, TopicPartition]]] = {}
    for move in moves:
        rate = written.get(move.partition, 0) if move.new else 0
        if not rate:
            continue
        followers = len(move.expanded) - 1
        needs.setdefault((move.source, Side.LEADER), []).append((rate * followers, move.partition))
        for broker in move.new:
            needs.setdefault((broker, Side.FOLLOWER), []).append((rate, move.partition))
    for (broker, side), of_side in sorted(needs.items()):
        allowed = throttle.rate_of(broker, side)
        largest = sorted(of_side, key=lambda need: (-need[0], need[1]))[:SLOTS]
        needed = sum(need for need, _ in largest)
        if allowed is not None and allowed <= needed:
            yield TooSlow(broker, side, allowed, needed, tuple(name for _, name in largest))


def _sentence(slow: TooSlow) -> str:
    does = "sends" if slow.side is Side.LEADER else "fetches"
    named = ", ".join(map(str, slow.partitions[:SLOW_PARTITIONS_SHOWN]))
    return (
        f"broker {slow.broker} {does} at most {slow.rate:,} B/s, and producers alone take {slow.needed:,} B/s of that "
        f"while {named} are copied; the smallest rate that ends is {slow.smallest // 1000:,} kB/s"
    )
