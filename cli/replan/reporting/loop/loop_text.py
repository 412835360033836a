"""A loop in a terminal, as `replan status` shows it; and the message of a change of its state."""

from collections.abc import Iterator, Sequence

from replan.reconciling.status import LoopStatus, utc
from replan.reporting.lines import EMPTY_LINE, Line, Span, Tone, heading, line, plain
from replan.reporting.lines import table as drawn_table
from replan.reporting.loop.loop_view import (
    LoopBar,
    LoopBlock,
    LoopCell,
    LoopTable,
    Moment,
    PageLink,
    view_of,
)
from replan.reporting.loop.loop_words import LOOP_STATE_WORDS, state_text
from replan.wording import LINES_LISTED, duration, left_out


def loop_lines(status: LoopStatus, now: float, *, everything: bool = False) -> Iterator[Line]:
    """What a loop is and does; `now`: in seconds since 1970, for how long ago things were."""
    view = view_of(status, now)
    tone = LOOP_STATE_WORDS[status.state][1]
    since = f", since {_moment(view.since, now)}"
    yield line(Span(f"Loop: {view.state}", tone), f"{since}. {view.text}", hang=4)
    yield from plain(view.reasons, indent=2)
    if view.stale:
        old = f"This was written {_ago(now - view.at)} ago; the loop that wrote it is not at work."
        yield line(Span(old, Tone.GOES), hang=4)
    for block in view.blocks:
        yield from _block(block, now, everything=everything)


def _block(block: LoopBlock, now: float, *, everything: bool) -> Iterator[Line]:
    if block.title:
        yield EMPTY_LINE
        yield heading(block.title)
    yield from plain(block.lines, indent=2)
    if block.facts:
        rows = [
            [fact.name, " ".join(_cell(cell, now) for cell in fact.cells)] for fact in block.facts
        ]
        yield from drawn_table(rows, indent=2)
    for table in block.tables:
        yield from _table(table, now, everything=everything)


def _table(table: LoopTable, now: float, *, everything: bool) -> Iterator[Line]:
    shown = table.rows if everything else table.rows[:LINES_LISTED]
    rows = [table.heads, *([_short(cell, now) for cell in row] for row in shown)]
    yield from drawn_table(rows, indent=2, right=table.right)
    yield from plain(left_out(len(table.rows) - len(shown), way_out="--all lists them"), indent=2)
    yield from plain([table.more] if table.more else [], indent=2)


def _cell(cell: LoopCell, now: float) -> str:
    match cell:
        case Moment(at):
            return _moment(at, now)
        case PageLink(text):
            return text
        case LoopBar(part, text):
            return f"{text} ({part:.0%})" if part else text
        case _:
            return cell


def _short(cell: LoopCell, now: float) -> str:
    return _relative(cell.at, now) if isinstance(cell, Moment) else _cell(cell, now)


def _moment(at: float, now: float) -> str:
    return f"{utc(at)} ({_relative(at, now)})"


def _relative(at: float, now: float) -> str:
    return f"{_ago(now - at)} ago" if at <= now else f"in {_ago(at - now)}"


def _ago(seconds: float) -> str:
    return duration(float(round(seconds))) if seconds >= 9.95 else f"{seconds:.0f} s"


def message(before: LoopStatus | None, now: LoopStatus) -> dict[str, object]:
    """What a web hook is posted when the state changes: `text` for people (Slack shows it), the rest for programs."""
    cluster = now.cluster_name or now.cluster_id or "no cluster yet"
    word = LOOP_STATE_WORDS[now.state][0]
    dry = " (dry run)" if now.dry_run else ""
    sentences: Sequence[str] = (state_text(now), *map(str, now.reasons))
    text = f"replan reconcile, {cluster}{dry}: {word}. {' '.join(sentences)}"
    return {
        "text": _for_slack(text),
        "kind": "replan.reconcile.state",
        "formatVersion": 1,
        "clusterId": now.cluster_id,
        "clusterName": now.cluster_name,
        "instance": now.instance,
        "state": now.state.value,
        "before": None if before is None else before.state.value,
        "since": now.since,
        "dryRun": now.dry_run,
        "differs": sum(tally.count for tally in now.differs),
    }


def _for_slack(text: str) -> str:
    """Its three control characters as entities: `<!channel>` in the name of a topic calls nobody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
