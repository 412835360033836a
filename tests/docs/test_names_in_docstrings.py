"""What docstrings name is there: a function, a type, a field or a module that was renamed is renamed in them, too."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

SOURCE = Path(__file__).parents[2] / "cli" / "replan"
FOREIGN = frozenset(
    {
        "bad_certificate",  # alerts of TLS
        "certificate_required",
        "certificate_unknown",
        "cluster.name",  # a key of placements
        "needed_racks",  # put together where it is used
        "spark.python.daemon.module",  # a setting of Spark's
    }
)
"""Names that are no names of replan's code."""
NAME = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
PLACE = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`")
FILES = (".js", ".css", ".patch", ".yaml")


class Module(Struct, frozen=True):
    """What a module says of itself, and which words its code has."""

    docstrings: tuple[str, ...]
    words: frozenset[str]


@cache
def modules() -> dict[str, Module]:
    """All of them, by their names within the package."""
    files = (file.relative_to(SOURCE) for file in SOURCE.rglob("*.py"))
    return {
        ".".join(part for part in file.with_suffix("").parts if part != "__init__"): read(file)
        for file in files
    }


def read(file: Path) -> Module:
    """Read one, with the docstrings of all that is in it, and those of fields and constants."""
    source = (SOURCE / file).read_text(encoding="utf-8")
    found = list(docstrings(ast.parse(source).body))
    lines = source.splitlines()
    for expression in found:
        for number in range(expression.lineno, (expression.end_lineno or 0) + 1):
            lines[number - 1] = ""
    texts = (str(ast.literal_eval(expression)) for expression in found)
    return Module(tuple(texts), frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(lines))))


def docstrings(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str()) as text):
                yield text
            case ast.ClassDef(body=inner) | ast.FunctionDef(body=inner) | ast.If(body=inner):
                yield from docstrings(inner)
            case _:
                pass


def endings(place: str) -> Iterator[str]:
    """`a.b.c`, `b.c`, `c`: how a module is named from near and far."""
    parts = place.split(".")
    return (".".join(parts[at:]) for at in range(len(parts)))


def test_names_in_docstrings_are_there() -> None:
    known = FOREIGN.union(*(module.words for module in modules().values()))
    known = known.union(*map(endings, modules()))
    wrong = [
        f"{place}: `{name}`"
        for place, module in modules().items()
        for text in module.docstrings
        for name in NAME.findall(text)
        if name not in known
    ]
    assert wrong == []


def test_places_in_docstrings_are_modules_or_what_is_in_them() -> None:
    packages = {folder.name for folder in SOURCE.rglob("*") if folder.is_dir()}
    words: dict[str, frozenset[str]] = {}
    for place, module in modules().items():
        for ending in endings(place):
            words[ending] = words.get(ending, frozenset()) | module.words
    wrong = [
        f"{place}: `{named}`"
        for place, module in modules().items()
        for text in module.docstrings
        for named in PLACE.findall(text)
        for inside, _, name in [named.removeprefix("replan.").rpartition(".")]
        if inside.partition(".")[0] in packages
        if named not in FOREIGN and not named.endswith(FILES)
        if f"{inside}.{name}" not in words and name not in words.get(inside, ())
    ]
    assert wrong == []
