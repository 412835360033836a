"""Faults by chance."""

from tests.unit.faults.fault_context import CONTEXT
from tests.unit.rehearsal.stages import plan_of

from replan.model.api import BrokerId
from replan.rehearsal.api import drawn_faults
from replan.simulator.api import (
    KillBroker,
    LoseDisk,
    ReplaceDisks,
    StartBroker,
    StopBroker,
)


def test_faults_by_chance_are_the_same_for_a_seed_and_bring_every_broker_back() -> None:
    plan = plan_of([1, 2, 4])
    assert drawn_faults(7, plan, 60, CONTEXT) == drawn_faults(7, plan, 60, CONTEXT)
    assert len({str(drawn_faults(seed, plan, 60, CONTEXT)) for seed in range(20)}) > 10
    for seed in range(200):
        away: set[BrokerId] = set()
        for at in sorted(
            (at for f in drawn_faults(seed, plan, 60, CONTEXT) for at in f.schedule),
            key=lambda a: a.seconds,
        ):
            match at.fault:
                case KillBroker(broker) | StopBroker(broker) | LoseDisk(broker):
                    assert not away
                    away.add(broker)
                case StartBroker(broker) | ReplaceDisks(broker):
                    away.remove(broker)
                case _:
                    pass
        assert not away


def test_there_is_nothing_to_draw_for_an_empty_plan() -> None:
    assert drawn_faults(1, plan_of([1, 2, 3]), 60, CONTEXT) == ()
