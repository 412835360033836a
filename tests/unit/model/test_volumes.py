"""Which log directories share a volume: what Kafka does not say, by what it says."""

from itertools import accumulate, chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import snapshot, state

from replan.model.api import ALMOST_EMPTY, BrokerId, LogDir, volumes

TOTAL = 1000
B1 = BrokerId(1)


def log_dir(path: str, usable: int | None, *, broker: int = 1, total: int = TOTAL) -> LogDir:
    return LogDir(BrokerId(broker), path, None if usable is None else total, usable)


@pytest.mark.parametrize(
    ("dirs", "lies", "found"),
    [
        ([log_dir("a", 400), log_dir("b", 400)], {}, ["ab"]),
        ([log_dir("a", 410), log_dir("b", 400)], {}, ["ba"]),
        ([log_dir("a", 411), log_dir("b", 400)], {}, ["b", "a"]),
        ([log_dir("a", 400), log_dir("b", 400, total=1001)], {}, ["a", "b"]),
        ([log_dir("a", 400), log_dir("b", 400, broker=2)], {}, ["a", "b"]),
        ([log_dir("a", 400), log_dir("b", 400)], {"a": 300, "b": 300}, ["ab"]),
        ([log_dir("a", 400), log_dir("b", 400)], {"a": 590, "b": 590}, ["a", "b"]),
        ([log_dir("a", 900), log_dir("b", 900)], {}, ["a", "b"]),
        ([log_dir("a", 899), log_dir("b", 899)], {}, ["ab"]),
        ([log_dir("a", None), log_dir("b", None)], {}, ["a", "b"]),
    ],
    ids=[
        "the same of both",
        "said a moment later",
        "too far apart",
        "of another size",
        "of another broker",
        "what lies in both may lie on one",
        "more lies in both than one has in use",
        "empty disks of a broker that joins",
        "a little more than empty, and nobody says of what",
        "too old to say",
    ],
)
def test_directories_that_may_share_a_volume_are_taken_to_do_so(
    dirs: list[LogDir], lies: dict[str, int], found: list[str]
) -> None:
    of = volumes(dirs, lambda d: lies.get(d.path, 0)).values()
    assert ["".join(d.path for d in volume) for volume in chain.from_iterable(of)] == found


@given(parts=st.lists(st.integers(0, 400), min_size=1, max_size=6), other=st.integers(0, 300))
def test_directories_on_one_volume_are_never_two_by_what_lies_in_them(
    parts: list[int], other: int
) -> None:
    """`other`: what the volume has that is no log."""
    total = 2 * (sum(parts) + other) + 10
    usable = total - sum(parts) - other
    dirs = [log_dir(f"/{n}", usable, total=total) for n in range(len(parts))]
    [found] = volumes(dirs, lambda d: parts[int(d.path[1:])]).values()
    assert len(found) == 1 or total - usable <= ALMOST_EMPTY * total


@given(parts=st.lists(st.integers(1, 400), min_size=2, max_size=8), data=st.data())
def test_there_are_never_more_than_two_of_two_that_are_equally_full(
    parts: list[int], data: st.DataObject
) -> None:
    """However what lies on each is dealt out to its directories."""
    cut = data.draw(st.integers(1, len(parts) - 1))
    used = max(list(accumulate(parts[:cut]))[-1], sum(parts[cut:]))
    dirs = [log_dir(f"/{n}", used, total=2 * used) for n in range(len(parts))]
    [found] = volumes(dirs, lambda d: parts[int(d.path[1:])]).values()
    assert len(found) <= 2


def test_what_lies_in_directories_is_counted_by_the_partitions_of_the_snapshot() -> None:
    states = [state([1], partition=n, size=500) for n in range(2)]
    dirs = tuple(
        replace(log_dir(path, 400), replicas={"orders": (n,), "gone": (0,), "orders2": (7,)})
        for n, path in enumerate("ab")
    )
    both = snapshot(states, log_dirs=dirs)
    assert [[d.path for d in of] for of in both.volumes[BrokerId(1)]] == [["a"], ["b"]]
    small = snapshot([state([1], partition=0, size=500)], log_dirs=dirs)
    assert [[d.path for d in of] for of in small.volumes[BrokerId(1)]] == [["a", "b"]]
    assert snapshot([], log_dirs=dirs).volumes == {BrokerId(1): [dirs]}
