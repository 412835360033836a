"""Brokers come, go and are known: registrations, fencing, controlled shutdowns."""

from tests.unit.simulator.controllers import Controller

from replan.model.api import Accepted, BrokerId
from replan.simulator.api import (
    CordonDirs,
    FenceBroker,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
)

NINE = BrokerId(9)
ONE = BrokerId(1)


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
