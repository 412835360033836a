"""What is wrong with a manifest, gathered, so that one run reports everything.

A problem is a place, the path of keys that leads there, and a sentence: what is wrong; what would be right.
Of several problems with one thing only the first is reported: the others follow from it.
"""

import re
from dataclasses import dataclass, field

from replan.model.declared.where import Mistake, MistakenManifest, Where
from replan.wording import count

KeyPath = tuple[str | int, ...]
_BARE_KEY = re.compile(r"[A-Za-z0-9_*?-]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    where: Where
    path: KeyPath
    text: str

    @property
    def sentence(self) -> str:
        """The keys that lead there, and what is wrong."""
        return f"{show_path(self.path)}: {self.text}" if self.path else self.text

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Problems:
    """Everything that was found so far."""

    found: dict[tuple[Where, KeyPath], Problem] = field(default_factory=dict)

    def add(self, where: Where, path: KeyPath, text: str) -> None:
        """Note a problem, unless one is already known of the same thing."""
        self.found.setdefault((where, path), Problem(where, path, text))

    def sections(self, file: str) -> frozenset[str | int]:
        """The top-level keys of a file under which something is wrong."""
        return frozenset(p.path[0] for p in self.found.values() if p.where.file == file and p.path)

    def raise_if_any(self) -> None:
        """Raise BadManifest with all problems, sorted by place; beyond twenty only their number."""
        if not self.found:
            return
        ordered = sorted(
            self.found.values(), key=lambda p: (p.where.file, p.where.line, p.where.column)
        )
        mistakes = [Mistake(p.where, p.sentence) for p in ordered]
        raise MistakenManifest(mistakes, noun="problem", way_out="repair these first")


def show_path(path: KeyPath) -> str:
    """Write a path of keys as `assignments.orders.partitions.0`, `blacklists.leaders[0].broker`."""
    shown = ""
    for key in path:
        if isinstance(key, int):
            shown += f"[{key}]"
        else:
            name = key if _BARE_KEY.fullmatch(key) else _quoted(key)
            shown += f".{name}" if shown else name
    return shown


def show(value: object) -> str:
    """Write a value of the file as a message quotes it, on one line and not too long."""
    match value:
        case str():
            return _quoted(value)
        case bool():
            return str(value).lower()
        case None:
            return "null"
        case list():
            return _cut(
                f"[{', '.join(show(v) for v in value[:20])}{', ...' if len(value) > 20 else ''}]"
            )
        case dict():
            return f"a mapping of {count(len(value), 'key')}"
        case _:
            return _cut(str(value))


def _quoted(text: str) -> str:
    escaped = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    return '"' + _cut(escaped) + '"'


def _cut(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
