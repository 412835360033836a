"""The chooser against what checks it and an exact solver, and its rules one by one."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import within
from tests.profiles import examples
from tests.unit.planning.placing.exact import balance_bounds, cost_of, optimum, racks, racks_kept
from tests.unit.planning.placing.problems import (
    brokers,
    chosen,
    ended,
    given_up,
    members,
    only,
    problem,
    problems,
)

from replan.model.api import Tolerance
from replan.planning.api import (
    Breach,
    Layout,
    Obstacle,
    PlacementProblem,
    Rule,
    broken_rules,
    choose,
    times_again,
)

INSTANCES = examples(fast=20, full=200, nightly=5_000)


def lists(asked: PlacementProblem) -> list[list[int]]:
    return members(chosen(asked, all_of_it=True).lists)


def reasons(asked: PlacementProblem) -> list[tuple[Obstacle, str | None, int, int]]:
    found = chosen(asked)
    return [(r.obstacle, r.rack, r.needed, r.available) for r in found.impossible]


@INSTANCES
@given(problems())
def test_the_fewest_bytes_and_copies_are_those_of_an_exact_solver(asked: PlacementProblem) -> None:
    _compare(asked)


@INSTANCES
@given(problems(tight=True))
def test_a_placement_is_found_exactly_where_there_is_one(asked: PlacementProblem) -> None:
    _compare(asked)


@INSTANCES
@given(problems(balanced=True), st.sets(st.integers(0, 7)))
def test_balance_costs_what_it_costs_an_exact_solver(
    asked: PlacementProblem, staying: set[int]
) -> None:
    """Bytes first, then copies, each partition copied once if that does; around those that stay.

    Where it is not reached, no placement is nearer.
    """
    unbalanced = replace(asked, balance=())
    lost = given_up(choose(unbalanced))
    rows = [row for row in range(len(asked.partitions)) if row not in lost]
    assume(rows)
    asked = only(asked, rows)
    kept = np.flatnonzero(choose(asked).in_place)
    asked = replace(asked, staying=kept[np.isin(kept, sorted(staying))])
    found = chosen(asked, all_of_it=True)
    filled = choose(replace(asked, balance=())).lists
    moved = np.flatnonzero((found.lists != filled).any(axis=1))
    assert not np.isin(moved, asked.staying).any()
    for imbalance in found.imbalances:
        assert imbalance.steps is None
        nearer = imbalance.reached - Fraction(1, 1000)
        assert optimum(asked, balance_bounds(asked, filled, nearer), filled) is None
    if not found.imbalances:
        tolerance = asked.balance[0].within if asked.balance else Fraction(0)
        bounds = balance_bounds(asked, filled, tolerance)
        best = optimum(asked, bounds, filled, one_each=True)
        assert best is None or cost_of(asked, found.lists) == best


@INSTANCES
@given(problems(balanced=True))
def test_a_balance_moves_only_what_can_move_and_the_tolerance_it_names_is_reached(
    asked: PlacementProblem,
) -> None:
    """Whatever cannot be balanced, the rest is placed as without; and planning again moves nothing."""
    found = choose(asked)
    assert found.impossible == choose(replace(asked, balance=())).impossible
    for imbalance in found.imbalances:
        named = within(replicas=imbalance.reached)
        assert choose(replace(asked, balance=named)).imbalances == ()
    assert (choose(ended(asked, found)).lists == found.lists).all()


def test_a_share_that_no_broker_can_hold_is_no_share() -> None:
    """Partitions have one replica on a broker at most, so five times the weight gets four of eight, and no more."""
    asked = problem(
        brokers("aaa", weights={1: 5}),
        [[3, 1], [3, 1], [3, 1, 2], [1, 3]],
        layout=Layout.NONE,
        factor=2,
        balance=within(replicas=Fraction(0)),
    )
    assert [found.count(1) for found in lists(asked)] == [1, 1, 1, 1]
    assert choose(asked).imbalances == ()


def test_racks_of_different_size_have_shares_of_their_own() -> None:
    """Two brokers of rack b carry as much as three of rack a, which is balanced."""
    asked = problem(
        brokers("aaabb"),
        [[1, 4], [2, 5], [3, 4], [1, 5], [2, 4], [3, 5]],
        balance=within(replicas=Fraction(0)),
    )
    assert choose(asked).imbalances == ()
    assert (choose(asked).lists == asked.partitions.current).all()


def test_two_sets_of_brokers_have_shares_of_their_own() -> None:
    asked = problem(
        brokers("aaaa"),
        [[1], [2], [3]] + [[3], [4]] * 9,
        layout=Layout.NONE,
        balance=within(replicas=Fraction(0)),
    )
    sets = [np.array([1, 1, 0, 0], dtype=bool), np.array([0, 0, 1, 1], dtype=bool)]
    rule = np.array([0, 0] + [1] * 19)
    asked = replace(
        asked,
        rules=tuple(Rule(Layout.NONE, among) for among in sets),
        partitions=replace(asked.partitions, rule=rule),
    )
    assert choose(asked).imbalances == ()
    assert (choose(asked).lists == asked.partitions.current).all()


@pytest.mark.parametrize("closed", [[4], [5]])
def test_a_broker_that_gets_nothing_new_has_no_share_and_keeps_what_it_has(
    closed: list[int],
) -> None:
    """A new one that is cordoned takes nothing from the others, and one that restarts keeps what it has."""
    had = [[1], [2], [3], [4]] * 2
    asked = problem(
        brokers("aaaaa" if closed == [5] else "aaaa", closed=closed),
        had,
        layout=Layout.NONE,
        balance=within(replicas=Fraction(0)),
    )
    assert choose(asked).imbalances == ()
    assert lists(asked) == had


def _compare(asked: PlacementProblem) -> None:
    found = chosen(asked)
    impossible = given_up(found)
    for row in range(len(asked.partitions)):
        alone = only(asked, [row])
        best = optimum(alone)
        assert (best is None) == (row in impossible)
        if best is not None:
            assert cost_of(alone, found.lists[row : row + 1]) == best


def test_what_keeps_its_rule_stays_whoever_is_fenced() -> None:
    """A rolling restart plans nothing."""
    had = [[1, 2, 3], [3, 1, 2], [4, 2, 3]]
    for closed in ([], [1], [2], [3], [4], [1, 4]):
        assert lists(problem(brokers("abca", closed=closed), had)) == had


def test_the_substitute_takes_the_place_and_the_rack_of_the_drained_broker() -> None:
    assert lists(problem(brokers("abcbb"), [[1, 2, 3]], drained=[2])) == [[1, 4, 3]]


def test_under_a_rule_the_substitute_comes_from_the_rack_that_loses_one() -> None:
    """Two of one rack and one of the other keep the rule either way; only one of the two crosses racks."""
    assert lists(problem(brokers("ababab"), [[1, 2, 3]], drained=[1])) == [[5, 2, 3]]
    assert lists(problem(brokers("ababab"), [[2, 1, 4]], drained=[2])) == [[6, 1, 4]]


def test_a_declared_list_keeps_a_substitute_that_is_there_already() -> None:
    asked = problem(
        brokers("abcb"), [[1, 2, 3]], held=[[1, 4, 3]], layout=Layout.LISTED, drained=[2]
    )
    assert lists(asked) == [[1, 4, 3]]


def test_no_substitute_that_is_there_already_costs_a_rack_that_another_broker_keeps() -> None:
    """Broker 4 holds it and lies in the rack of 1; 5 lies in that of the drained one, and stays once it is there."""
    for held in ([2, 3, 4], [2, 3, 4, 5, 1], [5, 3, 1]):
        asked = problem(
            brokers("bcabc"), [[2, 3, 1]], held=[held], layout=Layout.LISTED, drained=[2], factor=3
        )
        assert lists(asked) == [[5, 3, 1]]


def test_a_substitute_that_is_there_already_stays_where_nobody_else_keeps_the_rack() -> None:
    for placed, closed in (("bcab", []), ("bcabc", [5])):
        asked = problem(
            brokers(placed, closed=closed),
            [[2, 3, 1]],
            held=[[2, 3, 4]],
            layout=Layout.LISTED,
            drained=[2],
        )
        assert lists(asked) == [[4, 3, 1]]


def test_a_declared_broker_keeps_its_place_where_the_topic_is_crowded_on_it() -> None:
    asked = problem(
        brokers("aabb"),
        [[1, 4]] * 8,
        held=[[4]] * 8,
        layout=Layout.LISTED,
        drained=[4],
        topics=[0] * 8,
    )
    assert lists(asked) == [[1, 3]] * 8


def test_without_its_rack_the_substitute_comes_from_the_rack_that_is_used_least() -> None:
    asked = problem(brokers("abcad"), [[1, 2, 3]], layout=Layout.LISTED, drained=[2])
    assert lists(asked) == [[1, 5, 3]]


def test_substitutes_even_out_the_load() -> None:
    asked = problem(brokers("aaaa"), [[1], [1], [1], [1]], layout=Layout.NONE, drained=[1])
    assert sorted(x for [x] in lists(asked)) == [2, 2, 3, 4]


def test_a_heavier_broker_takes_as_much_more() -> None:
    asked = problem(brokers("aaa", weights={2: 3}), [[1]] * 4, layout=Layout.NONE, drained=[1])
    assert sorted(x for [x] in lists(asked)) == [2, 2, 2, 3]


def test_a_declared_list_keeps_a_broker_that_is_not_registered_unless_it_is_drained() -> None:
    assert lists(problem(brokers("abc"), [[1, 9, 3]], layout=Layout.LISTED)) == [[1, 9, 3]]
    assert lists(problem(brokers("abc"), [[1, 9, 3]], layout=Layout.LISTED, drained=[9])) == [
        [1, 2, 3]
    ]


@INSTANCES
@given(problems(), st.sampled_from([(), within(replicas=Fraction(1, 10), bytes=Fraction(1, 10))]))
def test_no_partition_ends_in_fewer_racks_than_it_can_keep(
    asked: PlacementProblem, tolerance: tuple[Tolerance, ...]
) -> None:
    """Where a rule says nothing of racks, whether brokers are balanced or not."""
    asked = replace(
        asked, balance=tolerance, rules=tuple(replace(r, layout=Layout.NONE) for r in asked.rules)
    )
    found = chosen(asked)
    for row in set(range(len(asked.partitions))) - given_up(found):
        assert racks(asked, found.lists[row]) >= racks_kept(asked, row)


@INSTANCES
@given(problems(), st.data())
def test_no_drain_takes_a_rack_from_a_list_where_a_substitute_can_keep_it(
    asked: PlacementProblem, data: st.DataObject
) -> None:
    """Whoever holds it now, and however many."""
    ids, some = st.permutations(asked.brokers.ids.tolist()), st.integers(1, 4)
    bases = members(asked.partitions.base)
    asked = problem(
        asked.brokers,
        bases,
        held=[data.draw(ids)[: data.draw(some)] for _ in range(len(asked.partitions))],
        drained=sorted(asked.drained),
    )
    lengths = (asked.partitions.base >= 0).sum(axis=1)
    able = ~np.isin(asked.brokers.ids, list(asked.drained))
    asked = replace(
        asked,
        rules=tuple(Rule(Layout.LISTED, able) for _ in asked.rules),
        partitions=replace(asked.partitions, factor=lengths),
    )
    found = choose(asked)
    for row in set(range(len(asked.partitions))) - given_up(found):
        before, held = bases[row], members(asked.partitions.current)[row]
        stays = [b for b in before if b not in asked.drained]
        others = {*asked.brokers.ids[asked.brokers.open].tolist(), *held}
        others -= {*before, *asked.drained}
        most = max(
            racks(asked, [*stays, *some])
            for some in combinations(sorted(others), len(before) - len(stays))
        )
        lies_in = min(racks(asked, before), racks(asked, held))
        assert racks(asked, found.lists[row]) >= min(lies_in, most)


def test_of_too_many_replicas_the_last_of_a_rack_stays() -> None:
    """No bytes are copied either way; a fenced broker goes before a live one where both racks stay."""
    assert lists(problem(brokers("aabb"), [[1, 2, 3, 4]] * 2, factor=2, layout=Layout.NONE)) == [
        [1, 3],
        [1, 4],
    ]
    fenced = problem(brokers("aabb", closed=[3]), [[1, 2, 3]], factor=2, layout=Layout.NONE)
    assert lists(fenced) == [[1, 3]]


def test_balance_takes_no_partition_out_of_its_last_rack() -> None:
    """Brokers 2 and 3 have one too many each; the place of 2, alone in its rack, cannot go to 1."""
    tolerance = within(replicas=Fraction(0))
    asked = problem(brokers("aba"), [[2, 3], [3, 2]], layout=Layout.NONE, balance=tolerance)
    assert lists(asked) == [[2, 1], [3, 2]]


def test_an_over_full_rack_never_gives_up_the_leader() -> None:
    asked = problem(brokers("aabbcc"), [[1, 2, 3]], leaders=[2])
    assert lists(asked) == [[5, 2, 3]]


def test_a_smaller_factor_drops_a_fenced_replica_first() -> None:
    assert lists(problem(brokers("abc", closed=[1]), [[1, 2, 3]], factor=2, leaders=[2])) == [
        [2, 3]
    ]


def test_a_larger_factor_and_new_partitions_are_placed_by_the_same_rule() -> None:
    assert lists(problem(brokers("abc"), [[2], []], factor=3)) == [[2, 1, 3], [1, 2, 3]]


def test_in_one_rack_surplus_replicas_do_not_choose_the_rack() -> None:
    """Rack a has three of it and rack b two; two are wanted, so both copy nothing, and the leader's has it."""
    asked = problem(
        brokers("aaabb"), [[1, 2, 3, 4, 5]], layout=Layout.IN_RACK, factor=2, leaders=[4]
    )
    assert lists(asked) == [[4, 5]]


WEIGHTS = [97, 89, 103, 113, 109, 107, 83, 79, 73, 101, 127, 131]


def test_shares_by_any_weights_are_exact() -> None:
    """The least common multiple of these does not fit 64 bits."""
    table = brokers("a" * 12, weights=dict(enumerate(WEIGHTS, 1)))
    taken = Counter(x for [x] in lists(problem(table, [[]] * 1212, factor=1, layout=Layout.NONE)))
    assert [taken[b] for b in range(1, 13)] == WEIGHTS


def test_the_widest_bounds_of_the_largest_sizes_are_bounds() -> None:
    """An exabyte beside a weight of 1000, within 999.999 %: more than 64 bits hold."""
    tolerance = Fraction(999_999, 100_000)
    table = brokers("aa", weights={1: 1_000_000, 2: 1})
    asked = problem(
        table, [[1]] * 4, sizes=[1 << 58] * 4, balance=within(replicas=tolerance, bytes=tolerance)
    )
    assert lists(asked) == [[1]] * 4


@pytest.mark.parametrize(("partitions", "times"), [(9, 9), (600_000, 2), (1_100_000, 1)])
def test_of_many_partitions_a_search_seldom_begins_again(partitions: int, times: int) -> None:
    assert 1 + times_again(partitions) == times


def test_in_one_rack_it_is_the_rack_that_has_most_of_it() -> None:
    assert lists(problem(brokers("ababab"), [[1, 2, 4]], layout=Layout.IN_RACK)) == [[6, 2, 4]]


def test_all_that_is_in_the_way_is_said_at_once() -> None:
    table = brokers("aaabc", closed=[4])
    asked = problem(table, [[1, 2, 3, 5], [5, 1, 2, 3]], factor=5)
    assert reasons(asked) == [(Obstacle.TOO_FEW_BROKERS, None, 5, 4)]
    asked = problem(table, [[1, 2, 3], [2, 3, 1]])
    assert reasons(asked) == [(Obstacle.RACK_LACKS_BROKERS, "b", 1, 0)]
    asked = problem(brokers("a-c"), [[1, 2, 3]])
    assert reasons(asked) == [(Obstacle.WITHOUT_RACK, None, 0, 0)]


def test_who_has_no_substitute_keeps_the_drained_broker_and_the_others_go() -> None:
    found = choose(problem(brokers("abc"), [[1, 2, 3], [1, 2]], layout=Layout.LISTED, drained=[2]))
    assert [r.partitions for r in found.impossible] == [(0,)]
    assert found.impossible[0].obstacle is Obstacle.NO_SUBSTITUTE
    assert found.lists.tolist() == [[1, 2, 3], [1, 3, -1]]


def test_the_judge_finds_what_is_wrong() -> None:
    asked = problem(brokers("aabc", closed=[4]), [[1, 3], [1, 3]], drained=[2])
    wrong = replace(choose(asked), lists=np.array([[1, 2], [1, 4]], dtype=np.int32))
    found = broken_rules(asked, wrong)
    assert {(f.row, f.breach) for f in found} >= {(0, Breach.DRAINED), (1, Breach.NOT_OPEN)}


def with_a_rule_of_nobody(asked: PlacementProblem) -> PlacementProblem:
    """The last of four partitions is under a rule that no broker answers."""
    nobody = replace(asked.rules[0], candidates=np.zeros(4, dtype=bool))
    partitions = replace(asked.partitions, rule=np.array([0, 0, 0, 1]))
    return replace(asked, rules=(*asked.rules, nobody), partitions=partitions)


def test_a_rule_that_no_broker_answers_is_impossible_and_leaves_the_others_be() -> None:
    asked = problem(brokers("abab"), [[1, 2]] * 4, balance=within(replicas=Fraction(1, 10)))
    found = choose(with_a_rule_of_nobody(asked))
    assert [3] in [list(reason.partitions) for reason in found.impossible]
    assert set(found.lists[:3].ravel().tolist()) == {1, 2, 3, 4}


def test_a_partition_without_replicas_under_a_rule_that_no_broker_answers_leaves_the_balance_be() -> (
    None
):
    asked = problem(
        brokers("abab"),
        [[1, 2], [1, 2], [1, 2], []],
        layout=Layout.NONE,
        factor=[2, 2, 2, 0],
        balance=within(replicas=Fraction(1, 10)),
    )
    found = choose(with_a_rule_of_nobody(asked))
    assert set(found.lists[:3].ravel().tolist()) == {1, 2, 3, 4}
