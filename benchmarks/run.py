"""What replan costs, row by row, each beside a fixed piece of work that is run in turns with it: `make bench`.

    python -m benchmarks.run                        # the table
    python -m benchmarks.run --rows plan,tick       # rows whose names begin so
    python -m benchmarks.run --save FILE.json       # and keep the figures, with the commit
    python -m benchmarks.run --against FILE.json    # name what became slower by a tenth; ends with 2
    python -m benchmarks.run --profile 'plan' 10000 # where the time of one row goes

A row at one size is a process of its own, so its peak of memory is its own; that of a whole process of replan is never
shown below what this module takes, as Linux counts for a child what its parent had when it was started. CPU is that of
the process and of those that it waits for. A machine that others use is slower now than a minute ago, so the figure to
compare is the ratio: the median of the row by the median of the fixed work beside it.
"""

import argparse
import cProfile
import json
import os
import platform
import pstats
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.rows import ROWS, Row, Work
from msgspec import Struct
from msgspec.structs import asdict

TOP = Path(__file__).parents[1]
EVERYBODY = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
SLOWER = 1.1
"""By which factor a ratio has to grow until it is named."""


class Measured(Struct, frozen=True):
    """A row at one size: CPU seconds of each run, and of the fixed work beside it; the peak in megabytes."""

    row: str
    size: int
    unit: str
    cpu: list[float]
    beside: list[float]
    peak: float

    @property
    def ratio(self) -> float:
        """The median of the row by the median of the work beside it."""
        return median(self.cpu) / median(self.beside)

    @property
    def least_ratio(self) -> float:
        """The ratio of the quickest run."""
        return min(self.cpu) / median(self.beside)


def measure(row: Row, size: int) -> Measured:
    """Run a row at one size in this process, in turns with the work beside it, after one run that does not count."""
    work = row.prepare(size)
    cpu: list[float] = []
    beside: list[float] = []
    for run in range(row.runs + 1):
        own, other = _seconds(work), _seconds(row.beside)
        if run:
            cpu.append(own)
            beside.append(other)
    own, children = (resource.getrusage(whose).ru_maxrss / 1000 for whose in EVERYBODY)
    peak = children if row.process else max(own, children)
    return Measured(row.name, size, row.unit, cpu, beside, peak)


def _seconds(work: Work) -> float:
    before = _spent()
    work()
    return _spent() - before


def _spent() -> float:
    usage = [resource.getrusage(whose) for whose in EVERYBODY]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def measured_apart(row: Row, size: int) -> Measured:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.run", "--one", row.name, str(size)]
    done = subprocess.run(command, cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def table(rows: Iterable[Measured]) -> Iterable[str]:
    """The table, line by line, with how each row grows with its size."""
    yield "| row | size | CPU | least to most | by the work beside it | peak |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, group in groupby(rows, lambda one: one.row):
        sizes: list[Measured] = []
        for one in group:
            sizes.append(one)
            yield (
                f"| {name} | {one.size:,} {one.unit} | {median(one.cpu):.3f} s "
                f"| {min(one.cpu):.3f} to {max(one.cpu):.3f} s | {one.ratio:.2f} | {one.peak:,.0f} MB |"
            )
        if len(sizes) > 1:
            yield f"| | grows with the power | {power(sizes):.2f} | | | |"


def power(sizes: Sequence[Measured]) -> float:
    """The exponent between the two largest sizes, where what every run costs weighs least."""
    small, large = sizes[-2:]
    return log(median(large.cpu) / median(small.cpu)) / log(large.size / small.size)


def document(rows: Sequence[Measured]) -> dict[str, Any]:
    """The figures as they are kept."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=TOP, capture_output=True, text=True, check=True
    )
    return {
        "kind": "benchmarks",
        "formatVersion": 1,
        "commit": commit.stdout.strip(),
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "rows": [asdict(row) for row in rows],
    }


def kept(path: Path) -> Mapping[tuple[str, int], Measured]:
    """The figures of a file, by row and size."""
    rows = [Measured(**row) for row in json.loads(path.read_text())["rows"]]
    return {(row.row, row.size): row for row in rows}


def slower(now: Iterable[Measured], before: Mapping[tuple[str, int], Measured]) -> list[str]:
    """Which rows take a tenth more than before, their quickest run included, and by how much."""
    found = []
    for row in now:
        then = before.get((row.row, row.size))
        if then is None or row.ratio <= SLOWER * then.ratio or row.least_ratio <= then.ratio:
            continue
        found.append(
            f"{row.row}, {row.size:,} {row.unit}: {row.ratio / then.ratio:.2f} times what it was "
            f"({then.ratio:.2f}, now {row.ratio:.2f} times the work beside it)"
        )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="", help="beginnings of names, separated by commas")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("ROW", "SIZE"), help=argparse.SUPPRESS)
    parser.add_argument("--profile", nargs=2, metavar=("ROW", "SIZE"))
    asked = parser.parse_args()
    by_name = {row.name: row for row in ROWS}
    if asked.one:
        print(json.dumps(asdict(measure(by_name[asked.one[0]], int(asked.one[1])))))
        return 0
    if asked.profile:
        return _profiled(by_name[asked.profile[0]], int(asked.profile[1]))
    wanted = [row for row in ROWS if row.name.startswith(tuple(asked.rows.split(",")))]
    found: list[Measured] = []

    def one_by_one() -> Iterable[Measured]:
        for row in wanted:
            for size in row.sizes:
                found.append(measured_apart(row, size))
                yield found[-1]

    for line in table(one_by_one()):
        print(line, flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if asked.save:
        asked.save.write_text(json.dumps(document(found), indent=1) + "\n")
    worse = slower(found, kept(asked.against)) if asked.against else []
    for line in worse:
        print(f"slower: {line}")
    return 2 if worse else 0


def _profiled(row: Row, size: int) -> int:
    work = row.prepare(size)
    profile = cProfile.Profile()
    profile.runcall(work)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
