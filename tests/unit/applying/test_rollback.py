"""Back to before an application: the lists, orders, leaders and settings from then, and nothing that others changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.builders import move, snapshot, state
from tests.profiles import examples
from tests.unit.applying.lab import Lab, lab
from tests.unit.applying.test_cancelling import COPYING, applications, cancelled_at
from tests.unit.applying.three_moves import MOVES, stands_at_the_target, three_moves

from replan.applying.api import before
from replan.errors import BadUsage, Exit, Held
from replan.model.api import (
    LEADER_RATE,
    ConfigScope,
    ElectionType,
    SettingName,
    replicas,
)
from replan.planning.api import (
    Origin,
    Plan,
    RefusalRule,
    ThrottleSetting,
    WarningKind,
    WayBack,
    way_back,
)


def back(made: Lab, to: str | None = None) -> Plan:
    return way_back(before(made.ledger, to), made.plane.observe())


def is_as_before(made: Lab) -> bool:
    return all(
        (found := made.partition(m)).replicas == m.original and found.leader == m.original[0]
        for m in MOVES
    )


def test_the_plan_back_returns_lists_orders_and_leaders_under_the_same_throttle() -> None:
    made = three_moves()
    configs = made.configs()
    made.apply()
    assert stands_at_the_target(made)
    plan = back(made)
    assert plan.throttle == made.plan.throttle
    assert [w.kind for w in plan.warnings] == [WarningKind.STILL_DECLARED]
    assert made.apply(plan).exit_code is Exit.OK
    assert is_as_before(made)
    assert made.configs() == configs
    assert made.apply(back(made)).exit_code is Exit.OK
    assert stands_at_the_target(made)


STAYING = tuple(
    ThrottleSetting.of(SettingName(ConfigScope.BROKER, broker, LEADER_RATE), None, "5000000")
    for broker in ("1", "2")
)


@examples(fast=5, full=120, nightly=2_000)
@given(
    lists=st.sets(st.sampled_from(range(3))),
    led=st.sets(st.sampled_from(range(3))),
    rates=st.sets(st.sampled_from(range(2))),
    cancelled=st.none() | st.floats(0, 12),
)
def test_what_another_tool_had_done_before_an_application_no_plan_back_takes_away(
    lists: set[int], led: set[int], rates: set[int], cancelled: float | None
) -> None:
    made = three_moves()
    made.plan = replace(made.plan, standing=STAYING)
    targets = {MOVES[n].partition: MOVES[n].target for n in lists}
    made.plane.reassign(targets, allow_replication_factor_change=True)
    made.plane.alter_configs([STAYING[n].change for n in rates])
    made.clock.sleep(60)
    made.plane.elect([MOVES[n].partition for n in lists & led], ElectionType.PREFERRED)
    made.clock.sleep(10)
    found, configs = [made.partition(move) for move in MOVES], made.configs()
    if cancelled is None:
        made.apply()
    else:
        cancelled_at(made, made.clock.now() + cancelled)
    plan = back(made)
    assert made.apply(plan).exit_code is Exit.OK
    assert made.configs() == configs
    now = [made.partition(move) for move in MOVES]
    assert [state.replicas for state in now] == [state.replicas for state in found]
    led_on = {
        str(w.facts["partitions"]) for w in plan.warnings if w.kind is WarningKind.FIRST_LEADS_ON
    }
    for was, now_is in zip(found, now, strict=True):
        assert now_is.leader == was.leader or any(str(was.partition) in f for f in led_on)


def test_a_list_that_still_stands_while_a_reassignment_shortens_it_is_not_back() -> None:
    seen = state([1, 2, 3], removing=[3])
    origin = Origin(seen.partition, seen.topic_id, replicas(1, 2, 3), replicas(1, 2))
    plan = way_back(WayBack(application="a-1", origins=[origin]), snapshot([seen]))
    assert [r.rule for r in plan.refusals] == [RefusalRule.RUNNING]


def test_over_several_applications_it_leads_to_before_the_first_of_them() -> None:
    made = three_moves()
    made.apply()
    first = applications(made)[0].id
    made.apply(back(made))
    made.apply()
    assert stands_at_the_target(made)
    assert made.apply(back(made, first)).exit_code is Exit.OK
    assert is_as_before(made)
    assert not back(made, first).changes


def test_a_cancelled_application_is_rolled_back_as_far_as_it_was_finished() -> None:
    made = three_moves()
    cancelled_at(made, COPYING)
    plan = back(made)
    assert [m.partition for m in plan.moves] == [MOVES[1].partition]
    assert made.apply(plan).exit_code is Exit.OK
    assert is_as_before(made)


def test_an_abandoned_application_is_rolled_back_from_the_middle() -> None:
    made = three_moves()
    made.apply(stop=made.stop_at(COPYING))
    made.abandon()
    assert made.apply(back(made)).exit_code is Exit.OK
    assert is_as_before(made)


def test_what_somebody_has_changed_since_stays_and_is_named() -> None:
    made = three_moves()
    made.apply()
    moved = MOVES[0].partition
    made.plane.reassign({moved: replicas(1, 3, 5)}, allow_replication_factor_change=True)
    made.clock.sleep(60)
    plan = back(made)
    assert moved not in {m.partition for m in plan.moves}
    (changed,) = [w for w in plan.warnings if w.kind is WarningKind.CHANGED_SINCE]
    assert changed.facts["partitions"] == (str(moved),)


def test_where_the_first_of_a_list_leads_since_it_leads_on_and_is_named() -> None:
    """Kafka elects no other replica while that one is in sync."""
    elected = move([3, 1, 2], [3, 1, 2], leader=1)
    made = lab([state([3, 1, 2], leader=1)], [elected])
    assert made.apply().exit_code is Exit.OK
    plan = back(made)
    assert not plan.changes
    (led_on,) = plan.warnings
    assert led_on.kind is WarningKind.FIRST_LEADS_ON
    assert led_on.facts["partitions"] == (str(elected.partition),)


def test_an_open_application_and_an_unknown_one_are_refused() -> None:
    made = three_moves()
    with pytest.raises(BadUsage):
        back(made)
    made.apply(stop=made.stop_at(COPYING))
    with pytest.raises(Held):
        back(made)
    made.apply()
    with pytest.raises(BadUsage):
        back(made, "nobody-1")
