"""`tails show`, `tails replay`, and what --save-tails does: records that a recovery drops."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.output import note, result
from replan.commands.target import Connection, LiveTarget
from replan.errors import BadUsage, ClusterRefused, ClusterUnreachable, Exit
from replan.wording import count

if TYPE_CHECKING:
    from replan.kafka.record_batches import Batch
    from replan.kafka.tails import Tails
    from replan.planning.plan import Plan
    from replan.snapshots.tail_files import TailForm

SaveTails = Annotated[
    Path | None,
    typer.Option(
        "--save-tails",
        metavar="DIR",
        help="First save the records that unclean elections drop from replicas that answer; `replan tails` reads them.",
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder of --save-tails.")]


def save_tails(plan: "Plan", folder: Path | None, connection: Connection) -> None:
    """Save what the unclean recoveries of a plan drop, before anything is done; nothing without a folder.

    Of partitions that are led already it is too late; what is in the folder is not saved again.
    """
    if folder is None or not plan.unclean:
        return
    tails = _tails(connection, "--save-tails")
    from replan.model.control_plane import Wanted
    from replan.planning.recovery.candidates import tails as dropped
    from replan.snapshots.tail_files import (
        TailForm,
        file_name,
        known_files,
        write_content,
        write_index,
    )

    wanted = Wanted(partitions=[r.partition for r in plan.unclean])
    states = connection.control_plane.look(wanted).partitions
    known, saved = known_files(folder), list[TailForm]()
    for recovery in plan.unclean:
        state = states.get(recovery.partition)
        for tail in dropped(recovery.candidates, recovery.chosen):
            file = file_name(recovery.partition, tail.broker, tail.begin)
            if state is None or state.leader is not None or file in known:
                continue
            counted = _Counted(tails.read(tail.broker, recovery.partition, tail.begin, tail.end))
            sha256 = write_content(folder, file, counted)
            saved.append(
                TailForm(
                    topic=recovery.partition.topic,
                    partition=recovery.partition.partition,
                    topic_id=recovery.topic_id,
                    broker=tail.broker,
                    leader=recovery.chosen,
                    begin=tail.begin,
                    end=tail.end,
                    records=counted.records,
                    transactional=counted.transactional,
                    file=file,
                    sha256=sha256,
                )
            )
    write_index(folder, plan.cluster_id, saved)
    records = sum(tail.records for tail in saved)
    note(f"saved {count(records, 'record')} of {count(len(saved), 'log')} in {folder}")


class _Counted:
    """The bytes of batches, counted as they pass."""

    def __init__(self, batches: "Iterator[Batch]") -> None:
        self._batches = batches
        self.records = self.transactional = 0

    def __iter__(self) -> Iterator[bytes]:
        for batch in self._batches:
            self.records += 0 if batch.control else batch.records
            self.transactional += batch.transactional and not batch.control
            yield batch.content


def _tails(connection: Connection, option: str) -> "Tails":
    if connection.tails is None:
        raise BadUsage(f"{option}: a simulated cluster has no records; use --bootstrap-server")
    return connection.tails()


def tails_show(*, folder: Folder) -> Exit:
    """List the records that were saved before unclean elections.

    The files are checked against the index.

    Exit codes:
      0  listed
      1  an error, or a file is not what was saved

    Examples:
      replan tails show lost/
      replan tails show /var/lib/replan/tails
    """
    from replan.reporting.table import columns
    from replan.snapshots.tail_files import read_content, read_index

    index = read_index(folder)
    rows = [("partition", "broker", "offsets", "records", "bytes", "file")]
    for tail in index.tails:
        size = len(read_content(folder, tail))
        offsets = f"{tail.begin:,} to {tail.end - 1:,}"
        rows.append(
            (str(tail.name), str(tail.broker), offsets, f"{tail.records:,}", f"{size:,}", tail.file)
        )
    result("\n".join([*columns(rows), f"cluster {index.cluster_id}"]) + "\n")
    return Exit.OK


def tails_replay(
    *,
    folder: Folder,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only of this topic; repeatable."),
    ] = None,
    broker: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Only what this broker had."),
    ] = None,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Do not ask for approval.")
    ] = False,
    cluster: LiveTarget,
) -> Exit:
    """Produce saved records again, to the partitions that they were in.

    They come behind what was written since, in their own order, with their keys, headers and timestamps; they belong to
    no producer and to no transaction any more, and markers of transactions are left out: records of aborted
    transactions become visible. Nothing is sent twice: where an answer is lost, the command stops and says so.

    Exit codes:
      0  all were acknowledged by all in-sync replicas
      1  an error, or not approved; the message says how far it got

    Examples:
      replan tails replay lost/ --topic orders --bootstrap-server kafka-1:9092
      replan tails replay lost/ --broker 2 --auto-approve --bootstrap-server kafka-1:9092
    """
    from replan.commands.application import agreed
    from replan.errors import WrongCluster
    from replan.snapshots.tail_files import read_index

    index = read_index(folder)
    chosen = [
        tail
        for tail in index.tails
        if (not topics or tail.topic in topics) and broker in {None, tail.broker}
    ]
    if not chosen:
        raise BadUsage(f"{folder} has no such records; `replan tails show {folder}` lists them")
    records = sum(tail.records for tail in chosen)
    with cluster.connect() as connection:
        tails = _tails(connection, "replay")
        if connection.control_plane.cluster_id() != index.cluster_id:
            raise WrongCluster(
                f"{folder} is of cluster {index.cluster_id}, and another one answered"
            )
        note(f"{count(records, 'record')} of {count(len(chosen), 'log')} will be produced again")
        if not (auto_approve or agreed()):
            note("not approved; nothing was produced")
            return Exit.ERROR
        for tail in chosen:
            _replay(tail, folder, tails, connection)
    note(f"produced {count(records, 'record')} again")
    return Exit.OK


def _replay(tail: "TailForm", folder: Path, tails: "Tails", connection: Connection) -> None:
    from replan.kafka.record_batches import batches
    from replan.model.control_plane import Accepted, Rejected, Wanted
    from replan.snapshots.tail_files import read_content

    content = read_content(folder, tail)
    state = connection.control_plane.look(Wanted(partitions=[tail.name])).partitions.get(tail.name)
    if state is None or state.topic_id != tail.topic_id:
        raise BadUsage(f"{tail.name} is not there any more, or is another topic of that name")
    if state.leader is None:
        raise ClusterUnreachable(f"{tail.name} has no leader; nothing of it was produced")
    for batch in batches(content):
        if batch.control:
            continue
        answer = tails.produce(state.leader, tail.name, batch)
        if not isinstance(answer, Accepted):
            which = f"{tail.name}: the records from offset {batch.base} of broker {tail.broker} on"
            if isinstance(answer, Rejected):
                raise ClusterRefused(
                    f"{which} were rejected with {answer.code} {answer.name}: {answer.message}\n"
                    "  those before are produced"
                )
            raise ClusterUnreachable(
                f"{which} were not acknowledged: {answer.reason}\n"
                "  those before are produced, and nobody knows whether these are: look before you go on"
            )
