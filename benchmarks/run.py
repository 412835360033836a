"""What replan costs, row by row, each beside a fixed piece of work that is run in turns with it: `make bench`.

    python -m benchmarks.run                        # the table
    python -m benchmarks.run --rows replan make     # rows whose names begin so
    python -m benchmarks.run --save FILE.json       # and keep the figures, with the commit
    python -m benchmarks.run --against COMMIT       # name what is slower by a tenth than there; ends with 2
    python -m benchmarks.run --profile rehearse 100 # where the time of one row goes

A row at one size is a process of its own, so its peak of memory is its own; that of a whole process of replan is never
shown below what this module takes, as Linux counts for a child what its parent had when it was started. CPU is that of
the process and of those that it waits for. A machine that others use is slower now than a minute ago, so the figure to
compare is the ratio: the median of the row by the median of the fixed work beside it. Even that does not travel between
machines, nor between two days of one. So `--against` measures the other commit, too, each row in turns with the present
one; a row that looks slower is measured up to `TURNS` times, and the least CPU of each counts.
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
import tarfile
import tempfile
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from io import BytesIO
from itertools import groupby, islice
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.rows import ROWS, Row, Work
from msgspec import Struct
from msgspec.structs import asdict, replace

TOP = Path(__file__).parents[1]
EVERYBODY = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
SLOWER = 1.1
"""By which factor a row has to be slower until it is named."""
TURNS = 3


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


def measured_apart(row: Row, size: int, tree: Path = TOP) -> Measured:
    """The same in a fresh process, by the benchmarks and the product of this tree."""
    said = _python(tree, "-m", "benchmarks.run", "--one", row.name, str(size))
    return Measured(**json.loads(said.splitlines()[-1]))


def rows_of(tree: Path) -> set[tuple[str, int]]:
    """Each row and size of a tree."""
    code = "from benchmarks.rows import ROWS; print([(row.name, size) for row in ROWS for size in row.sizes])"
    return set(literal_eval(_python(tree, "-c", code)))


def _python(tree: Path, *words: str) -> str:
    path = os.pathsep.join([str(tree), str(tree / "cli")])
    variables = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=tree, env=variables, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


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


class Compared(Struct, frozen=True):
    """A row at one size here and at another commit: the CPU seconds of all runs."""

    now: Measured
    then: Measured

    @property
    def factor(self) -> float:
        """By how much the quickest run here takes longer."""
        return min(self.now.cpu) / min(self.then.cpu)

    @property
    def slower(self) -> bool:
        """Whether that is named."""
        return self.factor > SLOWER

    def __str__(self) -> str:
        now, then = min(self.now.cpu), min(self.then.cpu)
        size = f"{self.now.size:,} {self.now.unit}"
        return f"{self.now.row}, {size}: {self.factor:.2f} times what it was ({then:.3f} s of CPU, now {now:.3f} s)"


def compare(turns: Iterable[tuple[Measured, Measured]]) -> Compared:
    """Take one more turn, of a row here and there, for as long as the row looks slower; at most `TURNS`."""
    now: list[Measured] = []
    then: list[Measured] = []
    for here, there in islice(turns, TURNS):
        now.append(here)
        then.append(there)
        compared = Compared(_together(now), _together(then))
        if not compared.slower:
            break
    return compared


def _together(runs: Sequence[Measured]) -> Measured:
    return replace(
        runs[0],
        cpu=[cpu for run in runs for cpu in run.cpu],
        beside=[cpu for run in runs for cpu in run.beside],
        peak=max(run.peak for run in runs),
    )


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="replan-bench-") as folder:
        archive = subprocess.run(
            ["git", "archive", commit], cwd=TOP, stdout=subprocess.PIPE, check=True
        )
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", default=[""], metavar="BEGINNING")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--one", nargs=2, metavar=("ROW", "SIZE"), help=argparse.SUPPRESS)
    parser.add_argument("--profile", nargs=2, metavar=("ROW", "SIZE"))
    asked = parser.parse_args(words)
    by_name = {row.name: row for row in ROWS}
    if asked.one:
        print(json.dumps(asdict(measure(by_name[asked.one[0]], int(asked.one[1])))))
        return 0
    if asked.profile:
        return _profiled(by_name[asked.profile[0]], int(asked.profile[1]))
    wanted = _checked(asked)
    measured: list[Measured] = []
    worse: list[Compared] = []
    pairs = [(row, size) for row in wanted for size in row.sizes]

    def one_by_one(tree: Path | None) -> Iterable[Measured]:
        there = rows_of(tree) if tree else set()
        for row, size in pairs:
            if tree is None or (row.name, size) not in there:
                measured.append(measured_apart(row, size))
            else:
                compared = compare(_turns(row, size, tree))
                measured.append(compared.now)
                worse.extend([compared] if compared.slower else [])
            yield measured[-1]

    with tree_of(asked.against) if asked.against else nullcontext() as tree:
        for line in table(one_by_one(tree)):
            print(line, flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if asked.save:
        asked.save.write_text(json.dumps(document(measured), indent=1) + "\n")
    for compared in worse:
        print(f"slower than {asked.against}: {compared}")
    return 2 if worse else 0


def _checked(asked: argparse.Namespace) -> list[Row]:
    """The rows that are asked for; ends with 1 where something cannot be done, before anything is measured."""
    for beginning in asked.rows:
        if not any(row.name.startswith(beginning) for row in ROWS):
            names = ", ".join(repr(row.name) for row in ROWS)
            sys.exit(f"--rows {beginning}: no row begins so; there are {names}")
    if asked.save and not asked.save.parent.is_dir():
        sys.exit(f"--save {asked.save}: there is no such folder")
    if asked.against:
        commit = ["git", "rev-parse", "--verify", "--quiet", f"{asked.against}^{{commit}}"]
        if subprocess.run(commit, cwd=TOP, stdout=subprocess.DEVNULL, check=False).returncode:
            sys.exit(f"--against {asked.against}: git knows no such commit")
    return [row for row in ROWS if row.name.startswith(tuple(asked.rows))]


def _turns(row: Row, size: int, tree: Path) -> Iterator[tuple[Measured, Measured]]:
    while True:
        yield measured_apart(row, size), measured_apart(row, size, tree)


def _profiled(row: Row, size: int) -> int:
    work = row.prepare(size)
    profile = cProfile.Profile()
    profile.runcall(work)
    pstats.Stats(profile).sort_stats("tottime").print_stats(30)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
