"""docs/architecture.md shows the layers of the import contracts; no page links to or names a file that is not there.

And no public class has the name of another one, and no module imports what imports it.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, TOP, check_section
from tests.docs.snippets import PAGES

PRODUCT = TOP / "cli" / "replan"
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

A package's `api` module has every public name of its modules. Tests and benchmarks import from there
(`from replan.planning.api import make_plan`), so a module that moves breaks none of them. The product imports modules
themselves: a command loads what it needs and nothing more.
"""


@cache
def parsed(path: Path) -> ast.Module:
    """A module, read once."""
    return ast.parse(path.read_text(encoding="utf-8"))


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
    text = ast.get_docstring(parsed(path))
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
        for name in definitions(path, ast.ClassDef):
            places[name].append(str(path.relative_to(PRODUCT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_module_imports_what_imports_it() -> None:
    """Nor in a function, nor for its types alone: that hides a circle and leaves it there."""
    modules = {
        ".".join(path.relative_to(TOP / "cli").with_suffix("").parts): path
        for path in PRODUCT.rglob("*.py")
        if path.name != "__init__.py"
    }
    TopologicalSorter({name: _imports(path, modules) for name, path in modules.items()}).prepare()


def _imports(path: Path, modules: Collection[str]) -> set[str]:
    names = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{a.name}" for a in node.names)}
    return names.intersection(modules)


def definitions(path: Path, *kinds: type[ast.stmt]) -> list[str]:
    """The public names that a module defines itself, of some kinds of statement or of all."""
    names = []
    for node in parsed(path).body:
        if kinds and not isinstance(node, kinds):
            continue
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                names.append(node.name)
            case ast.Assign():
                names += [
                    t.id
                    for target in node.targets
                    for t in ast.walk(target)
                    if isinstance(t, ast.Name)
                ]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case _:
                pass
    return [name for name in names if not name.startswith("_")]


COMMANDS_ALONE = ["fleet/judge", "placement/blacklist", "running/scenario"]
"""Modules of `commands` that offer nothing but commands, whose names others have too."""


def offered(api: Path) -> list[Path]:
    """The modules whose names an `api` module has, as paths."""
    found = re.findall(
        r"^from replan\.(\S+) import \*$", api.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(PRODUCT / name.replace(".", "/")).with_suffix(".py") for name in found]


APIS = sorted(PRODUCT.rglob("api.py"))


@pytest.mark.parametrize("api", APIS, ids=lambda api: str(api.parent.relative_to(PRODUCT)))
def test_a_package_offers_each_public_name_of_its_modules_once(api: Path) -> None:
    inner = [other.parent for other in APIS if api.parent in other.parent.parents]
    modules = {
        path
        for path in api.parent.rglob("*.py")
        if path.name not in {"__init__.py", "api.py"}
        and not any(path.is_relative_to(p) for p in inner)
    }
    left_out = {(PRODUCT / "commands" / name).with_suffix(".py") for name in COMMANDS_ALONE}
    assert set(offered(api)) == modules - left_out
    offers = vars(import_module(dotted(api)))
    places = defaultdict(list)
    for path in offered(api):
        module = vars(import_module(dotted(path)))
        for name in definitions(path):
            places[name].append(dotted(path))
            assert offers[name] is module[name], (
                f"{dotted(path)}: a module after it imports another {name}"
            )
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def dotted(path: Path) -> str:
    """A module's name as it is imported."""
    return ".".join(["replan", *path.relative_to(PRODUCT).with_suffix("").parts])


READ_THEMSELVES = {"replan.applying", "replan.applying.reasons", "replan.kafka"}
"""Where tests import a module because they read itself: its docstring, all its classes, what it imports."""


def test_tests_and_benchmarks_go_by_what_packages_offer() -> None:
    known = {dotted(api).removesuffix(".api") for api in APIS}
    inner = []
    for path in [p for top in ("tests", "benchmarks") for p in (TOP / top).rglob("*.py")]:
        for node in ast.walk(parsed(path)):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module is None or module in READ_THEMSELVES or module.endswith(".api"):
                continue
            if any(f"{module}.".startswith(f"{package}.") for package in known - {module}):
                inner.append(f"{path.relative_to(TOP)}: {module}")
    assert inner == []


def test_the_product_imports_modules_and_not_what_packages_offer() -> None:
    of_api = re.compile(r"^\s*(from replan\S*\.api import|import replan\S*\.api)", re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in PRODUCT.rglob("*.py")}
    users = [path.relative_to(PRODUCT) for path, text in texts.items() if of_api.search(text)]
    assert users == []


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
