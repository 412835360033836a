"""`tails show` and `replay`, and what --save-tails does: records that a recovery drops, produced again, each once."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from replan.commands.frame.output import note, result
from replan.commands.shared.target import Connection, LiveTarget
from replan.errors import BadUsage, ClusterRefused, ClusterUnreachable, Exit, UnsafePlan
from replan.wording import count, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replan.kafka.record_batches import RecordBatch
    from replan.kafka.tails import Tails
    from replan.model.control_plane import Look
    from replan.model.names import BrokerId, TopicId, TopicPartition
    from replan.planning.plans.plan import Plan
    from replan.planning.recovery.candidates import Tail
    from replan.planning.recovery.recovery import Recovery
    from replan.snapshots.tail_files import Replayed, Replays, TailForm

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
    nobody knows whether one is led: nothing is saved; where a part is in remote storage only: the rest is saved; and as
    `Tails.read`: what was saved before that stays in the index.
    """
    if folder is None or not plan.unclean:
        return
    tails = tails_of(connection, "--save-tails")
    from msgspec.structs import replace

    from replan.model.control_plane import Wanted
    from replan.snapshots.tail_files import saved_topic_ids, write_index

    wanted = Wanted(partitions=[r.partition for r in plan.unclean])
    look = connection.control_plane.look(wanted)
    _check_shown(look, wanted.partitions)
    saved_files = saved_topic_ids(folder, plan.cluster_id)
    saved: list[TailForm] = []
    remote: list[str] = []
    try:
        for recovery, tail in _dropped(plan, look):
            begin = tails.held_from(tail.broker, recovery.partition, tail.begin)
            if begin > tail.begin:
                last = min(begin, tail.end) - 1
                remote.append(
                    f"{recovery.partition}, {tail.begin:,} to {last:,} of broker {tail.broker}"
                )
            if begin < tail.end:
                held = replace(tail, begin=begin)
                saved += _save_tail(held, recovery, folder, tails, saved_files)
    finally:
        if saved:
            write_index(folder, plan.cluster_id, saved)
            records = sum(tail.records for tail in saved)
            note(f"saved {count(records, 'record')} of {count(len(saved), 'log')} in {folder}")
    if not saved:
        note(f"--save-tails {folder}: there is nothing to save that is not there already")
    if remote:
        raise UnsafePlan(
            f"nothing was elected: --save-tails cannot save what is in remote storage only: {listed(remote)}\n"
            "  no replica hands it out; it stays there, unused, until retention deletes it\n"
            "  to elect without it, leave out --save-tails"
        )


def _dropped(plan: "Plan", look: "Look") -> "Iterator[tuple[Recovery, Tail]]":
    """The ends of logs that each unclean recovery drops of a partition that has no leader yet."""
    from replan.planning.recovery.candidates import tails

    for recovery in plan.unclean:
        state = look.partitions.get(recovery.partition)
        if state is None or state.leader is not None:
            continue
        answered = {c.broker: c.known_log for c in recovery.candidates if c.known_log is not None}
        for tail in tails(answered, recovery.chosen):
            yield recovery, tail


def _check_shown(look: "Look", names: "Collection[TopicPartition]") -> None:
    """Raise UnsafePlan where a look does not say whether a partition is led, and so whether records can be saved."""
    unclear = sorted(look.unclear.intersection(names))
    if unclear:
        raise UnsafePlan(
            "nothing was elected: --save-tails has to know whether they are led, and brokers show older metadata than "
            f"the controller: {listed(unclear)}; try again"
        )
    topics = {n.topic for n in names if n not in look.partitions} & look.forbidden.keys()
    if topics:
        lacks = listed(f"{look.forbidden[t]} on Topic {t}" for t in sorted(topics))
        raise UnsafePlan(
            "nothing was elected: --save-tails has to know whether partitions are led, and this user lacks the ACL "
            f"{lacks}; grant it"
        )


def _save_tail(
    tail: "Tail",
    recovery: "Recovery",
    folder: Path,
    tails: "Tails",
    saved_files: "Mapping[str, TopicId]",
) -> "list[TailForm]":
    """Save one, if the folder does not have it."""
    from replan.snapshots.tail_files import TailForm, file_name, write_content

    name = recovery.partition
    file = file_name(name, tail.broker, recovery.leader_epoch, tail.begin)
    if saved_files.get(file) == recovery.topic_id:
        return []
    if file in saved_files:
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

    def __init__(self, batches: "Iterator[RecordBatch]") -> None:
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


def _replayed(replay: "Replayed", tail: "TailForm") -> str:
    if replay.unknown_to is not None:
        return f"unknown from {replay.to:,}"
    if replay.to <= tail.begin:
        return "no"
    return "all" if replay.to >= tail.end else f"up to {replay.to:,}"


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
    from replan.reporting.lines import aligned_lines
    from replan.snapshots.tail_files import read_index, read_replays, read_tail_batches

    index, replays = read_index(folder), read_replays(folder)
    rows = [("partition", "broker", "offsets", "records", "bytes", "replayed", "file")]
    for tail in index.tails:
        size = len(read_tail_batches(folder, tail))
        offsets = f"{tail.begin:,} to {tail.end - 1:,}"
        done = _replayed(replays.of(tail), tail)
        records = f"{tail.records:,}"
        rows.append(
            (str(tail.name), str(tail.broker), offsets, records, f"{size:,}", done, tail.file)
        )
    result("\n".join([*aligned_lines(rows), f"cluster {index.cluster_id}"]) + "\n")
    return Exit.OK


def tails_replay(
    *,
    folder: TailFolder,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="NAME", help="Only of this topic; repeatable."),
    ] = None,
    broker: Annotated[
        int | None,
        typer.Option(metavar="ID", help="Only what this broker had."),
    ] = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also what was produced again before: it comes once more."),
    ] = False,
    unknown: Annotated[
        Literal["send", "skip"] | None,
        typer.Option(
            help="What to do with records of which an earlier replay does not know whether they arrived: look at the "
            "end of the partition first."
        ),
    ] = None,
    auto_approve: Annotated[
        bool, typer.Option("--auto-approve", help="Do not ask for approval.")
    ] = False,
    cluster: LiveTarget,
) -> Exit:
    """Produce saved records again, to the partitions that they were in.

    They come behind what was written since, in their own order, with their keys, headers and timestamps; they belong to
    no producer and to no transaction any more, and markers of transactions are left out: records of aborted
    transactions become visible. What several replicas had is produced once.

    Nothing is sent twice. The folder keeps how far a replay is; the same command goes on from there (with --again, too,
    where that was interrupted), and leaves out what was produced before. Where an answer is lost it stops and
    says so.

    Exit codes:
      0  all were acknowledged by all in-sync replicas, now or before
      1  an error, or not approved; the message says how far it got

    Examples:
      replan tails replay lost/ --topic orders --bootstrap-server kafka-1:9092
      replan tails replay lost/ --broker 2 --auto-approve --bootstrap-server kafka-1:9092
    """
    from replan.commands.shared.application import agreed
    from replan.errors import WrongCluster
    from replan.snapshots.tail_files import open_replays, read_index

    index = read_index(folder)
    of_topics = [tail for tail in index.tails if not topics or tail.topic in topics]
    chosen = [tail for tail in of_topics if broker in {None, tail.broker}]
    if not chosen:
        raise BadUsage(f"{folder} has no such records; `replan tails show {folder}` lists them")
    with cluster.connect() as connection, open_replays(folder) as replays:
        tails = tails_of(connection, "replay")
        if connection.control_plane.cluster_id() != index.cluster_id:
            raise WrongCluster(
                f"{folder} is of cluster {index.cluster_id}, and another one answered"
            )
        decide_unknown(of_topics, replays, unknown)
        going_on = any(replays.unfinished(tail) for tail in chosen)
        new_round = again and not going_on
        ahead = replays.asked_again(chosen) if new_round else replays
        records = sum(b.records for _, b in left_over(chosen, of_topics, folder, ahead))
        if again and going_on:
            note("going on with what an interrupted --again has begun")
        if not records:
            done(chosen, replays)
            note("all of it was produced again before; --again produces it once more")
            return Exit.OK
        note(f"{count(records, 'record')} of {count(len(chosen), 'log')} will be produced again")
        if not (auto_approve or agreed()):
            note("not approved; nothing was produced")
            return Exit.ERROR
        if new_round:
            replays.again(chosen)
        for tail, batch in left_over(chosen, of_topics, folder, replays):
            _produce(tail, batch, tails, connection, replays)
        done(chosen, replays)
    note(f"produced {count(records, 'record')} again")
    return Exit.OK


def decide_unknown(
    tails: "Iterable[TailForm]", replays: "Replays", decision: Literal["send", "skip"] | None
) -> None:
    """Settle what an earlier replay did not get an answer for; raises BadUsage where nobody says how."""
    for tail in tails:
        replay = replays.of(tail)
        if replay.unknown_to is None:
            continue
        if decision is None:
            raise BadUsage(
                f"{tail.name}: nobody knows whether the records from offset {replay.to} to {replay.unknown_to - 1} of "
                f"broker {tail.broker} were produced by an earlier replay\nLook at the end of the partition, then pass "
                "--unknown skip (they are there) or --unknown send (they are not)"
            )
        if decision == "skip":
            replays.produced(tail, replay.unknown_to)
        else:
            replays.refused(tail)


def left_over(
    chosen: "Iterable[TailForm]", of_topics: "Iterable[TailForm]", folder: Path, replays: "Replays"
) -> "Iterator[tuple[TailForm, RecordBatch]]":
    """The batches that are to be produced: none that was in this round or a later one, and none twice, whoever had it.

    Replicas hold the batches of a leader as they are, so equal records are equal bytes.
    """
    names = {tail.name for tail in chosen}
    held = [
        (tail, batch.last, (tail.name, hashlib.sha256(batch.content).digest()))
        for tail in of_topics
        if tail.name in names
        for batch in _batches(tail, folder)
    ]
    begun = {replays.of(tail).round for tail in chosen}
    keys_of_round = {
        r: {key for tail, last, key in held if last < replays.since(tail, r)} for r in begun
    }
    for tail in chosen:
        state = replays.of(tail)
        for batch in _batches(tail, folder):
            key = tail.name, hashlib.sha256(batch.content).digest()
            bare = batch.control or not batch.records  # compaction leaves empty ones
            if not bare and batch.last >= state.to and key not in keys_of_round[state.round]:
                for keys in keys_of_round.values():
                    keys.add(key)
                yield tail, batch


def done(tails: "Iterable[TailForm]", replays: "Replays") -> None:
    """Nothing of these is left."""
    for tail in tails:
        if replays.of(tail).to < tail.end:
            replays.produced(tail, tail.end)


def _batches(tail: "TailForm", folder: Path) -> "Iterator[RecordBatch]":
    from replan.kafka.record_batches import batches
    from replan.snapshots.tail_files import read_tail_batches

    return batches(read_tail_batches(folder, tail))


def _produce(
    tail: "TailForm",
    batch: "RecordBatch",
    tails: "Tails",
    connection: Connection,
    replays: "Replays",
) -> None:
    from replan.model.control_plane import Accepted, Rejected

    leader = _leader(tail, connection)
    replays.sending(tail, batch.base, batch.last + 1)
    answer = tails.produce(leader, tail.name, batch)
    if isinstance(answer, Accepted):
        replays.produced(tail, batch.last + 1)
        return
    which = f"{tail.name}: the records from offset {batch.base} of broker {tail.broker} on"
    if isinstance(answer, Rejected):
        replays.refused(tail)
        raise ClusterRefused(
            f"{which} were rejected with {answer.code} {answer.name}: {answer.message}\n"
            "  those before are produced; the same command goes on behind them"
        )
    raise ClusterUnreachable(
        f"{which} were not acknowledged: {answer.reason}\n"
        "  those before are produced, and nobody knows whether these are: look at the end of the partition, then pass "
        "--unknown skip or --unknown send"
    )


def _leader(tail: "TailForm", connection: Connection) -> "BrokerId":
    from replan.model.control_plane import Wanted

    state = connection.control_plane.look(Wanted(partitions=[tail.name])).partitions.get(tail.name)
    if state is None or state.topic_id != tail.topic_id:
        raise BadUsage(f"{tail.name} is not there any more, or is another topic of that name")
    if state.leader is None:
        raise ClusterUnreachable(f"{tail.name} has no leader; nothing more of it was produced")
    return state.leader
