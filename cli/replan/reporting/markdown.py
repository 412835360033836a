"""Markdown that shows text as it is written: code spans, table rows, and as many lines as a comment has room for.

GitHub's flavour: <https://github.github.com/gfm/>.
"""

import re
from collections.abc import Iterator, Sequence

from replan.wording import count

LIMIT = 60_000
"""Bytes of UTF-8; a comment on a large forge may have 65,536 characters."""
SMALLEST = 8_000
"""The least that a document may be asked to fit."""
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_MEANT = str.maketrans(
    {"&": "&amp;", "<": "&lt;", "@": "@&#8203;", **{mark: f"\\{mark}" for mark in "\\|*[]~$"}}
)
"""What markdown, and GitHub above it, gives a meaning: links, formulas, and `@` with a name, which notifies a person;
nothing keeps that from happening but a character without width behind it."""
_OUTSIDE_WORDS = re.compile(r"(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])")
"""Only these may begin or end emphasis."""


def code(text: str) -> str:
    """A code span: its fence is longer than any run of backticks inside; a pipe does not end a table's cell."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{_on_one_line(text)}{space}{fence}".replace("|", "\\|")


def escape(text: str) -> str:
    """Text that is shown as it is written, in a table's cell too; code spans inside stay what they are."""
    escaped, end = "", 0
    line = _on_one_line(text)
    for span in _CODE.finditer(line):
        escaped += _meant(line[end : span.start()]) + span.group().replace("|", "\\|")
        end = span.end()
    return escaped + _meant(line[end:])


def _meant(text: str) -> str:
    return _OUTSIDE_WORDS.sub(lambda found: "\\_" * len(found[0]), text.translate(_MEANT))


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines())


def row(cells: Sequence[str]) -> str:
    """One row of a table, of cells that are markdown already."""
    return f"| {' | '.join(cells)} |"


def head(*names: str, right: bool = False) -> str:
    """The two lines that begin a table; `right` aligns all columns to the right."""
    return f"{row(names)}\n{row(['---:' if right else '---'] * len(names))}"


def weight(text: str) -> int:
    """How much of a limit the text takes: its bytes in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def fitted(lines: Iterator[str], total: int, room: int, noun: str) -> str:
    """As many of `total` lines as have room, in bytes, then how many were left out; ends with a newline."""
    taken: list[str] = []
    for line in lines:
        room -= weight(line) + 1
        if room < 0:
            more = count(total - len(taken), noun)
            return "\n".join([*taken, "", f"… and {more}, left out to fit a comment.", ""])
        taken.append(line)
    return "\n".join(taken) + "\n"
