"""How long the chooser takes, and how much memory: a drain of one of 100 brokers, and a cluster in place.

python benchmarks/placing.py            # 10k, 100k, 200k and 1M partitions
"""

import resource
import subprocess
import sys
from math import log

import numpy as np

from replan.planning.placing.choose import choose
from replan.planning.placing.problem import (
    NO_LIMIT,
    BrokerTable,
    Elsewhere,
    Lie,
    PartitionTable,
    PlacementProblem,
    Rule,
)

BROKERS, RACKS, FACTOR = 100, 5, 3
SIZES = (10_000, 100_000, 200_000, 1_000_000)
DRAINED = 17


def problem(partitions: int, *, drains: bool) -> PlacementProblem:
    """Partitions spread over the racks in turn; `drains`: one broker leaves."""
    ids = np.arange(1, BROKERS + 1, dtype=np.int64)
    gone = (ids == DRAINED) & drains
    step = np.arange(partitions, dtype=np.int64)[:, None]
    lists = ((step * 7 + np.arange(FACTOR) * (1 + 2 * RACKS)) % BROKERS + 1).astype(np.int32)
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
            bytes=step[:, 0] * 7919 % 1_000_000_007,
            topic=step[:, 0] // 50,
        ),
        (Rule(Lie.RACK, ~gone),),
        Elsewhere(lists[:0], step[:0, 0]),
        drained=frozenset({DRAINED} if drains else ()),
    )


def measure(partitions: int, *, drains: bool) -> None:
    """One run in this process: seconds of CPU of the choice alone, and the peak of memory."""
    asked = problem(partitions, drains=drains)
    before = _cpu()
    found = choose(asked)
    seconds = _cpu() - before
    moved = int((found.lists != asked.partitions.current).any(axis=1).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert not found.impossible
    print(f"{seconds:.3f} {peak:.0f} {moved}")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """A process for each size, so that each peak is its own; the least of three."""
    for kind in ("drain", "in-place"):
        times: list[tuple[int, float]] = []
        for size in SIZES:
            runs = [
                subprocess.run(
                    [sys.executable, __file__, kind, str(size)],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout.split()
                for _ in range(3)
            ]
            seconds, peak, moved = min((float(s), int(m), int(n)) for s, m, n in runs)
            times.append((size, seconds))
            print(
                f"{kind:9} {size:>9,} partitions  {seconds:6.2f} s CPU  {peak:>5} MB  {moved} moved"
            )
        (small, quick), (large, slow) = times[0], times[-1]
        print(f"{kind:9} grows with the power {log(slow / quick) / log(large / small):.2f}\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(int(sys.argv[2]), drains=sys.argv[1] == "drain")
    else:
        main()
