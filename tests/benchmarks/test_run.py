import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.rows import ROWS
from benchmarks.run import TURNS, Measured, compare, document, kept, main, measure, power, table

TOP = Path(__file__).parents[2]


def measured(
    cpu: list[float], *, size: int = 10, beside: float = 0.1, row: str = "plan"
) -> Measured:
    return Measured(row, size, "partitions", cpu, [beside] * len(cpu), 100.0)


def test_a_row_that_is_slower_in_each_turn_is_named_with_both_figures() -> None:
    turns = [(measured([1.3, 1.2]), measured([1.1, 1.0]))] * 9
    compared = compare(turns)
    assert compared.slower
    assert (
        str(compared) == "plan, 10 partitions: 1.20 times what it was (1.000 s of CPU, now 1.200 s)"
    )
    assert len(compared.now.cpu) == len(compared.then.cpu) == 2 * TURNS


def test_a_row_that_is_as_quick_in_a_later_turn_is_not_named_and_takes_no_more_turns() -> None:
    turns = iter([(measured([2.0]), measured([1.0])), (measured([1.05]), measured([1.5]))] * 9)
    compared = compare(turns)
    assert not compared.slower
    assert compared.now.cpu == [2.0, 1.05]


def test_growth_is_the_exponent_between_the_two_largest_sizes() -> None:
    sizes = [measured([1.0]), measured([1.0], size=100), measured([10.0], size=1000)]
    assert power(sizes) == pytest.approx(1)
    assert list(table(sizes))[-1] == "| | grows with the power | 1.00 | | | |"


def test_figures_are_kept_with_the_commit(tmp_path: Path) -> None:
    file, rows = tmp_path / "figures.json", [measured([1.0, 2.0])]
    file.write_text(json.dumps(document(rows)))
    assert kept(file) == {("plan", 10): rows[0]}
    assert json.loads(file.read_text())["commit"]


def test_names_of_rows_differ() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_a_row_runs_so_often_as_it_says_and_once_before() -> None:
    row = next(row for row in ROWS if row.name == "compare lists")
    found = measure(row, 1_000)
    assert len(found.cpu) == len(found.beside) == row.runs
    assert min(found.cpu) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rows", "replan plan", "nosuch"], "--rows nosuch: no row begins so; there are "),
        (["--against", "nosuch"], "--against nosuch: git knows no such commit"),
        (["--save", "nosuch/a.json"], "--save nosuch/a.json: there is no such folder"),
    ],
)
def test_what_cannot_be_measured_or_kept_is_said_before_anything_is(
    words: Sequence[str], said: str
) -> None:
    with pytest.raises(SystemExit, match=f"^{said}"):  # a text ends with 1; 2 is what is slower
        main(words)


@pytest.mark.nightly
@pytest.mark.command
def test_the_table_ends_with_2_where_a_row_became_slower(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "--quiet", "--shared", TOP, copy], check=True)
    start = copy / "cli" / "replan" / "__main__.py"
    start.write_text("sum(range(20_000_000))\n" + start.read_text())
    command = [sys.executable, "-m", "benchmarks.run", "--rows", "replan --version"]
    folder = tmp_path / "temporary"
    folder.mkdir()
    done = subprocess.run(
        [*command, "--against", "HEAD"],
        cwd=copy,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert list(folder.iterdir()) == []
    assert "| replan --version | 3 partitions |" in done.stdout
    assert "slower than HEAD: replan --version, 3 partitions: " in done.stdout
