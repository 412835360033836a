"""Where the journal of a cluster lies, and what the commands that only read take from it.

On a real cluster it is one file per cluster id and user, so that the same person finds it from any folder; beside the
state file for a simulated one. `--journal` names another.
"""

import getpass
import os
import socket
from pathlib import Path

from replan.applying.journal.file import peek
from replan.applying.journal.ledger import Ledger, fold
from replan.commands.target import Target

NOT_LOCKED = (
    "note: the journal is a file on this machine; "
    "another machine that applies at the same time is not locked out"
)


def journal_path(cluster: Target, cluster_id: str) -> Path:
    """The journal file that belongs to a cluster."""
    if cluster.journal is not None:
        return cluster.journal
    if cluster.simulated is not None:
        return cluster.simulated.with_name(cluster.simulated.name + ".journal")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "replan" / f"{cluster_id}.journal"


def owner() -> str:
    """Who this is, for people who read the journal."""
    return f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()})"


def read_ledger(cluster: Target, cluster_id: str) -> Ledger:
    """What the journal says, without taking its lock."""
    return fold(peek(journal_path(cluster, cluster_id)))


def told(ledger: Ledger) -> list[str]:
    """What a person should know of the journal before anything else: an open application, leftovers."""
    lines: list[str] = []
    application = ledger.application
    if application is not None:
        lines.append(
            f"application {application.id} of plan {application.plan_digest[:16]} is open, begun by "
            f"{application.owner}: {len(ledger.owned) - len(ledger.open)} partitions ended, {len(ledger.open)} "
            "in hand; run the same `replan apply` again to resume it"
        )
    left = len(ledger.entries) + len(ledger.rates)
    if left:
        lines.append(
            f"{left} throttle settings of ours are in place; they are put back when the application ends"
        )
    return lines
