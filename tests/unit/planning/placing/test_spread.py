"""A topic stays spread: what brokers come to hold and to lead of it, on any cluster."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import within
from tests.unit.planning.placing.problems import brokers, chosen, ended, only, problem

from replan.planning.api import Layout, PlacementProblem, broken_rules, choose

Held = Counter[tuple[int, int]]
"""What each broker has of each topic."""


@st.composite
def clusters(draw: st.DrawFn) -> PlacementProblem:
    """A few topics on brokers that hold them in any way, some of which are new, drained or closed."""
    count = draw(st.integers(3, 9))
    racks = "".join(draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count)))
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    old = draw(st.integers(2, count))
    length = draw(st.integers(1, min(3, old)))
    topics = sorted(draw(st.lists(st.integers(0, 2), min_size=3, max_size=24)))
    lists = [(chance.permutation(old)[:length] + 1).tolist() for _ in topics]
    some = st.lists(st.integers(1, count), max_size=1)
    return problem(
        brokers(racks, closed=draw(some)),
        lists,
        layout=draw(st.sampled_from([Layout.RACK, Layout.NONE])),
        factor=draw(st.integers(max(1, length - 1), min(4, length + 1, count))),
        drained=draw(some),
        sizes=np.floor(chance.lognormal(3, 2, len(topics))).astype(int).tolist(),
        topics=topics,
        balance=draw(
            st.sampled_from(
                [
                    (),
                    within(replicas=Fraction(0)),
                    within(replicas=Fraction(1, 10)),
                    within(bytes=Fraction(1, 10)),
                    within(replicas=Fraction(1, 10), bytes=Fraction(1, 10)),
                ]
            )
        ),
    )


@given(clusters())
def test_no_broker_comes_to_hold_more_of_a_topic_than_its_share_and_one_while_there_is_another_way(
    asked: PlacementProblem,
) -> None:
    found = chosen(asked)
    most = allowed(asked, heads=False)
    now = held(asked, found.lists)
    without = held(asked, choose(replace(asked, balance=())).lists)
    for topic, broker in now:
        if now[topic, broker] > most[topic, broker]:
            assert now[topic, broker] <= without[topic, broker]
            assert not _other_way(asked, found.lists, now, most, topic, broker)


@given(clusters())
def test_no_broker_comes_to_lead_more_of_a_topic_while_another_member_can(
    asked: PlacementProblem,
) -> None:
    found = choose(asked)
    most = allowed(asked, heads=True)
    now = held(asked, found.lists[:, :1])
    had = asked.partitions.current[:, 0]
    for row, (head, *others) in enumerate(found.lists.tolist()):
        topic = int(asked.partitions.topic[row])
        if head != had[row] and now[topic, head] > most[topic, head]:
            live = set(others) & set(asked.brokers.ids[~asked.brokers.fenced].tolist())
            assert all(now[topic, b] >= most[topic, b] for b in live)


@given(clusters())
def test_planning_again_moves_nothing(asked: PlacementProblem) -> None:
    found = choose(asked)
    again = choose(ended(asked, found)).lists
    assert [set(row) for row in again.tolist()] == [set(row) for row in found.lists.tolist()]


@st.composite
def joined(draw: st.DrawFn) -> PlacementProblem:
    """Three racks of four brokers, which hold topics as Kafka places them, and a new broker in each."""
    chance = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    topics: list[int] = []
    lists: list[list[int]] = []
    while len(topics) < 240:
        first, more = int(chance.integers(12)), int(chance.integers(1, 60))
        topics += [len(topics)] * more
        lists += [[(first + n + slot) % 12 + 1 for slot in range(3)] for n in range(more)]
    sizes = np.floor(chance.lognormal(10, 2, len(topics))).astype(int)
    return problem(
        brokers("abc" * 5),
        lists,
        sizes=sizes.tolist(),
        topics=topics,
        balance=within(replicas=Fraction(1, 10)),
    )


@given(joined())
def test_brokers_that_join_get_one_replica_of_a_partition_and_hardly_more_bytes_than_that_needs(
    asked: PlacementProblem,
) -> None:
    found = chosen(asked)
    assert found.imbalances == ()
    both = zip(found.lists.tolist(), asked.partitions.current.tolist(), strict=True)
    moved = np.array([len(set(now) - set(had)) for now, had in both])
    assert set(moved.tolist()) == {0, 1}
    now, most = held(asked, found.lists), allowed(asked, heads=False)
    assert all(now[key] <= most[key] for key in now)
    copied = np.sort(asked.partitions.bytes[moved > 0])
    least = np.sort(asked.partitions.bytes)[: len(copied)]
    assert copied.sum() <= 1.05 * least.sum()


@given(joined(), st.data())
def test_which_replicas_a_balance_takes_does_not_depend_on_the_order_of_brokers_that_differ(
    asked: PlacementProblem, data: st.DataObject
) -> None:
    """Nor does it depend on the order of topics whose partitions differ in size."""
    count = len(asked.partitions)
    asked = replace(asked, partitions=replace(asked.partitions, bytes=np.arange(count) * 10))
    names = sorted(set(asked.partitions.topic.tolist()))
    order = data.draw(st.permutations(names))
    rows = [int(r) for name in order for r in np.flatnonzero(asked.partitions.topic == name)]
    assert (choose(asked).lists[rows] == choose(only(asked, rows)).lists).all()


def held(asked: PlacementProblem, lists: np.ndarray) -> Held:
    return Counter(
        (int(topic), int(broker))
        for topic, row in zip(asked.partitions.topic, lists, strict=True)
        for broker in row
        if broker >= 0
    )


def allowed(asked: PlacementProblem, *, heads: bool) -> Held:
    """What each broker may have of each topic: its share rounded up and one, or what it has."""
    before = held(asked, asked.partitions.current[:, : 1 if heads else None])
    topics = Counter(asked.partitions.topic.tolist())
    factor = int(asked.partitions.factor[0])
    unit = shares(asked, factor)
    most: Held = Counter()
    for topic, broker in product(topics, asked.brokers.ids.tolist()):
        share = topics[topic] * unit[broker] / (factor if heads else 1)
        most[topic, broker] = max(-int(-share // 1) + 1, before[topic, broker])
    return most


def shares(asked: PlacementProblem, factor: int) -> dict[int, Fraction]:
    """What each broker should have of one partition, all weights being equal."""
    [rule] = asked.rules
    may, table = rule.candidates & asked.brokers.open, asked.brokers
    able = dict(zip(table.ids[may].tolist(), table.rack[may].tolist(), strict=True))
    found = dict.fromkeys(asked.brokers.ids.tolist(), Fraction(0))
    if rule.layout is Layout.NONE:
        return found | {b: min(Fraction(factor, len(able)), Fraction(1)) for b in able}
    racks = sorted(set(asked.brokers.rack[rule.candidates].tolist()))
    sizes = Counter(able.values())
    extra = dict.fromkeys(racks, Fraction(0))
    rest, open_ = Fraction(factor % len(racks)), [r for r in racks if sizes[r]]
    while rest and open_:
        part = rest / sum(sizes[r] for r in open_)
        full = [r for r in open_ if part * sizes[r] > 1]
        for rack in full or open_:
            extra[rack] = min(part * sizes[rack], Fraction(1))
            rest -= extra[rack]
        open_ = [r for r in open_ if r not in full] if full else []
    each = factor // len(racks)
    return found | {b: min((each + extra[r]) / sizes[r], Fraction(1)) for b, r in able.items()}


def _other_way(
    asked: PlacementProblem, lists: np.ndarray, now: Held, most: Held, topic: int, broker: int
) -> bool:
    """Whether another broker can take one of the replicas of the topic that the broker gets."""
    for row in np.flatnonzero((lists == broker).any(axis=1)).tolist():
        if asked.partitions.topic[row] != topic or broker in asked.partitions.current[row]:
            continue
        for other in asked.brokers.ids.tolist():
            changed = lists[row : row + 1].copy()
            changed[changed == broker] = other
            alone = only(asked, [row])
            one = replace(choose(alone), lists=changed)
            if now[topic, other] < most[topic, other] and not broken_rules(alone, one):
                return True
    return False
