"""`tails show`, and what --save-tails does: records that a recovery drops."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from replan.commands.frame.output import note, result
from replan.commands.inputs.target import Connection
from replan.errors import BadUsage, Exit, UnsafePlan
from replan.wording import count, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replan.kafka.record_batches import Batch
    from replan.kafka.tails import Tails
    from replan.model.names import TopicId
    from replan.planning.plans.plan import Plan
    from replan.planning.recovery.candidates import Tail
    from replan.planning.recovery.recovery import Recovery
    from replan.snapshots.tail_files import Replayed, TailForm

SaveTails = Annotated[
    Path | None,
    typer.Option(
        "--save-tails",
        metavar="DIR",
        help="First save the records that unclean elections drop from replicas that answer; `replan tails` reads them.",
    ),
]
TailFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder of --save-tails.")]


def save_tails(plan: "Plan", folder: Path | None, connection: Connection) -> None:
    """Save what the unclean recoveries of a plan drop, before anything is done; nothing without a folder.

    Of partitions that are led already it is too late; what is in the folder is not saved again. Raises UnsafePlan where
    a part of it is in remote storage only: the rest is saved then.
    """
    if folder is None or not plan.unclean:
        return
    tails = tails_of(connection, "--save-tails")
    from msgspec.structs import replace

    from replan.model.control_plane import Wanted
    from replan.planning.recovery.candidates import tails as dropped
    from replan.snapshots.tail_files import known_files, write_index

    wanted = Wanted(partitions=[r.partition for r in plan.unclean])
    states = connection.control_plane.look(wanted).partitions
    known = known_files(folder, plan.cluster_id)
    saved: list[TailForm] = []
    remote: list[str] = []
    for recovery in plan.unclean:
        state = states.get(recovery.partition)
        if state is None or state.leader is not None:
            continue
        answered = {c.broker: c.known for c in recovery.candidates if c.known is not None}
        for tail in dropped(answered, recovery.chosen):
            begin = tails.held_from(tail.broker, recovery.partition, tail.begin)
            if begin > tail.begin:
                last = min(begin, tail.end) - 1
                remote.append(
                    f"{recovery.partition}, {tail.begin:,} to {last:,} of broker {tail.broker}"
                )
            if begin < tail.end:
                held = replace(tail, begin=begin)
                saved += _save_tail(held, recovery, folder, tails, known)
    if saved:
        write_index(folder, plan.cluster_id, saved)
        records = sum(tail.records for tail in saved)
        note(f"saved {count(records, 'record')} of {count(len(saved), 'log')} in {folder}")
    else:
        note(f"--save-tails {folder}: there is nothing to save that is not there already")
    if remote:
        raise UnsafePlan(
            f"nothing was elected: --save-tails cannot save what is in remote storage only: {listed(remote)}\n"
            "  no replica hands it out; it stays there, unused, until retention deletes it\n"
            "  to elect without it, leave out --save-tails"
        )


def _save_tail(
    tail: "Tail", recovery: "Recovery", folder: Path, tails: "Tails", known: "Mapping[str, TopicId]"
) -> "list[TailForm]":
    """Save one, if the folder does not have it."""
    from replan.snapshots.tail_files import TailForm, file_name, write_content

    name = recovery.partition
    file = file_name(name, tail.broker, recovery.leader_epoch, tail.begin)
    if known.get(file) == recovery.topic_id:
        return []
    if file in known:
        raise BadUsage(
            f"--save-tails {folder} has records of another topic {name.topic}, which is deleted; name another folder"
        )
    counted = _Counted(tails.read(tail.broker, name, tail.begin, tail.end))
    sha256 = write_content(folder, file, counted)
    return [
        TailForm(
            topic=name.topic,
            partition=name.partition,
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
    ]


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


def tails_of(connection: Connection, option: str) -> "Tails":
    """The ends of logs of a cluster; raises BadUsage where it is simulated."""
    if connection.tails is None:
        raise BadUsage(f"{option}: a simulated cluster has no records; use --bootstrap-server")
    return connection.tails()


def _replayed(found: "Replayed", tail: "TailForm") -> str:
    if found.unknown_to is not None:
        return f"unknown from {found.to:,}"
    if found.to <= tail.begin:
        return "no"
    return "all" if found.to >= tail.end else f"up to {found.to:,}"


def tails_show(*, folder: TailFolder) -> Exit:
    """List the records that were saved before unclean elections, and how far they were replayed.

    The files are checked against the index.

    Exit codes:
      0  listed
      1  an error, or a file is not what was saved

    Examples:
      replan tails show lost/
      replan tails show /var/lib/replan/tails
    """
    from replan.reporting.lines import columns
    from replan.snapshots.tail_files import read_content, read_index, read_replays

    index, replays = read_index(folder), read_replays(folder)
    rows = [("partition", "broker", "offsets", "records", "bytes", "replayed", "file")]
    for tail in index.tails:
        size = len(read_content(folder, tail))
        offsets = f"{tail.begin:,} to {tail.end - 1:,}"
        done = _replayed(replays.of(tail), tail)
        records = f"{tail.records:,}"
        rows.append(
            (str(tail.name), str(tail.broker), offsets, records, f"{size:,}", done, tail.file)
        )
    result("\n".join([*columns(rows), f"cluster {index.cluster_id}"]) + "\n")
    return Exit.OK
