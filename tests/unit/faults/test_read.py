"""How faults are read: what each means to the simulator, and how what is wrong is reported."""

import pytest
from tests.unit.faults.fault_context import CONTEXT

from replan.errors import BadUsage
from replan.faults.api import FORMS, TokenReader, by_words, read_fault, read_schedule
from replan.model.api import (
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    ElectionType,
    TopicPartition,
)
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    At,
    DeleteTopic,
    Disconnect,
    DropFromIsr,
    ElectLeaders,
    Fault,
    FenceBroker,
    KillBroker,
    LagMetadata,
    LoseRequests,
    Produce,
    RebalanceLeaders,
    RepeatRequests,
    SendRequest,
    SlowBroker,
    StartBroker,
    StopBroker,
    UnregisterBroker,
    WriteKind,
)

B3 = BrokerId(3)
P1 = TopicPartition("orders", 1)
MIN_ISR = "min.insync.replicas"
REASSIGNED = SendRequest(AlterReassignments(((P1, (BrokerId(1), BrokerId(2))),)))


def set_topic(
    key: str, value: str, operation: ConfigOperation = ConfigOperation.SET
) -> SendRequest:
    return SendRequest(
        AlterConfigs((ConfigChange(ConfigScope.TOPIC, "orders", key, operation, value),))
    )


KILL = "; the form is: kill BROKER [for TIME]"
UNKNOWN = next(kind.form for kind in FORMS if kind.begins[0] == "unknown")

ONCE: list[tuple[str, Fault]] = [
    ("kill 3", KillBroker(B3)),
    ("stop 3", StopBroker(B3)),
    ("start  3", StartBroker(B3)),
    ("slow 3 to 5MB/s", SlowBroker(B3, 5_000_000)),
    ("slow 3 to usual", SlowBroker(B3, None)),
    ("fence 3", SendRequest(FenceBroker(B3))),
    ("lag orders-1 broker 3", DropFromIsr(P1, B3, 1_000_000)),
    ("lag orders-1 broker 3 by 2GB", DropFromIsr(P1, B3, 2_000_000_000)),
    ("produce orders-1 1MB/s", Produce(P1, 1_000_000)),
    ("produce orders-1 0", Produce(P1, 0)),
    ("foreign reassign orders-1 [1,2]", REASSIGNED),
    ("foreign reassign orders-1 [1, 2]", REASSIGNED),
    ("foreign cancel orders-1", SendRequest(AlterReassignments(((P1, None),)))),
    ("foreign elect preferred orders-1", SendRequest(ElectLeaders((P1,), ElectionType.PREFERRED))),
    ("foreign elect unclean orders-1", SendRequest(ElectLeaders((P1,), ElectionType.UNCLEAN))),
    ("foreign min-isr orders 3", set_topic(MIN_ISR, "3")),
    (f"foreign config topic orders set {MIN_ISR} 3", set_topic(MIN_ISR, "3")),
    (
        f"foreign config topic orders delete {MIN_ISR}",
        set_topic(MIN_ISR, "", ConfigOperation.DELETE),
    ),
    ("foreign delete-topic orders", SendRequest(DeleteTopic("orders"))),
    ("unregister 3", SendRequest(UnregisterBroker(B3))),
    ("rebalance", SendRequest(RebalanceLeaders())),
    ("unknown outcome of elect without effect", LoseRequests(WriteKind.ELECT, 1, None)),
    ("unknown outcome of 2 configs with effect", LoseRequests(WriteKind.CONFIGURE, 2, 0.0)),
    ("unknown outcome of reassign late by 75s", LoseRequests(WriteKind.REASSIGN, 1, 75.0)),
    ("repeated 3 reassign", RepeatRequests(WriteKind.REASSIGN, 3)),
    ("lag orders-1 broker 3 by 1GiB", DropFromIsr(P1, B3, 2**30)),
    ("metadata 2s behind", LagMetadata(2.0)),
]


@pytest.mark.parametrize(("text", "meant"), ONCE, ids=[text for text, _ in ONCE])
def test_a_fault_is_read(text: str, meant: Fault) -> None:
    fault = read_fault(f"{text} at 10m", CONTEXT)
    assert fault.schedule == (At(600.0, meant),)
    assert fault.text == " ".join(f"{text} at 10m".split())


@pytest.mark.parametrize(
    ("text", "schedule"),
    [
        ("kill 3 at 30s for 2m", (At(30.0, KillBroker(B3)), At(150.0, StartBroker(B3)))),
        ("stop 3 at 1h for 1h", (At(3_600.0, StopBroker(B3)), At(7_200.0, StartBroker(B3)))),
        (
            "slow 3 to 1MB/s at 0s for 1.5m",
            (At(0.0, SlowBroker(B3, 1_000_000)), At(90.0, SlowBroker(B3, None))),
        ),
        ("restart 3 at 5s", (At(5.0, StopBroker(B3)), At(15.0, StartBroker(B3)))),
        ("silence at 5s for 30s", (At(5.0, Disconnect(30.0)),)),
        (
            "metadata 2s behind at 5s for 30s",
            (At(5.0, LagMetadata(2.0)), At(35.0, LagMetadata(0.0))),
        ),
        (
            "flap orders-1 broker 3 every 10s at 5s for 20s",
            (At(5.0, DropFromIsr(P1, B3, 1_000_000)), At(15.0, DropFromIsr(P1, B3, 1_000_000))),
        ),
    ],
)
def test_a_fault_ends_by_itself(text: str, schedule: tuple[At, ...]) -> None:
    assert read_fault(text, CONTEXT).schedule == schedule


WRONG = [
    ("kill 3", 'it does not say when; write e.g. "kill 3 at 10m"'),
    ("", 'it does not say when; write e.g. "kill 3 at 10m"'),
    ("at 5s", "a fault is missing"),
    ("kill 3 at", "a time is missing"),
    ("kill 3 at 5", ", character 11: 5 is not a time, e.g. 30s, 2m or 1h"),
    ("kill 3 at 1.2.3s", ", character 11: 1.2.3s is not a time, e.g. 30s, 2m or 1h"),
    ("kill 3 at -5s", ", character 11: -5s is not a time, e.g. 30s, 2m or 1h"),
    ("kill x at 5s", ", character 6: x is not a whole number, e.g. 3" + KILL),
    ("kill 9 at 5s", ", character 6: there is no broker 9; registered: 1, 2, 3, 4, 5" + KILL),
    ("kill 3 hard at 5s", ", character 8: unexpected `hard`" + KILL),
    ("kill 3 at 5s hard", ", character 14: unexpected `hard`" + KILL),
    ("kill 3 at 5s for ever", ", character 18: ever is not a time, e.g. 30s, 2m or 1h" + KILL),
    (
        "foreign cancel orders-1 at 3s for 5s",
        ", character 31: unexpected `for 5s`; the form is: foreign cancel PARTITION",
    ),
    (
        "slow 3 to 5 at 3s",
        ", character 11: 5 is not a rate, e.g. 1MB/s, or 0; the form is: slow BROKER to RATE|usual [for TIME]",
    ),
    (
        "silence at 5s",
        ": `for` is expected, found nothing; the form is: silence for TIME",
    ),
    (
        "lag orders-9 broker 3 at 5s",
        ", character 5: there is no partition orders-9; the form is: lag PARTITION broker BROKER [by SIZE]",
    ),
    (
        "foreign min-isr clicks 2 at 5s",
        ", character 17: there is no topic clicks; the form is: foreign min-isr TOPIC COUNT",
    ),
    (
        "foreign reassign orders-1 [1,b] at 5s",
        ", character 27: [1,b] is not a replica list, e.g. [1,2,3]; the form is: foreign reassign PARTITION LIST",
    ),
    (
        "unknown outcome of reassign late by 70 at 5s",
        ", character 37: 70 is not a time, e.g. 30s, 2m or 1h; the form is: " + UNKNOWN,
    ),
    (
        "lag orders-1 broker 3 by 9999PB at 5s",
        ", character 26: 9999PB is not a size, e.g. 60MB; the form is: lag PARTITION broker BROKER [by SIZE]",
    ),
    (
        "unknown outcome of 0 reassign with effect at 5s",
        ", character 20: 0 requests; write 1 or more; the form is: " + UNKNOWN,
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text for text, _ in WRONG])
def test_a_fault_that_is_wrong_is_reported_with_its_place_and_its_form(
    text: str, message: str
) -> None:
    with pytest.raises(BadUsage) as refused:
        read_fault(text, CONTEXT)
    place = "" if message.startswith((":", ",")) else ": "
    assert str(refused.value) == f'--fault "{text}"{place}{message}'


def test_the_error_of_an_unknown_fault_lists_all() -> None:
    with pytest.raises(BadUsage) as refused:
        read_fault("burn 3 at 10m", CONTEXT)
    first, *forms = str(refused.value).splitlines()
    assert first == (
        '--fault "burn 3 at 10m", character 1: unknown fault `burn 3`; the faults are:'
    )
    assert forms == [f"  {kind.form}" for kind in FORMS]


def test_the_error_lists_those_that_begin_alike() -> None:
    with pytest.raises(BadUsage) as refused:
        read_fault("foreign dance at 10m", CONTEXT)
    _, *forms = str(refused.value).splitlines()
    assert forms == [f"  {kind.form}" for kind in FORMS if kind.form.startswith("foreign ")]


SAYABLE = {
    "a broker dies": "kill 3",
    "a broker stops cleanly": "stop 3",
    "a broker comes back": "start 3",
    "a broker is slow": "slow 3 to 1MB/s for 10m",
    "a broker loses a disk": "lose disk 3 for 10m",
    "the controller moves": "controller moves with effect",
    "a request times out and has its effect": "unknown outcome of reassign with effect",
    "a request times out without effect": "unknown outcome of elect without effect",
    "a request has its effect 75 s later": "unknown outcome of configs late by 75s",
    "another tool reassigns": "foreign reassign orders-1 [1,2,5]",
    "another tool cancels": "foreign cancel orders-1",
    "another tool elects": "foreign elect unclean orders-1",
    "another tool deletes a topic": "foreign delete-topic orders",
    "another tool creates it again": "foreign recreate-topic orders [1,2]*2",
    "another tool sets a rate": "foreign config broker 3 set leader.replication.throttled.rate 1000000",
    "another tool removes a rate": "foreign config broker 3 delete leader.replication.throttled.rate",
    "another tool sets a list": "foreign config topic orders set leader.replication.throttled.replicas *",
    "another tool removes a list": "foreign config topic orders delete leader.replication.throttled.replicas",
    "the minimum changes": "foreign min-isr orders 1",
    "the partition count changes": "foreign add-partitions orders [1,2,3]",
    "leaders are rebalanced": "rebalance",
    "the ISR flaps": "flap orders-1 broker 3 every 10s for 5m",
}


@pytest.mark.parametrize("situation", SAYABLE)
def test_every_fault_of_real_clusters_has_words(situation: str) -> None:
    what = SAYABLE[situation]
    told = read_schedule(TokenReader(what, "story.txt:3"), CONTEXT)
    fault = read_fault(f"{what} at 0s", CONTEXT)
    assert told == fault.schedule
    assert told


def test_no_two_faults_begin_alike() -> None:
    """The one would hide the other."""
    assert len(by_words(FORMS)) == len(FORMS)
    with pytest.raises(ValueError, match=r"^`start BROKER` begins like `start BROKER`$"):
        by_words([kind for kind in FORMS if kind.begins == ("start",)] * 2)
