"""Conflicts are real and have nothing in them that could be spared: beside an exact solver that shares no rule."""

from hypothesis import event, given
from hypothesis import strategies as st
from tests.profiles import examples
from tests.unit.planning.feasibility.exact_case import can_be_placed

from replan.planning.api import (
    Case,
    Constraint,
    ConstraintKind,
    RackOf,
    disjoint,
    irreducible,
    lacks,
    simplified,
)

EXAMPLES = examples(fast=15, full=150, nightly=5_000)
ONE_BROKER = (
    ConstraintKind.FENCED,
    ConstraintKind.CORDONED,
    ConstraintKind.NO_ROOM,
    ConstraintKind.WITHOUT_RACK,
    ConstraintKind.DRAINED,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, RackOf]:
    """A partition by a rule or with a list, on up to six brokers; every kind of constraint, and often too much."""
    count = draw(st.integers(1, 6))
    ids = list(range(1, count + 1))
    racks = {b: draw(st.sampled_from(["a", "b", "c", "a", "b", None])) for b in ids}
    most = draw(st.sampled_from([0, 1, 2, count]))
    some = st.lists(st.sampled_from(ids), unique=True, max_size=most).map(tuple)
    listed = st.lists(st.sampled_from(ids), unique=True, max_size=4).map(sorted).map(tuple)
    held = draw(
        st.lists(st.sampled_from([*ids, 9]), unique=True, max_size=4).map(sorted).map(tuple)
    )
    base = draw(listed) if draw(st.booleans()) else ()
    found = []
    for kind in ONE_BROKER:
        named = (
            [b for b in ids if racks[b] is None]
            if kind is ConstraintKind.WITHOUT_RACK
            else draw(some)
        )
        found += [Constraint(kind, brokers=(b,), number=9, available=1) for b in sorted(named)]
    if draw(st.booleans()):
        found.insert(0, Constraint(ConstraintKind.UNCLEAN_ELECTION, number=1))
    found.insert(0, Constraint(ConstraintKind.MIN_INSYNC_REPLICAS, number=draw(st.integers(1, 3))))
    if draw(st.booleans()):
        found.insert(0, Constraint(ConstraintKind.REQUIRED_RACKS, number=draw(st.integers(1, 3))))
    if base:
        found.append(Constraint(ConstraintKind.LIST, number=len(base)))
    else:
        if draw(st.booleans()):
            found.append(Constraint(ConstraintKind.BROKERS, "p:1:1", draw(listed) or (1,)))
        if draw(st.booleans()):
            text = draw(st.sampled_from(["rack", "in-rack"]))
            found.append(Constraint(ConstraintKind.SPREAD, "p:2:1", text=text))
        factor = draw(st.integers(1, 4))
        found.append(Constraint(ConstraintKind.REPLICATION_FACTOR, "p:3:1", number=factor))
    live = draw(st.integers(0, 3))
    below = draw(st.booleans())
    return Case(held, base, below, live, tuple(found)), racks


@EXAMPLES
@given(cases())
def test_every_conflict_is_infeasible_alone_and_feasible_without_any_one_of_its_constraints(
    given_: tuple[Case, RackOf],
) -> None:
    case, brokers = given_
    feasible = can_be_placed(case, brokers, case.constraints)
    assert (not lacks(case, brokers, case.constraints)) is feasible
    event("feasible" if feasible else "infeasible")
    found = disjoint(case.constraints, lambda under: not lacks(case, brokers, under))
    assert bool(found) is not feasible
    for part in found:
        assert not can_be_placed(case, brokers, part)
        for constraint in part:
            assert can_be_placed(case, brokers, [c for c in part if c is not constraint])


@EXAMPLES
@given(cases())
def test_partitions_that_count_as_alike_have_the_same_conflicts(
    given_: tuple[Case, RackOf],
) -> None:
    case, brokers = given_
    plain = simplified(case, brokers)
    parts = [
        disjoint(of.constraints, lambda under, of=of: not lacks(of, brokers, under))  # type: ignore[misc]
        for of in (case, plain)
    ]
    assert parts[0] == parts[1]


def test_passes_are_repeated_until_nothing_can_be_spared() -> None:
    """`b` can be spared only once `a` is gone, and comes first."""
    impossible = [{"a", "b", "c"}, {"b", "c"}, {"c"}]

    def feasible(under: object) -> bool:
        return set(under) not in impossible  # type: ignore[call-overload]

    assert irreducible(["b", "a", "c"], feasible) == ["c"]
