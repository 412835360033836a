"""docs/architecture.md shows the layers of the import contracts; no page links to or names a file that is not there.

And no public class has the name of another one.
"""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, check_section

TOP = DOCS.parent
PRODUCT = TOP / "cli" / "replan"
PAGES = sorted([*TOP.glob("*.md"), *DOCS.glob("*.md"), *TOP.glob("benchmarks/*.md")])
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
_NAMED = re.compile(r"(?:cli/replan/)?((?:[a-z_]+/)+[a-z_]*(?:\.py)?)(?=[`,)<: ])")

LAYERS = """\
Imports point down this list and nowhere else; layers on one line do not import each other. `make contracts` checks it,
the layers inside the larger packages, and that the pure layers reach no clock, no
chance, no network and no disk.

<!-- not run: a figure; tests/docs/test_architecture.py makes it -->

```text
{layers}
```

| package | what belongs there |
| --- | --- |
{packages}
"""


def layers() -> list[str]:
    """The layers of pyproject.toml, from the top."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    found: list[str] = next(c for c in contracts if c.get("containers") == ["replan"])["layers"]
    return found


def purpose(name: str) -> str:
    """The first line of a package's or module's docstring."""
    folder = PRODUCT / name
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text is not None, name
    return text.splitlines()[0]


def test_the_layers_are_those_of_the_import_contracts() -> None:
    rows = [re.sub(r"[()]", "", row).split(" | ") for row in layers()]
    drawn = "\n".join("   ".join(row) for row in rows)
    table = "\n".join(f"| `{name}` | {purpose(name)} |" for row in rows for name in row)
    check_section("architecture.md", "## Layers", LAYERS.format(layers=drawn, packages=table))


def test_no_class_is_named_as_another_one() -> None:
    places = defaultdict(list)
    for path in PRODUCT.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PRODUCT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_module_and_name_of_the_how_tos_exists() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## How to")[2]
    sources = [p for top in ("cli", "tests") for p in (TOP / top).rglob("*.py")]
    modules = {p.name for p in sources}
    words = set(re.findall(r"\w+", "\n".join(p.read_text(encoding="utf-8") for p in sources)))
    named = {of for of in re.findall(r"`([\w.]+)`", text) if not of.endswith(".md")}
    assert len(named) > 60
    absent = {of for of in named if of.endswith(".py") and of not in modules}
    parts = (part for of in named if not of.endswith(".py") for part in of.split("."))
    assert absent | {part for part in parts if part not in words} == set()


def test_every_file_that_the_page_names_exists() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = set(_NAMED.findall(text))
    assert len(named) > 20
    for path in named:
        assert (PRODUCT / path).exists() or (TOP / path).exists(), path
