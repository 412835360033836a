"""What a controller refuses, in Kafka's codes and words, in `goldens/refusals.txt`; it changes nothing.

The traces of `tests/golden` compare most of them with real controllers.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tests.goldens import check_cases
from tests.unit.simulator.controllers import TOPIC, Controller, named, to

from replan.model.api import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MIN_INSYNC_REPLICAS,
    UNCLEAN_ELECTION,
    BrokerId,
    ConfigChange,
    ConfigOperation,
    ConfigScope,
    ElectionType,
    Rejected,
    TopicId,
    TopicPartition,
    broker_change,
    replicas,
    topic_change,
)
from replan.simulator.api import (
    AlterConfigs,
    AlterReassignments,
    AssignDirs,
    ControllerCommand,
    CordonDirs,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    FenceBroker,
    LoseDirs,
    RegisterBroker,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)

Asked = Iterator[tuple[str, Controller, ControllerCommand]]
CLICKS = TopicPartition("clicks", 0)
ONE, NINE = BrokerId(1), BrokerId(9)
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND = ConfigOperation.APPEND


def reassignments() -> Asked:
    here = Controller([1, 2, 3])
    yield "reassign a topic that is not there", here, to(1, partition=CLICKS)
    yield "reassign a partition that is not there", here, to(1, partition=named(7))
    yield "cancel of a partition that is not there", here, AlterReassignments(((named(7), None),))
    yield "cancel of what does not run", here, AlterReassignments(((named(0), None),))
    for ids in ((), (9, 8, 1, 1), (9, 8, 1), (-1, 1)):
        yield f"reassign to {[*ids]}", here, to(*ids)
    grows = AlterReassignments(((named(0), replicas(1, 2, 3, 4)),), False)
    yield "another replication factor, which is forbidden", here, grows
    shrinks = Controller([1, 2, 3])
    shrinks.ask(to(4, 5))
    stays = AlterReassignments(((named(0), replicas(1, 2, 4)),), False)
    yield "another replication factor than a move ends with, which is forbidden", shrinks, stays
    for version in ("3.9", "4.0"):
        old = Controller([1, 2, 3], version=version)
        yield f"to forbid another replication factor in {version}", old, grows
    unclean = Controller([1, 2, 3])
    unclean.ask(to(4, 5, 6))
    unclean.ask(unclean.isr(1, 4))
    unclean.fence(1)
    yield "cancel that needs an unclean election", unclean, AlterReassignments(((named(0), None),))
    cordoned = Controller([1, 2, 3], version="4.4")
    cordoned.ask(CordonDirs(BrokerId(3), frozenset({"data"})))
    yield "reassign to a broker that is cordoned, from 4.4 on", cordoned, to(3, 2, 1)
    stumbles = Controller([1, 5, 2], elr=True, configs={MIN_INSYNC_REPLICAS: "2"})
    stumbles.ask(to(5))
    stumbles.fence(5)
    yield "reassign to an eligible leader that is no replica", stumbles, to(1)


def elections() -> Asked:
    here = Controller([1, 2], [3, 2], [3, 4])
    here.fence(3, 4)
    preferred, unclean = ElectionType.PREFERRED, ElectionType.UNCLEAN
    for title, partition, kind in (
        ("election of a topic that is not there", CLICKS, preferred),
        ("election of a partition that is not there", named(4), preferred),
        ("preferred election that is not needed", named(0), preferred),
        ("unclean election that is not needed", named(0), unclean),
        ("preferred election where the first replica is fenced", named(1), preferred),
        ("unclean election where all are fenced", named(2), unclean),
    ):
        yield title, here, ElectLeaders((partition,), kind)


def configurations() -> Asked:
    here = Controller([1, 2], elr=True)
    of_all = ConfigChange(ConfigScope.BROKER, "", MIN_INSYNC_REPLICAS, DELETE, "")
    for change in (
        topic_change(TOPIC, LEADER_REPLICAS, SET, "0:1,0:x"),
        topic_change(TOPIC, MIN_INSYNC_REPLICAS, SET, "0"),
        topic_change(TOPIC, MIN_INSYNC_REPLICAS, APPEND, "1"),
        topic_change(TOPIC, UNCLEAN_ELECTION, SET, "maybe"),
        topic_change(TOPIC, "foo", SET, "bar"),
        topic_change("clicks", LEADER_REPLICAS, SET, "0:1"),
        broker_change(ONE, LEADER_RATE, SET, "-5"),
        broker_change(ONE, LEADER_RATE, SET, "fast"),
        broker_change(NINE, LEADER_RATE, SET, "5"),
        broker_change(ONE, MIN_INSYNC_REPLICAS, SET, "2"),
        of_all,
    ):
        place = f"{change.scope} {change.name or 'default'}"
        title = f"{change.operation.name.lower()} {change.key}={change.value} of {place}"
        yield title, here, AlterConfigs((change,))
    twice = [topic_change(TOPIC, LEADER_REPLICAS, APPEND, v) for v in ("0:1", "0:2")]
    yield "the same key twice", here, AlterConfigs(tuple(twice))
    # A broker judges its own numbers.
    without_elr = Controller([1, 2])
    for key, value in (
        (MIN_INSYNC_REPLICAS, "0"),
        (MIN_INSYNC_REPLICAS, "2147483648"),
        (MIN_INSYNC_REPLICAS, "1e3"),
        (FOLLOWER_RATE, "-1"),
        (FOLLOWER_RATE, "9223372036854775808"),
        ("replica.alter.log.dirs.io.max.bytes.per.second", "-1"),
    ):
        change = broker_change(ONE, key, SET, value)
        yield f"set {key}={value} of a broker", without_elr, AlterConfigs((change,))


def topics() -> Asked:
    here = Controller([1, 2], [2, 3])
    here.ask(topic("or_ders.x", (1,)))
    here.fence(5, 6)
    yield "create a topic that is there", here, topic(TOPIC, (1,))
    for name in ("a b", ".", "..", "or.ders.x"):
        yield f"create a topic '{name}' beside or_ders.x", here, topic(name, (1,))
    yield "create a topic with lists of two lengths", here, topic("new", (1, 2), (1,))
    yield "create a topic where all are fenced", here, topic("new", (5, 6))
    wrong = topic("new", (1,), **{MIN_INSYNC_REPLICAS: "0"})
    yield "create a topic with a wrong configuration", here, wrong
    yield "more partitions of a topic that is not there", here, grown(3, (1, 2), name="nope")
    yield "as many partitions as there are", here, grown(2)
    yield "fewer partitions", here, grown(1)
    yield "more partitions than lists", here, grown(4, (1, 2))
    yield "more partitions with shorter lists", here, grown(3, (1,))
    yield "delete a topic that is not there", here, DeleteTopic("nope")


def topic(name: str, *lists: tuple[int, ...], **configs: str) -> CreateTopic:
    return CreateTopic(name, TopicId("x"), tuple(replicas(*ids) for ids in lists), configs)


def grown(count: int, *lists: tuple[int, ...], name: str = TOPIC) -> CreatePartitions:
    return CreatePartitions(name, count, tuple(replicas(*ids) for ids in lists))


def registrations() -> Asked:
    here = Controller([1, 2])
    for command in (
        FenceBroker(NINE),
        UnfenceBroker(NINE),
        ShutDownBroker(NINE),
        UnregisterBroker(NINE),
        CordonDirs(NINE, frozenset()),
        LoseDirs(NINE, frozenset("a")),
        AssignDirs(NINE, ((named(0), "a"),)),
    ):
        yield f"{type(command).__name__} of broker 9, which is not registered", here, command
    yield "register a broker whose session holds", here, RegisterBroker(ONE)
    for broker, name in ((ONE, CLICKS), (ONE, named(7)), (BrokerId(5), named(0))):
        title = f"say of {name} that it lies in a directory of broker {broker}"
        yield title, here, AssignDirs(broker, ((name, "a"),))


def test_a_refusal_has_kafkas_code_and_words_and_changes_nothing() -> None:
    told: list[tuple[str, str]] = []
    for title, controller, command in chain(
        reassignments(), elections(), configurations(), topics(), registrations()
    ):
        before = controller.state
        answer = controller.answer(command)
        assert isinstance(answer, Rejected), title
        assert controller.state is before, title
        told.append((title, f"{answer.code} {answer.name}: {answer.message}"))
    check_cases(Path(__file__).parent / "goldens" / "refusals.txt", told)
