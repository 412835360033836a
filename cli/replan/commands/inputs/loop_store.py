"""Where the loop of a cluster keeps its records, for commands; and what it has left there, for those that only look."""

from typing import TYPE_CHECKING

from replan.commands.inputs.journals import topic_of
from replan.commands.inputs.target import Connection, Target
from replan.reconciling.status import Status

if TYPE_CHECKING:
    from replan.kafka.journal.topic import JournalTopic
    from replan.reconciling.history import History
    from replan.reconciling.memory import Memory
    from replan.reconciling.store import LoopStore


def loop_store(
    cluster: Target, connection: Connection, topic: "JournalTopic | None" = None
) -> "LoopStore":
    """Beside a journal file, or in the topic of the journal: `topic`, where that was made already."""
    from replan.reconciling.store import FolderStore

    where = cluster.journal_place
    if where.path is not None:
        return FolderStore(where.path)
    return (topic or topic_of(connection, where)).loop_records()


def loop_of(cluster: Target, connection: Connection, now: float) -> Status | None:
    """What the loop of a cluster does, by the journal; None where there is none.

    Raises ClusterUnreachable, ClusterRefused, BadFile.
    """
    from replan.reconciling.standing import standing_loop

    return standing_loop(loop_store(cluster, connection).read(), now)


def kept_by_loop(cluster: Target) -> "tuple[Memory, History]":
    """What the loops of a cluster remember. Raises ClusterUnreachable, ClusterRefused, BadFile."""
    from replan.reconciling.store import load

    with cluster.connect() as connection:
        return load(loop_store(cluster, connection).read())
