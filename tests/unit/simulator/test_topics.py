"""Creating and deleting topics and partitions with explicit replicas."""

import pytest
from tests.unit.simulator.controllers import TOPIC, Controller, named

from replan.model.api import ConfigScope, Rejected, TopicId, replicas
from replan.simulator.api import (
    ControllerCommand,
    CreatePartitions,
    CreateTopic,
    DeleteTopic,
    PartitionChanged,
    PartitionCreated,
    TopicCreated,
    decide_command,
    evolve_all,
    first_iterated,
    slots_after_replacing,
    slots_for,
)


def topic(name: str, *lists: tuple[int, ...], **configs: str) -> CreateTopic:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    return CreateTopic(name, TopicId("x"), tuple(replicas(*ids) for ids in lists), settings)


def partitions(count: int, *lists: tuple[int, ...], name: str = TOPIC) -> CreatePartitions:
    return CreatePartitions(name, count, tuple(replicas(*ids) for ids in lists))


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (topic(TOPIC, (1,)), 36, "Topic 'orders' already exists."),
        (
            topic("a b", (1,)),
            17,
            (
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
                "alphanumerics, '.', '_' and '-'"
            ),
        ),
        (topic(".", (1,)), 17, "Topic name is invalid: '.' or '..' is not allowed"),
        (topic("..", (1,)), 17, "Topic name is invalid: '.' or '..' is not allowed"),
        (topic("or.ders.x", (1,)), 17, "Topic 'or.ders.x' collides with existing topic: or_ders.x"),
        (
            topic("new", (1, 2), (1,)),
            39,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this is not "
                "consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
        (
            topic("new", (5, 6)),
            39,
            (
                "All brokers specified in the manual partition assignment for partition 0 are fenced or "
                "in controlled shutdown."
            ),
        ),
        (
            topic("new", (1,), min_insync_replicas="0"),
            40,
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            partitions(3, (1, 2), name="nope"),
            3,
            "This server does not host this topic-partition.",
        ),
        (partitions(2), 37, "Topic already has 2 partition(s)."),
        (
            partitions(1),
            37,
            "The topic orders currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            partitions(4, (1, 2)),
            39,
            "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            partitions(3, (1,)),
            39,
            (
                "The manual partition assignment includes a partition with 1 replica(s), but this is not "
                "consistent with previous partitions, which have 2 replica(s)."
            ),
        ),
        (DeleteTopic("nope"), 3, "This server does not host this topic-partition."),
    ],
)
def test_a_refusal_has_kafkas_code_and_words(
    command: ControllerCommand, code: int, message: str
) -> None:
    controller = Controller([1, 2], [2, 3])
    controller.ask(topic("or_ders.x", (1,)))
    controller.fence(5, 6)
    before = controller.state
    whole = controller.ask(command).whole
    assert isinstance(whole, Rejected)
    assert (whole.code, whole.message) == (code, message)
    assert controller.state is before


def test_the_first_isr_is_who_is_active() -> None:
    controller = Controller([1, 2])
    controller.fence(4)
    controller.ask(partitions(2, (4, 3)))
    assert (controller.partition(1).isr, controller.partition(1).leader) == ((3,), 3)


@pytest.mark.parametrize(
    ("partitions", "slots", "first"),
    [(1, 2, 0), (2, 2, 0), (3, 4, 2), (5, 4, 2), (5, 8, 0), (6, 8, 5), (10, 8, 5), (11, 16, 0)],
)
def test_which_partition_comes_first_is_a_matter_of_hashes(
    partitions: int, slots: int, first: int
) -> None:
    assert slots_for(partitions) <= slots <= slots_after_replacing(partitions)
    assert first_iterated(range(partitions), slots) == first


def test_a_recreated_topic_has_a_new_table() -> None:
    controller = Controller([1], [1], [1], [1], [1])
    controller.fence(1)
    assert controller.state.topics[TOPIC].slots == 8
    events = decide_command(controller.state, DeleteTopic(TOPIC)).events
    made_again = (
        TopicCreated(TOPIC, TopicId("y")),
        PartitionCreated(named(0), controller.partition()),
    )
    changed = PartitionChanged(named(0), recovering=True)
    assert evolve_all(controller.state, (*events, *made_again)).topics[TOPIC].slots == 0
    found = evolve_all(controller.state, (changed, *events, *made_again)).topics[TOPIC]
    assert (list(found.partitions), found.slots) == ([0], 0)


def test_deleting_a_topic_takes_its_configuration_along() -> None:
    controller = Controller([1, 2], configs={"min.insync.replicas": "2"})
    assert controller.state.configs == {(ConfigScope.TOPIC, TOPIC): {"min.insync.replicas": "2"}}
    controller.ask(DeleteTopic(TOPIC))
    assert (controller.state.topics, controller.state.configs) == ({}, {})
