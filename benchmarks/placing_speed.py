"""How long the chooser takes, how much memory, and how even the copies are.

A drain of one of 100 brokers, a replica more for each partition, a cluster in place, bytes balanced within 10 %, and
ten brokers that join 90 where replicas are balanced within 5 %, or bytes within 10 %.

python benchmarks/placing_speed.py      # each with up to 1M partitions
"""

import resource
import subprocess
import sys
from fractions import Fraction
from math import log

import numpy as np

from replan.model.columns import PAD
from replan.model.declared.rules import BalanceMeasure, Tolerance
from replan.planning.placing.choose import choose
from replan.planning.placing.problem import (
    NO_LIMIT,
    BrokerTable,
    Choice,
    Elsewhere,
    Lie,
    PartitionTable,
    PlacementProblem,
    Rule,
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
JOIN = 10


def problem(kind: str, partitions: int) -> PlacementProblem:
    """Partitions spread over the racks in turn, with sizes as topics have them."""
    ids = np.arange(1, BROKERS + 1, dtype=np.int64)
    gone = (ids == DRAINED) & (kind == "drain")
    there = BROKERS - (JOIN if kind.startswith("join") else 0)
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
            fenced=np.zeros(BROKERS, dtype=bool),
            weight=np.ones(BROKERS, dtype=np.int64),
            replicas=np.zeros(BROKERS, dtype=np.int64),
            bytes=np.zeros(BROKERS, dtype=np.int64),
            room=np.full(BROKERS, NO_LIMIT),
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
        (Rule(Lie.RACK, ~gone),),
        Elsewhere(lists[:0], step[:0, 0]),
        drained=frozenset({DRAINED} if kind == "drain" else ()),
        balance=BALANCE.get(kind, ()),
    )


def measure(kind: str, partitions: int) -> None:
    """One run in this process: seconds of CPU of the choice alone, and the peak of memory."""
    asked = problem(kind, partitions)
    before = _cpu()
    found = choose(asked)
    seconds = _cpu() - before
    moved = int((found.lists != asked.partitions.current).any(axis=1).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not found.impossible
    print(f"{seconds:.3f} {peak:.0f} {moved} {_busiest(asked, found):.3f}")


def _busiest(asked: PlacementProblem, found: Choice) -> float:
    """What the broker that gets most bytes gets, by what those of its rack that get any get on average."""
    got = np.zeros(BROKERS + 1, dtype=np.int64)
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


def main() -> None:
    """A process for each size, so that each peak is its own; the least of three."""
    for kind, sizes in SIZES.items():
        times: list[tuple[int, float]] = []
        for size in sizes:
            runs = [
                subprocess.run(
                    [sys.executable, __file__, kind, str(size)],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.split()
                for _ in range(3)
            ]
            seconds, peak, moved, even = min(
                (float(s), int(m), int(n), float(e)) for s, m, n, e in runs
            )
            times.append((size, seconds))
            print(
                f"{kind:9} {size:>9,} partitions  {seconds:6.2f} s CPU  {peak:>5} MB  {moved} moved, "
                f"busiest receiver {even} times the mean of its rack"
            )
        (small, quick), (large, slow) = times[0], times[-1]
        print(f"{kind:9} grows with the power {log(slow / quick) / log(large / small):.2f}\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        main()
