"""How far an application is: on a terminal a bar, a line per running copy and one for each reason to wait; in a log
one line that sums it up, or, with --verbose, all of it.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from replan.applying.journal.ledger import RequestSubject
from replan.applying.reasons.holds import Cancelling, Confirming
from replan.applying.reasons.reason import HoldReason
from replan.applying.views.progress import CopyProgress, Progress, ReplicaProgress, Volume
from replan.model.configs import SettingName
from replan.model.names import TopicPartition
from replan.reporting.blocks import BAR_COLUMNS
from replan.reporting.lines import Cell, Line, Span, Tone, line, plain, rows_of, table
from replan.wording import NAMES_SHOWN, capped, count, duration, listed, size

LONG_SECONDS = 30.0
"""A wait is said to be so long from here on."""
LEAST_BAR = 8
"""The same of a narrow terminal."""
LEAST_COPIES = 3
"""Copies that a terminal is shown, however low it is."""


def counts(progress: Progress) -> str:
    """Where the application stands: `12 s: 1 of 3 steps done, 2 running`."""
    return f"{duration(progress.at_seconds)}: {_counted(progress)}"


def _counted(progress: Progress) -> str:
    parts = [f"{progress.done:,} of {count(progress.total, 'step')} done"]
    parts += [f"{progress.running} running"] if progress.running else []
    parts += [f"{progress.waiting} waiting"] if progress.waiting else []
    parts += [f"{progress.stopped} stopped"] if progress.stopped else []
    if progress.others:
        others = f"{count(progress.others, 'reassignment')} of other tools throttled"
        parts = [others] if not progress.total else [*parts, others]
    return ", ".join(parts)


def progress_line(progress: Progress) -> str:
    """One line for a log: since when this process works, and how far the application is."""
    return f"{duration(progress.at_seconds)}: {stand(progress)}"


def stand(progress: Progress) -> str:
    """How far it is: what is done, how much is copied, how fast, the time left, and what waits longest."""
    volume = progress.volume()
    parts = [_counted(progress)]
    parts += [", ".join(_volume(volume))] if volume.total_bytes else []
    return "; ".join(parts + _longest_wait(progress) + _restoring(progress))


def _volume(volume: Volume) -> list[str]:
    """How much of it is copied, and, while copies run, how fast and how long that takes."""
    seconds_left = volume.seconds_left
    least = "at least " if volume.unread else ""
    parts = [f"{least}{size(volume.copied_bytes)} of {size(volume.total_bytes)}"]
    parts += [f"{size(round(volume.bytes_per_second))}/s"] if seconds_left is not None else []
    return parts + ([f"{duration(seconds_left)} left"] if seconds_left is not None else [])


def display(progress: Progress, *, height: int, width: int) -> list[Line]:
    """What a terminal of this size shows: all of it, each copy, what waits by reason, and what is restored."""
    waiting = [*_waiting(progress), *plain(_restoring(progress))]
    head = [line(counts(progress))]
    if not isinstance(progress.admission, Cancelling):
        head.insert(0, bar(progress, width=width))
    room = height - rows_of([*head, *waiting], width) - 2
    copies = table([_cells(c) for c in progress.copies[: max(LEAST_COPIES, room)]], indent=2)
    ends = accumulate(rows_of([copy], width) for copy in copies)
    shown = copies[: max(LEAST_COPIES, sum(end <= room for end in ends))]
    more = len(progress.copies) - len(shown)
    return [
        *head,
        *shown,
        *plain([f"and {count(more, 'more copy')}"] if more else [], 2),
        *waiting,
    ]


def bar(progress: Progress, *, indent: int = 0, width: int | None = None) -> Line:
    """Bytes of all bytes; where nothing is copied, what is done of everything."""
    volume = progress.volume()
    if volume.total_bytes:
        share = volume.copied_bytes / volume.total_bytes
    else:
        share = progress.done / progress.total if progress.total else 1.0
    beside = _volume(volume) if volume.total_bytes else []
    percent = "  ".join([f"{int(100 * share):3} %", *beside])
    room = BAR_COLUMNS if width is None else width - indent - len(percent) - 1
    long = max(LEAST_BAR, min(BAR_COLUMNS, room))
    full = int(long * share)
    return line(" " * indent, Span("━" * full, Tone.COMES), "─" * (long - full), f" {percent}")


def _cells(copy: CopyProgress) -> tuple[Cell, Cell]:
    """The partition, and how far it is, with what it waits for beyond what every copy does."""
    hold = copy.hold
    if copy.stalled is not None:
        to = listed(r.broker for r in copy.replicas)
        return str(copy.partition), Span(f"to {to}: {copy.stalled}", Tone.GOES)
    copying = not all(r.in_sync for r in copy.replicas)
    if hold is None or (copying and hold.routine):
        return str(copy.partition), _replicas(copy)
    tone = Tone.PLAIN if hold.routine else Tone.CHANGES
    end = ": " if isinstance(hold, Confirming) else "; "
    return str(copy.partition), [Span(_replicas(copy) + end), Span(str(hold), tone)]


def _waiting(progress: Progress) -> Iterator[Line]:
    """A line for each kind of reason to wait, of those that most wait for first."""
    if progress.admission is not None:
        yield line(Span(_nothing_new(progress.admission), Tone.CHANGES), hang=4)
    shown = {copy.partition for copy in progress.copies}
    kinds = dict[type[object], Counter[HoldReason]]()
    names = dict[type[object], TopicPartition]()
    for name, why in progress.last_holds.items():
        if name not in shown:
            kinds.setdefault(type(why), Counter())[why] += 1
            names[type(why)] = min(name, names.get(type(why), name))
    unseen = progress.waiting - sum(1 for n in progress.last_holds if n not in progress.begun)
    for kind, reasons_of_kind in sorted(kinds.items(), key=lambda of: -of[1].total()):
        (why, _), alike = reasons_of_kind.most_common(1)[0], len(reasons_of_kind) - 1
        first = names[kind]
        who = (
            f"{first} waits"
            if reasons_of_kind.total() == 1
            else f"{reasons_of_kind.total():,} wait"
        )
        text = f"{who}: {why}{f'; {alike:,} more like that' if alike else ''}"
        tone = Tone.PLAIN if why.routine else Tone.CHANGES
        yield line(
            Span(text, tone), _for(progress, first) if reasons_of_kind.total() == 1 else "", hang=4
        )
    if unseen > 0 and progress.admission is None:
        yield line(f"{count(unseen, 'partition')} behind these")
    for subject, why in _step_waits(progress).values():
        yield line(Span(f"{subject} waits: {why}", Tone.CHANGES), hang=4)


def _step_waits(progress: Progress) -> dict[type[object], tuple[str, HoldReason]]:
    """What the first step waits for that is no move, for each kind of reason that is not part of every such step."""
    by_kind = dict[type[object], tuple[str, HoldReason]]()
    for subject, why in progress.step_holds.items():
        if not why.routine:
            by_kind.setdefault(type(why), (_named(subject), why))
    return by_kind


def _named(subject: RequestSubject) -> str:
    if isinstance(subject, TopicPartition | SettingName):
        return str(subject)
    partition, broker = subject
    return f"{partition} on broker {broker}"


def _longest_wait(progress: Progress) -> list[str]:
    """Who has waited longest for something that is not part of every move."""
    waits = {n: at for n, at in progress.since.items() if _is_news(progress, n)}
    if not waits:
        return []
    name = min(waits, key=lambda n: (waits[n], n))
    return [f"longest wait: {name} {(progress.holds or {})[name]}{_for(progress, name)}"]


def _is_news(progress: Progress, name: TopicPartition) -> bool:
    why = (progress.holds or {}).get(name)
    return why is not None and not why.routine and _waited(progress, name) >= LONG_SECONDS


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
        wait = duration(progress.arriving_seconds)
        text += f": for {wait} more a change may arrive that was sent before this process, or whose outcome is unknown"
    return [text]


def reasons(progress: Progress) -> dict[type[object], str]:
    """Why partitions and other steps wait now: a line for each kind of reason, of the first that waits for it."""
    by_kind = dict[type[object], str]()
    if progress.admission is not None:
        by_kind[type(progress.admission)] = _nothing_new(progress.admission)
    for copy in progress.copies:
        if copy.stalled is not None:
            by_kind.setdefault(type(copy.stalled), copy_line(copy))
    for partition, why in sorted((progress.holds or {}).items()):
        by_kind.setdefault(type(why), f"{partition}  {why}")
    for kind, (subject, why) in _step_waits(progress).items():
        by_kind.setdefault(kind, f"{subject}  {why}")
    return by_kind


def _nothing_new(why: HoldReason) -> str:
    return f"no new copies: {why}"


def copies(progress: Progress) -> list[str]:
    """One line per running copy, then one per partition that waits at a gate, at the end what is restored."""
    lines = capped(
        progress.copies,
        lambda c: copy_line(c) + _for(progress, c.partition),
        limit=NAMES_SHOWN,
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
            lambda h: f"{h[0]}  {h[1]}{_for(progress, h[0])}",
            limit=NAMES_SHOWN,
            noun="waiting partition",
        )
        + [f"{subject}  {why}" for subject, why in _step_waits(progress).values()]
        + _restoring(progress)
    )


def copy_line(copy: CopyProgress) -> str:
    """A running copy: topic-partition, brokers, bytes, rate, time left, what it waits for."""
    parts = [str(copy.partition), _replicas(copy)]
    if copy.stalled is not None:
        parts.append(f"stalled: {copy.stalled}")
    elif copy.hold is not None:
        parts.append(str(copy.hold))
    return "  ".join(parts)


def _replicas(copy: CopyProgress) -> str:
    if isinstance(copy.hold, Confirming):  # which says that they are in sync
        return f"to {listed(r.broker for r in copy.replicas)}"
    return "; ".join(map(_replica, copy.replicas))


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
