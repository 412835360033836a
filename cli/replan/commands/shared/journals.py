"""The journal of a cluster for commands: read without its lock, or owned while something is done.

On a real cluster it is a topic there, so that any machine may go on; beside the state file for a simulated one.
`--journal` names another. The loop of a cluster keeps its records beside the journal: its store is opened here, too.
"""

import getpass
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from replan.applying.journal.file import FileJournal, holder, peek
from replan.applying.journal.ledger import JournalState, fold
from replan.applying.journal.protocol import MemoryJournal, SteeredJournal
from replan.commands.frame.output import note
from replan.commands.shared.target import Connection, JournalPlace, LiveTarget, Target
from replan.errors import BadFile, BadUsage, ClusterRefused, ClusterUnreachable, Held
from replan.model.names import JOURNAL_TOPIC, Replicas
from replan.reconciling.status import LoopStatus

if TYPE_CHECKING:
    from replan.kafka.journal.topic import JournalTopic
    from replan.reconciling.history import History
    from replan.reconciling.memory import Memory
    from replan.reconciling.store import LoopStore

NOT_LOCKED = "note: the journal is a file on this machine: nothing is locked, and no other machine can resume"
LEADERLESS_SECONDS = 5.0
"""For a leader of the journal topic, by commands that go on without what it says. Another one is elected in less."""


def owner() -> str:
    """Who this is, for people who read the journal."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no entry in /etc/passwd
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()} (pid {os.getpid()})"


def journal_state(cluster: Target, connection: Connection, cluster_id: str) -> JournalState:
    """What the journal says, without taking its lock; a note where it cannot be read, as while it has no leader."""
    try:
        return read_journal(cluster, connection, cluster_id)
    except (ClusterRefused, ClusterUnreachable) as problem:
        note(f"note: open applications and remembered orders are not known: {problem}")
        return JournalState(unread=True)


def read_journal(
    cluster: Target,
    connection: Connection,
    cluster_id: str,
    topic: "JournalTopic | None" = None,
) -> JournalState:
    """The same; raises ClusterRefused, ClusterUnreachable or BadFile where it cannot be read.

    `topic`: that of the journal, where it was read before, to read on from there.
    """
    where = cluster.journal_place
    if where.path is not None:
        in_topic = _open_in_a_topic(connection) if cluster.is_real else ""
        if in_topic:
            note(f"note: {in_topic}")
        ledger = fold(peek(where.path, cluster_id))
        return JournalState(ledger, holder(where.path), elsewhere=in_topic)
    topic = topic or journal_topic_of(connection, where)
    exist = [reader.topic for reader in topic.readers if reader.refresh(LEADERLESS_SECONDS)]
    if not exist:
        return JournalState()
    elsewhere = topic.open_elsewhere(where.topic)
    text = ""
    if elsewhere is not None:
        from replan.kafka.journal.read import elsewhere_text

        text = elsewhere_text(*elsewhere)
        note(f"note: {text}")
    lock = topic.locks.lock
    held = lock is not None and lock.held and lock.journal == where.topic
    return JournalState(
        fold(topic.reader.records()),
        f"{lock.owner} since {lock.since}, last sign of life {lock.at}" if lock and held else None,
        elsewhere=text,
    )


@contextmanager
def owned_journal(
    cluster: LiveTarget,
    connection: Connection,
    cluster_id: str,
    *,
    create: bool = True,
    placed: Replicas = (),
    say: Callable[[str], None] = note,
) -> Iterator[SteeredJournal]:
    """Take the journal for as long as something is done; without `create` an empty one where there is no topic.

    `placed`: where the replicas of a topic shall be that has to be made; `say`: hears while a lock is watched.

    Raises:
        Held: another process has it, or an application is open elsewhere.
        BadUsage: a file on a real cluster, without --unlocked.
    """
    where = cluster.journal_place
    if where.path is not None:
        if cluster.is_real:
            _check_unlocked(cluster, connection)
        with FileJournal(where.path, cluster_id) as journal:
            yield journal
        return
    topic = journal_topic_of(connection, where)
    try:
        exists = [reader for reader in topic.readers if reader.refresh()]
    except ClusterUnreachable as problem:
        raise ClusterUnreachable(
            f"{problem}\nNothing was changed. Where it has no leader any more, act without it: `replan elect best-log "
            f"--topic {where.topic} --journal file:PATH --unlocked`; `replan docs operations` says what to mind.",
            waits_for=problem.waits_for,
        ) from problem
    if topic.reader not in exists and not create:
        yield MemoryJournal()
        return
    from replan.kafka.journal.owner import take_ownership

    timeout = cluster.lock_timeout or 0
    with take_ownership(
        topic, owner(), topic.clock, lock_timeout=timeout, note=say, placed=placed
    ) as journal:
        yield journal


def journal_topic_of(connection: Connection, where: JournalPlace) -> "JournalTopic":
    """The topic that holds the journal."""
    if connection.journal_topic is None:
        raise BadUsage("--journal topic:NAME goes with --bootstrap-server; write file:PATH")
    return connection.journal_topic(where.topic)


def _check_unlocked(cluster: LiveTarget, connection: Connection) -> None:
    """A file is for emergencies, and no way around what is open on the cluster."""
    if not cluster.unlocked:
        raise BadUsage(
            "--journal file:PATH on a real cluster locks out no other machine; leave it out, "
            "or pass --unlocked in an emergency"
        )
    note(NOT_LOCKED)
    in_topic = _open_in_a_topic(connection)
    if in_topic:
        raise Held(in_topic)


def _open_in_a_topic(connection: Connection) -> str:
    """Which application is open in a topic of the cluster, and how to go on with it; empty where none is known."""
    topic = journal_topic_of(connection, JournalPlace())
    try:
        if not topic.locks.refresh(LEADERLESS_SECONDS):
            return ""
        elsewhere = topic.open_elsewhere(None)
    except (BadFile, ClusterRefused, ClusterUnreachable) as problem:
        note(f"note: the journal topic {JOURNAL_TOPIC} is not read: {problem}")
        return ""
    if elsewhere is None:
        return ""
    from replan.kafka.journal.read import elsewhere_text

    return elsewhere_text(*elsewhere)


def loop_store(
    cluster: Target, connection: Connection, topic: "JournalTopic | None" = None
) -> "LoopStore":
    """Beside a journal file, or in the topic of the journal: `topic`, where that was made already."""
    from replan.reconciling.store import FolderStore

    where = cluster.journal_place
    if where.path is not None:
        return FolderStore(where.path)
    return (topic or journal_topic_of(connection, where)).loop_records()


def loop_of(
    cluster: Target, connection: Connection, now: float, *, applying: bool
) -> LoopStatus | None:
    """What the loop of a cluster does, by the journal; None where there is none.

    Raises ClusterUnreachable, ClusterRefused, BadFile.
    """
    from replan.reconciling.standing import standing_loop

    return standing_loop(loop_store(cluster, connection).read(), now, applying=applying)


def kept_by_loop(cluster: Target) -> "tuple[Memory, History]":
    """What the loops of a cluster remember; what people ask of them counts as obeyed.

    Raises ClusterUnreachable, ClusterRefused, BadFile.
    """
    from replan.reconciling.store import as_obeyed

    with cluster.connect() as connection:
        return as_obeyed(loop_store(cluster, connection).read(), connection.moment().timestamp())
