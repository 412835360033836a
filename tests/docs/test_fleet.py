"""docs/fleet.md lists the kinds of difference that its tables can hold."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.builders import snapshot, state
from tests.commandline import environment
from tests.docs.pages import DOCS
from tests.fleet.fleets import keep_snapshot

from replan.fleet.api import Lake, read_fleet
from replan.planning.api import DifferenceKind, OtherKind


def test_the_kinds_are_those_of_the_comparison() -> None:
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    table = text.split("| kind | meaning |\n", 1)[1].split("\n\n", 1)[0]
    named = {
        kind
        for line in table.splitlines()[1:]
        for kind in re.findall(r"`([a-z-]+)`", line.split("|")[1])
    }
    kinds = {kind.value for kind in (*DifferenceKind, *OtherKind)}
    assert named == kinds - {"running"} | {"acknowledged"}


def test_the_fleet_file_of_the_page_is_read(tmp_path: Path) -> None:
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text(text.split("```yaml\n", 1)[1].split("```", 1)[0])
    fleet = read_fleet(tmp_path / "fleet.yaml")
    assert [c.is_asked for c in fleet.clusters.values()] == [True, True, True, False]


EXECUTOR = """
import sys
import replan.fleet.lake.delta, deltalake
from replan.fleet.do_task import Stage, rows_of_stages
from replan.fleet.tasks.work import Task, Work
for placement in ("right.yaml", "wrong.yaml"):
    rows_of_stages(Work(Task("eu", "id", "2026-11-21T03:00:00Z", placement, "lake")), list(Stage))
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_what_executors_need_is_on_the_list(tmp_path: Path) -> None:
    """What replan depends on by itself, and loads where a stage is done."""
    keep_snapshot(Lake(str(tmp_path / "lake")), snapshot([state([1, 2, 3])]), "eu")
    orders = "version: 1\nassignments: {orders: {partitions: [[1, 2, 4]]}}\n"
    (tmp_path / "right.yaml").write_text(orders, encoding="utf-8")
    (tmp_path / "wrong.yaml").write_text("version: 1\nassignment: 3\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", EXECUTOR],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    known = packages_distributions()
    loaded = {name.lower() for module in done.stdout.split() for name in known.get(module, ())}
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["fleet"]]
    needed = {re.split(r"[^\w.-]", name, maxsplit=1)[0].lower() for name in wanted} & loaded
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    listed = text.split("* executors have Python with ", 1)[1].split(", at `PYSPARK_PYTHON`", 1)[0]
    named = {name.lower() for name in re.split(r",\s|\sand\s", listed)}
    assert named >= needed | {"pandas"}, "Spark's own mapInArrow imports pandas"
    assert "msgspec" in needed
