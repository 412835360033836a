"""What `status` shows, as text, Markdown and JSON: health and running reassignments, the worst first.

Also a row of KIP-179's table for each replica that is being copied, with bytes and times; the open application; and the
throttles of the cluster.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field, to_builtins
from msgspec.structs import asdict

from replan.applying.reasons.holds import ArrivalPossible, Confirming
from replan.applying.views.by_journal import OpenApplication, OwnedThrottle
from replan.applying.views.outcome import (
    AnyResult,
    LogMoveResult,
    PartitionResult,
    Result,
    SettingResult,
)
from replan.applying.views.progress import Progress
from replan.model.names import BrokerId, TopicPartition
from replan.model.partition import PartitionState
from replan.planning.findings.health import Health, HealthState, Unhealthy
from replan.planning.findings.replica_progress import ReassignmentState, ReplicaRow, ReplicaStatus
from replan.reconciling.status import LoopStatus
from replan.reporting.application.outcome_text import GROUP_NAMES_SHOWN
from replan.reporting.application.progress_text import bar, stand
from replan.reporting.json_report import json_report
from replan.reporting.lines import EMPTY_LINE, Line, Span, Tone, drawn, heading, line, plain, table
from replan.reporting.loop.loop_text import loop_lines
from replan.reporting.markdown import LIMIT, code, escape, fitted, table_head, table_row
from replan.reporting.sentences import (
    elr_gone_text,
    unclean_text,
)
from replan.wording import (
    LINES_LISTED,
    NAMES_SHOWN,
    brokers,
    capped,
    count,
    duration,
    left_out,
    rate,
    size,
)

REPLICA_HEADS = ("Topic", "Partition", "Broker", "Status", "Copied", "Rate", "Left", "Whose")


def status_text(row: ReplicaRow) -> str:
    """KIP-179's statuses; how far it is behind is said once, where the KIP says it twice."""
    if row.status is ReplicaStatus.BEHIND and row.behind is not None:
        return f"Behind by {count(row.behind, 'message')}"
    return row.status


def copied_text(row: ReplicaRow) -> str:
    """`20 MB of 60 MB (33 %)`; empty where it is not known."""
    if row.copied_bytes is None or row.total_bytes is None:
        return ""
    share = 100 if row.total_bytes == 0 else min(100, row.copied_bytes * 100 // row.total_bytes)
    return f"{size(row.copied_bytes)} of {size(row.total_bytes)} ({share} %)"


def left_text(row: ReplicaRow) -> str:
    """How long its copy takes yet; empty where that was not measured."""
    if row.endless:
        return "does not finish at this rate"
    return "" if row.seconds_left is None else duration(row.seconds_left)


def replica_json(row: ReplicaRow) -> Mapping[str, object]:
    """The fields of one replica."""
    return {
        **row.partition._asdict(),
        "broker": row.broker,
        "status": status_text(row),
        "messagesBehind": row.behind,
        "copiedBytes": row.copied_bytes,
        "totalBytes": row.total_bytes,
        "bytesPerSecond": row.bytes_per_second,
        "secondsLeft": row.seconds_left,
        "doesNotFinish": row.endless,
    }


UNTHROTTLED = (
    "Until you resume, a kept replica that falls out of sync catches up under the copies' throttle."
)

CONFIRMED_LATER = "in sync; confirmed again once the application is resumed"
ALIKE_SHOWN = 5
"""Of one kind of reason, so many stand on lines of their own; more are one line."""
SHOWN_THROTTLES = 10
"""Of those so many are named."""

REMOVE = (
    "  Where nobody needs them: `kafka-configs.sh --alter --entity-type brokers|topics --entity-name NAME "
    "--delete-config KEY`."
)


def headline(application: OpenApplication, resume: str) -> str:
    """Whose it is, whether it runs, how far it is, and the command that goes on."""
    state = "interrupted" if application.process is None else f"running: {application.process}"
    if application.paused_by:
        state += f"; paused by {application.paused_by}"
    if application.cancelled_by:
        state += f"; being cancelled by {application.cancelled_by}"
    if application.takes_back:
        state += f"; takes back {application.takes_back}, which was cancelled"
    total = application.ended + len(application.unfinished)
    goes_on = f"; `{resume}` goes on" if application.process is None else ""
    return (
        f"replan's application {application.id} is {state}{goes_on}; begun by {application.owner}; "
        f"{application.ended:,} of {count(total, 'step')} ended"
    )


def application_lines(
    application: OpenApplication, resume: str, *, everything: bool = False
) -> list[Line]:
    """All of it: what is unfinished with what it waits for, in groups where many wait alike."""
    lines = [heading(headline(application, resume))]
    lines += _unfinished(application, alike=None if everything else ALIKE_SHOWN)
    if application.process is None and application.throttled and application.unfinished:
        lines += plain([UNTHROTTLED])
    return lines


def _unfinished(application: OpenApplication, alike: int | None) -> Iterator[Line]:
    """What is worth a look first, then what has begun; in one line what waits alike, or more than `alike` of a kind."""
    performed = application.process is not None
    kinds = dict[tuple[bool, bool, type[object] | None], list[AnyResult]]()
    for result in application.unfinished:
        hold = result.hold
        routine = hold is None or hold.routine
        kind = None if hold is None else type(hold)
        kinds.setdefault((routine, result.result is Result.WAITING, kind), []).append(result)
    for (routine, _, _), of_kind in sorted(kinds.items(), key=lambda of: (*of[0][:2], -len(of[1]))):
        tone = Tone.PLAIN if routine else Tone.CHANGES
        if alike is None:
            groups = [[result] for result in of_kind]
        elif len(of_kind) > alike:
            groups = [of_kind]
        else:
            groups = _by_hold(of_kind)
        for group in groups:
            yield line(Span(_together(group, performed=performed), tone), hang=6)


def _by_hold(of_kind: Sequence[AnyResult]) -> list[list[AnyResult]]:
    by_hold = dict[object, list[AnyResult]]()
    for one in of_kind:
        by_hold.setdefault(one.hold, []).append(one)
    return list(by_hold.values())


def _together(group: Sequence[AnyResult], *, performed: bool) -> str:
    """What one, or several of a kind, wait for: for others than the first is counted."""
    if len(group) == 1:
        return f"  {group[0].subject}  {waits(group[0], performed=performed)}"
    limit = GROUP_NAMES_SHOWN if len(group) > ALIKE_SHOWN else ALIKE_SHOWN
    named = ", ".join(capped(group, lambda f: str(f.subject), limit=limit))
    others = len({str(result.hold) for result in group}) - 1
    more = f", or like that ({others:,} more)" if others else ""
    return f"  {len(group):,} {waits(group[0], performed=performed)}{more}: {named}"


def _state(result: AnyResult, *, performed: bool) -> str:
    if result.result is Result.WAITING:
        return "not started"
    return "running" if performed else "interrupted"


def waits(result: AnyResult, *, performed: bool) -> str:
    """What is unfinished waits for; of what runs, when its last step was.

    `performed`: whether a process is at work; without one nothing begins or goes on.
    """
    running, since = result.result is Result.RUNNING, ""
    if running and isinstance(result, PartitionResult) and result.last_step_at:
        since = f" (last step {result.last_step_at})"
    if result.hold is None:
        due = "its next request is due" if running else "can start"
        resumed = "" if performed else " once the application is resumed"
        return f"{due}{resumed}{since}"
    text = str(result.hold)
    if performed and isinstance(result.hold, ArrivalPossible):
        text = f"{result.hold.request} {list(result.hold.replicas)} is asked for"
    if isinstance(result.hold, Confirming):
        longest = f"in sync; confirming for up to {result.hold.seconds:.0f} s"
        text = longest if performed else CONFIRMED_LATER
    return f"{_state(result, performed=performed)}: {text}{since}"


def application_json(application: OpenApplication, resume: str) -> Mapping[str, object]:
    """The fields of a JSON document."""
    return {
        "id": application.id,
        "owner": application.owner,
        "process": application.process,
        "pausedBy": application.paused_by or None,
        "cancelledBy": application.cancelled_by or None,
        "takesBack": application.takes_back or None,
        "ended": application.ended,
        "resume": resume,
        "unfinished": [
            {
                **_subject_json(result),
                "result": result.result,
                "lastStepAt": (isinstance(result, PartitionResult) and result.last_step_at) or None,
                "hold": None
                if result.hold is None
                else {"kind": result.hold.kind, "text": str(result.hold)},
            }
            for result in application.unfinished
        ],
    }


def _subject_json(result: AnyResult) -> Mapping[str, object]:
    """A partition, a replica that goes to another log directory, or a throttle setting."""
    match result:
        case PartitionResult(partition):
            return partition._asdict()
        case LogMoveResult(partition, broker):
            return {**partition._asdict(), "broker": broker}
        case SettingResult(setting):
            return {"scope": setting.scope, "name": setting.name, "setting": setting.key}


def own_throttles_text(number: int, clear: str | None) -> str:
    """So many settings of replan's, and when they go; `clear`: what to type where no application is open."""
    ends = "restored when the application ends"
    if clear is not None:
        ends = f"`{clear}` restores what was there before"
    return f"{count(number, 'throttle setting')} of replan in the cluster; {ends}"


def throttle_lines(unknown: Sequence[OwnedThrottle]) -> list[str]:
    """The throttle settings that no journal here knows, and what can be done."""
    if not unknown:
        return []
    settings = count(len(unknown), "throttle setting")
    listed = capped(
        unknown, _throttle, limit=SHOWN_THROTTLES, way_out="`replan throttle show` lists them"
    )
    return [f"{settings} in the cluster, not in this journal; whose is not known:", *listed, REMOVE]


def _throttle(throttle: OwnedThrottle) -> str:
    setting = throttle.setting
    return f"  {setting.scope} {setting.name}  {setting.key}={throttle.value}"


def throttles_json(unknown: Sequence[OwnedThrottle]) -> list[Mapping[str, object]]:
    """The fields of a JSON document."""
    return [{**asdict(throttle.setting), "value": throttle.value} for throttle in unknown]


REPLICAS_SHOWN = 20
"""Replicas that are shown as being copied."""
NONE_RUNS = "No reassignment is running."


class ClusterStatus(Struct, frozen=True, kw_only=True):
    """What `status` shows."""

    health: Health
    rows: Sequence[ReplicaRow]
    observed_at: str
    reassignments: Mapping[TopicPartition, ReassignmentState] = field(default_factory=dict)
    """Of the partitions that were named, or else of all that run."""
    named: bool = False
    """Whether partitions were named: then all of these are shown, and what has stopped counts."""
    application: OpenApplication | None = None
    progress: Progress | None = None
    """How far the application is, as far as a look shows that."""
    unknown_throttles: Sequence[OwnedThrottle] = ()
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
        unseen = bool(self.health.hidden or self.health.unread)
        unknown = self.journal_unread or bool(self.open_elsewhere)
        unfinished = self.works or bool(self.was_open or self.own_throttles)
        return not (unfinished or unseen or unknown or self.health.stops_writes)

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
        return sorted(
            n for n, standing in self.reassignments.items() if standing is ReassignmentState.STOPPED
        )

    def journal_lines(self, *, everything: bool = False) -> list[Line]:
        """The lines of the journal, and of throttles that it does not know."""
        application, progress = self.application, self.progress
        lines = []
        if application is not None:
            head, *rest = application_lines(application, self.resume, everything=everything)
            copies = progress is not None and progress.volume().total_bytes
            lines = [head, *([bar(progress, indent=2)] if progress and copies else []), *rest]
        lines += plain([*self.was_open.splitlines(), *self.open_elsewhere.splitlines()])
        if self.journal_unread:
            text = "The journal cannot be read: whether an application is open is not known."
            lines.append(line(Span(text, Tone.CHANGES)))
        if self.own_throttles:
            clear = self.clear if application is None else None
            lines += plain([own_throttles_text(self.own_throttles, clear)])
        return [*lines, *plain(throttle_lines(self.unknown_throttles))]


def render_status(status: ClusterStatus) -> str:
    """Plain text; ends with a newline."""
    return drawn(status_lines(status))


def status_line(status: ClusterStatus) -> str:
    """One line for a log: when, how the partitions are, and how far what runs is."""
    parts = [f"{status.observed_at}: {status.summary}"]
    if status.progress is not None and status.application is not None:
        idle = "interrupted, " if status.application.process is None else ""
        parts.append(f"{idle}{stand(status.progress)}.")
    elif status.rows:
        copied = sum(r.copied_bytes or 0 for r in status.rows)
        total = sum(r.total_bytes or 0 for r in status.rows)
        parts.append(
            f"{count(len(status.rows), 'replica')} shown: {size(copied)} of {size(total)}."
        )
    return " ".join(parts)


def status_lines(status: ClusterStatus, *, everything: bool = False) -> list[Line]:
    """What is wrong first, then what runs; in groups where many are alike, unless everything is listed."""
    health, rows = status.health, status.rows
    lines = [line(Span(status.summary, Tone.GOES if health.stops_writes else Tone.HEAD))]
    warnings = [*map(str, health.down), *health_warnings(health)]
    lines += [line(Span(f"Warning: {text}", Tone.CHANGES), hang=4) for text in warnings]
    lines += _unhealthy_lines(health.unhealthy, alike=None if everything else ALIKE_SHOWN)
    if status.stopped:
        where = ", ".join(capped(list(map(str, status.stopped)), limit=NAMES_SHOWN))
        partitions = count(len(status.stopped), "partition")
        text = f"Not as wanted, and not running: {partitions}: {where}."
        lines.append(line(Span(text, Tone.GOES), hang=4))
    lines += (
        _running(status, limit=None if everything else REPLICAS_SHOWN)
        if rows
        else plain([NONE_RUNS])
    )
    lines_of_journal = status.journal_lines(everything=everything)
    if status.loop is not None:
        lines_of_journal = [
            *lines_of_journal,
            EMPTY_LINE,
            *loop_lines(status.loop, status.asked_at, everything=everything),
        ]
        lines_of_journal = [*lines_of_journal, EMPTY_LINE]
    return [*lines, *lines_of_journal, *plain([f"As of {status.observed_at}."])]


def _unhealthy_lines(unhealthy: Sequence[Unhealthy], alike: int | None) -> Iterator[Line]:
    """The worst first; `alike`: how many are listed one by one that lack the same brokers."""
    groups = dict[tuple[HealthState, tuple[BrokerId, ...]], list[Unhealthy]]()
    for partition in unhealthy:
        lacks = tuple(sorted(set(partition.state.replicas) - set(partition.state.isr)))
        groups.setdefault((partition.health, lacks), []).append(partition)
    for (health, lacks), group in groups.items():
        tone = Tone.GOES if health is HealthState.OFFLINE else Tone.CHANGES
        if alike is None or len(group) <= alike:
            texts = [_unhealthy(partition) for partition in group]
        else:
            named = ", ".join(
                capped(group, lambda f: str(f.state.partition), limit=GROUP_NAMES_SHOWN)
            )
            texts = [f"{len(group):,} {health}, out of sync {brokers(lacks)}: {named}"]
        yield from (line(Span(f"  {text}", tone), hang=6) for text in texts)


def _unhealthy(partition: Unhealthy) -> str:
    state = partition.state
    leader = "no leader" if state.leader is None else f"leader {state.leader}"
    return (
        f"{state.partition}  {partition.health}  in sync {brokers(state.isr)} of {brokers(state.replicas)}, "
        f"minimum {partition.min_insync}, {leader}{_electable(state)}{_offline(partition)}"
    )


def _offline(partition: Unhealthy) -> str:
    return "".join(f", offline on live broker {b}" for b in partition.offline)


def _electable(state: PartitionState) -> str:
    """Who could lead beside the ISR, and how many in all; empty where nobody could."""
    if not state.eligible and not state.last_known_elr:
        return ""
    last = "".join(f", last known leader {b}" for b in state.last_known_elr)
    return f", eligible {brokers(state.eligible)}{last}, electable {state.electable}"


def health_warnings(health: Health) -> Iterator[str]:
    """What a person should know of the health beside the partitions."""
    if health.hidden:
        named = ", ".join(capped(list(health.hidden), limit=LINES_LISTED))
        yield f"this user may not describe {named}, and needs the ACL Describe on Topic; nothing is known of them"
    if health.unread:
        named = ", ".join(capped(list(health.unread), limit=LINES_LISTED))
        yield (
            f"this user may not read the min.insync.replicas of {named}, and needs the ACL DescribeConfigs on Topic; "
            "partitions there that lack an in-sync replica may be under it"
        )
    if health.unclean:
        yield unclean_text(health.unclean)
    gone = [u.state.partition for u in health.unhealthy if u.elr_gone]
    if gone:
        yield elr_gone_text(gone)


def _running(status: ClusterStatus, limit: int | None) -> list[Line]:
    """KIP-179's table, with bytes and whose each is; and rates and times where they were measured."""
    shown = status.rows[:limit]
    cells = [_cells(row, status) for row in shown]
    titles = [title if any(of) else "" for title, *of in zip(REPLICA_HEADS, *cells, strict=True)]
    more = left_out(len(status.rows) - len(shown), "replica", "--all lists them")
    return [EMPTY_LINE, *table([titles, *cells]), *plain(more), EMPTY_LINE]


def _cells(row: ReplicaRow, status: ClusterStatus) -> tuple[str, ...]:
    running = status.reassignments.get(row.partition) is ReassignmentState.RUNNING
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


def render_status_markdown(status: ClusterStatus) -> str:
    """For a pull request or a chat: the summary, then tables, as much as a comment holds; ends with a newline."""
    health, rows = status.health, status.rows
    text = f"## replan status\n\n{status.summary} As of {status.observed_at}.\n"
    text += "".join(f"\n**Warning:** {broker}\n" for broker in health.down)
    text += "".join(f"\n**Warning:** {escape(line)}\n" for line in health_warnings(health))
    lines_of_journal = drawn(status.journal_lines()).splitlines()
    if lines_of_journal:
        text += "\n" + "".join(
            f"> {escape(text_line.strip())}  \n" for text_line in lines_of_journal
        )
    if health.unhealthy:
        rows_of_health = (_unhealthy_row(a) for a in health.unhealthy)
        text += (
            f"\n{table_head('partition', 'health', 'in sync', 'replicas', 'min ISR', 'leader')}\n"
        )
        text += fitted(rows_of_health, len(health.unhealthy), LIMIT // 2, "more partition")
    if rows:
        running = (
            table_row(
                (code(str(r.partition)), str(r.broker), status_text(r), copied_text(r) or "–")
            )
            for r in rows
        )
        text += f"\n{table_head('partition', 'broker', 'status', 'copied')}\n"
        text += fitted(running, len(rows), LIMIT - len(text), "more replica")
    else:
        text += f"\n{NONE_RUNS}\n"
    return text


def _unhealthy_row(partition: Unhealthy) -> str:
    state = partition.state
    lists = (code(brokers(state.isr)), code(brokers(state.replicas)))
    leader = "none" if state.leader is None else str(state.leader)
    return table_row(
        (code(str(state.partition)), partition.health, *lists, str(partition.min_insync), leader)
    )


def render_status_json(status: ClusterStatus, indent: int | None = 2) -> str:
    """One JSON document, format version 1; without `indent` on one line."""
    health, application = status.health, status.application
    fields: dict[str, object] = {
        "observedAt": status.observed_at,
        "partitions": health.partitions,
        **({"hidden": health.hidden} if health.hidden else {}),
        **({"minInsyncUnread": health.unread} if health.unread else {}),
        **({"journalUnread": True} if status.journal_unread else {}),
        **({"openElsewhere": status.open_elsewhere} if status.open_elsewhere else {}),
        **({"wasOpen": status.was_open} if status.was_open else {}),
        **({"loop": to_builtins(status.loop)} if status.loop is not None else {}),
        "health": {state: health.count(state) for state in HealthState},
        "brokersDown": health.down,
        "uncleanElection": health.unclean,
        "unhealthy": [
            {
                **a.state.partition._asdict(),
                "state": a.health,
                "isr": a.state.isr,
                "replicas": a.state.replicas,
                "leader": a.state.leader,
                "effectiveMinInsync": a.min_insync,
                "elr": a.state.eligible,
                "lastKnownElr": a.state.last_known_elr,
                "electable": a.state.electable,
                "offlineOnLiveBrokers": a.offline,
                "elrCleared": a.elr_gone,
            }
            for a in health.unhealthy
        ],
        "running": [replica_json(r) for r in status.rows],
        "asked": [
            {**n._asdict(), "state": standing}
            for n, standing in sorted(status.reassignments.items())
            if status.named
        ],
        "application": None
        if application is None
        else application_json(application, status.resume),
        "ownThrottles": status.own_throttles,
        "unknownThrottles": throttles_json(status.unknown_throttles),
    }
    return json_report("replan.status", fields, indent=indent)
