"""What only the passing of time shows."""

import pytest
from tests.builders import brokers, move, state

from replan.applying.api import InSyncLoss, PartitionHistory, Stalled
from replan.model.api import BrokerId, Look, PartitionState, TopicPartition, TopicSettings, replicas

SWAP = move([1, 2, 3], [4, 2, 5])
P0 = SWAP.partition
MOVES = {P0: SWAP}
EXPANDED = [1, 2, 3, 4, 5]


def seen(
    found: PartitionState | None, *, fenced: tuple[int, ...] = (), unclear: bool = False
) -> Look:
    return Look(
        brokers={b.id: b for b in brokers(fenced=fenced)},
        partitions={} if found is None else {P0: found},
        unclear=frozenset({P0}) if unclear else frozenset(),
        topics={"orders": TopicSettings(2)},
    )


def looked(seconds_each: float, count: int) -> PartitionHistory:
    """After so many looks, back to back, that all show everything in sync."""
    watch = PartitionHistory()
    for i in range(count):
        watch = watch.after(MOVES, ALL, i * seconds_each, (i + 1) * seconds_each, 15)
    return watch


def watched(*looks: tuple[float, Look]) -> PartitionHistory:
    watch = PartitionHistory()
    for at, look in looks:
        watch = watch.after(MOVES, look, at, at, 15)
    return watch


ALL = seen(state(EXPANDED, [1, 2, 3, 4, 5], leader=1))
NEW_ONLY = seen(state(EXPANDED, [1, 4, 5], leader=1))


def every(
    seconds: float, look: Look, start: float = 0, end: float = 15
) -> list[tuple[float, Look]]:
    return [(start + i * seconds, look) for i in range(int((end - start) / seconds) + 1)]


@pytest.mark.parametrize(
    ("looks", "settled", "copied"),
    [
        pytest.param(every(5, ALL), True, True, id="in sync for the settle time"),
        pytest.param(every(5, ALL, start=1), False, False, id="a second too short"),
        pytest.param(every(5, NEW_ONLY), False, True, id="a kept one is out of sync"),
        pytest.param([(0, ALL), (15, ALL)], False, False, id="looks too far apart"),
        pytest.param(
            [*every(1, ALL, end=7), (8, NEW_ONLY), *every(1, ALL, start=9)],
            False,
            True,
            id="out of sync for one look",
        ),
        pytest.param(
            [
                *every(1, ALL, end=7),
                (8, seen(ALL.partitions[P0], fenced=(2,))),
                *every(1, ALL, start=9),
            ],
            False,
            True,
            id="fenced for one look, though still listed",
        ),
        pytest.param(
            [*every(1, ALL, end=7), (8, seen(None, unclear=True)), *every(1, ALL, start=9)],
            True,
            True,
            id="an unclear look says nothing",
        ),
        pytest.param(
            [*every(1, ALL, end=7), (8, seen(None)), *every(1, ALL, start=9)],
            False,
            False,
            id="gone for one look",
        ),
    ],
)
def test_settled_is_what_every_look_of_the_settle_time_showed(
    looks: list[tuple[float, Look]], settled: bool, copied: bool
) -> None:
    watch = watched(*looks)
    assert watch.settled(P0, 15) is settled
    assert watch.copied(P0, 15) is copied


@pytest.mark.parametrize("seconds_each", [6, 11, 60, 3600])
def test_looks_that_take_long_settle_after_some_of_them(seconds_each: float) -> None:
    assert not looked(seconds_each, 3).settled(P0, 15)
    assert looked(seconds_each, 5).settled(P0, 15)


def test_what_the_first_look_shows_counts_from_its_end() -> None:
    watch = PartitionHistory().after(MOVES, ALL, 0, 4, 15)
    for began in range(5, 19):
        watch = watch.after(MOVES, ALL, began, began, 15)
    assert not watch.settled(P0, 15)
    assert watch.after(MOVES, ALL, 19, 19, 15).settled(P0, 15)


def test_time_without_a_look_vouches_for_nothing() -> None:
    watch = watched(*every(1, ALL, end=10)).without_a_look()
    watch = watch.after(MOVES, ALL, 40, 40, 15)
    assert not watch.settled(P0, 15)
    for began in range(41, 56):
        watch = watch.after(MOVES, ALL, began, began, 15)
    assert watch.settled(P0, 15)


def test_a_partition_that_is_no_longer_looked_at_is_forgotten() -> None:
    watch = watched(*every(5, ALL))
    watch = watch.with_sizes(MOVES, {BrokerId(4): {P0: 5}, BrokerId(1): {P0: 9}}, 15)
    watch = watch.after({}, seen(None), 16, 16, 15)
    assert not watch.settled(P0, 15)
    assert P0 not in watch.isr
    assert not watch.sizes
    assert not watch.totals


@pytest.mark.parametrize(
    ("before", "after", "leader", "loaded"),
    [
        ([1, 2, 3], [1, 2, 3], 1, None),
        ([1, 2, 3, 4], [1, 2, 3], 1, None),
        ([1, 2, 3], [1, 2], 1, {1, 4, 5}),
        ([1, 2], [2], 2, {2, 4, 5}),
        ([1], [], None, {4, 5}),
    ],
)
def test_a_loss_counts_at_or_under_the_minimum(
    before: list[int], after: list[int], leader: int | None, loaded: set[int] | None
) -> None:
    watch = watched((0, seen(state(EXPANDED, before))))
    losses = watch.losses([SWAP], seen(state(EXPANDED, after, leader=leader)))
    if loaded is None:
        assert losses == []
    else:
        (loss,) = losses
        assert loss == InSyncLoss(
            P0, replicas(*(set(before) - set(after))), frozenset(replicas(*loaded))
        )


def test_a_replica_that_was_dropped_is_no_loss() -> None:
    watch = watched((0, seen(state([1, 2, 3]))))
    assert watch.losses([SWAP], seen(state([1, 2]))) == []


def test_a_topic_that_cannot_be_read_is_judged_by_the_planned_minimum() -> None:
    watch = watched((0, seen(state([1, 2, 3]))))
    blind = Look(brokers={}, partitions={P0: state([1, 2, 3], [1, 2])})
    assert len(watch.losses([SWAP], blind)) == 1


def test_sizes_give_speed_and_total() -> None:
    watch, four = PartitionHistory(), BrokerId(4)
    other = TopicPartition("clicks", 0)
    for at, size in ((0, 0), (10, 100), (20, 400)):
        watch = watch.with_sizes(MOVES, {four: {P0: size, other: 1}, BrokerId(1): {P0: 900}}, at)
    found = watch.sizes[P0, four]
    assert (found.bytes, found.moved_at, found.bytes_per_second) == (400, 20, 20.0)
    assert watch.totals[P0] == 900
    watch = watch.with_sizes(MOVES, {four: {P0: 7}}, 20)
    assert watch.sizes[P0, four] == found


@pytest.mark.parametrize(
    ("now", "fenced", "isr", "reason"),
    [
        (299, (), [1, 2, 3], None),
        (300, (), [1, 2, 3], Stalled(BrokerId(4), 70, 300)),
        (300, (), [1, 2, 3, 4, 5], None),
        (1, (5,), [1, 2, 3, 4], Stalled(BrokerId(5))),
    ],
)
def test_a_copy_stands_still_when_its_size_does_or_its_broker_is_fenced(
    now: float, fenced: tuple[int, ...], isr: list[int], reason: Stalled | None
) -> None:
    watch = PartitionHistory()
    watch = watch.with_sizes(MOVES, {BrokerId(4): {P0: 70}}, 0)
    look = seen(state(EXPANDED, isr, leader=1), fenced=fenced)
    found = watch.stalled(SWAP, look, now, 300)
    assert repr(found) == repr(reason), "with its measures, which equality leaves out"


def test_a_live_broker_that_shows_no_log_is_noticed_at_the_third_reading() -> None:
    watch, four = PartitionHistory(), BrokerId(4)
    others = {BrokerId(b): {P0: 900} for b in (1, 2, 3)}
    found = []
    for at in (0, 5, 10):
        watch = watch.with_sizes(MOVES, {**others, four: {}}, at)
        found.append(watch.shows_no_log(P0, four))
    assert found == [False, False, True]
    assert not watch.shows_no_log(P0, BrokerId(2))
    watch = watch.with_sizes(MOVES, {**others, four: {P0: 0}}, 15)
    assert not watch.shows_no_log(P0, four)


def test_a_broker_that_is_fenced_is_not_asked_for_its_log() -> None:
    watch, four = PartitionHistory(), BrokerId(4)
    for at in (0, 5, 10):
        watch = watch.with_sizes(MOVES, {BrokerId(1): {P0: 900}, four: {}}, at)
    watch = watch.after(MOVES, seen(None, fenced=(4,)), 11, 11, 15)
    assert not watch.shows_no_log(P0, four)


def test_a_broker_that_does_not_answer_does_not_show_that_a_log_is_missing() -> None:
    watch, four = PartitionHistory(), BrokerId(4)
    for at in (0, 5, 10, 15):
        watch = watch.with_sizes(MOVES, {BrokerId(1): {P0: 900}}, at)
    assert not watch.shows_no_log(P0, four)
