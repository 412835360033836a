import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.rows import ROWS
from benchmarks.run import Measured, document, kept, measure, power, slower, table
from msgspec.structs import asdict

TOP = Path(__file__).parents[2]


def measured(
    cpu: list[float], *, size: int = 10, beside: float = 0.1, row: str = "plan"
) -> Measured:
    return Measured(row, size, "partitions", cpu, [beside] * len(cpu), 100.0)


def test_a_row_is_compared_by_its_ratio_to_the_work_beside_it() -> None:
    before = {("plan", 10): measured([1.0, 1.1, 1.2])}
    on_a_machine_half_as_quick = measured([2.0, 2.2, 2.4], beside=0.2)
    assert slower([on_a_machine_half_as_quick], before) == []


def test_what_became_slower_by_a_tenth_is_named_with_both_ratios() -> None:
    before = {("plan", 10): measured([1.0, 1.1, 1.2])}
    assert slower([measured([1.3, 1.3, 1.3])], before) == [
        "plan, 10 partitions: 1.18 times what it was (11.00, now 13.00 times the work beside it)"
    ]


def test_a_row_whose_quickest_run_is_as_quick_as_before_is_not_named() -> None:
    before = {("plan", 10): measured([1.0, 1.1, 1.2])}
    assert slower([measured([1.0, 1.3, 1.4])], before) == []


def test_a_row_that_is_new_is_not_named() -> None:
    assert slower([measured([9.0], row="another")], {}) == []


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


@pytest.mark.nightly
@pytest.mark.command
def test_the_table_ends_with_2_where_a_row_became_slower(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    row = Measured("replan --version", 3, "partitions", [0.001], [1.0], 1.0)
    file.write_text(json.dumps({"rows": [asdict(row)]}))
    command = [sys.executable, "-m", "benchmarks.run", "--rows", "replan --version"]
    done = subprocess.run(
        [*command, "--against", file], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "| replan --version | 3 partitions |" in done.stdout
    assert "slower: replan --version, 3 partitions: " in done.stdout
