"""examples/notebook.py: what it counts is what the lake has, and it writes nothing."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.commandline import LIMIT_SECONDS, environment, replan
from tests.fleet.fleets import drawn_fleet, write_fleet, write_fleet_file

from replan.fleet.api import COSTS, DECLARED, DIFFERENCES, DRIFT, TABLES, Lake

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.py"
SEEDS = (24, 25, 27)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three clusters that were judged; of one of them the plan is refused."""
    write_fleet(tmp_path, SEEDS)
    owners = 'owners: {"*": platform, "orders": sales}'
    fleet = {name: f"{entry}, {owners}" for name, entry in drawn_fleet(SEEDS).items()}
    write_fleet_file(tmp_path / "fleet.yaml", fleet)
    done = replan("fleet", "run", "--engine", "local", folder=tmp_path)
    assert done.returncode in {1, 2}, done.stderr
    return Lake(str(tmp_path / "lake"))


def versions(lake: Lake) -> Iterator[tuple[str, int]]:
    for table in TABLES.values():
        if (known := lake.opened(table)) is not None:
            yield table.name, known.version()


def shown(text: str, title: str) -> list[list[str]]:
    """The rows of a table that Spark shows under a title."""
    table = text.split(f"{title}\n", 1)[1].split("\n\n", 1)[0]
    return [re.split(r"\s*\|\s*", line.strip("|").strip()) for line in table.splitlines()[3:-1]]


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(2 * LIMIT_SECONDS)
def test_the_notebook_counts_what_the_lake_has_and_writes_nothing(
    tmp_path: Path, lake: Lake
) -> None:
    before = dict(versions(lake))
    run = subprocess.run(
        [sys.executable, str(NOTEBOOK), "fleet.yaml"],
        cwd=tmp_path,
        env=environment(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert dict(versions(lake)) == before
    classes = Counter(lake.read(DRIFT)["class"].to_pylist())
    counted = shown(run.stdout, "Spark: what drifted, by class")
    assert counted == [[name, str(count)] for name, count in sorted(classes.items())]
    costs = lake.read(COSTS).to_pylist()
    owners = Counter("sales" if row["topic"] == "orders" else "platform" for row in costs)
    copies = shown(run.stdout, "Spark: what each owner has to copy")
    assert (
        [[owner, int(count)] for owner, count, _ in copies]
        == [[owner, count] for owner, count in sorted(owners.items())]
        != []
    )
    assert sum(int(size) for *_, size in copies) == sum(row["bytes"] for row in costs)
    declared, differing = (
        Counter(row["cluster"] for row in lake.read(table).to_pylist() if row.get("kind") in kinds)
        for table, kinds in ((DECLARED, {None}), (DIFFERENCES, {"replicas", "order", "missing"}))
    )
    compared = shown(
        run.stdout, "Spark: partitions that are declared, and those that lie as declared"
    )
    assert [(name, int(count)) for name, count, _ in compared] == sorted(declared.items())
    for name, count, there in compared:
        assert 0 < int(there) <= int(count) - differing[name]
    for package, name in (("duckdb", "DuckDB"), ("polars", "Polars")):
        said = f"{name}: what drifted" if find_spec(package) else f"pip install {package}"
        assert said in run.stdout
