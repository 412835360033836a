"""Commands about the journal and its lock: `journal show`, `lock show`, `lock release`."""

from typing import Annotated

import typer

from replan.commands.frame.output import result
from replan.commands.shared.options import TextOrJson
from replan.commands.shared.target import AnsweringTarget
from replan.errors import BadUsage, Exit


def journal_show(
    *,
    form: TextOrJson = "text",
    cluster: AnsweringTarget,
) -> Exit:
    """List the applications in the journal, and the records of the open one.

    Of each: who opened it and when, how long it took, its plan, how many partitions, what its finished copies had to
    copy, and how it ended. The last twenty are kept.

    Exit codes:
      0  shown
      1  an error

    Examples:
      replan journal show --bootstrap-server kafka-1:9092
      replan journal show --simulated cluster.json --format json
    """
    from replan.commands.shared.journals import read_journal
    from replan.reporting.application.journal_text import render_journal, render_journal_json

    with cluster.connect() as connection:
        cluster_id = connection.control_plane.cluster_id()
        journal = read_journal(cluster, connection, cluster_id)
    match form:
        case "text":
            result(render_journal(journal.ledger, journal.holder, str(cluster.journal_place)))
        case "json":
            result(render_journal_json(journal.ledger, journal.holder, str(cluster.journal_place)))
    return Exit.OK


def lock_show(*, cluster: AnsweringTarget) -> Exit:
    """Show which process holds the lock of the cluster.

    Exit codes:
      0  shown, whether or not there is one
      1  an error

    Examples:
      replan lock show --bootstrap-server kafka-1:9092
      replan lock show --simulated cluster.json
    """
    from replan.applying.journal.file import holder
    from replan.commands.shared.journals import journal_topic_of
    from replan.reporting.application.journal_text import NO_LOCK, render_lock

    where = cluster.journal_place
    if where.path is not None:
        held = holder(where.path)
        result(f"{held}\n" if held else NO_LOCK)
        return Exit.OK
    with cluster.connect() as connection:
        reader = journal_topic_of(connection, where).locks
        lock = reader.lock if reader.refresh() else None
    if lock is None or not lock.held:
        result(NO_LOCK)
    else:
        result(render_lock(lock.id, lock.owner, lock.since, lock.application, lock.at))
    return Exit.OK


def lock_release(
    *,
    lock_id: Annotated[
        str, typer.Argument(metavar="ID", help="The lock's id, as `replan lock show` prints it.")
    ],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; its owner is shown this.")
    ],
    cluster: AnsweringTarget,
) -> Exit:
    """Take the lock away from the process that holds it.

    That process can write no more and stops; its application stays open, to be resumed or abandoned. A lock whose
    process is gone need not be released: it is taken over after 60 s.

    Exit codes:
      0  released
      1  an error, or another process has the lock now

    Examples:
      replan lock release 3f9a1c02b7de --reason "the job hangs" --bootstrap-server kafka-1:9092
      replan lock release 3f9a1c02b7de --reason cancelled --cluster eu-1
    """
    from replan.commands.shared.journals import journal_topic_of, owner

    where = cluster.journal_place
    if where.path is not None or not cluster.is_real:
        raise BadUsage("the lock of a journal file ends with its process; stop that one")
    from replan.kafka.journal.owner import release_lock

    with cluster.connect() as connection:
        released = release_lock(journal_topic_of(connection, where), lock_id, reason, owner())
    result(f"released: {released.id} of {released.owner}\n")
    return Exit.OK
