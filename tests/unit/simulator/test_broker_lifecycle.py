"""Brokers come, go and are known: registrations, fencing, controlled shutdowns."""

import pytest
from tests.unit.simulator.controllers import Controller

from replan.model.api import Accepted, BrokerId, Rejected
from replan.simulator.api import (
    ControllerCommand,
    CordonDirs,
    FenceBroker,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)

NINE = BrokerId(9)
ONE = BrokerId(1)


@pytest.mark.parametrize(
    "command",
    [
        FenceBroker(NINE),
        UnfenceBroker(NINE),
        ShutDownBroker(NINE),
        UnregisterBroker(NINE),
        CordonDirs(NINE, frozenset()),
    ],
)
def test_nothing_can_be_done_to_a_broker_that_is_not_registered(command: ControllerCommand) -> None:
    controller = Controller([1, 2])
    before = controller.state
    assert controller.ask(command).whole == Rejected(
        102, "BROKER_ID_NOT_REGISTERED", "Broker ID 9 is not currently registered"
    )
    assert controller.state is before


def test_a_broker_whose_session_holds_cannot_register_again() -> None:
    controller = Controller([1, 2])
    assert controller.ask(RegisterBroker(ONE)).whole == Rejected(
        101, "DUPLICATE_BROKER_REGISTRATION", "Another broker is registered with that broker id."
    )


def test_what_is_so_already_writes_nothing() -> None:
    controller = Controller([1, 2])
    controller.fence(6)
    controller.ask(CordonDirs(ONE, frozenset({"data"})))
    before = controller.state
    for command in (
        UnfenceBroker(ONE),
        FenceBroker(BrokerId(6)),
        ShutDownBroker(BrokerId(6)),
        CordonDirs(ONE, frozenset({"data"})),
    ):
        assert controller.ask(command).whole == Accepted()
    assert controller.state is before


def test_a_broker_that_leads_nothing_stops_with_its_first_heartbeat() -> None:
    controller = Controller([1, 2])
    controller.ask(ShutDownBroker(BrokerId(2)))
    stopped = controller.state.brokers[BrokerId(2)]
    assert (stopped.fenced, stopped.shutting_down) == (True, False)


def test_a_broker_that_leads_hands_over_and_stops_with_its_second_heartbeat() -> None:
    controller = Controller([1, 2])
    controller.ask(ShutDownBroker(ONE))
    leaving = controller.state.brokers[ONE]
    assert (leaving.fenced, leaving.shutting_down, leaving.active) == (False, True, False)
    assert controller.partition().leader == 2
    controller.ask(ShutDownBroker(ONE))
    assert controller.state.brokers[ONE].fenced


def test_the_last_in_sync_replica_stops_and_leaves_nobody() -> None:
    controller = Controller([1, 2])
    controller.ask(ShutDownBroker(ONE))
    controller.ask(ShutDownBroker(BrokerId(2)))
    assert (controller.partition().leader, controller.partition().isr) == (None, (2,))


def test_only_a_new_registration_ends_a_controlled_shutdown() -> None:
    controller = Controller([1, 2])
    for _ in range(2):
        controller.ask(ShutDownBroker(ONE))
    controller.ask(UnfenceBroker(ONE))
    assert not controller.state.active(ONE)
    controller.fence(1)
    controller.ask(RegisterBroker(ONE))
    controller.ask(UnfenceBroker(ONE))
    assert controller.state.active(ONE)
