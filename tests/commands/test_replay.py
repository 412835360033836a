"""What of saved ends of logs is left to produce: each record once, whoever had it, whatever an earlier replay did."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from kafka.record import MemoryRecordsBuilder

from replan.commands.api import decide_unknown, done, left_over
from replan.errors import BadUsage
from replan.model.api import BrokerId, TopicId
from replan.snapshots.api import Replays, TailForm, open_replays, read_replays, write_content


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
) -> list[tuple[int, bytes]]:
    found = left_over(chosen, of_folder, folder, replays)
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
        assert left([two], [one, two], tmp_path, replays.asked_again([two])) == [(2, FIRST)]


def test_another_round_that_is_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    """Whatever had been produced before it began; also of one replica alone, whose records another one had as well."""
    one, two = saved(tmp_path, 1, FIRST, SECOND), saved(tmp_path, 2, FIRST, OTHER)
    both = [one, two]
    with open_replays(tmp_path) as replays:
        done(both, replays)
        assert left(both, both, tmp_path, replays) == []
        replays.again([two])
        assert left([two], both, tmp_path, replays) == [(2, FIRST), (2, OTHER)]
        replays.produced(two, 12)
    replays = read_replays(tmp_path)
    assert replays.unfinished(two)
    assert left([two], both, tmp_path, replays) == [(2, OTHER)]
    assert left(both, both, tmp_path, replays) == [(2, OTHER)]
    done(both, replays)
    assert not replays.unfinished(two)


def test_what_a_later_round_has_produced_is_not_left_of_an_earlier_one(tmp_path: Path) -> None:
    one, two = saved(tmp_path, 1, FIRST, SECOND), saved(tmp_path, 2, FIRST, OTHER)
    text = f"produced {one.file} 11\nagain {two.file}\nproduced {two.file} 13\n"
    replays = Replays(text)
    assert left([one, two], [one, two], tmp_path, replays) == [(1, SECOND)]
    assert not replays.unfinished(one)


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
