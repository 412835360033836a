"""How far an application is, as lines: one that counts, then one per running copy with what it waits for."""

from replan.applying.reasons.waits import HoldReason, is_routine
from replan.applying.views.progress import CopyProgress, Progress, ReplicaProgress
from replan.model.names import TopicPartition
from replan.reporting.quantities import duration, size
from replan.reporting.sentences.hold_text import hold_text, stalled_text
from replan.wording import capped, count

LONG_SECONDS = 30.0
"""A wait is said to be so long from here on."""
SHOWN = 20
"""Copies and holds that are shown one by one; a terminal has no room for more."""


def counts(progress: Progress) -> str:
    """Where the application stands: `12 s: 1 of 3 done, 2 running`."""
    parts = [f"{progress.done} of {progress.total} done"]
    parts += [f"{progress.running} running"] if progress.running else []
    parts += [f"{progress.waiting} waiting"] if progress.waiting else []
    parts += [f"{progress.stopped} stopped"] if progress.stopped else []
    if progress.others:
        others = f"{count(progress.others, 'reassignment')} of other tools throttled"
        parts = [others] if not progress.total else [*parts, others]
    return f"{duration(progress.at_seconds)}: {', '.join(parts)}"


def summary(progress: Progress) -> str:
    """One line for a log: where the application stands, how fast it copies, and the longest copy's time left."""
    replicas = [r for copy in progress.copies for r in copy.replicas if not r.in_sync]
    speed = sum(r.bytes_per_second or 0 for r in replicas)
    left = max((r.seconds_left for r in replicas if r.seconds_left is not None), default=None)
    parts = [counts(progress)]
    parts += [f"copying {size(round(speed))}/s"] if speed else []
    parts += [f"longest copy: {duration(left)} left"] if left is not None else []
    return "; ".join(parts + _longest_wait(progress) + _restoring(progress))


def _longest_wait(progress: Progress) -> list[str]:
    """Who has waited longest for something that is not part of every move."""
    waits = {n: at for n, at in progress.since.items() if _is_news(progress, n)}
    if not waits:
        return []
    name = min(waits, key=lambda n: (waits[n], n))
    return [f"longest wait: {name} {hold_text((progress.holds or {})[name])}{_for(progress, name)}"]


def _is_news(progress: Progress, name: TopicPartition) -> bool:
    why = (progress.holds or {}).get(name)
    return why is not None and not is_routine(why) and _waited(progress, name) >= LONG_SECONDS


def _waited(progress: Progress, name: TopicPartition) -> float:
    return progress.now - progress.since.get(name, progress.now)


def _for(progress: Progress, name: TopicPartition) -> str:
    """For how long it has waited, where that is long."""
    waited = _waited(progress, name)
    return f" (for {duration(waited)})" if waited >= LONG_SECONDS else ""


def _restoring(progress: Progress) -> list[str]:
    """What an application waits for whose moves have all ended."""
    busy = progress.running or progress.waiting or progress.others
    if busy or not progress.throttles:
        return []
    text = f"restoring {count(progress.throttles, 'throttle setting')}"
    if progress.arriving_seconds > 0:
        left = duration(progress.arriving_seconds)
        text += f": for {left} more a change may arrive that was sent before this process, or whose outcome is unknown"
    return [text]


def reasons(progress: Progress) -> dict[type[object], str]:
    """Why partitions wait now: a line for each kind of reason, of the first partition that waits for it."""
    found = dict[type[object], str]()
    if progress.admission is not None:
        found[type(progress.admission)] = _nothing_new(progress.admission)
    for copy in progress.copies:
        if copy.stalled is not None:
            found.setdefault(type(copy.stalled), copy_line(copy))
    for partition, why in sorted((progress.holds or {}).items()):
        found.setdefault(type(why), f"{partition}  {hold_text(why)}")
    return found


def _nothing_new(why: HoldReason) -> str:
    return f"no new copies: {hold_text(why)}"


def copies(progress: Progress) -> list[str]:
    """One line per running copy, then one per partition that waits at a gate, at the end what is restored."""
    lines = capped(
        progress.copies,
        lambda c: copy_line(c) + _for(progress, c.partition),
        limit=SHOWN,
        noun="copy",
    )
    if progress.admission is not None:
        lines.append(_nothing_new(progress.admission))
    shown = {copy.partition for copy in progress.copies}
    holds = [(n, why) for n, why in sorted((progress.holds or {}).items()) if n not in shown]
    return (
        lines
        + capped(
            holds,
            lambda h: f"{h[0]}  {hold_text(h[1])}{_for(progress, h[0])}",
            limit=SHOWN,
            noun="waiting partition",
        )
        + _restoring(progress)
    )


def copy_line(copy: CopyProgress) -> str:
    """A running copy: topic-partition, brokers, bytes, rate, time left, what it waits for."""
    replicas = "; ".join(_replica(r) for r in copy.replicas)
    if copy.stalled is not None:
        return f"{copy.partition}  {replicas}  stalled: {stalled_text(copy.stalled)}"
    waits = "" if copy.hold is None else f"  {hold_text(copy.hold)}"
    return f"{copy.partition}  {replicas}{waits}"


def _replica(replica: ReplicaProgress) -> str:
    if replica.in_sync:
        return f"to {replica.broker}: in sync"
    if replica.copied_bytes is None:
        return f"to {replica.broker}: begun"
    share = 100 * replica.copied_bytes // replica.total_bytes if replica.total_bytes else 100
    text = f"to {replica.broker}: {size(replica.copied_bytes)} of {size(replica.total_bytes)} ({min(share, 100)} %)"
    if replica.bytes_per_second:
        text += f", {size(round(replica.bytes_per_second))}/s"
    if replica.seconds_left is not None:
        text += f", {duration(replica.seconds_left)} left"
    return text
