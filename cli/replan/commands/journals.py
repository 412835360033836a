"""Where the journal of a cluster lies, and what the commands that only read take from it.

On a real cluster it is one file per cluster id and user, so that the same person finds it from any folder; beside the
state file for a simulated one. `--journal` names another.
"""

import getpass
import os
import re
import socket
from pathlib import Path

from replan.applying.journal.file import holder, peek
from replan.applying.journal.ledger import Ledger, fold
from replan.commands.target import Target
from replan.errors import BadUsage
from replan.wording import count

NOT_LOCKED = "note: the journal is a file on this machine; it does not lock out other machines"
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
"""Cluster ids: Kafka makes 22 characters of URL-safe Base64; some vendors make their own."""


def journal_path(cluster: Target, cluster_id: str) -> Path:
    """The journal file that belongs to a cluster."""
    if cluster.journal is not None:
        return cluster.journal
    if cluster.simulated is not None:
        return cluster.simulated.with_name(cluster.simulated.name + ".journal")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    if _PLAIN.fullmatch(cluster_id) is None:
        raise BadUsage(
            f"cluster id {cluster_id!r} cannot be part of a file name; name the journal with --journal FILE"
        )
    return Path(state) / "replan" / f"{cluster_id}.journal"


def owner() -> str:
    """Who this is, for people who read the journal."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no entry in /etc/passwd
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()} (pid {os.getpid()})"


def read_ledger(cluster: Target, cluster_id: str) -> Ledger:
    """What the journal says, without taking its lock."""
    return fold(peek(journal_path(cluster, cluster_id), cluster_id))


def news_of_journal(cluster: Target, cluster_id: str, ledger: Ledger) -> list[str]:
    """What a person should know of the journal before anything else: an open application, throttles of replan."""
    lines: list[str] = []
    application = ledger.application
    if application is not None:
        running = holder(journal_path(cluster, cluster_id))
        ended = count(len(ledger.owned) - len(ledger.open), "partition")
        lines.append(
            f"application {application.id} is "
            + (
                f"running: {running}; "
                if running
                else "interrupted; run `replan resume` to go on; "
            )
            + f"begun by {application.owner}; {ended} ended, {len(ledger.open):,} in progress"
        )
    left = len(ledger.entries) + len(ledger.rates)
    if left:
        active, them, they = ("is", "it", "it is") if left == 1 else ("are", "them", "they are")
        lines.append(
            f"{count(left, 'throttle setting')} of replan {active} active; "
            + (
                f"run `replan throttle clear` to restore {them}"
                if application is None
                else f"{they} restored when the application ends"
            )
        )
    return lines
