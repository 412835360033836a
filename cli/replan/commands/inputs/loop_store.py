"""What the loop of a cluster has left in its journal, for commands that only look."""

from replan.commands.inputs.journals import topic_of
from replan.commands.inputs.target import Connection, Target
from replan.reconciling.status import Status


def loop_of(cluster: Target, connection: Connection, now: float) -> Status | None:
    """What the loop that has the lease on a cluster does, by the journal; None where there is none.

    Raises ClusterUnreachable, ClusterRefused, BadFile.
    """
    from replan.reconciling.standing import standing_loop
    from replan.reconciling.store import FolderStore

    where = cluster.journal_place
    if where.path is not None:
        return standing_loop(FolderStore(where.path).read(), now)
    reader = topic_of(connection, where).reader
    return standing_loop(reader.records(), now) if reader.refresh() else None
