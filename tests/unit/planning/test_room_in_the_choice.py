"""Where the placement leaves a choice, replicas go where their disks have room; nothing moves for room alone."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import HERE, drain, placement, ruled, state, within
from tests.unit.planning.test_planning_by_rule import targets
from tests.unit.planning.test_room import KEPT, TOTAL, with_disks

from replan.model.api import (
    Balance,
    BrokerId,
    DeviationKind,
    LogDir,
    Placement,
    Reconcile,
    Snapshot,
    Spread,
)
from replan.planning.api import RefusalRule, WarningKind, make_plan

FULL = {DeviationKind.LOG_DIR_FULL: 900}


def by_rule(*drained: int, factor: int = 1, spread: Spread = Spread.NONE) -> Placement:
    rules = ruled(replication_factor=factor, spread=spread)
    return placement({}, rules=rules, replica_blacklist=drain(*drained))


def test_a_substitute_has_room_though_another_is_less_loaded() -> None:
    states = [state([1], size=50), state([2], partition=1, size=1), state([2], partition=2, size=1)]
    found = targets(by_rule(1), with_disks(states, 0, 100, 10))
    assert found == {"orders-0": [2]}


def test_a_substitute_goes_where_the_policy_would_not_empty_the_directory_again() -> None:
    """Broker 2 is less loaded and has room, but would be used to 82 %; the policy empties what is above 80 %."""
    states = [state([1], size=50), state([3], partition=1, size=60), state([3], partition=2)]
    policy = Reconcile(FULL, full_above=Fraction(8, 10))
    asked = replace(by_rule(1), reconcile=policy)
    before = with_disks(states, 0, 130, 500)
    assert targets(by_rule(1), before) == {"orders-0": [2]}
    assert targets(asked, before) == {"orders-0": [3]}
    nobody = with_disks(states, 0, 130, 130)
    assert targets(asked, nobody) == {"orders-0": [2]}


def test_room_counts_more_than_the_rack_of_the_one_that_leaves() -> None:
    drained = placement({"orders": [[1, 2]]}, replica_blacklist=drain(1))
    before = with_disks([state([1, 2], size=50)], 0, 0, 10, 100, racks="abac")
    assert targets(drained, before) == {"orders-0": [4, 2]}


def test_what_is_filled_first_makes_way_where_all_would_fit() -> None:
    """50 and 40 fill broker 2 or 3; only 50 on the larger and both others on the smaller fit."""
    states = [state([1], partition=p, size=size) for p, size in enumerate((50, 40, 20))]
    found = make_plan(by_rule(1), with_disks(states, 0, 60, 55))
    assert found.refusals == ()
    load = {2: 0, 3: 0}
    for move in found.moves:
        load[move.target[0]] += move.bytes
    assert load == {2: 60, 3: 50}


def test_a_full_disk_alone_moves_nothing() -> None:
    assert targets(by_rule(factor=1), with_disks([state([1], size=50)], -KEPT, TOTAL)) == {}


def test_what_fits_nowhere_is_refused_alone_and_nothing_gives_way_for_it() -> None:
    states = [
        state([1], size=80),
        state([1], partition=1, size=10),
        state([2], partition=2, size=5),
    ]
    plan = make_plan(by_rule(1), with_disks(states, 0, 20, 20))
    assert [(str(r.partition), r.rule) for r in plan.refusals] == [
        ("orders-0", RefusalRule.NO_ROOM)
    ]
    assert [str(m.partition) for m in plan.moves] == ["orders-1"]


def test_two_directories_that_say_the_same_are_one_volume() -> None:
    """Broker 3 has no room: by theirs both would go to broker 2."""
    states = [state([1], size=50), state([1], partition=1, size=50)]
    here = with_disks(states, 0, 60, 10)
    for room, found in ((60, 1), (80, 2)):
        other = LogDir(BrokerId(2), "/e", TOTAL, room + KEPT, 1)
        both = replace(here, log_dirs=(*here.log_dirs, other))
        assert len(make_plan(by_rule(1), both).moves) == found


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 60)), min_size=1, max_size=6),
    st.lists(st.one_of(st.none(), st.integers(-50, 150)), min_size=4, max_size=4),
    st.booleans(),
)
def test_no_disk_gets_more_than_it_can_take_and_the_next_plan_is_empty(
    held: list[tuple[int, int]], takes: list[int | None], drained: bool
) -> None:
    states = [state([broker], partition=p, size=size) for p, (broker, size) in enumerate(held)]
    asked, here = by_rule(*([1] if drained else [])), with_disks(states, *takes)
    plan = make_plan(asked, here)
    assert drained or plan.moves == ()
    for broker, room in enumerate(takes, 1):
        come = sum(m.bytes for m in plan.moves if broker in m.new)
        gone = sum(m.bytes for m in plan.moves if broker in m.leaving)
        assert room is None or come == 0 or come <= room + gone


@pytest.mark.parametrize(
    ("measure", "tight", "sizes"), [("bytes", 3, [50, 50, 20]), ("replicas", 2, [50, 50, 50])]
)
def test_a_balance_fills_no_directory_that_the_policy_would_empty_again(
    measure: str, tight: int, sizes: list[int]
) -> None:
    """One broker would have room for 50, but be used to more than 80 % then: the other one takes it."""
    roomy = 5 - tight
    states = [state([1], partition=p, size=size) for p, size in enumerate(sizes)]
    states += [state([3], partition=3, size=1)] if measure == "replicas" else []
    policy = Reconcile(FULL, full_above=Fraction(8, 10))
    balance = Balance(HERE, within(**{measure: Fraction(1, 2)}))
    asked = replace(by_rule(), balance=balance)
    before = with_disks(states, 0, *(130 if b == tight else 500 for b in (2, 3)))
    assert [tight] in [b for b, size in came(asked, before) if size == 50]
    after = came(replace(asked, reconcile=policy), before)
    assert [b for b, size in after if size == 50] == [[roomy]]


@pytest.mark.parametrize(
    ("takes", "policy", "said"),
    [
        (130, Reconcile(FULL, full_above=Fraction(8, 10)), " below the 80% of logDirFull"),
        (30, Reconcile(), ""),
    ],
)
def test_a_balance_names_the_broker_whose_room_keeps_it_from_its_share(
    takes: int, policy: Reconcile, said: str
) -> None:
    """Broker 2 would take five of ten partitions, and may take three."""
    states = [state([1], partition=p, size=10) for p in range(10)]
    balance = Balance(HERE, within(bytes=Fraction(1, 10)))
    asked = replace(by_rule(), balance=balance, reconcile=policy)
    plan = make_plan(asked, with_disks(states, 0, takes))
    [warned] = [w for w in plan.warnings if w.kind is WarningKind.BALANCE]
    assert warned.facts["closed"] == (f"2 has no more room{said}",)


def came(asked: Placement, before: Snapshot) -> list[tuple[list[int], int]]:
    """Where replicas go, and their bytes."""
    plan = make_plan(asked, before)
    return [(list(map(int, m.target)), m.bytes) for m in plan.moves]
