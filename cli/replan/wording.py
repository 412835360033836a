"""How messages say numbers and lists: counts, bytes, rates, durations, lists that stop at a limit, text made safe.

Bytes and rates have decimal units and three significant digits. Here belongs what errors, reasons and reports share, so
that all say it in the same way. Not here: tables, which only reports show (`reporting`).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Self, TypeVar

_T = TypeVar("_T")

LINES_LISTED = 100
"""Lines of a list that a terminal is shown before the rest is only counted."""

NAMES_SHOWN = 20
"""So many of many partitions, topics or brokers are named in plans, findings and texts; all of them are counted."""

UNLIMITED = "unlimited"
"""How a rate without a limit is written, in files, options and the journal."""

DIGITS = 3
"""Of a size or a rate, as it is shown in units."""

DAY_SECONDS = 86_400.0

DAYS_FROM = 48
"""Hours from which on a duration is said in days."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class WordedName(StrEnum):
    """A name as documents spell it, and its words for people: `NAME = "name", "words"`."""

    def __new__(cls, *texts: str) -> Self:
        """Make one, which is the name."""
        one = str.__new__(cls, texts[0])
        one._value_ = texts[0]
        return one

    def __init__(self, *texts: str) -> None:
        _, self.words = texts


class CountedName(WordedName):
    """The same with what its words count, in the singular: `NAME = "name", "words", "noun"`."""

    def __init__(self, *texts: str) -> None:
        *named, self.noun = texts
        super().__init__(*named)


def visible(text: str) -> str:
    r"""The text with its control characters, but line feeds and tabs, as `\u001b`; those that reverse a line, too."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    r"""The same with line feeds and tabs as `\u000a` and `\u0009`: a name in a table or a message begins no line."""
    return visible(text).replace("\n", r"\u000a").replace("\t", r"\u0009")


def subject(topic: str | None, partition: int | None, broker: int | None) -> str:
    """What something is about: `orders-7`, `orders`, `broker 4`, or the cluster."""
    if topic is not None:
        return topic if partition is None else f"{topic}-{partition}"
    return "the cluster" if broker is None else f"broker {broker}"


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
    items: Sequence[_T],
    line: Callable[[_T], str] = str,
    *,
    limit: int | None = LINES_LISTED,
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
    """The first line of what an error says: the rest is what to do, or a library's own calls."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def size(count: int) -> str:
    """Bytes: `0 B`, `999 B`, `1.23 MB`, `45.6 GB`."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.3g} {unit}"
    return f"{amount / 1000:.3g} PB" if amount < 999_500 else f"{amount / 1000:,.0f} PB"


def changed(before: int, after: int) -> str:
    """A number before and after: `3`, `3 → 4`."""
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"


def signed(amount: int) -> str:
    """Bytes more or less: `+1.2 GB`, `-300 MB`, `0 B`."""
    return f"{'-' if amount < 0 else '+' if amount else ''}{size(abs(amount))}"


def rate(bytes_per_second: int | None) -> str:
    """Bytes per second: `20 MB/s`; None is `unlimited`."""
    return UNLIMITED if bytes_per_second is None else f"{size(bytes_per_second)}/s"


def exact_size(count: int) -> str:
    """Bytes where the last one counts: in units if those say all of it, else every byte: `2 TB`, `10485760 B`."""
    return size(count) if len(str(count).rstrip("0")) <= DIGITS else f"{count} B"


def exact_rate(bytes_per_second: int | None) -> str:
    """Likewise a rate: `20 MB/s`, `10485760 B/s`; None is `unlimited`."""
    return UNLIMITED if bytes_per_second is None else f"{exact_size(bytes_per_second)}/s"


def duration(seconds: float) -> str:
    """Seconds: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`; from 48 hours on `2 days`, `231 days 11 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < DAYS_FROM:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours + (minutes >= 30), 24)
    return f"{count(days, 'day')} {hours} h" if hours else count(days, "day")


def brokers(ids: Iterable[int]) -> str:
    """A replica list as Kafka's tools print it: `[1,2,3]`."""
    return "[" + ",".join(str(b) for b in ids) + "]"
