"""docs/what-holds-it.md says which test holds what: every story and test that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`([^`]+)`")
DEFINED = re.compile(r"^def (test_\w+)", re.MULTILINE)


def test_what_the_table_names_exists() -> None:
    table = (ROOT / "docs" / "what-holds-it.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ")][2:]
    named = {name for row in rows for name in NAMED.findall(row)}
    stories = {path.stem for path in (ROOT / "tests" / "scenarios").glob("*.txt")}
    sources = (ROOT / "tests").rglob("test_*.py")
    tests = {name for path in sources for name in DEFINED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert named <= stories | tests
