"""How messages say numbers and lists: a count with its noun, a list that stops at a limit, text of others made safe.

Here belongs what errors and reports share, so that both say it in the same way. Not here: quantities and tables, which
only reports show (`reporting`).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

SHOWN = 100
"""Lines of a list that a terminal is shown before the rest is only counted."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with its control characters, but line feeds and tabs, as `\u001b`; those that reverse a line, too."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    r"""The same with line feeds and tabs as `\u000a` and `\u0009`: a name in a table or a message begins no line."""
    return visible(text).replace("\n", r"\u000a").replace("\t", r"\u0009")


def count(number: int, noun: str) -> str:
    """`1 move`, `2 moves`, `1,204 copies`; the noun is given in the singular."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`moves`, `copies`, `days`."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def listed(names: Iterable[object]) -> str:
    """`1, 2, 3`."""
    return ", ".join(map(str, names))


def ranges(ids: Iterable[int]) -> str:
    """Sorted ids in short: `1-5, 9`."""
    parts: list[list[int]] = []
    for number in ids:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][-1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts) or "none"


def capped(
    items: Sequence[T],
    line: Callable[[T], str] = str,
    *,
    limit: int | None = SHOWN,
    noun: str = "",
    way_out: str = "",
) -> list[str]:
    """One line for each of the first `limit` items (None: all of them), then `left_out` of the rest."""
    shown = items[:limit]
    return [*(line(item) for item in shown), *left_out(len(items) - len(shown), noun, way_out)]


def left_out(number: int, noun: str = "", way_out: str = "") -> list[str]:
    """`and 7 more moves; WAY_OUT`, or no line where nothing is left out."""
    if number <= 0:
        return []
    more = count(number, f"more {noun}") if noun else f"{number:,} more"
    return [f"and {more}" + (f"; {way_out}" if way_out else "")]


def first_line(problem: Exception) -> str:
    """The first line of what a library says; the rest is its own calls."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
