"""AlterPartition: which ISR changes a controller takes, and with what code it refuses the others."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.unit.simulator.controllers import Controller, named

from replan.model.api import BrokerId, Rejected
from replan.simulator.api import (
    AlterIsr,
    PartitionCreated,
    ShutDownBroker,
    evolve_all,
)

Ask = Callable[[Controller], AlterIsr]


def code(controller: Controller, asked: AlterIsr) -> int:
    answer = controller.ask(asked).whole
    return answer.code if isinstance(answer, Rejected) else 0


# RCMT testInvalidAlterPartitionRequests, restated: the order of the checks shows in the codes.
@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda c: c.isr(1, 2), 0),
        (lambda c: c.isr(1, 2, partition=named(4)), 3),
        (lambda c: c.isr(1, 2, leader_epoch=1), 41),
        (lambda c: c.isr(1, 2, partition_epoch=1), 41),
        (lambda c: c.isr(1, 2, broker=BrokerId(2)), 42),
        (lambda c: c.isr(), 42),
        (lambda c: c.isr(1, 1), 42),
        (lambda c: c.isr(1, 4), 42),
        (lambda c: c.isr(2, 3), 42),
        (lambda c: c.isr(1, 2, recovering=True), 42),
        (lambda c: c.isr(1, recovering=True), 42),
        (lambda c: c.isr(1, 2, epochs={BrokerId(2): 99}), 107),
        (lambda c: c.isr(1, 2, epochs={BrokerId(2): 1}), 107),
        (lambda c: c.isr(1, 2, epochs={BrokerId(2): -1}), 0),
    ],
)
def test_a_request_is_judged_in_kafkas_order(ask: Ask, expected: int) -> None:
    controller = Controller([1, 2, 3])
    assert code(controller, ask(controller)) == expected


def test_a_leader_that_recovers_is_alone_until_it_says_that_it_has() -> None:
    controller = Controller([1, 2], configs={"unclean.leader.election.enable": "true"})
    controller.ask(controller.isr(1))
    controller.fence(1)
    assert (controller.partition().leader, controller.partition().recovering) == (2, True)
    assert code(controller, controller.isr(2, 1, recovering=True)) == 42
    assert code(controller, controller.isr(2, recovering=True)) == 0
    assert controller.partition().recovering
    assert code(controller, controller.isr(2)) == 0
    assert not controller.partition().recovering


def test_where_no_directory_is_known_a_change_that_moves_nothing_reports_none() -> None:
    controller = Controller([1, 2, 3])
    unknown = PartitionCreated(named(0), replace(controller.partition(), directories=()))
    controller.state = evolve_all(controller.state, (unknown,))
    assert code(controller, controller.isr(1, 2)) == 0
    assert controller.partition().directories == ()


def test_a_late_request_is_refused_with_what_is_late() -> None:
    controller = Controller([1, 2, 3])
    first = controller.isr(1, 2)
    controller.ask(first)
    assert code(controller, first) == 95
    second = controller.isr(1, 2, 3)
    controller.fence(1)
    assert code(controller, second) == 74


def test_a_broker_that_shuts_down_may_not_come_back_into_the_isr_though_it_is_not_fenced_yet() -> (
    None
):
    controller = Controller([1, 2, 3])
    controller.ask(ShutDownBroker(BrokerId(1)))
    registration = controller.state.brokers[BrokerId(1)]
    assert (registration.shutting_down, registration.fenced) == (True, False)
    assert code(controller, controller.isr(2, 3, 1)) == 107
