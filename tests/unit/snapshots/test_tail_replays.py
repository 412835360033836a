"""How far saved ends of logs were produced again: known after a kill at any point, and to one process at a time."""

import resource
import sys
from functools import partial
from pathlib import Path

import pytest

from replan.errors import BadFile
from replan.model.api import BrokerId, TopicId
from replan.snapshots.api import REPLAYED, Replayed, TailForm, open_replays, read_replays


def tail(broker: int = 2, begin: int = 100, end: int = 300) -> TailForm:
    return TailForm(
        topic="orders",
        partition=0,
        topic_id=TopicId("id"),
        broker=BrokerId(broker),
        leader=BrokerId(3),
        begin=begin,
        end=end,
        records=end - begin,
        file=f"orders-0.broker-{broker}.from-{begin}.batches",
        sha256="0",
    )


def test_nothing_is_replayed_at_first(tmp_path: Path) -> None:
    assert read_replays(tmp_path).of(tail()) == Replayed(100)


def test_what_was_sent_without_an_answer_is_unknown(tmp_path: Path) -> None:
    with open_replays(tmp_path) as replays:
        replays.sending(tail(), 100, 200)
        replays.produced(tail(), 200)
        replays.sending(tail(), 200, 300)
    assert read_replays(tmp_path).of(tail()) == Replayed(200, 300)
    assert read_replays(tmp_path).of(tail(4)) == Replayed(100)


@pytest.mark.parametrize(
    ("end", "expected"),
    [("refused", Replayed(100)), ("produced", Replayed(200)), ("again", Replayed(100, None, 1))],
)
def test_every_end_is_kept(tmp_path: Path, end: str, expected: Replayed) -> None:
    with open_replays(tmp_path) as replays:
        replays.sending(tail(), 100, 200)
        match end:
            case "refused":
                replays.refused(tail())
            case "produced":
                replays.produced(tail(), 200)
            case _:
                replays.again([tail()])
    assert read_replays(tmp_path).of(tail()) == expected


def test_up_to_where_it_was_produced_since_a_round(tmp_path: Path) -> None:
    with open_replays(tmp_path) as replays:
        replays.sending(tail(), 100, 300)
        replays.produced(tail(), 300)
        replays.again([tail()])
        replays.sending(tail(), 100, 200)
        replays.produced(tail(), 200)
    found = read_replays(tmp_path)
    assert [found.since(tail(), begun) for begun in (0, 1, 2)] == [300, 200, 100]


def test_a_line_that_was_cut_off_counts_for_nothing_and_spoils_nothing(tmp_path: Path) -> None:
    path = tmp_path / REPLAYED
    with open_replays(tmp_path) as replays:
        replays.produced(tail(), 200)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole + whole[:cut])
        with open_replays(tmp_path) as replays:
            assert replays.of(tail()) == Replayed(200)
            replays.sending(tail(), 200, 300)
        assert read_replays(tmp_path).of(tail()) == Replayed(200, 300)


def test_one_process_replays_a_folder_at_a_time(tmp_path: Path) -> None:
    with open_replays(tmp_path), pytest.raises(BadFile), open_replays(tmp_path):
        pass


@pytest.mark.parametrize(
    ("act", "known"), [("sending", Replayed(200)), ("produced", Replayed(200, 300))]
)
def test_on_a_full_disk_the_replay_ends(tmp_path: Path, act: str, known: Replayed) -> None:
    """Before a batch is sent; or with one that was acknowledged, which nobody knows then."""
    path, (_, most) = tmp_path / REPLAYED, resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_replays(tmp_path) as replays:
        replays.produced(tail(), 200)
        if act == "produced":
            replays.sending(tail(), 200, 300)
        last = (
            partial(replays.sending, tail(), 200, 300)
            if act == "sending"
            else partial(replays.produced, tail(), 300)
        )
        writes_none = sys.dont_write_bytecode
        sys.dont_write_bytecode = True  # or Python leaves half a .pyc for all others
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 5, most))
        try:
            with pytest.raises(BadFile):
                last()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            sys.dont_write_bytecode = writes_none
    assert read_replays(tmp_path).of(tail()) == known
    with open_replays(tmp_path) as replays:
        assert replays.of(tail()) == known


@pytest.mark.parametrize(
    "damage", [b"\xff\xfe 1\n", b"produced x\n", b"sent x 1\n", b"\0" * 9 + b"\n"]
)
def test_a_damaged_file_is_refused_and_stays_as_it_is(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / REPLAYED
    path.write_bytes(damage + b"produced x 1")
    with pytest.raises(BadFile), open_replays(tmp_path):
        pass
    assert path.read_bytes() == damage + b"produced x 1"
