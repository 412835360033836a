"""How long the chooser takes, how much memory, and how even the copies are.

A drain of one of 100 brokers, a replica more for each partition, a cluster in place, bytes balanced within 10 %, and
ten brokers that join 90 where replicas are balanced within 5 %, or bytes within 10 %. Then 100,000 partitions on more
brokers, of which a tenth joins.

python benchmarks/placing_speed.py           # each with up to 1M partitions, and up to 800 brokers
python benchmarks/placing_speed.py join      # one of them
"""

import resource
import subprocess
import sys
from collections.abc import Collection, Sequence
from fractions import Fraction
from math import log

import numpy as np

from replan.model.api import PAD, BalanceMeasure, Tolerance
from replan.planning.api import (
    NO_LIMIT,
    BrokerTable,
    Choice,
    Elsewhere,
    Layout,
    PartitionTable,
    PlacementProblem,
    Rule,
    choose,
)

BROKERS, RACKS, FACTOR = 100, 5, 3
SIZES = {
    "drain": (10_000, 100_000, 200_000, 1_000_000),
    "in-place": (10_000, 100_000, 200_000, 1_000_000),
    "third": (10_000, 100_000),
    "join": (10_000, 100_000, 1_000_000),
    "bytes": (30_000, 100_000, 1_000_000),
    "join-bytes": (10_000, 100_000, 1_000_000),
}
BALANCE = {
    "join": (Tolerance(BalanceMeasure.REPLICAS, Fraction(1, 20)),),
    "bytes": (Tolerance(BalanceMeasure.BYTES, Fraction(1, 10)),),
    "join-bytes": (Tolerance(BalanceMeasure.BYTES, Fraction(1, 10)),),
}
DRAINED = 17
MORE_BROKERS = (100, 200, 400, 800)
"""Of 100,000 partitions."""


def problem(kind: str, partitions: int, brokers: int = BROKERS) -> PlacementProblem:
    """Partitions spread over the racks in turn, with sizes as topics have them."""
    ids = np.arange(1, brokers + 1, dtype=np.int64)
    gone = (ids == DRAINED) & (kind == "drain")
    there = brokers - (brokers // 10 if kind.startswith("join") else 0)
    step = np.arange(partitions, dtype=np.int64)[:, None]
    lists = ((step * 7 + np.arange(FACTOR) * (1 + 2 * RACKS)) % there + 1).astype(np.int32)
    if kind == "third":
        lists[:, FACTOR - 1] = PAD
    sizes = np.floor(np.random.default_rng(1).lognormal(20, 2, partitions)).astype(np.int64)
    return PlacementProblem(
        BrokerTable(
            ids,
            rack=(ids - 1) % RACKS,
            racks=tuple("abcde"),
            open=~gone,
            fenced=np.zeros(brokers, dtype=bool),
            weight=np.ones(brokers, dtype=np.int64),
            replicas=np.zeros(brokers, dtype=np.int64),
            bytes=np.zeros(brokers, dtype=np.int64),
            room=np.full(brokers, NO_LIMIT),
        ),
        PartitionTable(
            rule=np.zeros(partitions, dtype=np.int64),
            factor=np.full(partitions, FACTOR, dtype=np.int64),
            base=lists,
            current=lists,
            leader=lists[:, 0].astype(np.int64),
            bytes=sizes,
            topic=step[:, 0] // 50,
        ),
        (Rule(Layout.RACK, ~gone),),
        Elsewhere(lists[:0], step[:0, 0]),
        drained=frozenset({DRAINED} if kind == "drain" else ()),
        balance=BALANCE.get(kind, ()),
    )


def measure(kind: str, partitions: int, brokers: int) -> None:
    """One run in this process: seconds of CPU of the choice alone, and the peak of memory."""
    asked = problem(kind, partitions, brokers)
    before = _cpu()
    found = choose(asked)
    seconds = _cpu() - before
    moved = int((found.lists != asked.partitions.current).any(axis=1).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not found.impossible
    print(f"{seconds:.3f} {peak:.0f} {moved} {_busiest(asked, found):.3f}")


def _busiest(asked: PlacementProblem, found: Choice) -> float:
    """What the broker that gets most bytes gets, by what those of its rack that get any get on average."""
    got = np.zeros(len(asked.brokers.ids) + 1, dtype=np.int64)
    had = asked.partitions.current
    for slot in range(found.lists.shape[1]):
        brokers = found.lists[:, slot]
        new = (brokers >= 0) & ~(had == brokers[:, None]).any(axis=1)
        np.add.at(got, brokers[new], asked.partitions.bytes[new])
    of_racks = [got[1:][asked.brokers.rack == rack] for rack in range(RACKS)]
    return max(
        (float(some.max() / some[some > 0].mean()) for some in of_racks if some.any()), default=1
    )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def table(kind: str, shapes: Sequence[tuple[int, int]]) -> list[float]:
    """A process for each shape, so that each peak is its own; small ones are the least of three."""
    times: list[float] = []
    for partitions, brokers in shapes:
        runs = [
            subprocess.run(
                [sys.executable, __file__, kind, str(partitions), str(brokers)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
            for _ in range(3 if partitions < 100_000 else 1)
        ]
        seconds, peak, moved, even = min(
            (float(s), int(m), int(n), float(e)) for s, m, n, e in runs
        )
        times.append(seconds)
        print(
            f"{kind:10} {partitions:>9,} partitions {brokers:>4} brokers  {seconds:6.2f} s CPU  {peak:>5} MB  "
            f"{moved} moved, busiest receiver {even} times the mean of its rack",
            flush=True,
        )
    return times


def main(kinds: Collection[str]) -> None:
    """How the time grows with partitions, then with brokers."""
    for kind, sizes in SIZES.items():
        if kind not in kinds:
            continue
        times = table(kind, [(size, BROKERS) for size in sizes])
        power = log(times[-1] / times[0]) / log(sizes[-1] / sizes[0])
        print(f"{kind:10} grows with the power {power:.2f} of partitions")
        times = table(kind, [(100_000, brokers) for brokers in MORE_BROKERS])
        power = log(times[-1] / times[0]) / log(MORE_BROKERS[-1] / MORE_BROKERS[0])
        print(f"{kind:10} grows with the power {power:.2f} of brokers\n")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(sys.argv[1:] or SIZES)
