"""What a reviewer should look at first."""

import pytest
from msgspec.structs import replace
from tests.builders import TOPIC_ID, lists, move

from replan.model.api import (
    BrokerId,
    Measure,
    MoveThrottle,
    OwnApplication,
    SideRates,
    TopicPartition,
    replicas,
)
from replan.planning.api import Create, LogMove, Plan, RiskKind, risks
from replan.reporting.api import risk_text

SLOW = MoveThrottle(1_000_000)
CALM = Plan("c", "d", {}, (move([1, 2, 3], [1, 2, 4], size=1),), throttle=SLOW)


@pytest.mark.parametrize(
    ("plan", "kind", "names"),
    [
        (
            replace(CALM, moves=(move([1, 2, 3], [1], below_min_isr=True),)),
            RiskKind.BELOW_MIN_ISR,
            ("orders-0",),
        ),
        (replace(CALM, moves=(move([1, 2, 3], [1, 2]),)), RiskKind.FEWER_REPLICAS, ("orders-0",)),
        (replace(CALM, moves=(move([1, 2], [3, 4]),)), RiskKind.ALL_REPLACED, ("orders-0",)),
        (
            replace(CALM, creates=(Create("clicks", TOPIC_ID, 1, (lists(1, 2),)),)),
            RiskKind.NEW_PARTITIONS,
            ("clicks",),
        ),
        (
            replace(CALM, moves=(move([1, 2], [2, 1], topic="__consumer_offsets"),)),
            RiskKind.INTERNAL_TOPICS,
            ("__consumer_offsets",),
        ),
        (replace(CALM, throttle=None), RiskKind.UNTHROTTLED, ("orders-0",)),
        (replace(CALM, throttle=MoveThrottle(None)), RiskKind.UNTHROTTLED, ("orders-0",)),
        (replace(CALM, allowed={Measure.BYTES: 7}), RiskKind.LIMIT_RAISED, ("bytes=7",)),
    ],
)
def test_each_kind_is_found_with_what_it_concerns(
    plan: Plan, kind: RiskKind, names: tuple[str, ...]
) -> None:
    assert {risk.kind: risk.names for risk in risks(plan)}[kind] == names


def test_replicas_that_an_open_application_has_added_are_no_loss_when_they_leave_again() -> None:
    shrinks = replace(CALM, moves=(move([1, 2, 3, 6], [1, 2, 6]),))
    to = {TopicPartition("orders", 0): replicas(1, 2, 6)}
    own = OwnApplication("plan-1", "ann@ops-1", at_work=False, targets=to)
    assert [risk.kind for risk in risks(shrinks)] == [RiskKind.FEWER_REPLICAS]
    assert risks(shrinks, own) == ()
    further = replace(CALM, moves=(move([1, 2, 3, 6], [1, 2]),))
    assert [risk.kind for risk in risks(further, own)] == [RiskKind.FEWER_REPLICAS]


@pytest.mark.parametrize(
    ("rates", "free"),
    [
        ({1: 9}, {"orders-1"}),  # broker 1 leads orders-0 and sends its copy
        ({4: 9}, {"orders-1"}),
        ({4: SideRates(9, None)}, {"orders-0", "orders-1"}),
        ({2: 9}, {"orders-0"}),
    ],
)
def test_copies_are_unthrottled_where_neither_broker_has_a_rate_of_its_own(
    rates: dict[int, int | SideRates], free: set[str]
) -> None:
    throttle = MoveThrottle(None, {BrokerId(b): rate for b, rate in rates.items()})
    within = LogMove("orders", TOPIC_ID, 1, BrokerId(2), "/a", "/b", 1)
    plan = replace(CALM, log_moves=(within,), throttle=throttle)
    found = {risk.kind: risk.names for risk in risks(plan)}
    assert set(found[RiskKind.UNTHROTTLED]) == free


def test_a_broker_without_a_rate_is_a_risk_although_the_others_have_one() -> None:
    free = MoveThrottle(9, {BrokerId(1): None, BrokerId(4): None})
    assert [risk.kind for risk in risks(replace(CALM, throttle=free))] == [RiskKind.UNTHROTTLED]


def test_a_throttled_copy_beside_kept_replicas_is_no_risk() -> None:
    assert risks(CALM) == ()


def test_the_worst_comes_first_and_each_kind_has_its_words() -> None:
    worst = move([1, 2, 3], [4], below_min_isr=True, topic="__x")
    found = risks(replace(CALM, moves=(worst,), throttle=None))
    assert [risk.kind for risk in found] == [
        RiskKind.BELOW_MIN_ISR,
        RiskKind.FEWER_REPLICAS,
        RiskKind.ALL_REPLACED,
        RiskKind.INTERNAL_TOPICS,
        RiskKind.UNTHROTTLED,
    ]
    assert all(kind.words and kind.noun for kind in RiskKind)


def test_many_names_are_counted() -> None:
    (risk,) = risks(replace(CALM, moves=tuple(move([1, 2], [1], partition=p) for p in range(1000))))
    assert "1,000 partitions (orders-0, " in risk_text(risk)
    assert risk_text(risk).endswith(", and 980 more).")
