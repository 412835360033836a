"""The files of a placement file: which ones are meant, their text, and what is wrong with them, each with its place.

A place in a text is one number, the index of its character; line and column are worked out only for a message. A
problem is a place, the path of keys that leads there, and a sentence: what is wrong; what would be right. All are
gathered, so that one run reports everything. Of several problems with one thing only the first is reported: the others
follow from it.
"""

import codecs
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from msgspec import Struct, field

from replan.documents.files import read_bytes
from replan.errors import BadPlacement
from replan.model.declared.where import Mistake, MistakenPlacement, Where
from replan.wording import count

SUFFIXES = frozenset({".yaml", ".yml"})
MOST_PLACEMENT_BYTES = 2**28
"""A hundred thousand explicit lists have some 10 MB."""
NO_FILE = "this is a folder, where a file is expected; rename it"
"""Of one in a folder, which was taken for a file by its name."""
NAME_FILE = "this is a folder, where a file is expected; name a file"
BYTE_ORDER_MARK = "\ufeff"
_WIDE_ENCODINGS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LINE_END = re.compile(r"\r\n?|\n")


class Source(Struct, frozen=True, dict=True):
    """The text of one placement file, under the name by which it was asked for."""

    name: str
    text: str
    marked: bool = False
    """Whether the file begins with a byte order mark, which the text leaves out."""

    @property
    def written(self) -> str:
        """The text as the file has it, with its mark."""
        return BYTE_ORDER_MARK + self.text if self.marked else self.text

    @cached_property
    def line_starts(self) -> "array[int]":
        """The index of the first character of every line."""
        return array("q", chain((0,), (end.end() for end in _LINE_END.finditer(self.text))))

    def where(self, index: int) -> Where:
        """The place of one character."""
        line = bisect_right(self.line_starts, index)
        return Where(self.name, line, index - self.line_starts[line - 1] + 1)


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: a file as it is, a folder by its own *.yaml and *.yml, sorted.

    Folders below a folder and names that begin with a dot are not read.
    """
    return each_once((file for path in paths for file in _files_of(path)), _resolved)


def each_once(files: Iterable[Path], identity_of: Callable[[Path], Path]) -> list[Path]:
    """The files, of which there is one, and none is another one again. Raises BadPlacement."""
    by_identity: dict[Path, Path] = {}
    for file in files:
        identity = identity_of(file)
        if identity in by_identity:
            raise BadPlacement(
                f"{file}: given twice (first as {by_identity[identity]}); name each file once"
            )
        by_identity[identity] = file
    if not by_identity:
        raise BadPlacement("no placement given; name a file or a folder with -f")
    return list(by_identity.values())


def is_placement_name(name: str) -> bool:
    """Whether a file of this name is read of a folder."""
    return Path(name).suffix in SUFFIXES and not name.startswith(".")


def chosen_in(folder: str, names: Iterable[str]) -> list[str]:
    """Of what lies in a folder the names that are meant, sorted. Raises BadPlacement where there are none."""
    chosen = sorted(filter(is_placement_name, names))
    if not chosen:
        raise BadPlacement(
            f"{folder}: this folder has no *.yaml and no *.yml; "
            "name a folder that has some (folders below it are not searched), or a file"
        )
    return chosen


def read_source(path: Path) -> Source:
    """Read one file; raises BadPlacement where it cannot be read or is not text in UTF-8."""
    try:
        raw = read_bytes(path, limit=MOST_PLACEMENT_BYTES)
    except IsADirectoryError as problem:
        raise BadPlacement(
            f"{path}: {NO_FILE if is_placement_name(path.name) else NAME_FILE}"
        ) from problem
    except (OSError, ValueError) as problem:
        raise BadPlacement(f"{path}: {_reason(problem)}") from problem
    return decoded_source(str(path), raw)


def decoded_source(name: str, raw: bytes) -> Source:
    """The text of a file of this name; raises BadPlacement where it is not text in UTF-8."""
    if raw.startswith(_WIDE_ENCODINGS):
        raise BadPlacement(f"{name}: this is UTF-16; save it as UTF-8")
    if b"\0" in raw:
        line, column = _byte_place(raw, raw.index(b"\0"))
        raise BadPlacement(
            f"{name}:{line}:{column}: this is a binary file (it has a zero byte); "
            "a placement file is YAML text in UTF-8"
        )
    try:
        return Source(name, raw.decode("utf-8-sig"), marked=raw.startswith(codecs.BOM_UTF8))
    except UnicodeDecodeError as problem:
        line, column = _byte_place(raw, problem.start)
        raise BadPlacement(
            f"{name}:{line}:{column}: byte 0x{raw[problem.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from problem


def _files_of(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        inside = [file.name for file in path.iterdir()]
    except (OSError, ValueError) as problem:
        raise BadPlacement(f"{path}: {_reason(problem)}") from problem
    return [path / name for name in chosen_in(str(path), inside)]


def _resolved(file: Path) -> Path:
    try:
        return file.resolve()
    except (OSError, RuntimeError, ValueError) as problem:
        raise BadPlacement(f"{file}: {_reason(problem)}") from problem


def _reason(problem: Exception) -> str:
    match problem:
        case FileNotFoundError():
            return "there is no such file or folder; check the path"
        case PermissionError():
            return "no permission to read it; run as a user who may, or change its mode"
        case NotADirectoryError():
            return "a part of this path is a file, not a folder; check the path"
        case OSError():
            return f"cannot be read: {problem.strerror or problem}"
        case _:
            return f"cannot be read: {problem}"


def _byte_place(raw: bytes, index: int) -> tuple[int, int]:
    before = raw[:index].removeprefix(codecs.BOM_UTF8)
    line_start = before.rfind(b"\n") + 1
    return before.count(b"\n") + 1, len(before[line_start:].decode("utf-8", "replace")) + 1


KeyPath = tuple[str | int, ...]
_BARE_KEY = re.compile(r"[A-Za-z0-9_*?-]+")


class Problem(Struct, frozen=True):
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


class Problems(Struct, frozen=True):
    """Everything that is wrong with the files that were read so far."""

    by_place: dict[tuple[Where, KeyPath], Problem] = field(default_factory=dict)
    doubts: dict[tuple[Where, KeyPath], str] = field(default_factory=dict)
    """Words whose meaning is in doubt, whatever is right there: what is wrong with each."""

    def add(self, where: Where, path: KeyPath, text: str) -> None:
        """Note a problem, unless one is already known of the same thing; of a doubtful word, what would be right."""
        doubt = self.doubts.pop((where, path), None)
        if doubt is not None and "; " in text:
            self.by_place[where, path] = Problem(where, path, f"{doubt}; {text.split('; ', 1)[1]}")
        self.by_place.setdefault((where, path), Problem(where, path, text))

    def add_doubt(self, where: Where, path: KeyPath, text: str) -> None:
        """Note a word whose meaning is in doubt; who knows its key may say better what would be right."""
        self.add(where, path, text)
        self.doubts[where, path] = text.partition("; ")[0]

    def sections(self, file: str) -> frozenset[str | int]:
        """The top-level keys of a file under which something is wrong."""
        return frozenset(
            p.path[0] for p in self.by_place.values() if p.where.file == file and p.path
        )

    def raise_if_any(self) -> None:
        """Raise BadPlacement with all problems, sorted by place; beyond twenty only their number."""
        if not self.by_place:
            return
        ordered = sorted(
            self.by_place.values(), key=lambda p: (p.where.file, p.where.line, p.where.column)
        )
        mistakes = [Mistake(p.where, p.sentence) for p in ordered]
        raise MistakenPlacement(mistakes, noun="problem", way_out="repair these first")


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


def quoted_value(value: object) -> str:
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
                f"[{', '.join(quoted_value(v) for v in value[:20])}{', ...' if len(value) > 20 else ''}]"
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
