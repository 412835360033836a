"""Health and running reassignments as text, markdown and json: the worst first, every replica that comes or goes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from replan.applying.views.found_throttles import FoundThrottle
from replan.applying.views.progress import Progress
from replan.applying.views.standing import OpenApplication
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.planning.findings.health import Health, HealthState, Unhealthy
from replan.planning.findings.replica_progress import ReplicaRow, ReplicaStatus, Standing
from replan.reconciling.status import Status as LoopStatus
from replan.reporting.application.progress_text import bar
from replan.reporting.cluster.application_text import (
    ALIKE,
    NAMED,
    application_json,
    application_lines,
    throttle_lines,
    throttles_json,
)
from replan.reporting.cluster.replica_progress_text import (
    HEAD,
    copied_text,
    left_text,
    replica_json,
    status_text,
)
from replan.reporting.lines import EMPTY, Line, Span, Tone, drawn, line, plain, table
from replan.reporting.loop.loop_text import loop_lines
from replan.reporting.markdown import LIMIT, code, escape, fitted, head, row
from replan.reporting.sentences.health_text import (
    broker_down_json,
    broker_down_text,
    elr_gone_text,
    unclean_text,
)
from replan.wording import SHOWN, brokers, capped, count, left_out, rate

RUNNING = 20
"""Replicas that are shown as being copied."""
NONE_RUNS = "No reassignment is running."


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `status` shows."""

    health: Health
    rows: Sequence[ReplicaRow]
    observed_at: str
    standings: Mapping[TopicPartition, Standing] = field(default_factory=dict)
    """Of the partitions that were named, or else of all that run."""
    named: bool = False
    """Whether partitions were named: then all of these are shown, and what has stopped counts."""
    application: OpenApplication | None = None
    progress: Progress | None = None
    """How far the application is, as far as a look shows that."""
    unknown_throttles: Sequence[FoundThrottle] = ()
    own_throttles: int = 0
    """Settings of replan."""
    own: frozenset[TopicPartition] = frozenset()
    """What runs and is replan's own, whether or not its application is still open."""
    was_open: str = ""
    """What a snapshot says of the application that was open when it was taken."""
    resume: str = "replan resume"
    """The command that goes on with the application."""
    clear: str = "replan throttle clear"
    loop: LoopStatus | None = None
    """Of the loop that has its lease in the journal."""
    asked_at: float = 0.0
    """In seconds since 1970, for how long ago what a loop says was."""
    journal_unread: bool = False
    """The journal cannot be read, so that nobody knows whether an application is open."""
    open_elsewhere: str = ""
    """The application that is open in a journal of another name, and how to go on with it."""

    @property
    def settled(self) -> bool:
        """Whether nothing runs, no application is open, and all partitions that are shown can be written.

        What cannot be known of that is not settled.
        """
        ill = (HealthState.OFFLINE, HealthState.UNDER_MIN_ISR)
        unseen = bool(self.health.hidden or self.health.unread)
        unknown = self.journal_unread or bool(self.open_elsewhere)
        unfinished = self.works or bool(self.was_open or self.own_throttles)
        return not (unfinished or unseen or unknown or any(map(self.health.count, ill)))

    @property
    def works(self) -> bool:
        """Whether anything runs, or an application is open."""
        return bool(self.health.running) or self.application is not None

    @property
    def summary(self) -> str:
        """How many partitions there are, and how many are in which state."""
        health = self.health
        words = ", ".join(
            f"{health.count(state):,} {state}" for state in HealthState if health.count(state)
        )
        copying = any(r.status is ReplicaStatus.BEHIND for r in self.rows)
        fine = "all in sync but for what is being copied" if copying else "all in sync"
        fine = fine if health.partitions or not health.hidden else "none in sight"
        hidden = f"; not seen: {count(len(health.hidden), 'topic')}" if health.hidden else ""
        return f"{count(health.partitions, 'partition')}: {words or fine}{hidden}."

    @property
    def stopped(self) -> list[TopicPartition]:
        """The partitions of a file that are not as it wants them, and do not run."""
        return sorted(n for n, found in self.standings.items() if found is Standing.STOPPED)

    def known(self, *, everything: bool = False) -> list[Line]:
        """The lines of the journal, and of throttles that it does not know."""
        found, progress = self.application, self.progress
        lines = []
        if found is not None:
            head, *rest = application_lines(found, self.resume, everything=everything)
            copies = progress is not None and progress.volume().total_bytes
            lines = [head, *([bar(progress, indent=2)] if progress and copies else []), *rest]
        lines += plain([*self.was_open.splitlines(), *self.open_elsewhere.splitlines()])
        if self.journal_unread:
            text = "The journal cannot be read: whether an application is open is not known."
            lines.append(line(Span(text, Tone.CHANGES)))
        if self.own_throttles:
            settings = count(self.own_throttles, "throttle setting")
            ends = (
                f"`{self.clear}` restores what was there before"
                if found is None
                else "restored when the application ends"
            )
            lines += plain([f"{settings} of replan in the cluster; {ends}"])
        return [*lines, *plain(throttle_lines(self.unknown_throttles))]


def render_status(status: Status) -> str:
    """Plain text; ends with a newline."""
    return drawn(status_lines(status))


def status_lines(status: Status, *, everything: bool = False) -> list[Line]:
    """What is wrong first, then what runs; in groups where many are alike, unless everything is listed."""
    health, rows = status.health, status.rows
    lines = [line(Span(status.summary, Tone.GOES if _ill(health) else Tone.HEAD))]
    warnings = [*map(broker_down_text, health.down), *health_warnings(health)]
    lines += [line(Span(f"Warning: {text}", Tone.CHANGES), hang=4) for text in warnings]
    lines += _unhealthy_lines(health.unhealthy, alike=None if everything else ALIKE)
    if status.stopped:
        where = ", ".join(capped(list(map(str, status.stopped)), limit=20))
        partitions = count(len(status.stopped), "partition")
        text = f"Not as wanted, and not running: {partitions}: {where}."
        lines.append(line(Span(text, Tone.GOES), hang=4))
    lines += _running(status, limit=None if everything else RUNNING) if rows else plain([NONE_RUNS])
    known = status.known(everything=everything)
    if status.loop is not None:
        known = [*known, EMPTY, *loop_lines(status.loop, status.asked_at, everything=everything)]
        known = [*known, EMPTY]
    return [*lines, *known, *plain([f"As of {status.observed_at}."])]


def _ill(health: Health) -> bool:
    return any(map(health.count, (HealthState.OFFLINE, HealthState.UNDER_MIN_ISR)))


def _unhealthy_lines(unhealthy: Sequence[Unhealthy], alike: int | None) -> Iterator[Line]:
    """The worst first; `alike`: how many are listed one by one that lack the same brokers."""
    groups = dict[tuple[HealthState, tuple[BrokerId, ...]], list[Unhealthy]]()
    for found in unhealthy:
        lacks = tuple(sorted(set(found.state.replicas) - set(found.state.isr)))
        groups.setdefault((found.health, lacks), []).append(found)
    for (health, lacks), group in groups.items():
        tone = Tone.GOES if health is HealthState.OFFLINE else Tone.CHANGES
        if alike is None or len(group) <= alike:
            texts = [_unhealthy(found) for found in group]
        else:
            named = ", ".join(capped(group, lambda f: str(f.state.partition), limit=NAMED))
            texts = [f"{len(group):,} {health}, out of sync {brokers(lacks)}: {named}"]
        yield from (line(Span(f"  {text}", tone), hang=6) for text in texts)


def _unhealthy(found: Unhealthy) -> str:
    state = found.state
    leader = "no leader" if state.leader is None else f"leader {state.leader}"
    return (
        f"{state.partition}  {found.health}  in sync {brokers(state.isr)} of {brokers(state.replicas)}, "
        f"minimum {found.min_insync}, {leader}{_electable(state)}{_offline(found)}"
    )


def _offline(found: Unhealthy) -> str:
    return "".join(f", offline on live broker {b}" for b in found.offline)


def _electable(state: PartitionState) -> str:
    """Who could lead beside the ISR, and how many in all; empty where nobody could."""
    if not state.eligible and not state.last_known_elr:
        return ""
    last = "".join(f", last known leader {b}" for b in state.last_known_elr)
    return f", eligible {brokers(state.eligible)}{last}, electable {state.electable}"


def health_warnings(health: Health) -> Iterator[str]:
    """What a person should know of the health beside the partitions."""
    if health.hidden:
        named = ", ".join(capped(list(health.hidden), limit=SHOWN))
        yield f"this user may not describe {named}, and needs the ACL Describe on Topic; nothing is known of them"
    if health.unread:
        named = ", ".join(capped(list(health.unread), limit=SHOWN))
        yield (
            f"this user may not read the min.insync.replicas of {named}, and needs the ACL DescribeConfigs on Topic; "
            "partitions there that lack an in-sync replica may be under it"
        )
    if health.unclean:
        yield unclean_text(health.unclean)
    gone = [u.state.partition for u in health.unhealthy if u.elr_gone]
    if gone:
        yield elr_gone_text(gone)


def _running(status: Status, limit: int | None) -> list[Line]:
    """KIP-179's table, with bytes and whose each is; and rates and times where they were measured."""
    shown = status.rows[:limit]
    cells = [_cells(row, status) for row in shown]
    titles = [title if any(of) else "" for title, *of in zip(HEAD, *cells, strict=True)]
    more = left_out(len(status.rows) - len(shown), "replica", "--all lists them")
    return [EMPTY, *table([titles, *cells]), *plain(more), EMPTY]


def _cells(row: ReplicaRow, status: Status) -> tuple[str, ...]:
    running = status.standings.get(row.partition) is Standing.RUNNING
    return (
        row.partition.topic,
        str(row.partition.partition),
        "-" if row.broker is None else str(row.broker),
        status_text(row),
        copied_text(row),
        "" if row.bytes_per_second is None else rate(round(row.bytes_per_second)),
        left_text(row),
        ("replan" if row.partition in status.own else "another tool") if running else "",
    )


def render_status_markdown(status: Status) -> str:
    """For a pull request or a chat: the summary, then tables, as much as a comment holds; ends with a newline."""
    health, rows = status.health, status.rows
    text = f"## replan status\n\n{status.summary} As of {status.observed_at}.\n"
    text += "".join(f"\n**Warning:** {broker_down_text(found)}\n" for found in health.down)
    text += "".join(f"\n**Warning:** {escape(line)}\n" for line in health_warnings(health))
    known = drawn(status.known()).splitlines()
    if known:
        text += "\n" + "".join(f"> {escape(found.strip())}  \n" for found in known)
    if health.unhealthy:
        rows_of_health = (_unhealthy_row(a) for a in health.unhealthy)
        text += f"\n{head('partition', 'health', 'in sync', 'replicas', 'min ISR', 'leader')}\n"
        text += fitted(rows_of_health, len(health.unhealthy), LIMIT // 2, "more partition")
    if rows:
        running = (
            row((code(str(r.partition)), str(r.broker), status_text(r), copied_text(r) or "–"))
            for r in rows
        )
        text += f"\n{head('partition', 'broker', 'status', 'copied')}\n"
        text += fitted(running, len(rows), LIMIT - len(text), "more replica")
    else:
        text += f"\n{NONE_RUNS}\n"
    return text


def _unhealthy_row(found: Unhealthy) -> str:
    state = found.state
    lists = (code(brokers(state.isr)), code(brokers(state.replicas)))
    leader = "none" if state.leader is None else str(state.leader)
    return row((code(str(state.partition)), found.health, *lists, str(found.min_insync), leader))


def render_status_json(status: Status) -> str:
    """One JSON document, format version 1."""
    health, found = status.health, status.application
    document = {
        "formatVersion": 1,
        "kind": "replan.status",
        "observedAt": status.observed_at,
        "partitions": health.partitions,
        **({"hidden": list(health.hidden)} if health.hidden else {}),
        **({"minInsyncUnread": list(health.unread)} if health.unread else {}),
        **({"journalUnread": True} if status.journal_unread else {}),
        **({"openElsewhere": status.open_elsewhere} if status.open_elsewhere else {}),
        **({"wasOpen": status.was_open} if status.was_open else {}),
        **({"loop": msgspec.to_builtins(status.loop)} if status.loop is not None else {}),
        "health": {state: health.count(state) for state in HealthState},
        "brokersDown": [broker_down_json(found) for found in health.down],
        "uncleanElection": list(health.unclean),
        "unhealthy": [
            {
                "topic": a.state.partition.topic,
                "partition": a.state.partition.partition,
                "state": a.health,
                "isr": list(a.state.isr),
                "replicas": list(a.state.replicas),
                "leader": a.state.leader,
                "effectiveMinInsync": a.min_insync,
                "elr": list(a.state.eligible),
                "lastKnownElr": list(a.state.last_known_elr),
                "electable": a.state.electable,
                "offlineOnLiveBrokers": list(a.offline),
                "elrCleared": a.elr_gone,
            }
            for a in health.unhealthy
        ],
        "running": [replica_json(r) for r in status.rows],
        "asked": [
            {"topic": n.topic, "partition": n.partition, "state": standing}
            for n, standing in sorted(status.standings.items())
            if status.named
        ],
        "application": None if found is None else application_json(found, status.resume),
        "ownThrottles": status.own_throttles,
        "unknownThrottles": throttles_json(status.unknown_throttles),
    }
    return json.dumps(document, indent=2) + "\n"
