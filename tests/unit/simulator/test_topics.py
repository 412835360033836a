"""Creating and deleting topics and partitions with explicit replicas."""

import pytest
from tests.unit.simulator.controllers import TOPIC, Controller, named

from replan.model.api import ConfigScope, TopicId
from replan.simulator.api import (
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
