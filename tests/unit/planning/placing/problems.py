"""Small placement problems as literals, and random ones; and what is chosen of them."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import within

from replan.model.api import PAD, Matrix, Tolerance
from replan.planning.api import (
    NO_LIMIT,
    NO_RACK,
    BrokerTable,
    Choice,
    Elsewhere,
    Layout,
    PartitionTable,
    PlacementProblem,
    Positions,
    ReplicaSteps,
    Rule,
    TopicSpread,
    broken_rules,
    choose,
)

AnySteps = TypeVar("AnySteps", bound=ReplicaSteps)


def brokers(
    racks: str,
    *,
    closed: Sequence[int] = (),
    weights: Mapping[int, int] | None = None,
    room: Mapping[int, int] | None = None,
) -> BrokerTable:
    """Brokers 1.. with a rack each, one letter (`-`: not known); those in `closed` are fenced."""
    names = tuple(sorted(set(racks) - {"-"}))
    ids = np.arange(1, len(racks) + 1, dtype=np.int64)
    fenced = np.isin(ids, list(closed))
    return BrokerTable(
        ids=ids,
        rack=np.array([NO_RACK if r == "-" else names.index(r) for r in racks], dtype=np.int64),
        racks=names,
        open=~fenced,
        fenced=fenced,
        weight=np.array([(weights or {}).get(int(b), 1) for b in ids], dtype=np.int64),
        replicas=np.zeros(len(ids), dtype=np.int64),
        bytes=np.zeros(len(ids), dtype=np.int64),
        room=np.array([(room or {}).get(int(b), NO_LIMIT) for b in ids], dtype=np.int64),
    )


def problem(
    table: BrokerTable,
    lists: Sequence[Sequence[int]],
    *,
    layout: Layout = Layout.RACK,
    factor: int | Sequence[int] | None = None,
    held: Sequence[Sequence[int]] | None = None,
    drained: Sequence[int] = (),
    among: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    leaders: Sequence[int] | None = None,
    topics: Sequence[int] | None = None,
    balance: tuple[Tolerance, ...] = (),
    budget: int = 2_000,
    most: int | None = None,
) -> PlacementProblem:
    """Partitions with these lists under one rule; led by their first, of 10 bytes each, of a topic each."""
    current = lists if held is None else held
    width = max([1, *map(len, lists), *map(len, current)])

    def matrix(rows: Sequence[Sequence[int]]) -> np.ndarray:
        return np.array([[*r, *[PAD] * (width - len(r))] for r in rows], dtype=np.int32).reshape(
            len(rows), width
        )

    gone = np.isin(table.ids, list(drained))
    chosen = np.isin(table.ids, list(table.ids if among is None else among))
    wanted = [len(x) for x in lists] if factor is None else factor
    return PlacementProblem(
        brokers=replace(table, open=table.open & ~gone),
        partitions=PartitionTable(
            rule=np.zeros(len(lists), dtype=np.int64),
            factor=np.broadcast_to(np.array(wanted, dtype=np.int64), (len(lists),)),
            base=matrix(lists),
            current=matrix(current),
            leader=np.array(
                leaders if leaders is not None else [x[0] if x else -1 for x in current],
                dtype=np.int64,
            ),
            bytes=np.array(sizes if sizes is not None else [10] * len(lists), dtype=np.int64),
            topic=np.arange(len(lists), dtype=np.int64) if topics is None else np.array(topics),
        ),
        rules=(Rule(layout, chosen & ~gone, most=most),),
        elsewhere=Elsewhere(np.zeros((0, 1), dtype=np.int32), np.zeros(0, dtype=np.int64)),
        drained=frozenset(drained),
        balance=balance,
        budget=budget,
    )


@st.composite
def problems(draw: st.DrawFn, *, tight: bool = False, balanced: bool = False) -> PlacementProblem:
    """Any small problem; a tight one has hardly more brokers than it needs."""
    count = draw(st.integers(2, 5 if tight else 8))
    racks = "".join(draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count)))
    ids = list(range(1, count + 1))
    some = st.lists(st.sampled_from(ids), unique=True, max_size=count // 2)
    partitions = draw(st.integers(1, 6 if tight else 8))
    lists = [
        draw(st.lists(st.sampled_from(ids), unique=True, min_size=1, max_size=min(4, count)))
        for _ in range(partitions)
    ]
    least = max(1, count - 2) if tight else 1
    kinds = [Layout.RACK, Layout.NONE] if balanced else [Layout.RACK, Layout.NONE, Layout.IN_RACK]
    weights = st.dictionaries(st.sampled_from(ids), st.sampled_from([2, 5, 50]), max_size=2)
    return problem(
        brokers(racks, closed=draw(some), weights=draw(weights) if balanced else None),
        lists,
        layout=draw(st.sampled_from(kinds)),
        factor=draw(st.integers(least if tight else 1, min(4, count))),
        drained=draw(some),
        among=draw(st.none() | st.lists(st.sampled_from(ids), unique=True, min_size=1)),
        sizes=[draw(st.integers(0, 9)) for _ in range(partitions)],
        balance=within(replicas=Fraction(draw(st.integers(0, 5)), 10)) if balanced else (),
    )


def only(asked: PlacementProblem, rows: Sequence[int]) -> PlacementProblem:
    """The same problem with some of its partitions, in this order."""
    columns = {
        name: getattr(asked.partitions, name)[list(rows)]
        for name in ("rule", "factor", "base", "current", "leader", "bytes", "topic")
    }
    return replace(asked, partitions=PartitionTable(**columns))


def chosen(asked: PlacementProblem, *, all_of_it: bool = False) -> Choice:
    """What is chosen, which breaks no rule; `all_of_it`: nothing is impossible."""
    found = choose(asked)
    assert broken_rules(asked, found) == []
    assert not (all_of_it and found.impossible)
    return found


def members(lists: Matrix) -> list[list[int]]:
    return [[b for b in row if b >= 0] for row in lists.tolist()]


def given_up(found: Choice) -> set[int]:
    return {row for reason in found.impossible for row in reason.partitions}


def ended(asked: PlacementProblem, found: Choice) -> PlacementProblem:
    """The same problem once the choice is there."""
    lists, first = found.lists, found.lists[:, 0].astype(np.int64)
    return replace(
        asked,
        partitions=replace(asked.partitions, base=lists, current=lists, leader=first),
        leading=asked.leading and replace(asked.leading, first=first),
    )


def replica_steps(asked: PlacementProblem, kind: type[AnySteps]) -> AnySteps:
    """The steps from the lists that there are, of all partitions."""
    at, rows = Positions.of(asked), np.arange(len(asked.partitions))
    mine = at.find(asked.partitions.current)
    spread = TopicSpread(asked, at, rows, asked.partitions.current)
    return kind(asked, at, rows, mine, mine.copy(), spread)
