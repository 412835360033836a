"""When the windows of a policy are open: instants of a zone's own clock, whatever that does in spring and autumn."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from replan.model.declared.reconcile import DAY_MINUTES, Window

_DAYS = 15
"""So many days ahead: each day of the week twice, since the hours of the first may be left out, and today's again."""


def is_open(windows: Sequence[Window], now: float) -> bool:
    """Whether one of them is open; without any it is always open."""
    return not windows or any(begin <= now < end for w in windows for begin, end in _spans(w, now))


def opens_at(windows: Sequence[Window], now: float) -> float | None:
    """When the next one opens, where none is open; now, where one is. None where none ever does."""
    if is_open(windows, now):
        return now
    return min((begin for w in windows for begin, _ in _spans(w, now) if begin > now), default=None)


def _spans(window: Window, now: float) -> Iterator[tuple[float, float]]:
    """From when to when it is open, from yesterday on."""
    zone: tzinfo = UTC if window.zone == "UTC" else ZoneInfo(window.zone)
    today = datetime.fromtimestamp(now, zone).date()
    over = window.end_minute <= window.begin_minute
    for ahead in range(-1, _DAYS):
        day = today + timedelta(days=ahead)
        if day.weekday() in window.days:
            midnight = datetime.combine(day, time(), zone)
            last = window.end_minute + (DAY_MINUTES if over else 0)
            begin, end = _at(midnight, window.begin_minute), _at(midnight, last)
            if begin < end:  # not of hours that the clock leaves out
                yield begin, end


def _at(midnight: datetime, minutes: int) -> float:
    """A time of the wall clock: adding to a datetime of a zone counts hours of its clock.

    One that the clock leaves out in spring is the moment at which it is put forward.
    """
    left_out = 0
    while not _is_shown(midnight + timedelta(minutes=minutes - left_out)):
        left_out += 1
    shown = (midnight + timedelta(minutes=minutes - left_out)).timestamp()
    return shown + 60 if left_out else shown


def _is_shown(time: datetime) -> bool:
    """Whether the clock of its zone ever shows it."""
    return datetime.fromtimestamp(time.timestamp(), time.tzinfo) == time
