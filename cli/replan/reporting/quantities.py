"""Bytes, rates and durations as people read them; decimal units, three significant digits."""

from replan.model.declared.placement import SideRates
from replan.model.names import Replicas


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
    return "unlimited" if bytes_per_second is None else f"{size(bytes_per_second)}/s"


def broker_rate(found: int | SideRates | None) -> str:
    """A broker's rate: one for both sides, or `leader 20 MB/s, follower 50 MB/s`."""
    if isinstance(found, SideRates):
        if found.leader == found.follower:
            return rate(found.leader)
        return f"leader {rate(found.leader)}, follower {rate(found.follower)}"
    return rate(found)


def duration(seconds: float) -> str:
    """Seconds: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def brokers(listed: Replicas) -> str:
    """A replica list as Kafka's tools print it: `[1,2,3]`."""
    return "[" + ",".join(str(b) for b in listed) + "]"
