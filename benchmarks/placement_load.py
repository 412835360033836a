"""How long a placement file of many explicit rows takes to load, and how much memory at its peak.

    python benchmarks/placement_load.py [PARTITIONS ...]

Each size runs in a process of its own, three times; the best run counts, since noise only adds. On
a machine that others use, the processor time is the honest number.
"""

import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from replan.placement_file.load import load_placement

SIZES = (10_000, 100_000, 1_000_000)
PARTITIONS_PER_TOPIC = 50
BROKERS = range(1, 201)
RUNS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    seconds: float
    processor_seconds: float
    peak_megabytes: float
    base_megabytes: float


def placement_lines(partitions: int, chance: random.Random) -> Iterator[str]:
    """Flow rows, three replicas each, fifty partitions a topic."""
    yield "version: 1"
    yield "assignments:"
    for partition in range(partitions):
        topic, number = divmod(partition, PARTITIONS_PER_TOPIC)
        if number == 0:
            yield f"  topic-{topic}:"
            yield "    partitions:"
        yield f"      {number}: {chance.sample(BROKERS, 3)}"


def measure(path: Path) -> Measured:
    base = _peak_megabytes()
    wall: list[float] = []
    processor: list[float] = []
    for _ in range(RUNS):
        started = time.perf_counter(), time.process_time()
        placement = load_placement([path])
        wall.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
        assert placement.explicit.num_rows > 0
        del placement
    return Measured(min(wall), min(processor), _peak_megabytes(), base)


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(sizes: list[int]) -> None:
    chance = random.Random(1)  # noqa: S311 - the same placement each time, nothing secret
    # Each child starts as a fresh interpreter: a forked one would inherit this one's peak.
    fresh = multiprocessing.get_context("spawn")
    print("| partitions | file | best of 3 | of processor | peak memory | of that before loading |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.yaml"
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in placement_lines(size, chance))
            megabytes = path.stat().st_size / 1e6
            with fresh.Pool(1) as pool:
                found = pool.apply(measure, (path,))
            print(
                f"| {size:,} | {megabytes:.1f} MB | {found.seconds:.2f} s "
                f"| {found.processor_seconds:.2f} s | {found.peak_megabytes:.0f} MB | {found.base_megabytes:.0f} MB |",
                flush=True,
            )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(SIZES))
