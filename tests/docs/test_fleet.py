"""docs/fleet.md lists the kinds of difference that its tables can hold."""

import re
from pathlib import Path

from tests.docs.pages import DOCS

from replan.fleet.fleet_file import read_fleet
from replan.planning.comparison.diff import DifferenceKind
from replan.planning.findings.drift_classes import OtherKind


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
