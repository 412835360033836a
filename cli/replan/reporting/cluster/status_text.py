"""Health and running reassignments as text, markdown and json: the worst first, every replica that comes or goes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from replan.applying.views.standing import OpenApplication, StandingThrottle
from replan.model.names import TopicPartition
from replan.model.partition import PartitionState
from replan.planning.findings.health import Health, HealthState, Unhealthy
from replan.planning.findings.replica_progress import ReplicaRow
from replan.reporting.cluster.application_text import (
    application_json,
    application_lines,
    throttle_lines,
    throttles_json,
)
from replan.reporting.cluster.replica_progress_text import copied_text, replica_json, status_text
from replan.reporting.markdown import LIMIT, code, escape, fitted, head, row
from replan.reporting.quantities import brokers
from replan.reporting.sentences.health_text import broker_down_json, broker_down_text
from replan.reporting.table import columns
from replan.wording import SHOWN, capped, count, left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `status` shows."""

    health: Health
    rows: Sequence[ReplicaRow]
    observed_at: str
    application: OpenApplication | None = None
    unknown_throttles: Sequence[StandingThrottle] = ()
    own_throttles: int = 0
    """Settings of replan."""
    resume: str = "replan resume"
    """The command that goes on with the application."""
    clear: str = "replan throttle clear"
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
        unseen = self.health.hidden and not self.health.partitions
        running = self.health.running or self.application is not None
        unknown = self.journal_unread or bool(self.open_elsewhere) or bool(self.health.unread)
        return not (running or unseen or unknown or any(map(self.health.count, ill)))

    @property
    def summary(self) -> str:
        """How many partitions there are, and how many are in which state."""
        health = self.health
        words = ", ".join(
            f"{health.count(state):,} {state}" for state in HealthState if health.count(state)
        )
        fine = "all in sync" if health.partitions or not health.hidden else "none in sight"
        hidden = f"; not seen: {count(len(health.hidden), 'topic')}" if health.hidden else ""
        return f"{count(health.partitions, 'partition')}: {words or fine}{hidden}."

    @property
    def known(self) -> list[str]:
        """The lines of the journal, and of throttles that it does not know."""
        found = self.application
        lines = [] if found is None else application_lines(found, self.resume)
        lines += self.open_elsewhere.splitlines()
        if self.journal_unread:
            lines.append("The journal cannot be read: whether an application is open is not known.")
        if self.own_throttles:
            settings = count(self.own_throttles, "throttle setting")
            ends = (
                f"`{self.clear}` restores what was there before"
                if found is None
                else "restored when the application ends"
            )
            lines.append(f"{settings} of replan in the cluster; {ends}")
        return [*lines, *throttle_lines(self.unknown_throttles)]


def render_status(status: Status) -> str:
    """Plain text; ends with a newline."""
    health, rows = status.health, status.rows
    lines = [status.summary]
    lines += [f"Warning: {broker_down_text(found)}" for found in health.down]
    lines += [f"Warning: {line}" for line in health_warnings(health)]
    lines += [f"  {line}" for line in capped(health.unhealthy, _unhealthy)]
    lines += _running(rows) if rows else ["No reassignment is running."]
    return "\n".join([*lines, *status.known, f"As of {status.observed_at}."]) + "\n"


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


def unclean_text(topics: Sequence[str]) -> str:
    """Topics where unclean election is on, and what that means."""
    return (
        f"unclean.leader.election.enable is true for {count(len(topics), 'topic')} "
        f"({', '.join(capped(topics, limit=SHOWN))}): Kafka itself may elect a replica that lost records"
    )


def elr_gone_text(partitions: Sequence[TopicPartition]) -> str:
    """Partitions whose ELR has been cleared, and by what."""
    named = ", ".join(capped(partitions, str, limit=SHOWN))
    return (
        f"no eligible replica although under min ISR: {count(len(partitions), 'partition')} ({named}): a change of "
        "min.insync.replicas clears the ELR of a topic, as an unclean election or unclean restarts do"
    )


def _running(rows: Sequence[ReplicaRow]) -> list[str]:
    table = [("Topic", "Partition", "Broker", "Status", "Copied")]
    table += [
        (
            r.partition.topic,
            str(r.partition.partition),
            str(r.broker),
            status_text(r),
            copied_text(r),
        )
        for r in rows[:SHOWN]
    ]
    return ["", *columns(table), *left_out(len(rows) - SHOWN), ""]


def render_status_markdown(status: Status) -> str:
    """For a pull request or a chat: the summary, then tables, as much as a comment holds; ends with a newline."""
    health, rows = status.health, status.rows
    text = f"## replan status\n\n{status.summary} As of {status.observed_at}.\n"
    text += "".join(f"\n**Warning:** {broker_down_text(found)}\n" for found in health.down)
    text += "".join(f"\n**Warning:** {escape(line)}\n" for line in health_warnings(health))
    if status.known:
        text += "\n" + "".join(f"> {escape(line.strip())}  \n" for line in status.known)
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
        text += "\nNo reassignment is running.\n"
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
        "application": None if found is None else application_json(found, status.resume),
        "ownThrottles": status.own_throttles,
        "unknownThrottles": throttles_json(status.unknown_throttles),
    }
    return json.dumps(document, indent=2) + "\n"
