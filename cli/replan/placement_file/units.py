"""Rates, instants, and names and patterns of topics as people write them, and back.

What a pattern matches is in `model.declared.topic_patterns`.
"""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from replan.model.declared.placement import LARGEST_RATE, SMALLEST_RATE
from replan.model.declared.reconcile import DAYS
from replan.model.declared.topic_patterns import is_pattern
from replan.model.names import LARGEST_ID, BrokerId
from replan.wording import UNLIMITED

NEVER = "never"
LONGEST_DAYS = 36_500
"""Of a duration on the command line, in a fault or a scenario: what no clock here overflows at."""

_UNITS = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGTP", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGTP", 1)},
}
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_RATE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([kKMGT]i?B|B)/s")
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([kKMGTP]i?B|B)")
_PERCENTAGE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?%")
_RANGE = re.compile(r"(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})")
_BARE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_BITS = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([kKmMgGtT]i?)?(b/s|bps|bits?/s|bits?ps)", re.ASCII)
_ALMOST = re.compile(
    r"([0-9]+(?:\.[0-9]+)?) *([kmgt]i?)?b?(?:yte|ytes)?(?:/s|ps|/sec)?", re.IGNORECASE | re.ASCII
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:Z|[+-][0-9]{2}:[0-9]{2})"
)


def parse_rate(text: str) -> int | None:
    """Read `50MB/s` as bytes per second, `unlimited` as None; raises ValueError saying what to write."""
    if text == UNLIMITED:
        return None
    read = _RATE.fullmatch(text)
    if read is None:
        raise ValueError(f'"{text}" is not a rate; {_advice(text)}')
    rate: int = round(Decimal(read[1]) * _UNITS[_spelled(read[2].rstrip("B"))])
    if rate < SMALLEST_RATE:
        raise ValueError(
            f"{text} is below 1KB/s, at which nothing would move; write 1KB/s or more, or unlimited"
        )
    if rate > LARGEST_RATE:
        raise ValueError(f"{text} is more than Kafka can hold; write unlimited")
    return rate


def format_rate(rate: int | None) -> str:
    """Write bytes per second so that `parse_rate` reads the same number, with the shortest digits."""
    if rate is None:
        return UNLIMITED
    spellings = (
        f"{_digits(rate, size)}{unit}/s" for unit, size in _UNITS.items() if "P" not in unit
    )
    exact = [s for s in spellings if s[0] != "0" and _reads_as(s, rate)]
    return min(exact, key=len, default=f"{rate}B/s")


def parse_size(text: str) -> int:
    """Read `400GB` as bytes; raises ValueError saying what to write."""
    read = _SIZE.fullmatch(text)
    if read is None:
        unit = f"it needs a unit, e.g. {text}GB" if _BARE.fullmatch(text) else "write e.g. 400GB"
        raise ValueError(f'"{text}" is not a size; {unit}')
    size: int = round(Decimal(read[1]) * _UNITS[_spelled(read[2].rstrip("B"))])
    return size


def parse_percentage(text: str) -> Fraction:
    """Read `5%` as exactly 1/20; raises ValueError saying what to write."""
    read = _PERCENTAGE.fullmatch(text)
    if read is None:
        raise ValueError(f'"{text}" is not a percentage; write e.g. 5%')
    return Fraction(read[1]) / 100


def parse_broker_range(text: str) -> tuple[BrokerId, BrokerId]:
    """Read `10-14`, both ends included; raises ValueError saying what to write."""
    read = _RANGE.fullmatch(text)
    if read is None:
        raise ValueError(f'"{text}" is not a range of broker ids; write e.g. "10-14"')
    first, last = int(read[1]), int(read[2])
    if first > last or last > LARGEST_ID:
        raise ValueError(
            f'"{text}" is no range; write the smaller id first, and none above {LARGEST_ID}'
        )
    return BrokerId(first), BrokerId(last)


def parse_day(text: str) -> str:
    """Read a date or an instant of RFC 3339 as one that compares, as text, with others in UTC.

    A date stays a date, which counts from the beginning of that day in UTC; an instant is turned into UTC.
    """
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text).isoformat()
        if _INSTANT.fullmatch(text):
            instant = datetime.fromisoformat(text).astimezone(UTC)
            return instant.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError) as problem:
        raise ValueError(f'"{text}" is not in the calendar ({problem}); correct it') from problem
    raise ValueError(
        f'"{text}" is neither a date nor an instant with its zone; '
        "write it as 2026-12-01 or as 2026-12-01T18:00:00Z"
    )


def parse_seconds(text: str) -> float:
    """Read `500ms`, `1.5s`, `5m`, `1h` or `2d` as seconds; raises ValueError saying what to write."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise ValueError(f"{text!r} is no duration; write e.g. 3s, 500ms or 2m")
    return float(read[1]) * _SECONDS[read[2]]


def parse_threshold(text: str) -> int | None:
    """Read a duration in whole seconds, `never` as None."""
    return None if text == NEVER else int(parse_seconds(text))


def parse_minute(text: str) -> int:
    """Read `22:00` as minutes of the day; `24:00` is its end."""
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)


def parse_days(text: str) -> tuple[int, ...]:
    """Read `mon-fri`, `sat,sun` or `fri-mon` as days, 0 is Monday; raises ValueError saying what to write."""
    days: set[int] = set()
    for part in text.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        for day in (first, *((last,) if dash else ())):
            if day not in DAYS:
                raise ValueError(
                    f'"{text}": {day or "nothing"} is no day; write e.g. mon-fri or sat,sun'
                )
        at, end = DAYS.index(first), DAYS.index(last if dash else first)
        days |= {(at + i) % len(DAYS) for i in range((end - at) % len(DAYS) + 1)}
    return tuple(sorted(days))


def check_zone(text: str) -> str:
    """Check that a time zone is known; raises ValueError saying what to write."""
    if text == "UTC":
        return text
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise ValueError(
            f'"{text}" is no time zone that this machine knows; write e.g. Europe/Berlin, or UTC'
        ) from problem
    return text


def missing_unit(number: str) -> str:
    """What to write for a rate without a unit; large ones are in bytes per second, as Kafka's tools take them."""
    if number.isdecimal() and 5 < len(number) < 20:
        return f"it needs a unit: {format_rate(int(number))} if bytes per second are meant"
    if not number.strip("0."):
        return "write 1KB/s or more, or unlimited"
    return f"it needs a unit, e.g. {number}MB/s"


def _advice(text: str) -> str:
    if _BARE.fullmatch(text):
        return missing_unit(text)
    bits = _BITS.fullmatch(text)
    if bits is not None:
        number, unit = bits[1], _spelled(bits[2])
        in_bytes = f"{(Decimal(number) / 8).normalize():f}{unit}/s"
        if (bits[2] or "").islower() and bits[3] == "b/s":
            return f"write {number}{unit}/s if bytes are meant, {in_bytes} if bits are"
        return f"Kafka counts bytes, not bits: write {in_bytes} for {text}"
    almost = _ALMOST.fullmatch(text)
    if almost is not None:
        written = f"{almost[1]}{_spelled(almost[2])}/s"
        if not _RATE.fullmatch(written):
            return "write fewer digits: up to 19, and 9 behind the point"
        return f"write {written}"
    return "write a number with its unit, e.g. 50MB/s or 50MiB/s, or unlimited"


def _spelled(prefix: str | None) -> str:
    return f"{prefix[0].upper()}{prefix[1:].lower()}B" if prefix else "B"


def _digits(rate: int, size: int) -> str:
    return f"{(Decimal(rate) / size).normalize():f}"


def _reads_as(text: str, rate: int) -> bool:
    try:
        return parse_rate(text) == rate
    except ValueError:
        return False


MAX_TOPIC_NAME_LENGTH = 249
"""Characters; Kafka's Topic.MAX_NAME_LENGTH."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_LEGAL_PATTERN = re.compile(r"(?:[a-zA-Z0-9._*?-]|\[!?[a-zA-Z0-9._*?\[\]-][a-zA-Z0-9._*?\[!-]*\])+")
"""A bracket that is not closed stands for itself (fnmatch), as `!` outside of one does, and no name has them."""


def check_topic(name: str) -> None:
    """Raise ValueError, as Kafka would refuse it, where this cannot be a topic's name."""
    if not name:
        raise ValueError("a topic's name is not empty; write one")
    if name in {".", ".."}:
        raise ValueError(f'"{name}" is no legal topic name (it would be a folder); write another')
    if len(name) > MAX_TOPIC_NAME_LENGTH:
        raise ValueError(
            f"this name has {len(name)} characters; Kafka allows a topic {MAX_TOPIC_NAME_LENGTH}"
        )
    if not _LEGAL.fullmatch(name):
        raise ValueError(
            f"{name!a} is no legal topic name; Kafka allows ASCII letters, digits, '.', '_' and '-'"
        )


def check_topic_or_pattern(text: str) -> None:
    """Raise ValueError where this is neither a topic's name nor a pattern that could match one."""
    if not is_pattern(text):
        check_topic(text)
    elif not _LEGAL_PATTERN.fullmatch(text):
        raise ValueError(
            f"{text!a} can match no topic; a pattern has ASCII letters, digits, '.', '_', '-', "
            "and the wild *, ? and [...]"
        )
