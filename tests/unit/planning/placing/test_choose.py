"""The chooser against its judge and an exact solver, and its rules one by one."""

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import assume, given, settings
from tests.unit.planning.placing.exact import balance_bounds, cost_of, optimum
from tests.unit.planning.placing.problems import brokers, only, problem, problems

from replan.planning.placing.choose import choose
from replan.planning.placing.judge import Breach, judge
from replan.planning.placing.problem import Lie, Obstacle, PlacementProblem, Tolerance

FAST = os.environ.get("HYPOTHESIS_PROFILE") == "fast"
INSTANCES = 60 if FAST else 500


def lists(asked: PlacementProblem) -> list[list[int]]:
    """The chosen lists, after the judge has looked at them."""
    found = choose(asked)
    assert judge(asked, found) == []
    assert found.impossible == ()
    return [[int(b) for b in row if b >= 0] for row in found.lists]


def reasons(asked: PlacementProblem) -> list[tuple[Obstacle, str | None, int, int]]:
    found = choose(asked)
    assert judge(asked, found) == []
    return [(r.obstacle, r.rack, r.needed, r.available) for r in found.impossible]


@settings(max_examples=INSTANCES)
@given(problems())
def test_the_fewest_bytes_and_copies_are_those_of_an_exact_solver(asked: PlacementProblem) -> None:
    _compare(asked)


@settings(max_examples=INSTANCES)
@given(problems(tight=True))
def test_a_placement_is_found_exactly_where_there_is_one(asked: PlacementProblem) -> None:
    _compare(asked)


@settings(max_examples=INSTANCES)
@given(problems(balanced=True))
def test_balance_costs_what_it_costs_an_exact_solver(asked: PlacementProblem) -> None:
    """Bytes first, then copies; and it is impossible exactly where the solver says so."""
    unbalanced = replace(asked, balance=Tolerance())
    lost = {row for reason in choose(unbalanced).impossible for row in reason.partitions}
    rows = [row for row in range(len(asked.partitions)) if row not in lost]
    assume(rows)
    asked = only(asked, rows)
    found = choose(asked)
    assert judge(asked, found) == []
    best = optimum(asked, balance_bounds(asked, choose(replace(asked, balance=Tolerance())).lists))
    assert (best is None) == bool(found.impossible)
    if best is not None:
        assert cost_of(asked, found.lists) == best


def test_a_share_that_no_broker_can_hold_is_impossible_whatever_could_go_back() -> None:
    """Partitions have one replica on a broker at most; going back to where one came from saves bytes."""
    asked = problem(
        brokers("bba", weights={1: 5}),
        [[3, 1], [3, 1], [3, 1, 2], [1, 3]],
        lie=Lie.NONE,
        factor=2,
        tolerance=Tolerance(replicas=Fraction(0)),
    )
    assert [obstacle for obstacle, *_ in reasons(asked)] == [Obstacle.BALANCE_IMPOSSIBLE]


def _compare(asked: PlacementProblem) -> None:
    found = choose(asked)
    assert judge(asked, found) == []
    impossible = {row for reason in found.impossible for row in reason.partitions}
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
    asked = problem(brokers("abcb"), [[1, 2, 3]], held=[[1, 4, 3]], lie=Lie.LISTED, drained=[2])
    assert lists(asked) == [[1, 4, 3]]


def test_without_its_rack_the_substitute_comes_from_the_rack_that_is_used_least() -> None:
    asked = problem(brokers("abcad"), [[1, 2, 3]], lie=Lie.LISTED, drained=[2])
    assert lists(asked) == [[1, 5, 3]]


def test_substitutes_even_out_the_load() -> None:
    asked = problem(brokers("aaaa"), [[1], [1], [1], [1]], lie=Lie.NONE, drained=[1])
    assert sorted(x for [x] in lists(asked)) == [2, 2, 3, 4]


def test_a_heavier_broker_takes_as_much_more() -> None:
    asked = problem(brokers("aaa", weights={2: 3}), [[1]] * 4, lie=Lie.NONE, drained=[1])
    assert sorted(x for [x] in lists(asked)) == [2, 2, 2, 3]


def test_a_declared_list_keeps_a_broker_that_is_not_registered_unless_it_is_drained() -> None:
    assert lists(problem(brokers("abc"), [[1, 9, 3]], lie=Lie.LISTED)) == [[1, 9, 3]]
    assert lists(problem(brokers("abc"), [[1, 9, 3]], lie=Lie.LISTED, drained=[9])) == [[1, 2, 3]]


def test_an_over_full_rack_never_gives_up_the_leader() -> None:
    asked = problem(brokers("aabbcc"), [[1, 2, 3]], leaders=[2])
    assert lists(asked) == [[5, 2, 3]]


def test_a_smaller_factor_drops_a_fenced_replica_first() -> None:
    assert lists(problem(brokers("abc", closed=[1]), [[1, 2, 3]], factor=2, leaders=[2])) == [
        [2, 3]
    ]


def test_a_larger_factor_and_new_partitions_are_placed_by_the_same_rule() -> None:
    assert lists(problem(brokers("abc"), [[2], []], factor=3)) == [[2, 1, 3], [1, 2, 3]]


def test_in_one_rack_it_is_the_rack_that_has_most_of_it() -> None:
    assert lists(problem(brokers("ababab"), [[1, 2, 4]], lie=Lie.IN_RACK)) == [[6, 2, 4]]


def test_all_that_is_in_the_way_is_said_at_once() -> None:
    table = brokers("aaabc", closed=[4])
    asked = problem(table, [[1, 2, 3, 5], [5, 1, 2, 3]], factor=5)
    assert reasons(asked) == [(Obstacle.TOO_FEW_BROKERS, None, 5, 4)]
    asked = problem(table, [[1, 2, 3], [2, 3, 1]])
    assert reasons(asked) == [(Obstacle.RACK_LACKS_BROKERS, "b", 1, 0)]
    asked = problem(brokers("a-c"), [[1, 2, 3]])
    assert reasons(asked) == [(Obstacle.WITHOUT_RACK, None, 0, 0)]


def test_who_has_no_substitute_keeps_the_drained_broker_and_the_others_go() -> None:
    found = choose(problem(brokers("abc"), [[1, 2, 3], [1, 2]], lie=Lie.LISTED, drained=[2]))
    assert [r.partitions for r in found.impossible] == [(0,)]
    assert found.impossible[0].obstacle is Obstacle.NO_SUBSTITUTE
    assert found.lists.tolist() == [[1, 2, 3], [1, 3, -1]]


def test_the_judge_finds_what_is_wrong() -> None:
    asked = problem(brokers("aabc", closed=[4]), [[1, 3], [1, 3]], drained=[2])
    wrong = replace(choose(asked), lists=np.array([[1, 2], [1, 4]], dtype=np.int32))
    found = judge(asked, wrong)
    assert {(f.row, f.breach) for f in found} >= {(0, Breach.DRAINED), (1, Breach.NOT_OPEN)}
