"""What of saved ends of logs is left to produce: each record once, whoever had it, whatever an earlier replay did."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from kafka.record import MemoryRecordsBuilder

from replan.commands.elections.replay import decide_unknown, left_over
from replan.errors import BadUsage
from replan.model.names import BrokerId, TopicId
from replan.snapshots.tail_files import TailForm, write_content
from replan.snapshots.tail_replays import Replays, open_replays


def batch(base: int, *values: bytes) -> bytes:
    """A batch as it lies in a log."""
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=100_000)
    for value in values:
        builder.append(timestamp=1, key=None, value=value, headers=[])
    builder.close()
    content = bytearray(builder.buffer())
    struct.pack_into(">q", content, 0, base)
    return bytes(content)


FIRST, SECOND, OTHER = batch(10, b"a", b"b"), batch(12, b"c"), batch(12, b"d")


def saved(folder: Path, broker: int, *content: bytes) -> TailForm:
    file = f"orders-0.broker-{broker}"
    return TailForm(
        topic="orders",
        partition=0,
        topic_id=TopicId("id"),
        broker=BrokerId(broker),
        leader=BrokerId(3),
        begin=10,
        end=13 if len(content) > 1 else 12,
        records=3,
        file=file,
        sha256=write_content(folder, file, content),
    )


def left(
    chosen: Sequence[TailForm],
    of_folder: Sequence[TailForm],
    folder: Path,
    replays: Replays,
    *,
    again: bool = False,
) -> list[tuple[int, bytes]]:
    before = [] if again else of_folder
    found = left_over(chosen, before, folder, replays, again=again)
    return [(tail.broker, batch.content) for tail, batch in found]


def test_what_several_replicas_had_is_produced_once(tmp_path: Path) -> None:
    tails = [saved(tmp_path, 1, FIRST, SECOND), saved(tmp_path, 2, FIRST, OTHER)]
    found = left(tails, tails, tmp_path, Replays(""))
    assert found == [(1, FIRST), (1, SECOND), (2, OTHER)]


def test_what_an_earlier_replay_produced_of_another_replica_is_left_out(tmp_path: Path) -> None:
    one, two = saved(tmp_path, 1, FIRST, SECOND), saved(tmp_path, 2, FIRST)
    with open_replays(tmp_path) as replays:
        replays.sending(two, 10, 12)
        replays.produced(two, 12)
        assert left([one], [one, two], tmp_path, replays) == [(1, SECOND)]
        assert left([two], [one, two], tmp_path, replays) == []
        assert left([two], [one, two], tmp_path, replays, again=True) == [(2, FIRST)]


def test_a_batch_without_an_answer_is_for_a_person_to_decide(tmp_path: Path) -> None:
    tail = saved(tmp_path, 1, FIRST, SECOND)
    text = f"produced {tail.file} 12\nsending {tail.file} 12 13\n"
    with pytest.raises(BadUsage, match="12 to 12 of broker 1"):
        decide_unknown([tail], Replays(text), None)
    sent, skipped = Replays(text), Replays(text)
    decide_unknown([tail], sent, "send")
    decide_unknown([tail], skipped, "skip")
    assert left([tail], [tail], tmp_path, sent) == [(1, SECOND)]
    assert left([tail], [tail], tmp_path, skipped) == []
