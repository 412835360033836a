"""Who gets the copies: bytes are even among those that get any, in each rack, and what is held evens out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.profiles import examples
from tests.unit.planning.placing.problems import brokers, chosen, only, problem

from replan.planning.api import Choice, Layout, PlacementProblem, choose, shared_out

RACKS = 3


@st.composite
def jobs(draw: st.DrawFn) -> PlacementProblem:
    """A drain, a repair or another number of replicas, on brokers that are loaded in any way."""
    each = draw(st.integers(2, 4))
    count, factor = RACKS * each, draw(st.integers(1, RACKS))
    partitions = draw(st.integers(5, 40))
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    lists = [_spread(chance, each, factor) for _ in range(partitions)]
    drained = draw(st.lists(st.integers(1, count), max_size=1))
    wanted = draw(st.integers(factor, RACKS))
    if draw(st.booleans()):
        lists = [chance.permutation(np.arange(1, count + 1))[:factor].tolist() for _ in lists]
    table = brokers("abc" * each)
    return problem(
        replace(
            table, replicas=chance.integers(0, 50, count), bytes=chance.integers(0, 999, count)
        ),
        lists,
        layout=Layout.RACK,
        factor=wanted,
        drained=drained,
        sizes=np.floor(chance.lognormal(3, 2, partitions)).astype(int).tolist(),
    )


def _spread(chance: np.random.Generator, each: int, factor: int) -> list[int]:
    racks = chance.permutation(RACKS)[:factor]
    return [int(rack + 1 + RACKS * chance.integers(each)) for rack in racks]


@given(jobs())
def test_the_busiest_receiver_of_a_rack_gets_little_more_than_the_others(
    asked: PlacementProblem,
) -> None:
    """At most a tenth more than they get on average, or one partition more; else what its rack holds is even by it.

    So it is where it holds, but for one partition, no more than a tenth above the others by replicas and bytes, or no
    more bytes than an even outcome lets it.
    """
    found = chosen(asked, all_of_it=True)
    got, held, one = received(asked, found), loads(asked, found), largest(asked)
    bytes_, size = asked.brokers.bytes + stored(asked, found), asked.partitions.bytes.max()
    for rack in range(RACKS):
        mine = (asked.brokers.rack == rack) & asked.brokers.open
        mean = got[mine].mean()
        much = mine & (got > max(1.1 * mean, mean + size))
        even = held[much] <= 1.1 * held[mine].mean() + one
        assert (even | (bytes_[much] <= most_even(asked, bytes_[mine]))).all()


@st.composite
def clusters(draw: st.DrawFn) -> PlacementProblem:
    """Topics of many sizes: brokers are drained, one is replaced, racks are repaired, a replica more is wanted."""
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    each, kind = (
        draw(st.integers(2, 6)),
        draw(st.sampled_from(["drain", "join", "repair", "raise"])),
    )
    count = RACKS * each
    there = count - RACKS * (kind == "join") if each > 2 else count
    topics = np.minimum(np.ceil(chance.lognormal(2, 1.2, draw(st.integers(1, 20)))), 60).astype(int)
    of = np.repeat(np.arange(len(topics)), topics)
    between, within = draw(st.sampled_from([0, 1, 2])), draw(st.sampled_from([0, 0.5]))
    scale = np.repeat(chance.lognormal(10, between, len(topics)), topics)
    lists = [_spread(chance, there // RACKS, 2 if kind == "raise" else RACKS) for _ in of]
    if kind == "repair":
        lists = [(chance.permutation(count)[:RACKS] + 1).tolist() for _ in of]
    most = {"drain": 2, "join": 1}.get(kind, 1)
    drained = draw(st.lists(st.integers(1, there), max_size=most, unique=True))
    return problem(
        brokers("abc" * each),
        lists,
        layout=Layout.RACK,
        factor=RACKS,
        drained=drained if each > len(drained) else (),
        sizes=np.floor(scale * chance.lognormal(0, within, len(of))).astype(int).tolist(),
        topics=of.tolist(),
    )


@given(clusters())
@examples(fast=5, full=100, nightly=2_000)
def test_who_gets_much_more_than_the_other_receivers_of_its_rack_holds_no_more_than_they(
    asked: PlacementProblem,
) -> None:
    """Where that is not so, topics that stay spread are the cause: with one partition a topic it is so."""
    if too_busy(asked):
        each = np.arange(len(asked.partitions))
        alone = replace(asked, partitions=replace(asked.partitions, topic=each))
        assert not too_busy(alone)


def too_busy(asked: PlacementProblem) -> bool:
    """Whether one gets a tenth more than the mean, and one largest partition more, though others hold no more than it.

    They do where it ends above what an even outcome lets it (`most_even`).
    """
    found = chosen(asked, all_of_it=True)
    got, size = received(asked, found), asked.partitions.bytes
    held = stored(asked, found)
    for rack in range(RACKS):
        mine = (asked.brokers.rack == rack) & asked.brokers.open
        if got[mine].any():
            mean = got[mine & (got > 0)].mean()
            much = got[mine] > max(1.1 * mean, mean + size.max())
            if (held[mine][much] > most_even(asked, held[mine])).any():
                return True
    return False


def most_even(asked: PlacementProblem, held: np.ndarray) -> float:
    """The bytes up to which an even outcome is wanted first, of what the brokers of a rack hold, and one partition."""
    above = 1.15 if asked.drained else 1.05
    return float(above * held.mean() + asked.partitions.bytes.max())


@pytest.mark.parametrize(
    ("held", "ends"),
    [
        ([10, 10, 10, 9, 0], [10, 10, 10, 9]),
        ([30, 93, 100, 100], [103, 110, 110]),
        ([9, 6, 10, 10], [9, 13, 13]),
        ([9, 7, 7, 13], [11, 11, 14]),
    ],
    ids=[
        "all hold as much, one of which is new",
        "copies are even: none comes to 15 percent above the even 108",
        "copies are even: 13.4 would be too much",
        "who would come to hold more than 13.8 gets less",
    ],
)
def test_what_a_drained_broker_had_goes_to_the_others(held: list[int], ends: list[int]) -> None:
    """Brokers 1.. hold so many partitions of one size each; 1 goes."""
    lists = [[broker] for broker, number in enumerate(held, 1) for _ in range(number)]
    asked = problem(brokers("a" * len(held)), lists, drained=[1])
    assert Counter(choose(asked).lists[:, 0].tolist()) == dict(enumerate(ends, 2))


def test_who_has_more_gets_something_where_the_others_may_get_no_more() -> None:
    assert shared_out(60, [1] * 4, [16] * 4, [0, 50, 50, 100]) == [16, 16, 16, 12]


def test_what_would_be_too_much_for_a_rack_goes_to_one_that_has_none_of_the_partition() -> None:
    """Each rack has 20, and 2 would be alone in the first: seven go to the third, and an eighth would not help."""
    lists = [[1, 3]] * 10 + [[2, 5]] * 10 + [[4, 6]] * 10
    for layout in (Layout.RACK, Layout.NONE, Layout.LISTED):
        found = chosen(
            problem(brokers("aabbcc"), lists, layout=layout, drained=[1]), all_of_it=True
        ).lists
        assert Counter(found.ravel().tolist()) == {2: 13, 3: 10, 4: 10, 5: 14, 6: 13}


def test_what_lies_in_all_racks_stays_in_its_own_however_much_that_is() -> None:
    lists = [[1, 3, 5]] * 10 + [[2, 4, 6]] * 10
    found = chosen(problem(brokers("aabbcc"), lists, drained=[1]), all_of_it=True).lists
    assert Counter(found.ravel().tolist()) == {2: 20, 3: 10, 4: 10, 5: 10, 6: 10}


def test_who_loses_most_gets_most() -> None:
    """Of ten partitions 1, who leads, stays, and 2 goes: 1 has ten, 2 nothing and 3 five before 12 come."""
    lists = [[1, 2]] * 10 + [[4, 5]] * 12 + [[3, 4]] * 5
    held = Counter(choose(problem(brokers("aaabb"), lists)).lists.ravel().tolist())
    assert {b: held[b] for b in (1, 2, 3)} == {1: 10, 2: 9, 3: 8}


def test_a_leader_gives_way_where_its_broker_leads_more_than_is_even_unless_that_is_declared() -> (
    None
):
    """Broker 1 leads ten, of which its rack keeps ten: five each are even, and one more is near enough."""
    asked = problem(brokers("aabb"), [[1, 2]] * 10)
    assert Counter(chosen(asked, all_of_it=True).lists.ravel().tolist()) == {1: 6, 2: 4, 3: 5, 4: 5}
    declared = replace(asked, led=np.arange(10))
    assert Counter(chosen(declared, all_of_it=True).lists.ravel().tolist()) == {1: 10, 3: 5, 4: 5}


@given(jobs(), st.data())
def test_who_gets_what_does_not_depend_on_the_order_of_partitions_that_differ(
    asked: PlacementProblem, data: st.DataObject
) -> None:
    """Those of one size are alike, and go by their names."""
    count = len(asked.partitions)
    sizes = np.arange(count, dtype=np.int64) * 10
    asked = replace(asked, partitions=replace(asked.partitions, bytes=sizes))
    order = data.draw(st.permutations(range(count)))
    assert (choose(asked).lists[order] == choose(only(asked, order)).lists).all()


def test_a_topic_stays_spread_whatever_its_sizes() -> None:
    """Broker 2 gets one partition of 500 bytes, and 3 not all of the other seven, but its half and one."""
    sizes = [500] + [10] * 7
    asked = problem(
        brokers("aaa"), [[1]] * 8, layout=Layout.NONE, drained=[1], sizes=sizes, topics=[0] * 8
    )
    assert Counter(choose(asked).lists[:, 0].tolist()) == {2: 3, 3: 5}


def test_new_partitions_even_out_their_topic_and_then_all() -> None:
    """Brokers 1 and 2 hold the topic already, and 4 holds nothing at all."""
    asked = problem(
        brokers("aaaa"), [[1], [2], [], [], []], factor=1, layout=Layout.NONE, topics=[0] * 5
    )
    table = replace(asked.brokers, replicas=np.array([0, 5, 9, 0]))
    found = choose(replace(asked, brokers=table)).lists[:, 0].tolist()
    assert found == [1, 2, 4, 3, 1]


def test_small_partitions_even_out_the_replicas() -> None:
    """Broker 2 gets the large one; the small ones, a tenth of it together, go to 3, who has fewer."""
    asked = problem(
        brokers("aaa"), [[1]] * 6, layout=Layout.NONE, drained=[1], sizes=[500] * 2 + [10] * 4
    )
    table = replace(asked.brokers, replicas=np.array([0, 6, 2]))
    found = choose(replace(asked, brokers=table)).lists[:, 0].tolist()
    assert found.count(3) > found.count(2)


def received(asked: PlacementProblem, found: Choice) -> np.ndarray:
    """Bytes that each broker gets."""
    return np.array([_got(asked, found.lists, b) for b in asked.brokers.ids.tolist()])


def stored(asked: PlacementProblem, found: Choice) -> np.ndarray:
    """Bytes of the partitions that each broker holds in the end."""
    sizes = asked.partitions.bytes
    return np.array([sizes[(found.lists == b).any(axis=1)].sum() for b in asked.brokers.ids])


def _got(asked: PlacementProblem, lists: np.ndarray, broker: int) -> int:
    new = (lists == broker).any(axis=1) & ~(asked.partitions.current == broker).any(axis=1)
    return int(asked.partitions.bytes[new].sum())


def loads(asked: PlacementProblem, found: Choice) -> np.ndarray:
    """What each broker holds in the end, half in replicas and half in bytes, as a part of all."""
    lies = [(found.lists == b).any(axis=1) for b in asked.brokers.ids.tolist()]
    replicas = asked.brokers.replicas + [int(of.sum()) for of in lies]
    size = asked.brokers.bytes + [int(asked.partitions.bytes[of].sum()) for of in lies]
    return np.asarray(replicas / replicas.sum() + size / size.sum())


def largest(asked: PlacementProblem) -> float:
    """The load of the largest partition."""
    sizes = asked.partitions.bytes
    return float(sizes.max() / max(asked.brokers.bytes.sum() + sizes.sum(), 1)) + 1 / len(sizes)
