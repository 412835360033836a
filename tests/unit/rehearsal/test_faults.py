"""The grammar of faults, line by line, and faults by chance."""

import pytest
from tests.unit.rehearsal.stages import plan_of

from replan.errors import BadUsage
from replan.model.configs import ConfigChange, ConfigOperation, ConfigScope
from replan.model.control_plane import ElectionType
from replan.model.names import BrokerId, TopicPartition
from replan.rehearsal.faults import KINDS, drawn_faults, parse_fault
from replan.simulator.commands import (
    AlterConfigs,
    AlterReassignments,
    DeleteTopic,
    ElectLeaders,
    RebalanceLeaders,
    UnregisterBroker,
)
from replan.simulator.faults import (
    Ask,
    At,
    Disconnect,
    DropFromIsr,
    Happening,
    KillBroker,
    LagMetadata,
    LoseRequests,
    Produce,
    RequestKind,
    SlowBroker,
    StartBroker,
    StopBroker,
)

B3 = BrokerId(3)
P1 = TopicPartition("orders", 1)
MIN_ISR = "min.insync.replicas"


def set_topic(key: str, value: str, operation: ConfigOperation = ConfigOperation.SET) -> Ask:
    return Ask(AlterConfigs((ConfigChange(ConfigScope.TOPIC, "orders", key, operation, value),)))


ONCE: list[tuple[str, Happening]] = [
    ("kill 3", KillBroker(B3)),
    ("stop 3", StopBroker(B3)),
    ("shutdown 3", StopBroker(B3)),
    ("restart 3", StartBroker(B3)),
    ("start  3", StartBroker(B3)),
    ("slow 3 to 5MB/s", SlowBroker(B3, 5_000_000)),
    ("drop orders-1 3", DropFromIsr(P1, B3, 1_000_000)),
    ("drop orders-1 3 by 2GB", DropFromIsr(P1, B3, 2_000_000_000)),
    ("produce orders-1 1MB/s", Produce(P1, 1_000_000)),
    ("reassign orders-1 [1,2]", Ask(AlterReassignments(((P1, (BrokerId(1), BrokerId(2))),)))),
    ("reassign orders-1 [1, 2]", Ask(AlterReassignments(((P1, (BrokerId(1), BrokerId(2))),)))),
    ("cancel orders-1", Ask(AlterReassignments(((P1, None),)))),
    ("elect orders-1", Ask(ElectLeaders((P1,), ElectionType.PREFERRED))),
    ("min-isr orders 3", set_topic(MIN_ISR, "3")),
    (f"set topic orders {MIN_ISR}=3", set_topic(MIN_ISR, "3")),
    (f"unset topic orders {MIN_ISR}", set_topic(MIN_ISR, "", ConfigOperation.DELETE)),
    ("delete orders", Ask(DeleteTopic("orders"))),
    ("unregister 3", Ask(UnregisterBroker(B3))),
    ("rebalance", Ask(RebalanceLeaders())),
    ("unknown", LoseRequests(RequestKind.REASSIGN, 1, 0.0)),
    ("unknown elect without effect", LoseRequests(RequestKind.ELECT, 1, None)),
    ("unknown configs with effect", LoseRequests(RequestKind.CONFIGURE, 1, 0.0)),
    ("unknown reassign late by 70s", LoseRequests(RequestKind.REASSIGN, 1, 70.0)),
    ("metadata 2s behind", LagMetadata(2.0)),
]


@pytest.mark.parametrize(("text", "happening"), ONCE, ids=[text for text, _ in ONCE])
def test_a_fault_is_read(text: str, happening: Happening) -> None:
    fault = parse_fault(f"{text} at 10m")
    assert fault.schedule == (At(600.0, happening),)
    assert fault.text == f"{text} at 10m"


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("kill 3 at 30s for 2m", (At(30.0, KillBroker(B3)), At(150.0, StartBroker(B3)))),
        ("stop 3 at 1h for 1h", (At(3_600.0, StopBroker(B3)), At(7_200.0, StartBroker(B3)))),
        (
            "slow 3 to 1MB/s at 0s for 1.5m",
            (At(0.0, SlowBroker(B3, 1_000_000)), At(90.0, SlowBroker(B3, None))),
        ),
        ("silence at 5s for 30s", (At(5.0, Disconnect(30.0)),)),
    ],
)
def test_a_fault_ends_by_itself(text: str, schedule: tuple[At, ...]) -> None:
    assert parse_fault(text).schedule == schedule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kill 3", '--fault "kill 3": it does not say when; write e.g. "kill 3 at 10m"'),
        (
            "cancel orders-1 at 3s for 5s",
            (
                '--fault "cancel orders-1 at 3s for 5s": it cannot end by itself; the form is: '
                "cancel PARTITION at TIME                 another tool cancels what runs on it"
            ),
        ),
        (
            "slow 3 to 5 at 3s",
            (
                '--fault "slow 3 to 5 at 3s": "5" is not a rate; it needs a unit, e.g. 5MB/s; the form is: '
                "slow BROKER to RATE at TIME [for TIME]   its network carries no more, e.g. 5MB/s"
            ),
        ),
        (
            "silence at 5s",
            (
                '--fault "silence at 5s": it does not say for how long; the form is: '
                "silence at TIME for TIME                 nobody answers us"
            ),
        ),
        ("kill 3 at 1.2.3s", "1.2.3s is not a time; write e.g. 30s, 10m or 2h"),
    ],
)
def test_a_fault_that_is_wrong_is_told_with_its_form(text: str, message: str) -> None:
    with pytest.raises(BadUsage) as refused:
        parse_fault(text)
    assert str(refused.value) == message


def test_a_fault_that_nobody_knows_is_told_with_all_that_there_are() -> None:
    with pytest.raises(BadUsage) as refused:
        parse_fault("burn 3 at 10m")
    first, *forms = str(refused.value).splitlines()
    assert first == '--fault "burn 3 at 10m": nothing is known of "burn 3"; the faults are:'
    assert len(forms) == len(KINDS)


def test_faults_by_chance_are_the_same_for_a_seed_and_bring_every_broker_back() -> None:
    plan = plan_of([1, 2, 4])
    assert drawn_faults(7, plan, 60) == drawn_faults(7, plan, 60)
    assert len({drawn_faults(seed, plan, 60) for seed in range(20)}) > 10
    for seed in range(200):
        away: set[BrokerId] = set()
        for at in sorted(
            (at for f in drawn_faults(seed, plan, 60) for at in f.schedule), key=lambda a: a.seconds
        ):
            match at.happening:
                case KillBroker(broker) | StopBroker(broker):
                    assert not away
                    away.add(broker)
                case StartBroker(broker):
                    away.remove(broker)
                case _:
                    pass
        assert not away


def test_there_is_nothing_to_draw_for_an_empty_plan() -> None:
    assert drawn_faults(1, plan_of([1, 2, 3]), 60) == ()
