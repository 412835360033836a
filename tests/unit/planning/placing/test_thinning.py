"""No broker holds more of a topic than its rule allows, at the fewest bytes, or that is impossible."""

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import within
from tests.profiles import examples
from tests.unit.planning.placing.exact import optimum
from tests.unit.planning.placing.problems import (
    brokers,
    chosen,
    ended,
    given_up,
    members,
    only,
    problem,
)

from replan.planning.api import NO_LIMIT, Layout, Obstacle, PlacementProblem, choose


def lists_of(asked: PlacementProblem) -> list[list[int]]:
    return members(chosen(asked).lists)


def test_one_replica_of_a_partition_goes_where_that_does() -> None:
    lists = [[1, 2], [1, 2], [1, 3], [2, 1]]
    asked = problem(
        brokers("aabb"), lists, layout=Layout.NONE, topics=[0] * 4, sizes=[5, 9, 7, 2], most=2
    )
    assert lists_of(asked) == [[4, 2], [1, 4], [1, 3], [2, 3]]


def test_each_topic_of_a_rule_counts_by_itself() -> None:
    asked = problem(brokers("aab"), [[1], [1], [1]], layout=Layout.NONE, topics=[0, 0, 1], most=1)
    assert lists_of(asked) == [[2], [1], [1]]


def test_the_list_of_a_partition_that_stays_crowds_nobody() -> None:
    """The first stays on 3, which its rule does not name; the others hold more of 1 than it allows."""
    asked = problem(
        brokers("abc"), [[3], [1], [1]], layout=Layout.NONE, among=[1], topics=[0] * 3, most=1
    )
    chosen(replace(asked, staying=np.array([0, 1, 2])))


def test_a_balance_counts_what_stays_where_it_is() -> None:
    """The first two are to leave 3, and stay: so a balance takes nothing there that the rule forbids."""
    asked = problem(
        brokers("aaa"),
        [[1, 3], [1, 3], [2], [2]],
        layout=Layout.NONE,
        factor=1,
        topics=[0] * 4,
        most=2,
        balance=within(replicas=Fraction(0)),
    )
    found = chosen(replace(asked, staying=np.array([0, 1])))
    assert found.lists[2:].max(axis=1).tolist() == [2, 2]


def test_as_few_as_it_takes_keep_what_they_have_where_it_is_impossible() -> None:
    asked = problem(brokers("aab"), [[1]] * 5, layout=Layout.NONE, topics=[0] * 5, most=1)
    [reason] = chosen(asked).impossible
    assert (reason.obstacle, len(reason.partitions)) == (Obstacle.TOPIC_CROWDS_BROKERS, 2)
    assert (reason.brokers, reason.needed, reason.available) == ((1, 2, 3), 5, 3)


def test_room_on_disks_takes_nobody_above_what_the_rule_allows() -> None:
    """Broker 2 has room for all of it, and may hold two; the third one keeps the list that it has."""
    table = brokers("aab", room={1: 0, 2: 100, 3: 10})
    asked = problem(table, [[1]] * 3, layout=Layout.NONE, among=[1, 2], topics=[0] * 3, most=2)
    chosen(asked)


def test_a_partition_in_one_rack_goes_to_another_where_its_own_is_full() -> None:
    asked = problem(
        brokers("aabb"),
        [[1, 2]] * 3,
        layout=Layout.IN_RACK,
        topics=[0] * 3,
        sizes=[5, 2, 9],
        most=2,
    )
    assert lists_of(asked) == [[1, 2], [3, 4], [1, 2]]


def test_a_fenced_broker_of_another_rack_that_holds_it_counts() -> None:
    lists = [[1, 2]] * 3 + [[1, 3]]
    asked = problem(
        brokers("aabb", closed=[3]), lists, layout=Layout.IN_RACK, topics=[0] * 4, most=3
    )
    assert lists_of(asked) == [[1, 2], [1, 2], [1, 2], [4, 3]]


def test_none_is_given_up_that_finds_a_place_once_others_are() -> None:
    asked = problem(brokers("abcd"), [[3, 1]] * 3, layout=Layout.NONE, topics=[0] * 3, most=1)
    assert [len(reason.partitions) for reason in chosen(asked).impossible] == [1]


@st.composite
def crowded(draw: st.DrawFn) -> PlacementProblem:
    """A topic or two with too many replicas on a broker, in racks, on disks that may be small."""
    count = draw(st.integers(2, 4))
    ids = range(1, count + 1)
    factor = draw(st.integers(1, 2))
    members = st.lists(st.sampled_from(ids), unique=True, min_size=factor, max_size=factor)
    lists = draw(st.lists(members, min_size=1, max_size=4))
    sizes = draw(st.lists(st.integers(1, 9), min_size=len(lists), max_size=len(lists)))
    rooms = st.dictionaries(st.sampled_from(ids), st.integers(0, 20))
    return problem(
        brokers(
            draw(st.sampled_from(["abcd", "aabb", "abaa"]))[:count],
            closed=draw(st.lists(st.sampled_from(ids), max_size=1)),
            room=draw(st.just({}) | rooms),
        ),
        lists,
        layout=draw(st.sampled_from([Layout.NONE, Layout.RACK, Layout.IN_RACK])),
        factor=factor,
        among=draw(st.none() | st.lists(st.sampled_from(ids), unique=True, min_size=1)),
        topics=draw(st.lists(st.integers(0, 1), min_size=len(lists), max_size=len(lists))),
        sizes=sizes,
        most=draw(st.integers(1, 3)),
        balance=draw(st.sampled_from([(), within(bytes=Fraction(1, 10))])),
    )


@given(crowded())
@examples(fast=40, full=400, nightly=4_000)
def test_it_is_kept_or_impossible(asked: PlacementProblem) -> None:
    found = chosen(asked)
    lists, lost = members(found.lists), given_up(found)
    topics = asked.partitions.topic.tolist()
    most = asked.rules[0].most or 0
    for topic in set(topics):
        mine = [row for row, of in enumerate(topics) if of == topic]
        holds = Counter(b for row in mine if row not in lost for b in lists[row])
        assert max(holds.values(), default=0) <= most
        assert lost.isdisjoint(mine) == any_way(asked, mine, most)
    if not (asked.balance and lost):  # what is given up has its part in the balance of the others
        assert members(choose(ended(asked, found)).lists) == lists


def any_way(asked: PlacementProblem, rows: list[int], most: int) -> bool:
    """Whether there are lists of some partitions that keep the rule, whatever room there is."""
    table = replace(asked.brokers, room=np.full_like(asked.brokers.room, NO_LIMIT))
    alone = replace(only(asked, rows), brokers=table)
    return optimum(alone, [(0, most)] * len(table.ids)) is not None
