"""Bytes per broker: placed, impossible, or not found within the budget; and the gap to the exact solver."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import within
from tests.unit.planning.placing.exact import cost_of, optimum
from tests.unit.planning.placing.problems import (
    brokers,
    chosen,
    ended,
    problem,
    problems,
    replica_steps,
)

from replan.model.api import BalanceMeasure, Flags, Ints, Matrix
from replan.planning.api import (
    CLOSER,
    Bounds,
    BrokerTotals,
    Holders,
    Layout,
    Obstacle,
    Packed,
    Packing,
    PlacementProblem,
    ReplicaSteps,
    Way,
    broken_rules,
    choose,
)


def used(asked: PlacementProblem) -> list[int]:
    """Bytes on each broker after the choice, which nothing is wrong with."""
    found = chosen(asked, all_of_it=True)
    sizes = asked.partitions.bytes[:, None]
    return [int(((found.lists == b) * sizes).sum()) for b in asked.brokers.ids]


def even(
    lists: list[list[int]], sizes: list[int], part: str, *, budget: int = 2_000
) -> PlacementProblem:
    return problem(
        brokers("aaa"),
        lists,
        layout=Layout.NONE,
        sizes=sizes,
        balance=within(bytes=Fraction(part)),
        budget=budget,
    )


def test_bytes_are_balanced_by_moving_and_exchanging_replicas() -> None:
    found = used(even([[1], [1], [1], [2], [2], [3]], [50, 30, 20, 10, 10, 30], "1/10"))
    assert max(found) <= 55
    assert min(found) >= 45


def test_what_is_within_the_tolerance_stays() -> None:
    asked = even([[1], [2], [3]], [10, 11, 9], "1/10")
    assert choose(asked).lists.tolist() == [[1], [2], [3]]


def test_one_partition_a_little_too_large_goes_rather_than_several_small_ones() -> None:
    asked = even([[1], [1], [1], [1], [1], [2], [3]], [88, 22, 10, 8, 3, 69, 100], "1/10")
    assert choose(asked).lists[:, 0].tolist() == [1, 2, 1, 1, 1, 2, 3]


def test_one_step_that_ends_what_two_brokers_lack_goes_rather_than_two_that_copy_a_little_less() -> (
    None
):
    """Broker 1 has 99 too many and 2 lacks 40: 68 and 31 would do, and so does 109."""
    sizes = [10791, 109, 68, 31, 9060, 9941]
    asked = even([[1], [1], [1], [1], [2], [3]], sizes, "9/100")
    assert choose(asked).lists[:, 0].tolist() == [1, 2, 1, 1, 2, 3]


def test_bytes_that_fit_nowhere_come_as_near_as_they_can() -> None:
    """One partition is most of all bytes: whoever has it is 194 % above a third, and the small one goes elsewhere."""
    found = choose(even([[1], [1], [1]], [100, 1, 0], "1/10"))
    [imbalance] = found.imbalances
    assert (imbalance.measure, imbalance.brokers) == (BalanceMeasure.BYTES, (1, 2, 3))
    assert imbalance.reached == Fraction(1941, 1000)
    assert found.lists[1].tolist() != [1]


def test_a_search_that_ends_says_so_after_its_steps() -> None:
    """What it has found until then is kept."""
    found = choose(even([[1], [1], [1], [1]], [10, 10, 10, 10], "1/10", budget=1))
    [imbalance] = found.imbalances
    assert imbalance.steps == 1
    assert found.lists[:, 0].tolist().count(1) == 3


@pytest.mark.parametrize("layout", [Layout.NONE, Layout.RACK])
def test_a_full_disk_is_relieved(layout: Layout) -> None:
    table = brokers("aabb", room={1: 15})
    asked = problem(table, [[1, 3], [1, 4], [1, 3]], layout=layout, sizes=[10, 10, 5])
    assert used(asked)[0] <= 15


@pytest.mark.parametrize("most", [None, 5])
def test_a_full_disk_is_relieved_though_a_topic_is_crowded_then(most: int | None) -> None:
    """Broker 2 gets five of seven partitions, more than its third and one: broker 3 has no room."""
    table = brokers("aaa", room={1: 20, 2: 100, 3: 0})
    asked = problem(table, [[1]] * 7, layout=Layout.NONE, topics=[0] * 7, most=most)
    assert used(asked) == [20, 50, 0]


@pytest.mark.parametrize(
    ("room", "ends"), [(4, Obstacle.ROOM_IMPOSSIBLE), (5, Obstacle.ROOM_NOT_FOUND)]
)
def test_without_room_anywhere_nothing_moves_for_it_and_it_is_said(
    room: int, ends: Obstacle
) -> None:
    table = brokers("aaa", room={1: 20, 2: room, 3: 5})
    found = choose(problem(table, [[1], [1], []], factor=1, layout=Layout.NONE, sizes=[10, 10, 10]))
    assert found.lists[:2].tolist() == [[1], [1]]
    assert [reason.obstacle for reason in found.impossible] == [ends]


def test_replicas_and_bytes_are_balanced_together() -> None:
    rng = np.random.default_rng(7)
    lists = [[1, 3]] * 6 + [[2, 4]] * 6 + [[1, 4]] * 12
    asked = problem(
        brokers("aabb"),
        lists,
        sizes=rng.integers(1, 100, len(lists)).tolist(),
        balance=within(replicas=Fraction(1, 10), bytes=Fraction(1, 10)),
    )
    found = used(asked)
    assert max(found) <= 1.1 * sum(found) / 4 + 1


@given(problems(), st.lists(st.integers(0, 12), min_size=8, max_size=8))
def test_room_is_kept_and_called_impossible_only_where_it_is(
    asked: PlacementProblem, takes: list[int]
) -> None:
    table, sizes = asked.brokers, asked.partitions.bytes
    lies = [int(sizes[(asked.partitions.current == b).any(axis=1)].sum()) for b in table.ids]
    room = np.array(lies, dtype=np.int64) + np.array(takes[: len(lies)])
    asked = replace(asked, brokers=replace(table, room=room))
    found, best = choose(asked), optimum(asked)
    assert broken_rules(asked, found) == []
    ends = {reason.obstacle for reason in found.impossible}
    if Obstacle.ROOM_IMPOSSIBLE in ends:
        assert best is None
    elif not ends:
        held = [int(((found.lists == b) * sizes[:, None]).sum()) for b in table.ids]
        assert (np.array(held) <= room).all()
        assert best is not None
        assert cost_of(asked, found.lists).bytes >= best.bytes


class Counted(ReplicaSteps):
    """Counts the steps that are asked for, whether they are legal."""

    looked_at = 0

    def legal(self, rows: Ints, source: int | Ints | Matrix, to: Ints | None = None) -> Flags:
        found = super().legal(rows, source, to)
        self.looked_at += found.size
        return found


def looked_at(racks: str, steps: int, *, huge: int = 0) -> float:
    """For each step of a search: every other broker has twice as many partitions as the others, some one `huge` one."""
    lists = [[b] for b in range(1, len(racks) + 1) for _ in range(20 if b % 2 else 40)]
    sizes = [100 + at % 37 for at in range(len(lists))]
    racks += "a" * huge
    lists += [[b] for b in range(len(racks) - huge + 1, len(racks) + 1)]
    sizes += [1_000_000] * huge
    asked = problem(brokers(racks), lists, layout=Layout.NONE, sizes=sizes)
    counted = replica_steps(asked, Counted)
    used = np.bincount(counted.lists[:, 0], asked.partitions.bytes).astype(np.int64)
    share = np.full(len(racks), used[: len(racks) - huge].mean(), dtype=np.int64)
    bounds = Bounds(share * 19 // 20, share * 21 // 20)
    ended = Packing(counted, BrokerTotals(asked.partitions.bytes, used, bounds), ()).pack(steps)
    assert ended.steps == steps
    return counted.looked_at / steps


def test_a_step_looks_at_as_much_however_many_brokers_there_are() -> None:
    assert looked_at("a" * 600, steps=50) <= 1.1 * looked_at("a" * 300, steps=50)


def test_many_brokers_are_helped_with_few_looks_and_as_few_copies_as_bytes_need() -> None:
    """Every other of 64 brokers has a tenth too much, in partitions of one size: one of each goes, and nothing more."""
    lists = [[b] for b in range(1, 65) for _ in range(11 if b % 2 else 9)]
    asked = problem(
        brokers("abcd" * 16), lists, layout=Layout.NONE, balance=within(bytes=Fraction(1, 20))
    )
    found = chosen(asked)
    assert found.imbalances == ()
    assert (found.lists != asked.partitions.current).sum() == 32


@pytest.mark.parametrize("seed", [1, 2])
def test_many_brokers_that_are_helped_at_once_keep_rules_and_number_and_the_next_plan_is_empty(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    racks = [np.arange(1, 49)[rack::3] for rack in range(3)]
    lists = [[int(rng.choice(rack)) for rack in racks] for _ in range(1000)]
    asked = problem(
        brokers("abc" * 16),
        lists,
        sizes=rng.lognormal(9, 1, len(lists)).astype(int).tolist(),
        topics=[row // 20 for row in range(len(lists))],
        balance=within(replicas=Fraction(1, 20), bytes=Fraction(1, 10)),
        budget=50_000,
    )
    found = chosen(asked)
    assert found.imbalances == ()
    assert (choose(ended(asked, found)).lists == found.lists).all()


def test_who_cannot_be_helped_is_not_looked_at_again_and_again() -> None:
    """Brokers with one partition that is larger than any share add nothing to the looks of later steps."""
    alone, beside = (
        100 * looked_at("a" * 50, steps=100, huge=huge)
        - 50 * looked_at("a" * 50, steps=50, huge=huge)
        for huge in (0, 5)
    )
    assert beside <= 1.1 * alone


def test_who_could_hold_nothing_of_what_another_gives_is_not_looked_at() -> None:
    """Whatever it gives back: brokers with one huge partition are outside, and are tried with nobody."""
    alone, beside = (looked_at("a" * 50, steps=50, huge=huge) for huge in (0, 5))
    assert beside <= 1.1 * alone


def test_the_partition_that_fits_is_found_among_many() -> None:
    """Of 1,000 partitions, of which a look at all sizes shows 192, one ends what two brokers lack."""
    sizes = [10 + at for at in range(504)] + [50_000] + [400_000 + at for at in range(495)]
    share = (sum(sizes) - 49_900) * 100 // 101  # so much is broker 1 above it and 1 %
    second = share * 99 // 100 - 49_900
    third = 3 * share - sum(sizes) - second
    asked = even([*[[1]] * 1000, [2], [3]], [*sizes, second, third], "1/100")
    lists = choose(asked).lists[:, 0]
    assert np.flatnonzero(lists[:1000] != 1).tolist() == [504]
    assert lists[504:].tolist() == [2, *[1] * 495, 2, 3]


@given(problems(), st.sampled_from([Way.ONE_EACH, Way.MORE]))
def test_where_each_may_go_is_the_same_one_by_one(asked: PlacementProblem, way: Way) -> None:
    """And what may not leave a broker goes to nobody, but for who had it before."""
    steps = replica_steps(asked, ReplicaSteps)
    steps.way = way
    for source in range(steps.brokers):
        held = np.flatnonzero((steps.lists == source).any(axis=1))
        every = steps.legal(held, source)
        for target in range(steps.brokers):
            own = steps.legal(held, np.full(len(held), source), np.full((len(held), 1), target))
            assert own[:, 0].tolist() == every[:, target].tolist()
        stays = ~steps.may_leave(held, source)
        assert not (every[stays] & ~steps.held(held[stays])).any()


@given(problems(), st.sampled_from([Way.ONE_EACH, Way.MORE]), st.randoms(use_true_random=False))
def test_what_may_leave_is_kept_up_to_date_step_by_step(
    asked: PlacementProblem, way: Way, chance: Random
) -> None:
    steps = replica_steps(asked, ReplicaSteps)
    steps.way = way
    kept = Holders(steps, asked.partitions.bytes)
    every = range(steps.brokers)
    for _ in range(6):
        before = Holders(steps, asked.partitions.bytes)
        assert [kept.some(b, 1000).tolist() for b in every] == [
            before.some(b, 1000).tolist() for b in every
        ]
        row = chance.choice(range(len(asked.partitions)))
        members = steps.members(row)
        free = sorted(set(every) - set(members))
        if not (free and members):
            return
        source, target = chance.choice(members), chance.choice(free)
        if source in every:
            steps.take(row, source, target)
            kept.take(row, source, target)


def test_the_budget_bounds_the_time_where_only_exchanges_help() -> None:
    """Each broker keeps its number of replicas: a look at exchanges counts as several steps, so that few are taken."""
    lists = [[b] for b in range(1, 9) for _ in range(100)]
    sizes = [10_000 + (at * 37) % 101 + 80 * broker for at, [broker] in enumerate(lists)]
    asked = problem(brokers("a" * 8), lists, layout=Layout.NONE, sizes=sizes)
    steps = replica_steps(asked, ReplicaSteps)
    leads = steps.had[:, 0]
    used = np.bincount(leads, asked.partitions.bytes).astype(np.int64)
    ones, number = np.ones(len(lists), dtype=np.int64), np.bincount(leads).astype(np.int64)
    share = np.full(8, used.mean(), dtype=np.int64)
    held = BrokerTotals(ones, number.copy(), Bounds(number, number))
    ended = Packing(
        steps, BrokerTotals(asked.partitions.bytes, used, Bounds(share, share)), [held]
    ).pack(200)
    assert ended == Packed(False, 200)
    assert 0 < (steps.lists != steps.had).sum() <= 2 * 200 / CLOSER
