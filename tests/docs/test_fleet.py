"""docs/fleet.md lists the kinds of difference that its tables can hold."""

import re

from tests.docs.pages import DOCS

from replan.planning.comparison.diff import DifferenceKind


def test_the_kinds_are_those_of_the_comparison() -> None:
    text = (DOCS / "fleet.md").read_text(encoding="utf-8")
    table = text.split("| kind | meaning |\n", 1)[1].split("\n\n", 1)[0]
    named = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert {*named} == {kind.value for kind in DifferenceKind} - {"running"} | {"partitions"}
