"""A loop's status as blocks of lines and tables, which the page, the terminal and messages show alike.

Cells are text, moments, bars and links; whoever shows them decides how. All text is plain: names in it are others', so
a page writes it as text and never as markup.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from replan.model.names import BrokerId
from replan.reconciling.status import ListedDeviation, LoopStatus, Round, Running, Tally
from replan.reporting.loop.loop_words import (
    DEVIATION_WORDS,
    LOOP_STATE_WORDS,
    ROUND_RESULT_WORDS,
    state_text,
    subject_text,
    why_not_text,
)
from replan.wording import brokers, count, duration, listed, size

PATIENCE_SECONDS = 600.0
"""How late a round may be: a cluster of many partitions that answers slowly is no hang, and whoever is killed
for it begins again and is as slow."""
SHORT = 12
"""Characters of a digest or a commit that are shown."""


class Moment(msgspec.Struct, frozen=True, tag="moment"):
    """A time, in seconds since 1970; shown also as how long ago, or in how long."""

    at: float


class PageLink(msgspec.Struct, frozen=True, tag="link"):
    """Text that leads to a page of the same server, where it has one."""

    text: str
    path: str


class LoopBar(msgspec.Struct, frozen=True, tag="bar"):
    """How much of a whole."""

    part: float
    """0 to 1."""
    text: str


LoopCell = str | Moment | PageLink | LoopBar


class LoopFact(msgspec.Struct, frozen=True):
    """A name and what it is."""

    name: str
    cells: tuple[LoopCell, ...]


class LoopTable(msgspec.Struct, frozen=True):
    """Rows under their heads; a head of a number is in `right`."""

    heads: tuple[str, ...]
    rows: tuple[tuple[LoopCell, ...], ...]
    right: tuple[int, ...] = ()
    more: str = ""
    """What is not listed."""


class LoopBlock(msgspec.Struct, frozen=True):
    """A part of the report."""

    title: str
    lines: tuple[str, ...] = ()
    facts: tuple[LoopFact, ...] = ()
    tables: tuple[LoopTable, ...] = ()


class LoopView(msgspec.Struct, frozen=True, rename="camel"):
    """All that is shown."""

    title: str
    cluster: str
    """Its name, else its id."""
    at: float
    """When the loop said this."""
    now: float
    """When it is asked for, on the same clock."""
    state: str
    tone: Literal["plain", "head", "comes", "goes", "changes"]
    """How good the state is, by the name of its tone."""
    since: float
    text: str
    reasons: tuple[str, ...]
    blocks: tuple[LoopBlock, ...]
    stale: bool
    """It is older than a loop that turns lets it become."""


def plan_path(digest: str) -> str:
    """Where the page of a plan is."""
    return f"plans/{digest}.html"


def view_of(status: LoopStatus, now: float, plans: frozenset[str] = frozenset()) -> LoopView:
    """What there is to show; `now`: on the clock of its times, `plans`: digests of the plans that have a page."""
    word, tone = LOOP_STATE_WORDS[status.state]
    name = status.cluster_name or status.cluster_id or "no cluster yet"
    blocks = (
        LoopBlock("", facts=tuple(_facts(status))),
        *([_running(status.running, plans)] if status.running is not None else []),
        _differs(status),
        _rounds(status, plans),
    )
    return LoopView(
        title=f"replan reconcile: {name}",
        cluster=name,
        at=status.at,
        now=now,
        state=word,
        tone=tone.value,
        since=status.since,
        text=state_text(status),
        reasons=tuple(map(str, status.reasons)),
        blocks=blocks,
        stale=now - status.at > silence_of(status),
    )


def silence_of(status: LoopStatus) -> float:
    """For how many seconds a loop that turns may say nothing after this, a round of some minutes included."""
    rests = status.every_seconds if status.next is None else status.next.round_at - status.at
    return PATIENCE_SECONDS + max(rests, 0.0)


def _facts(status: LoopStatus) -> Iterator[LoopFact]:
    if status.dry_run:
        yield LoopFact("mode", ("dry run: it only watches, and changes nothing",))
    if status.next is not None:
        coming = status.next
        yield LoopFact("next look", (_due(coming.round_at, status.at),))
        if coming.acts_at is None:
            yield LoopFact("acts next", ("never, if nothing changes",))
        else:
            why = listed(DEVIATION_WORDS[kind] for kind in coming.kinds)
            number = count(coming.count, "deviation")
            yield LoopFact(
                "acts next",
                (_due(coming.acts_at, status.at), f"{number}: {why}" if why else number),
            )
    if status.source is not None:
        commit = f"commit {status.source.commit[:SHORT]}" if status.source.commit else ""
        yield LoopFact("placement", (status.source.place, *([commit] if commit else [])))
    if status.looked_at is not None:
        yield LoopFact("last look", (Moment(status.looked_at),))
    rounds = count(status.rounds_begun, "round")
    how = f", {rounds}, every {duration(status.every_seconds)}"
    yield LoopFact(
        "instance", (status.instance if _by_journal(status) else f"{status.instance}{how}",)
    )


def _by_journal(status: LoopStatus) -> bool:
    """Whether it is what a journal keeps, which knows neither when the loop looked last nor what comes next."""
    return status.next is None and not status.rounds_begun


def _running(running: Running, plans: frozenset[str]) -> LoopBlock:
    part = running.copied_bytes / running.total_bytes if running.total_bytes else 0.0
    copied = f"{size(running.copied_bytes)} of {size(running.total_bytes)}"
    if running.bytes_per_second:
        copied += f", {size(round(running.bytes_per_second))}/s"
    if running.seconds_left is not None:
        copied += f", {duration(running.seconds_left)} left"
    steps = (
        f"{running.done:,} of {running.total:,} done, {running.running:,} running, {running.waiting:,} waiting, "
        f"{running.stopped:,} stopped"
    )
    facts = [
        LoopFact("plan", (_plan(running.plan_digest, plans), f"application {running.application}")),
        LoopFact("puts right", (listed(DEVIATION_WORDS[kind] for kind in running.kinds),)),
        LoopFact("began", (Moment(running.began_at),)),
        LoopFact("steps", (steps,)),
    ]
    if running.total_bytes:
        facts.append(LoopFact("copied", (LoopBar(part, copied),)))
    rows = tuple(
        (
            f"{copy.topic}-{copy.partition}",
            str(copy.broker),
            LoopBar((copy.copied_bytes or 0) / (copy.total_bytes or 1), _copied(copy.copied_bytes)),
            size(copy.total_bytes),
            "" if copy.bytes_per_second is None else f"{size(round(copy.bytes_per_second))}/s",
            "" if copy.seconds_left is None else duration(copy.seconds_left),
        )
        for copy in running.copies
    )
    heads = ("partition", "to broker", "copied", "of", "rate", "left")
    holds = running.nothing_begins
    return LoopBlock(
        "It applies",
        lines=() if holds is None else (f"Nothing more of it begins: {holds}",),
        facts=tuple(facts),
        tables=(LoopTable(heads, rows, right=(1, 3, 4, 5)),) if rows else (),
    )


def _copied(copied_bytes: int | None) -> str:
    return "not read yet" if copied_bytes is None else size(copied_bytes)


def _plan(digest: str, plans: frozenset[str]) -> LoopCell:
    short = digest[:SHORT]
    return PageLink(short, plan_path(digest)) if digest in plans else short


def _differs(status: LoopStatus) -> LoopBlock:
    title = "What differs"
    if not status.differs:
        looked = status.looked_at is not None or _by_journal(status)
        nothing = "Nothing." if looked else "It has not looked yet."
        return LoopBlock(title, lines=(nothing,))
    total = sum(tally.count for tally in status.differs)
    columns = 3 if _by_journal(status) else 4
    kinds = LoopTable(
        ("what happened", "how many", "oldest since", "next one due")[:columns],
        tuple(_tally(tally, status.at)[:columns] for tally in status.differs),
        right=(1,),
    )
    not_listed = total - len(status.deviations)
    more = f"and {not_listed:,} more; `replan drift` lists all" if not_listed > 0 else ""
    each = LoopTable(
        ("what", "happened", "declared", "observed", "since", "due", "why not yet"),
        tuple(_deviation(deviation, status.at) for deviation in status.deviations),
        more=more,
    )
    return LoopBlock(title, tables=(kinds, each) if each.rows else (kinds,))


def _tally(tally: Tally, at: float) -> tuple[LoopCell, ...]:
    return (
        DEVIATION_WORDS[tally.kind],
        f"{tally.count:,}",
        Moment(tally.since),
        _due(tally.due_at, at),
    )


def _due(due_at: float | None, at: float) -> LoopCell:
    """When it comes; a time that has come is `now`."""
    if due_at is None:
        return "never"
    return "now" if due_at <= at else Moment(due_at)


def _deviation(deviation: ListedDeviation, at: float) -> tuple[LoopCell, ...]:
    return (
        subject_text(deviation.subject),
        DEVIATION_WORDS[deviation.kind],
        _list(deviation.declared),
        _list(deviation.observed),
        Moment(deviation.since),
        _due(deviation.due_at, at),
        why_not_text(deviation.why_not),
    )


def _list(ids: tuple[int, ...]) -> str:
    return brokers(tuple(map(BrokerId, ids))) if ids else ""


def _rounds(status: LoopStatus, plans: frozenset[str]) -> LoopBlock:
    title = "The last rounds that did something"
    if not status.rounds:
        return LoopBlock(title, lines=("None yet.",))
    heads = ("round", "began", "took", "ended", "put right", "moves", "copied", "plan", "how")
    rows = tuple(_round(done, plans) for done in status.rounds)
    return LoopBlock(title, tables=(LoopTable(heads, rows, right=(0, 2, 5, 6)),))


def _round(done: Round, plans: frozenset[str]) -> tuple[LoopCell, ...]:
    commit = f"commit {done.commit[:SHORT]}" if done.commit else ""
    return (
        f"{done.number:,}",
        Moment(done.began_at),
        duration(max(0.0, done.ended_at - done.began_at)),
        ROUND_RESULT_WORDS[done.result],
        listed(DEVIATION_WORDS[kind] for kind in done.kinds),
        f"{done.moves:,}",
        size(done.bytes),
        _plan(done.plan_digest, plans),
        "; ".join(part for part in (done.text, commit) if part),
    )
